"""A text to learn to continue: read, split by position, cut into units, on disk as one stream of ids.

    characters, subwords   the line ends are units of the text like others; the text has no other end
    words, symbols         each line is a sequence, and EOS stands for its line end

A text is handed on line by line, each with its line end (CR LF is read as LF). The files are read a few times, and of
the training set nothing is kept, so that memory does not grow with it.

<folder>/stream/        the ids of the training set, BOS in front
<folder>/dev.jsonl      the dev set, a line of JSON for each of its lines
<folder>/tokenizer.json, counts.json
<folder>/excluded.tsv   every line that is left out: file, line, reason
<folder>/prepared.json  the report; written last, so that its presence means all of it is there
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeInt, model_validator

from mirada.config import Section
from mirada.contracts import BOS, EOS
from mirada.data.checks import KINDS, has_invalid_bytes
from mirada.data.prepared import LARGE_FILE, check_dev, finish, is_prepared, reopen, reopening
from mirada.data.quality import Notify
from mirada.data.stream import Stream, write_stream
from mirada.data.text import lines, shown_path
from mirada.data.tokenizer import UNK, Tokenizer, TokenizerConfig
from mirada.errors import BundleError, DataError
from mirada.files import read_bytes, write_text
from mirada.parsing import Malformed, check, load_json_lines, parse_json, read_json_lines

FEWEST = 200
"""Characters below which there is nothing to learn from."""
MOST_DEV = 200_000
"""Characters that a model is measured on, at most: enough for two digits, and a bundle carries them."""

Lines = list[str]
"""A text as its lines, each with its line end; the last may have none."""

# Up to the last white space before a word: of several spaces a published unit may hold all but the last, never more.
_BEFORE_A_WORD = re.compile(r".+(?=[ \n]\S)", re.DOTALL)


class TextConfig(Section):
    """Which text to learn from."""

    files: tuple[str, ...] = ()
    """Text files (UTF-8, plain or gzipped), one behind the other."""
    dev: tuple[str, ...] = ()
    """The dev set, likewise. The end of the text is held out when not given."""
    hold_out: float = Field(0.05, gt=0, lt=1)
    """The last share of the text, to hold out when there is no dev file; never more than 200,000 characters."""
    length: int | None = Field(None, ge=2, le=65_536)
    """Steps in a piece: how far gradients flow back. A batch has train.batch_tokens / length pieces side by side.
    Unless given, 64; for a model that sees a context, all of that."""
    carry: bool | None = None
    """Carry the state from piece to piece, in the order of the text; false: pieces in random order, each for itself.
    Unless given, whenever the model has a state to carry."""
    invalid_bytes: Literal["refuse", "drop"] = "refuse"
    """What to do about lines with bytes that are not UTF-8: refuse the file, or leave them out."""

    @model_validator(mode="after")
    def _something(self) -> TextConfig:
        if not self.files:
            raise ValueError("there is no data: give a text file")
        return self


# ── lines to ids, and back ────────────────────────────────────────────────────────────────────────────────────────


class Spelling:
    """Text to ids and ids back to text, with nothing added or lost in between.

    Our subwords put a space before all they are given and take one away from the front of what they decode. So text
    is encoded line by line and decoded line by line: no space appears, and a word that begins a line is the same unit
    as elsewhere. A line end is only ever the last character of a unit, so that lines can be told apart again.
    Published subwords (GPT-2's) do not do that, and a unit may hold line ends and spaces: they take a text whole.
    """

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer = tokenizer
        self.sequences = tokenizer.unit in ("words", "symbols")
        """Whether each line is a sequence of units, with EOS behind it."""
        spelt = tokenizer.pieces(tokenizer.encode([" a"])[0])
        self.whole = tokenizer.unit == "subwords" and "".join(spelt) == " a"
        """Whether a text is taken whole, and ends with EOS where the model says so."""
        pieces = tokenizer.pieces(range(tokenizer.size))
        self.line_ends = {EOS} if self.sequences else {id for id, piece in enumerate(pieces) if piece.endswith("\n")}

    @property
    def opening(self) -> list[int]:
        """What a text is read behind: BOS and a line end, after which the model has seen many lines begin."""
        if self.whole:
            return [BOS]
        end = self.encode(["\n"])[0]
        return [BOS] if UNK in end and self.tokenizer.unknown is not None else [BOS, *end]

    def before(self, prompt: str) -> list[int]:
        """What the model goes on from: the opening and the prompt; of published models the prompt alone, if any."""
        return self.read(prompt) if self.whole and prompt else [*self.opening, *self.read(prompt)]

    def parts(self, text: Iterable[str]) -> Iterator[str]:
        """A text's lines as texts that can be encoded one by one: the lines, or all of it cut where no unit can be."""
        if not self.whole:
            yield from text
            return
        rest = ""
        for line in text:
            rest += line
            if line.strip() and (cut := _BEFORE_A_WORD.match(rest)):  # a blank line brings no word
                yield rest[: cut.end()]
                rest = rest[cut.end() :]
        yield rest

    def encode(self, given: Sequence[str]) -> list[list[int]]:
        """The ids of each of a text's `parts`."""
        ids = self.tokenizer.encode(given)
        if not self.sequences:
            return ids
        return [[*row, EOS] if line.endswith("\n") else row for row, line in zip(ids, given, strict=True)]

    def read(self, text: str) -> list[int]:
        """The ids of a text."""
        return [id for row in self.encode(list(self.parts(lines_of(text)))) for id in row]

    def text_of(self, ids: Sequence[int]) -> str:
        """The text of ids; a round trip is exact but for what is unknown, and for the white space between words."""
        if self.whole or self.tokenizer.unit == "characters":
            return self.tokenizer.decode([ids])[0]
        rows: list[list[int]] = [[]]
        for id in ids:
            rows[-1].append(id)
            if id in self.line_ends:
                rows.append([])
        return ("\n" if self.sequences else "").join(self.tokenizer.decode(rows))

    def unknown(self, text: str) -> list[str]:
        """The units of a text that the vocabulary does not have, each once."""
        if self.tokenizer.unknown is None:
            return []
        return list(dict.fromkeys(token.text for token in self.tokenizer.tokens(text) if token.id == UNK))


class Pen:
    """Writes ids as text as they come, holding back half a character until it is whole; all of it is `text_of`."""

    def __init__(self, spelling: Spelling, before: Sequence[int] = ()):
        """`before` are the ids that stand before the first one."""
        self.spelling = spelling
        self._anchor = list(before[-1:])
        self._waiting: list[int] = []

    def write(self, id: int) -> str:
        """What can be read now."""
        self._waiting.append(id)
        text = self._text()
        if text.endswith("�") and self.spelling.tokenizer.unit == "subwords":
            return ""
        self._anchor, self._waiting = [id], []
        return text

    def end(self) -> str:
        """What is left, half a character as it may be."""
        text, self._waiting = self._text(), []
        return text

    def _text(self) -> str:
        # The unit before is decoded along: what the tokenizer does to the front of a text happens to it alone.
        whole, before = self.spelling.text_of([*self._anchor, *self._waiting]), self.spelling.text_of(self._anchor)
        return whole[len(before) :]


def lines_of(text: str) -> Lines:
    """A text as its lines, each with its line end."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


# ── reading and splitting ─────────────────────────────────────────────────────────────────────────────────────────


def read_lines(
    paths: Sequence[str], lenient: bool = False, leave_out: Callable[[str, int], None] = lambda path, line: None
) -> Iterator[str]:
    """All lines of the files, each with its line end; CR LF is read as LF, and no file's last line runs into the next.

    Read leniently, a line with bytes that are not UTF-8 is left out, and `leave_out` is told where it stands.
    """
    for number, path in enumerate(paths, 1):
        for place, line in enumerate(lines(path, keep_ends=True, lenient=lenient), 1):
            if lenient and has_invalid_bytes(line):
                leave_out(path, place)
            elif line.endswith("\n"):
                yield line[:-2] + "\n" if line.endswith("\r\n") else line
            else:
                yield line + "\n" if number < len(paths) else line


def find_cut(text: Iterable[str], characters: int, share: float) -> int:
    """Where the last share of a text begins: at the nearest line end.

    If there is none near (half the share away at most), behind the next white space; if there is none either, there.
    """
    held = min(round(share * characters), MOST_DEV)
    wanted, begin, line = characters - held, 0, ""
    for line in text:
        if begin + len(line) >= wanted:
            break
        begin += len(line)
    ends = [place for place in (begin, begin + len(line)) if 0 < place < characters]
    near = min(ends, key=lambda place: abs(place - wanted), default=wanted + held)
    if abs(near - wanted) <= held / 2:
        return near
    space = re.compile(r"\s+").search(line, wanted - begin)
    behind = begin + space.end() if space else wanted
    return behind if behind - wanted <= held / 2 else wanted


def _until(text: Iterable[str], place: int) -> Iterator[str]:
    """The text up to a place."""
    for line in text:
        if len(line) > place:
            if place:
                yield line[:place]
            return
        yield line
        place -= len(line)


def _from(text: Iterable[str], place: int) -> Iterator[str]:
    """The text from a place on."""
    for line in text:
        if len(line) > place:
            yield line[place:]
        place = max(0, place - len(line))


# ── preparing ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Report:
    """What was read, and what became of it."""

    lines: int = 0
    characters: int = 0
    tokens: int = 0
    """Of the training set, like those above."""
    words: int = 0
    unknown: int = 0
    """Of its tokens: those that the vocabulary does not have."""
    dev_characters: int = 0
    dev_tokens: int = 0
    held_out: bool = False
    unit: str = ""
    vocabulary: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    fingerprint: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass
class PreparedText:
    """A text, ready to train on."""

    stream: Stream
    dev: Lines
    tokenizer: Tokenizer
    counts: npt.NDArray[np.int64]
    """How often each unit occurs in the training set."""
    report: Report


def prepare(
    data: TextConfig, tokenizer: TokenizerConfig, folder: Path, notify: Notify, learned: Tokenizer | None = None
) -> PreparedText:
    """Read, split and tokenise the text into `folder`; what an earlier call finished is only opened.

    The units are those of a base (`learned`), if there is one.
    """
    if is_prepared(folder):
        return _open(folder)
    folder.mkdir(parents=True, exist_ok=True)
    report = Report(held_out=not data.dev)
    training, dev = _split(data, folder, report, notify)
    notify(f"learning {tokenizer.unit}", 0, 0)
    size = tokenizer.most(report.words)  # nothing is normalised: a text survives a round trip
    cutter = learned or Tokenizer.learn(training(), size, tokenizer.unit, tokenizer.lowercased)
    spelling = Spelling(cutter)
    report.dev_tokens = len(spelling.read("".join(dev)))
    if report.dev_tokens < 2:
        raise DataError(
            f"the dev set has {report.dev_characters:,} characters and {report.dev_tokens} tokens, too little to "
            "measure with; give a longer text, or a larger share: --set data.hold_out=0.2"
        )
    begun = iter([[BOS]])

    def encode(parts: Sequence[str]) -> list[list[int]]:
        ids = spelling.encode(parts)
        ids[0] = next(begun, ids[0])  # the first part of all is empty, and stands for BOS
        return ids

    stream = write_stream(
        folder / "stream",
        chain([""], spelling.parts(training())),
        encode,
        cutter.size,
        lambda done: notify("tokenising lines", done, report.lines),
    )
    counts = count(stream, cutter.size)
    report.tokens, report.fingerprint = stream.tokens - 1, stream.fingerprint
    report.unit, report.vocabulary = cutter.unit, cutter.size
    report.unknown = int(counts[UNK]) if cutter.unknown is not None else 0
    write_text(folder / "dev.jsonl", dump(dev))
    write_text(folder / "tokenizer.json", cutter.to_json())
    write_text(folder / "counts.json", json.dumps(counts.tolist()))
    finish(folder, report)
    return PreparedText(stream, dev, cutter, counts, report)


def _split(data: TextConfig, folder: Path, report: Report, notify: Notify) -> tuple[Callable[[], Iterator[str]], Lines]:
    """The training set, as often as you like, and the dev set."""
    lenient = data.invalid_bytes == "drop"
    whole = sum(map(len, _surveyed(data, folder, report, notify)))
    if whole < FEWEST:
        names = ", ".join(map(shown_path, data.files))
        raise DataError(
            f"{names}: {whole:,} characters in {report.lines:,} lines; training needs at least {FEWEST}, and many "
            "thousands to be of use"
        )
    if data.dev:
        cut, rest = whole, list(_until(read_lines(data.dev, lenient), MOST_DEV + 1))
        dev = list(_until(rest, MOST_DEV))
        if rest != dev:
            report.notes.append(f"of the dev files the first {MOST_DEV:,} characters are used")
    else:
        cut = find_cut(read_lines(data.files, lenient), whole, data.hold_out)
        dev = list(_from(read_lines(data.files, lenient), cut))
        report.lines -= len(dev)
        report.words -= sum(len(line.split()) for line in dev)
    report.characters, report.dev_characters = cut, sum(map(len, dev))
    return lambda: _until(read_lines(data.files, lenient), cut), dev


def _surveyed(data: TextConfig, folder: Path, report: Report, notify: Notify) -> Iterator[str]:
    """All lines; meanwhile they are counted, and those that are left out are listed."""
    reason = KINDS["invalid_bytes"].title
    with open(folder / "excluded.tsv", "w", encoding="utf-8", errors="surrogateescape") as excluded:

        def leave_out(path: str, line: int) -> None:
            report.excluded[reason] = report.excluded.get(reason, 0) + 1
            excluded.write(f"{path}\t{line}\t{reason}\n")

        for number, line in enumerate(read_lines(data.files, data.invalid_bytes == "drop", leave_out)):
            if number % 20_000 == 0:
                notify("reading lines", number, 0)
            report.lines += 1
            report.words += len(line.split())
            yield line


def count(stream: Stream, vocabulary: int) -> npt.NDArray[np.int64]:
    """How often each id occurs, BOS left out."""
    counts = np.zeros(vocabulary, dtype=np.int64)
    for first in range(1, len(stream), 2**20):
        counts += np.bincount(stream.ids[first : first + 2**20], minlength=vocabulary)
    return counts


def _open(folder: Path) -> PreparedText:
    with reopening(folder):
        report: Report = reopen(folder, Report)
        dev = read_json_lines(folder / "dev.jsonl", str, DataError, LARGE_FILE)
        tokenizer = Tokenizer.load(folder / "tokenizer.json")
        check_dev(Spelling(tokenizer).read("".join(dev))[1:], folder / "dev.jsonl")
        path = folder / "counts.json"
        counts = load_counts(read_bytes(path, DataError), tokenizer.size, path)
        stream = Stream(folder / "stream")
        stream.check(tokenizer.size)
        return PreparedText(stream, dev, tokenizer, counts, report)


def load_counts(content: bytes, vocabulary: int, where: Path) -> npt.NDArray[np.int64]:
    """The counts of a vocabulary's units, from their JSON."""
    try:
        counts = np.array(check(list[NonNegativeInt], parse_json(content)), dtype=np.int64)
    except Malformed:
        counts = np.zeros(0, dtype=np.int64)
    if counts.shape != (vocabulary,):
        raise BundleError(f"{where}: is not a list of {vocabulary:,} counts, one for each unit of the vocabulary")
    return counts


def dump(text: Lines) -> str:
    """A line of JSON for each line."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in text)


def load(text: str) -> Lines:
    return load_json_lines(text, str, "dev.jsonl", BundleError)

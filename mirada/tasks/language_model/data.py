"""A text to learn to continue: how it is read, split by position, and cut into units, as one stream of ids.

    characters, subwords   the line ends are units of the text like others; the text has no other end
    words, symbols         each line is a sequence, and EOS stands for its line end

A text is handed on line by line, each with its line end (CR LF is read as LF).

<folder>/stream/        the ids of the training set, BOS in front
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeInt

from mirada.contracts import BOS, EOS, SequenceBatch
from mirada.data import report as reports
from mirada.data.checks import has_invalid_bytes
from mirada.data.folder import FolderFiles, check_dev
from mirada.data.preparation import Preparation, Prepared
from mirada.data.records import AnyRecord, Record, Sources
from mirada.data.sources import TextSection
from mirada.data.stream import Spans, Stream, StreamBatches, write_stream
from mirada.data.survey import Survey
from mirada.data.text import lines
from mirada.data.tokenizer import UNK, Tokenizer
from mirada.errors import BundleError, DataError
from mirada.parsing import Malformed, check, parse_json

FEWEST = 200
"""Characters below which there is nothing to learn from."""
MOST_DEV = 200_000
"""Characters of the dev set, at most: enough for two digits, and a bundle carries them."""
PIECE = 64
"""Steps in a piece of a text, unless set otherwise."""

Lines = list[str]
"""A text as its lines, each with its line end; the last may have none."""

# Up to the last white space before a word: of several spaces a published unit may hold all but the last, never more.
_BEFORE_A_WORD = re.compile(r".+(?=[ \n]\S)", re.DOTALL)


class TextConfig(TextSection):
    """Which text to learn from."""

    needs = "a text file"

    files: tuple[str, ...] = ()
    """Text files (UTF-8, plain or gzipped), one behind the other."""
    hold_out: float = Field(0.05, gt=0, lt=1)
    """The last share of the text, to hold out when there is no dev file; never more than 200,000 characters."""
    length: int | None = Field(None, ge=2, le=65_536)
    """Steps in a piece: how far gradients flow back. A batch has train.batch_tokens / length pieces side by side.
    Unless given, 64; for a model that sees a context, all of that."""
    carry: bool | None = None
    """Carry the state from piece to piece, in the order of the text; false: pieces in random order, each for itself.
    Unless given, whenever the model has a state to carry."""


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
        """The ids before a continuation: the opening and the prompt; for published models the prompt alone, if any."""
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


def read_lines(paths: Sequence[str], lenient: bool = False) -> Iterator[str]:
    """All lines of the files, each with its line end; leniently, without those that have bytes that are not UTF-8."""
    return (str(record.fields[0]) for record in records_of(paths, lenient) if not record.problem)


def records_of(paths: Sequence[str], lenient: bool) -> Iterator[Record]:
    """All lines of the files, each with its end; CR LF is read as LF, and no file's last line runs into the next."""
    for number, path in enumerate(paths, 1):
        for place, line in enumerate(lines(path, keep_ends=True, lenient=lenient), 1):
            if lenient and has_invalid_bytes(line):
                yield Record((line,), path, place, "invalid_bytes")
            elif line.endswith("\n"):
                yield Record((line[:-2] + "\n" if line.endswith("\r\n") else line,), path, place)
            else:
                yield Record((line + "\n" if number < len(paths) else line,), path, place)


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
class Report(reports.Report):
    """What was read of a text, and what became of it."""

    lines: int = 0
    """Lines of the training set, like the figures below."""
    characters: int = 0
    tokens: int = 0
    unknown: int = 0
    """Tokens that the vocabulary does not have."""
    dev_characters: int = 0
    dev_tokens: int = 0
    unit: str = ""


class Windows(StreamBatches):
    """Pieces in random order, each for itself: so none says where it begins, and nothing is carried over."""

    def load(self, rows: Spans) -> SequenceBatch:
        return replace(super().load(rows), rows=None)


class LanguageModelData(Preparation[str]):
    """A text, line by line."""

    noun = "line"
    report_type = Report
    example_type = str
    data: TextConfig
    report: Report

    def open(self, paths: Sequence[str]) -> Sources:
        lenient = self.data.invalid_bytes == "drop"
        sources = Sources([(path, "text", ()) for path in paths])
        sources.readers[0] = (*sources.readers[0][:2], records_of(paths, lenient))
        return sources

    def read_examples(self, paths: Sequence[str], survey: Survey) -> Lines:
        rest = list(_until(read_lines(paths, self.data.invalid_bytes == "drop"), MOST_DEV + 1))
        dev = list(_until(rest, MOST_DEV))
        if rest != dev:
            survey.quality.notes.append(f"of the dev files the first {MOST_DEV:,} characters are used")
        return dev

    def keys(self, record: AnyRecord) -> tuple[int, ...]:
        return (len(record.fields[0]),)

    def count_words(self, record: AnyRecord) -> int:
        return len(record.fields[0].split())

    def check_size(self, survey: Survey) -> None:
        whole = int(survey.column(0).sum())
        if whole < FEWEST:
            raise DataError(
                f"{survey.source}: {whole:,} characters in {len(survey):,} lines; training needs at least {FEWEST}, "
                "and many thousands to be of use"
            )

    def split(self, survey: Survey) -> Lines:
        whole = int(survey.column(0).sum())
        report, self._cut, self._words = self.report, whole, survey.words
        report.lines = len(survey)
        if self.data.dev:
            dev: Lines = survey.dev
        else:
            self._cut = find_cut(self._lines(survey), whole, self.data.hold_out)
            dev = list(_from(self._lines(survey), self._cut))
            report.lines -= len(dev)
            self._words -= sum(len(line.split()) for line in dev)
        report.characters, report.dev_characters = self._cut, sum(map(len, dev))
        report.words, self._dev = self._words, dev
        survey.quality.figures["characters"] = whole
        return dev

    @staticmethod
    def _lines(survey: Survey) -> Iterator[str]:
        return (record.fields[0] for record in survey.records())

    def _training(self, survey: Survey) -> Iterator[str]:
        return _until(self._lines(survey), self._cut)

    def learn(self, survey: Survey) -> Any:
        from mirada.tasks.language_model.preprocessor import LanguageModelPreprocessor

        config = self.built["tokenizer"]
        survey.notify(f"learning {config.unit}", 0, 0)
        if self.base:
            tokenizer = self.base.tokenizer
        else:  # nothing is normalised: a text survives a round trip
            size = config.most(self._words)
            tokenizer = Tokenizer.learn(self._training(survey), size, config.unit, config.lowercased)
        return LanguageModelPreprocessor(Spelling(tokenizer), np.zeros(tokenizer.size, np.int64))

    def encode(self, survey: Survey, preprocessor: Any, folder: Path) -> None:
        spelling, tokenizer, report = preprocessor.spelling, preprocessor.tokenizer, self.report
        report.dev_tokens = len(spelling.read("".join(self._dev)))
        if report.dev_tokens < 2:
            raise DataError(
                f"the dev set has {report.dev_characters:,} characters and {report.dev_tokens} tokens, too little to "
                "evaluate with; give a longer text, or a larger share: --set data.hold_out=0.2"
            )
        begun = iter([[BOS]])

        def encode(parts: Sequence[str]) -> list[list[int]]:
            ids: list[list[int]] = spelling.encode(parts)
            ids[0] = next(begun, ids[0])  # the first part of all is empty, and stands for BOS
            return ids

        stream = write_stream(
            folder / "stream",
            chain([""], spelling.parts(self._training(survey))),
            encode,
            tokenizer.size,
            lambda done: survey.notify("tokenising lines", done, report.lines),
        )
        self._counts = count(stream, tokenizer.size)
        report.training = report.tokens = stream.tokens - 1
        report.fingerprint, report.unit, report.vocabulary = stream.fingerprint, tokenizer.unit, tokenizer.size
        report.unknown = int(self._counts[UNK]) if tokenizer.unknown is not None else 0

    def adapt(self, survey: Survey, preprocessor: Any) -> Any:
        return replace(preprocessor, counts=self._counts)

    def read_preprocessor(self, folder: Path) -> Any:
        from mirada.tasks.language_model.preprocessor import LanguageModelPreprocessor

        return LanguageModelPreprocessor.read(FolderFiles(folder), folder)

    def read_dev(self, folder: Path, preprocessor: Any) -> Lines:
        dev: Lines = super().read_dev(folder, preprocessor)
        check_dev(preprocessor.spelling.read("".join(dev))[1:], folder / "dev.jsonl")
        return dev

    def open_store(self, folder: Path, preprocessor: Any) -> Stream:
        stream = Stream(folder / "stream")
        stream.check(preprocessor.tokenizer.size)
        return stream

    def batches(self, prepared: Prepared, tokens: int, seed: int) -> StreamBatches:
        length, kind = self.data.length or PIECE, StreamBatches if self.data.carry else Windows
        return kind(prepared.store, max(1, tokens // length), length, seed, not self.data.carry)

    def summary(self, prepared: Prepared) -> str:
        report = prepared.about
        held = " (held out, the end of the text)" if report.held_out else ""
        return (
            f"{report.characters:,} characters in {report.lines:,} lines, {report.tokens:,} tokens; dev "
            f"{report.dev_characters:,} characters{held}; {report.vocabulary:,} {report.unit}"
        )

    def notes(self, prepared: Prepared) -> list[str]:
        report = prepared.about
        if not report.unknown:
            return list(report.notes)
        unknown = f"{report.unknown:,} of its {report.unit} are not in the vocabulary and are read as <unk>"
        return [*report.notes, unknown]


def count(stream: Stream, vocabulary: int) -> npt.NDArray[np.int64]:
    """How often each id occurs, BOS left out."""
    counts = np.zeros(vocabulary, dtype=np.int64)
    for first in range(1, len(stream), 2**20):
        counts += np.bincount(stream.ids[first : first + 2**20], minlength=vocabulary)
    return counts


def load_counts(content: bytes, vocabulary: int, where: Path) -> npt.NDArray[np.int64]:
    """The counts of a vocabulary's units, from their JSON."""
    try:
        counts = np.array(check(list[NonNegativeInt], parse_json(content)), dtype=np.int64)
    except Malformed:
        counts = np.zeros(0, dtype=np.int64)
    if counts.shape != (vocabulary,):
        raise BundleError(f"{where}: is not a list of {vocabulary:,} counts, one for each unit of the vocabulary")
    return counts

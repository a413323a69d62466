"""Documents with gaps, for masked modelling: cut into pairs of spans, words hidden, anew in every epoch.

    A EOS B EOS     B is what follows A in the document, or a span of another one, each half of the time
    15 % of the words are hidden: 80 % of those by the mask, 10 % by another word, 10 % not at all

(Devlin et al. 2019, §3.1 and A.1.) What an epoch hides follows from the seed and its number, so a resumed run is exact.

<folder>/corpus/         ids, on disk
<folder>/excluded.tsv    every document that is left out: file, line where it begins, reason
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field, model_validator

from mirada.config import Section
from mirada.contracts import EOS, PAD, Rows, SequenceBatch
from mirada.data.corpus import CHUNK, Corpus, batched, write_corpus
from mirada.data.prepared import LARGE_FILE, check_dev, finish, is_prepared, reopen, reopening
from mirada.data.quality import Notify, fingerprint
from mirada.data.text import lines
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.errors import DataError
from mirada.files import write_text
from mirada.parsing import read_json

SHORTEST = 4
"""Tokens in a document, below which it is left out: nothing can be hidden in it that could be found again."""
MOST_DEV, MOST_DEV_CHARACTERS = 2000, 1_000_000
"""Documents to hold out, and characters of them to measure with, at most."""
FOLLOWS, DOES_NOT = 1, 2
"""Column 0 of the truth, which belongs to [CLS]; 0 when nothing is asked."""


class DocumentsConfig(Section):
    """Which documents to learn from. Of equal ones, one is read; those of the dev set are not learned from."""

    files: tuple[str, ...] = ()
    """Text files, plain or gzipped; a blank line stands between documents."""
    dev: tuple[str, ...] = ()
    """The dev set, likewise. Some documents are held out when not given."""
    hold_out: float = Field(0.05, gt=0, lt=1)
    """The share of the documents to hold out when there is no dev file (2,000 at most)."""
    length: int = Field(128, ge=8, le=8192)
    """Tokens in an example: two spans with their ends."""
    hidden: float = Field(0.15, gt=0, lt=1)
    """The share of the words that are hidden."""
    next_sentence: bool = True
    """Whether it also learns if the second span follows the first."""
    invalid_bytes: Literal["refuse", "drop"] = "refuse"
    """What to do about bytes that are not UTF-8: refuse the file, or replace them."""

    @model_validator(mode="after")
    def _something(self) -> DocumentsConfig:
        if not self.files:
            raise ValueError("there is no data: give a text file with a blank line between documents")
        return self


LONGEST = 10**9
"""Tokens of a document: any number, since it is cut into examples later."""


@dataclass
class Report:
    """What was read, and what became of it."""

    documents: int = 0
    dev: int = 0
    held_out: bool = False
    words: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    """Why documents are left out, and how many."""
    vocabulary: int = 0
    fingerprint: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass
class PreparedDocuments:
    """Documents, ready to train on."""

    corpus: Corpus
    dev: list[str]
    tokenizer: Tokenizer
    report: Report
    config: DocumentsConfig


class Document(NamedTuple):
    """A text, and where it begins."""

    text: str
    file: str
    line: int


def documents(paths: tuple[str, ...], lenient: bool) -> Iterator[Document]:
    """The documents of text files: lines up to a blank one, joined by spaces."""
    for path in paths:
        current: list[str] = []
        number = 0
        for number, line in enumerate(lines(path, lenient=lenient), 1):
            text = line.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if lenient else line
            if text.strip():
                current.append(text.strip())
            elif current:
                yield Document(" ".join(current), path, number - len(current))
                current = []
        if current:
            yield Document(" ".join(current), path, number + 1 - len(current))


def prepare(
    data: DocumentsConfig, config: TokenizerConfig, folder: Path, notify: Notify, learned: Tokenizer | None = None
) -> PreparedDocuments:
    """Read, split and tokenise the documents into `folder`; what an earlier call finished is only opened."""
    if is_prepared(folder):
        with reopening(folder):
            report: Report = reopen(folder, Report)
            dev = read_json(folder / "dev.json", list[str], DataError, LARGE_FILE)
            check_dev(dev, folder / "dev.json")
            tokenizer = Tokenizer.load(folder / "tokenizer.json")
            corpus = Corpus(folder / "corpus")
            corpus.check((tokenizer.size, 0), LONGEST)
            corpus.source.check(tokenizer.size, LONGEST, SHORTEST)
            return PreparedDocuments(corpus, dev, tokenizer, report, data)
    folder.mkdir(parents=True, exist_ok=True)
    notify("reading", 0, 0)
    survey = _Survey(data)
    words = sum(len(document.text.split()) for document in survey.training())
    notify(f"learning {config.unit}", 0, 0)
    texts = (document.text for document in survey.training())
    tokenizer = learned or config.learn(texts, words, mask=True)
    as_it_is: Any = list
    with open(folder / "excluded.tsv", "w", encoding="utf-8") as excluded:

        def leave_out(document: Document, reason: str) -> None:
            survey.excluded[reason] = survey.excluded.get(reason, 0) + 1
            excluded.write(f"{document.file}\t{document.line}\t{reason}\n")

        def rows() -> Iterator[tuple[Any, Any, None]]:
            for some in batched(survey.training(leave_out), CHUNK):
                for document, ids in zip(some, tokenizer.encode([each.text for each in some]), strict=True):
                    if len(ids) < SHORTEST:
                        leave_out(document, f"documents of fewer than {SHORTEST} tokens, too short to hide a word in")
                    else:
                        yield ids, [], None

        corpus = write_corpus(
            folder / "corpus",
            rows(),  # cut into tokens already, where texts are expected
            as_it_is,
            as_it_is,
            vocabulary=tokenizer.size,
            longest=LONGEST,
            too_long=lambda place, tokens: None,
            progress=lambda done: notify("tokenising", done, len(survey.hashes)),
        )
    if not len(corpus):
        raise DataError(
            f"{', '.join(data.files)}: every document has fewer than {SHORTEST} tokens, or is in the dev set"
        )
    dev, notes = survey.dev()
    counts = (len(corpus), len(dev), not data.dev, words, survey.excluded, tokenizer.size)
    report = Report(*counts, corpus.fingerprint, notes)
    write_text(folder / "dev.json", json.dumps(dev, ensure_ascii=False))
    write_text(folder / "tokenizer.json", tokenizer.to_json())
    finish(folder, report)
    return PreparedDocuments(corpus, dev, tokenizer, report, data)


class _Survey:
    """A first look at all documents: 64 bits of each, which tell equal ones, and those that are held out."""

    def __init__(self, data: DocumentsConfig):
        self.data, self.lenient = data, data.invalid_bytes == "drop"
        self.mended = 0
        """Documents with bytes that are not UTF-8, and became �."""
        self.hashes, long_enough = self._read(data.files)
        self.excluded: dict[str, int] = {}
        different, first = np.unique(self.hashes, return_index=True)
        if len(different) < 2 and not data.dev:
            raise DataError(
                f"{', '.join(data.files)}: has {len(different)} document{'s' * (len(different) != 1)}; masked "
                "modelling needs at least two different ones, with a blank line between them"
            )
        self.first = np.zeros(len(self.hashes), dtype=bool)
        self.first[first] = True
        if data.dev:
            held, _ = self._read(data.dev)
        else:
            share = min(MOST_DEV, max(1, round(data.hold_out * len(different))), len(different) - 1)
            wanted = long_enough[first]
            held = (different[wanted] if wanted.any() else different)[:share]
        if not len(held):
            raise DataError(f"{', '.join(data.dev)}: has no documents to measure with")
        self.held = np.isin(self.hashes, held)

    def _read(self, files: tuple[str, ...]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
        """64 bits of every document; and whether it is long enough to hide something in, however it is cut."""
        hashes, long_enough = array("Q"), bytearray()
        for document in documents(files, self.lenient):
            self.mended += self.lenient and "\ufffd" in document.text
            hashes.append(fingerprint(document.text))
            long_enough.append(len(document.text.split()) >= SHORTEST or len(document.text) >= 16 * SHORTEST)
        return np.frombuffer(hashes, dtype=np.uint64), np.frombuffer(long_enough, dtype=bool)

    def training(self, leave_out: Callable[[Document, str], None] | None = None) -> Iterator[Document]:
        """What is learned from; `leave_out` is told the others, with the reason, but for those that are held out."""
        for document, first, held in zip(documents(self.data.files, self.lenient), self.first, self.held, strict=True):
            if first and not held:
                yield document
            elif leave_out and not first:
                leave_out(document, "exact duplicates of an earlier document")
            elif leave_out and self.data.dev:
                leave_out(document, "documents that are in the dev set")

    def dev(self) -> tuple[list[str], list[str]]:
        """What is measured with; and what there is to say of it."""
        if self.data.dev:
            texts = (document.text for document in documents(self.data.dev, self.lenient))
        else:
            every = zip(documents(self.data.files, self.lenient), self.first & self.held, strict=True)
            texts = (document.text for document, chosen in every if chosen)
        found: list[str] = []
        size = 0
        for text in texts:
            found.append(text)
            size += len(text)
            if size >= MOST_DEV_CHARACTERS:
                break
        notes = []
        if unused := sum(1 for _ in texts):
            said = f"{len(found):,} documents ({size:,} characters)"
            notes.append(f"of the dev set {said} are measured with, {unused:,} are not")
        if self.mended:
            notes.append(f"documents with bytes that are not UTF-8, which are read as �: {self.mended:,}")
        return found, notes


class MaskedBatches:
    """Pairs of spans with hidden words. A row is (A begins, A ends, B begins, B ends, whether B follows A, noise)."""

    def __init__(
        self,
        ids: npt.NDArray[np.integer],
        offsets: npt.NDArray[np.int64],
        tokenizer: Tokenizer,
        config: DocumentsConfig,
        budget: int,
        seed: int,
        name: str = "",
    ):
        assert tokenizer.mask is not None, "a vocabulary for masked modelling has a mask"
        self.ids, self.offsets, self.tokenizer, self.config = ids, offsets, tokenizer, config
        self.budget, self.seed, self.fingerprint = budget, seed, name
        self.mask = tokenizer.mask

    @property
    def tokens(self) -> int:
        return len(self.ids)

    def epoch(self, epoch: int) -> list[Rows]:
        """The rows of every batch: spans of similar length side by side, in random order."""
        chance = np.random.default_rng([self.seed, epoch])
        begins, ends, owners = self._windows(chance)
        cut = begins + np.maximum(1, ((ends - begins) * chance.uniform(0.25, 0.75, len(begins))).astype(np.int64))
        asked = self.config.next_sentence and len(begins) > 0 and bool((owners != owners[0]).any())
        follows = chance.random(len(begins)) < 0.5 if asked else np.ones(len(begins), dtype=bool)
        other = _elsewhere(owners, chance) if asked else np.arange(len(begins))
        answer = np.where(follows, FOLLOWS, DOES_NOT) * asked
        b_begin = np.where(follows, cut, begins[other])
        b_end = np.minimum(b_begin + (ends - cut), np.where(follows, ends, ends[other]))
        noise = chance.integers(0, 2**31, len(begins))
        rows = np.stack([begins, cut, b_begin, b_end, answer, noise], 1)
        size = (rows[:, 1] - rows[:, 0]) + (rows[:, 3] - rows[:, 2])
        order = np.argsort(size, kind="stable")
        per_batch = max(1, self.budget // self.config.length)
        batches = [rows[order[at : at + per_batch]] for at in range(0, len(order), per_batch)]
        return [batches[number] for number in chance.permutation(len(batches))]

    def _windows(self, chance: np.random.Generator) -> tuple[Rows, Rows, Rows]:
        """Where windows begin and end, and whose they are: a grid over each document, shifted anew every epoch."""
        length = self.config.length - 2  # two EOS
        lengths = np.diff(self.offsets)
        usable = np.flatnonzero(lengths >= SHORTEST)
        shift = np.where(lengths[usable] > length, chance.integers(0, length, len(usable)), 0)
        counts = -(-(lengths[usable] + shift) // length)
        owners = np.repeat(usable, counts)
        number = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        first = self.offsets[owners]
        begins = np.maximum(first, first + number * length - np.repeat(shift, counts))
        ends = np.minimum(self.offsets[owners + 1], first + (number + 1) * length - np.repeat(shift, counts))
        long_enough = ends - begins >= SHORTEST
        return begins[long_enough], ends[long_enough], owners[long_enough]

    def load(self, rows: Rows) -> SequenceBatch:
        """Inputs [B, T] with hidden words; truth [B, 1+T]: whether B follows, then the words that were hidden."""
        a, b = rows[:, 1] - rows[:, 0], rows[:, 3] - rows[:, 2]
        lengths = a + b + 2
        column = np.arange(int(lengths.max()))[None]  # [1, T]
        in_a, in_b = column < a[:, None], (column > a[:, None]) & (column < (a + 1 + b)[:, None])
        place = np.where(in_a, rows[:, :1] + column, rows[:, 2:3] + column - a[:, None] - 1)
        words = in_a | in_b  # [B, T]
        inputs: npt.NDArray[np.int64] = np.full(words.shape, PAD, dtype=np.int64)
        inputs[words] = self.ids[place[words]]
        inputs[(column == a[:, None]) | (column == (a + 1 + b)[:, None])] = EOS
        truth = np.zeros((len(rows), 1 + column.size), dtype=np.int64)
        truth[:, 0] = rows[:, 4]
        inputs, truth[:, 1:] = self._hide(inputs, words, int(rows[0, 5]))
        segments = (column > a[:, None]) & (column < lengths[:, None])
        return SequenceBatch(
            inputs=torch.from_numpy(inputs),
            lengths=torch.from_numpy(lengths),
            truth=torch.from_numpy(truth),
            segments=torch.from_numpy(segments.astype(np.int64)),
        )

    def _hide(self, inputs: Rows, words: npt.NDArray[np.bool_], noise: int) -> tuple[Rows, Rows]:
        """The words with gaps, and what was in the gaps (0 elsewhere).

        The share is exact in every batch, so that full batches have equally many gaps, and their scores one size: sizes
        that differ from step to step leave holes in the memory.
        """
        chance = np.random.default_rng([self.seed, noise])
        places = np.flatnonzero(words)
        gaps = chance.choice(places, round(self.config.hidden * len(places)), replace=False)
        how, others = chance.random(len(gaps)), chance.integers(self.mask + 1, self.tokenizer.size, len(gaps))
        shown, truth = inputs.copy(), np.zeros_like(inputs)
        truth.flat[gaps] = inputs.flat[gaps]
        shown.flat[gaps] = np.where(how < 0.8, self.mask, np.where(how < 0.9, others, inputs.flat[gaps]))
        return shown, truth

    def padding(self, epoch: int = 0) -> float:
        cells = real = 0
        for rows in self.epoch(epoch):
            lengths = rows[:, 1] - rows[:, 0] + rows[:, 3] - rows[:, 2] + 2
            cells, real = cells + len(rows) * int(lengths.max()), real + int(lengths.sum())
        return 1 - real / max(1, cells)


def _elsewhere(owners: Rows, chance: np.random.Generator) -> Rows:
    """For each window, any one of another document. `owners`, the document of each, is sorted and names two or more."""
    first, end = np.searchsorted(owners, owners, "left"), np.searchsorted(owners, owners, "right")
    drawn = chance.integers(0, len(owners) - (end - first))  # the document's own windows are not counted
    return np.where(drawn < first, drawn, drawn + (end - first))

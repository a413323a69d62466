"""Documents with gaps, for masked modelling: cut into pairs of spans, words hidden, different ones in every epoch.

    A EOS B EOS     B is what follows A in the document, or a span of another one, each half of the time
    15 % of the words are hidden: 80 % of those by the mask, 10 % by another word, 10 % not at all

(Devlin et al. 2019, §3.1 and A.1.) What an epoch hides follows from the seed and its number, so a resumed run is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field

from mirada.contracts import EOS, PAD, Rows, SequenceBatch, Sizes
from mirada.data.corpus import CHUNK, Corpus, batched
from mirada.data.preparation import Preparation, Prepared
from mirada.data.records import AnyRecord, Record, Sources
from mirada.data.report import Report as Report
from mirada.data.sources import TextSection
from mirada.data.splits import Mask, first_of
from mirada.data.survey import Survey, fingerprint
from mirada.data.text import lines
from mirada.data.tokenizer import Tokenizer
from mirada.errors import DataError, counted

MIN_TOKENS = 4
"""Tokens in a document, below which it is left out: nothing can be hidden in it that could be found again."""
MAX_DEV, MAX_DEV_CHARACTERS = 2000, 1_000_000
"""Documents to hold out, and characters of them to evaluate with, at most."""
FOLLOWS, DOES_NOT = 1, 2
"""Column 0 of the truth, which belongs to [CLS]; 0 when nothing is asked."""
MAX_TOKENS = 10**9
"""Tokens of a document: any number, since it is cut into examples later."""
_HASH, _LONG_ENOUGH = range(2)  # the keys of a document


class DocumentsConfig(TextSection):
    """Which documents to learn from. Equal ones are read once; those of the dev set are not learned from."""

    needs = "a text file with a blank line between documents"

    files: tuple[str, ...] = ()
    """Text files, plain or gzipped, with a blank line between documents."""
    hold_out: float = Field(0.05, gt=0, lt=1)
    """The share of the documents to hold out if there is no dev set; at most 2,000."""
    length: int = Field(128, ge=8, le=8192)
    """Tokens per example: two spans and their end tokens."""
    hidden: float = Field(0.15, gt=0, lt=1)
    """The share of words to mask."""
    next_sentence: bool = True
    """Whether the model also learns to predict if the second span follows the first."""


@dataclass(frozen=True)
class MaskedLMPreprocessor:
    """The tokenizer of a masked language model."""

    required = ("tokenizer.json",)
    tokenizer: Tokenizer

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.tokenizer.size, self.tokenizer.size)

    def files(self) -> dict[str, bytes]:
        return {"tokenizer.json": self.tokenizer.to_json().encode("utf-8")}

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> MaskedLMPreprocessor:
        return cls(Tokenizer.load(where / "tokenizer.json", files["tokenizer.json"]))


def documents(path: str, lenient: bool = False) -> Iterator[Record]:
    """The documents of a text file: lines up to a blank one, joined by spaces; leniently, wrong bytes are replaced."""
    current: list[str] = []
    for number, line in enumerate(chain(lines(path, lenient=lenient), [""]), 1):
        text = line.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if lenient else line
        if text.strip():
            current.append(text.strip())
        elif current:
            whole = " ".join(current)
            marks = ("replaced_bytes",) if lenient and "\ufffd" in whole else ()
            yield Record((whole,), path, number - len(current), marks=marks)
            current = []


class MaskedData(Preparation[str]):
    """Documents of text files."""

    noun = "document"
    fewest = 1
    preprocessor_type = MaskedLMPreprocessor
    example_type = str
    data: DocumentsConfig

    def open(self, paths: Sequence[str]) -> Sources:
        lenient, about = self.data.invalid_bytes == "drop", "text, a blank line between documents"
        return Sources([(path, about, documents(path, lenient)) for path in paths])

    def example(self, record: AnyRecord) -> str:
        return str(record.fields[0])

    def keys(self, record: AnyRecord) -> tuple[int, ...]:
        """64 bits of a document; and whether it is long enough to hide something in, however it is cut."""
        text = record.fields[0]
        return fingerprint(text), len(text.split()) >= MIN_TOKENS or len(text) >= 16 * MIN_TOKENS

    def count_words(self, record: AnyRecord) -> int:
        return len(record.fields[0].split())

    def judge(self, survey: Survey) -> Iterator[tuple[str, Mask]]:
        yield "duplicate", ~first_of(survey.column(_HASH))
        held = [fingerprint(text) for examples in survey.compared for text in examples]
        yield "in_dev", np.isin(survey.column(_HASH), np.array(held, np.uint64))

    def check_size(self, survey: Survey) -> None:
        different = len(np.unique(survey.column(_HASH)))
        if different < 2 and not self.data.dev:
            found = f"{survey.source}: has {counted(different, 'document')}"
            raise DataError(f"{found}; masked modelling needs at least two, with a blank line between them")

    def hold_out(self, survey: Survey) -> Mask:
        hashes, long_enough = survey.kept(_HASH), survey.kept(_LONG_ENOUGH).astype(bool)
        share = min(MAX_DEV, max(1, round(self.data.hold_out * len(hashes))), len(hashes) - 1)
        return np.isin(hashes, np.sort(hashes[long_enough] if long_enough.any() else hashes)[:share])

    def split(self, survey: Survey) -> list[str]:
        texts: list[str] = super().split(survey)
        sizes = np.cumsum([len(text) for text in texts])
        used = int(np.searchsorted(sizes, MAX_DEV_CHARACTERS)) + 1  # the one that reaches it is used
        if used < len(texts):
            said = f"{used:,} documents ({sizes[used - 1]:,} characters)"
            self.report.notes.append(f"{said} of the dev set are used for evaluation, {len(texts) - used:,} are not")
        return texts[:used]

    def learn(self, survey: Survey) -> MaskedLMPreprocessor:
        self.report.words = sum(self.count_words(record) for record in survey.records())
        texts = (record.fields[0] for record in survey.records())
        return MaskedLMPreprocessor(self.tokenizer(survey, texts, self.report.words, mask=True))

    def encode(self, survey: Survey, preprocessor: MaskedLMPreprocessor, folder: Path) -> None:
        tokenizer = preprocessor.tokenizer

        def rows() -> Iterator[tuple[list[int], list[int], Record]]:
            for some in batched(survey.records(), CHUNK):
                for record, ids in zip(some, tokenizer.encode([each.fields[0] for each in some]), strict=True):
                    if len(ids) < MIN_TOKENS:
                        survey.leave_out(record, "too_few_tokens")
                    else:
                        yield ids, [], record

        self.write_corpus(survey, folder, rows(), vocabulary=tokenizer.size, longest=MAX_TOKENS)
        self.report.vocabulary = tokenizer.size

    def open_store(self, folder: Path, preprocessor: MaskedLMPreprocessor) -> Corpus:
        corpus = Corpus(folder / "corpus")
        corpus.check((preprocessor.tokenizer.size, 0), MAX_TOKENS)
        corpus.source.check(preprocessor.tokenizer.size, MAX_TOKENS, MIN_TOKENS)
        return corpus

    def batches(self, prepared: Prepared, tokens: int, seed: int) -> MaskedBatches:
        side, name, tokenizer = prepared.store.source, prepared.store.fingerprint, prepared.preprocessor.tokenizer
        return MaskedBatches(side.ids, side.offsets, tokenizer, self.data, tokens, seed, name)


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
        """The beginnings, ends and documents of windows: a grid over each document, shifted randomly in every epoch."""
        length = self.config.length - 2  # two EOS
        lengths = np.diff(self.offsets)
        usable = np.flatnonzero(lengths >= MIN_TOKENS)
        shift = np.where(lengths[usable] > length, chance.integers(0, length, len(usable)), 0)
        counts = -(-(lengths[usable] + shift) // length)
        owners = np.repeat(usable, counts)
        number = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        first = self.offsets[owners]
        begins = np.maximum(first, first + number * length - np.repeat(shift, counts))
        ends = np.minimum(self.offsets[owners + 1], first + (number + 1) * length - np.repeat(shift, counts))
        long_enough = ends - begins >= MIN_TOKENS
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
    """A random window of another document for each window; `owners`, the document of each, is sorted."""
    first, end = np.searchsorted(owners, owners, "left"), np.searchsorted(owners, owners, "right")
    drawn = chance.integers(0, len(owners) - (end - first))  # the document's own windows are not counted
    return np.where(drawn < first, drawn, drawn + (end - first))

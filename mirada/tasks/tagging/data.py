"""Sentences with a tag for each word, a label or a number: how they are checked, split and encoded.

A word is cut by itself, and its first piece stands for it: there the model answers. A sentence of T pieces has T marks:
0 where there is nothing to answer (further pieces), else 1 + the place of the label.

<folder>/corpus/        the training set: pieces, and the marks beside them
<folder>/numbers.f64    if the tags are numbers: one for each piece, as in the files; else empty
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mirada.contracts import EOS, PAD, Rows, SequenceBatch
from mirada.data import report as reports
from mirada.data.batching import Groups
from mirada.data.corpus import CHUNK, Corpus, batched
from mirada.data.folder import open_numbers
from mirada.data.labels import shown_classes
from mirada.data.preparation import Preparation, Prepared
from mirada.data.readers.conll import Conll
from mirada.data.records import AnyRecord, Sources
from mirada.data.splits import Mask, repeated
from mirada.data.survey import Survey, fingerprint, shown_fields
from mirada.data.text import shown_path, shown_text
from mirada.data.tokenizer import Tokenizer
from mirada.errors import DataError
from mirada.tasks.tagging.tags import (
    MAX_KNOWN,
    Example,
    Examples,
    Hashes,
    TaggedConfig,
    TaggingPreprocessor,
    as_number,
    cut,
    fingerprints,
)

MAX_TAGS = 1000
MAX_HELD = 10_000
"""Sentences that are held out at most: the dev set is kept in memory."""
FEW_NUMBERS = 50
"""Different whole numbers up to which they are taken for labels."""
_WORDS, _TAGGING = range(2)  # the keys of a sentence


@dataclass
class Report(reports.Report):
    """What was read of tagged sentences, and what became of it."""

    tags: dict[str, int] = field(default_factory=dict)
    """Training words of each label, the most frequent first; none if the tags are numbers."""
    scale: tuple[float, float] | None = None
    """Mean and standard deviation of numbers in the training set."""


class TaggedStore(NamedTuple):
    """The encoded training set."""

    corpus: Corpus
    numbers: npt.NDArray[np.float64] | None


@dataclass
class TaggedBatches(Groups[SequenceBatch]):
    """Sentences of similar length. `truth` is the marks [B, T], or numbers [B, T] with NaN where there is none.

    A network that reads its own output (Jordan) reads it after every piece, so it must learn an output for each: the
    tag of the word. In training that input is `before`, the tag of the word that the last piece belongs to.
    """

    numbers: npt.NDArray[np.float64] | None
    tags: TaggingPreprocessor
    feedback: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        self._target = np.zeros_like(self._source)  # marks are not tokens

    @property
    def tokens(self) -> int:
        return len(self.corpus.source.ids) + len(self.corpus)

    def load(self, rows: Rows) -> SequenceBatch:
        marks = self.corpus.target.padded(rows, None, 0, 0)  # [B, T]
        truth, before = self._truth(rows, marks), None
        if self.feedback:
            steps = np.arange(marks.shape[1])
            begun = np.maximum.accumulate(np.where(marks > 0, steps, 0), axis=1)  # [B, T] where a piece's word begins
            said = np.take_along_axis(truth, begun, axis=1)  # [B, T]
            before = self._before(torch.from_numpy(said))
            inside = steps < self._source[rows][:, None] - 1  # EOS
            truth = np.where(inside, said, truth)
        return SequenceBatch(
            inputs=torch.from_numpy(self.corpus.source.padded(rows, None, EOS, PAD)),
            lengths=torch.from_numpy(self._source[rows].astype(np.int64)),
            truth=torch.from_numpy(truth),
            before=before,
            rows=torch.from_numpy(rows),
        )

    def _truth(self, rows: Rows, marks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64] | npt.NDArray[np.float32]:
        if self.numbers is None:
            return marks
        row, step = np.nonzero(marks)
        y = self.numbers[self.corpus.source.offsets[rows][row] + step]  # [N]
        truth = np.full(marks.shape, np.nan, dtype=np.float32)
        truth[row, step] = (y - self.tags.mean) / self.tags.deviation
        return truth

    def _before(self, said: Tensor) -> Tensor:
        """The true outputs o_0 … o_{T−1} [B, T, O], one-hot or a number on the network's scale.

        The first is zeros, so that W o_0 = 0.
        """
        last = torch.cat([torch.zeros_like(said[:, :1]), said[:, :-1]], 1)[..., None]  # [B, T, 1]
        if last.is_floating_point():
            return last
        return torch.zeros(*said.shape, 1 + len(self.tags.labels)).scatter_(2, last, 1.0)[..., 1:]


class TaggingData(Preparation[Example]):
    """Sentences with a tag for each word."""

    noun = "sentence"
    counted = "tagged sentences"
    report_type = Report
    preprocessor_type = TaggingPreprocessor
    example_type = Example
    keeps = Preparation.keeps | {"contradiction"}
    data: TaggedConfig
    report: Report

    def __init__(self, built: Any, base: Any = None):
        super().__init__(built, base)
        # a base of another task has no tags
        self.known: TaggingPreprocessor | None = base if isinstance(base, TaggingPreprocessor) else None
        of_base = None if self.known is None else "numbers" if self.known.numeric else "labels"
        if of_base and self.data.tags not in ("auto", of_base):
            raise DataError(f"data.tags={self.data.tags}: the tags of the base are {of_base}; leave it out")
        self.tag_set = TagSet(of_base or self.data.tags)  # type: ignore[arg-type]
        self._count = 0

    def open(self, paths: Sequence[str]) -> Sources:
        readers = [Conll(path, self.data.columns, self.data.invalid_bytes == "drop") for path in paths]
        return Sources([(reader.path, reader.about, reader) for reader in readers])

    def example(self, record: AnyRecord) -> Example:
        words, tags = record.fields
        return list(words), list(tags)

    def keys(self, record: AnyRecord) -> tuple[int, ...]:
        words, tags = record.fields
        self.tag_set.add(record, self._count)
        self._count += 1
        return fingerprint(*words), fingerprint(*words, "", *tags)

    def count_words(self, record: AnyRecord) -> int:
        return len(record.fields[0])

    def show(self, record: AnyRecord) -> str:
        return shown_fields((" ".join(map("/".join, zip(*record.fields, strict=True))),))

    def judge(self, survey: Survey) -> Iterator[tuple[str, Mask]]:
        sentences, taggings = survey.column(_WORDS), survey.column(_TAGGING)
        again = repeated(taggings)
        yield "duplicate", again
        yield "contradiction", repeated(sentences) & ~again
        held = [fingerprint(*words) for examples in survey.compared for words, _ in examples]
        yield "in_dev", np.isin(sentences, np.array(held, np.uint64))

    def hold_out(self, survey: Survey) -> Mask:
        """The sentences with the smallest fingerprints; but the first with each label is learned from, always."""
        sentences = survey.column(_WORDS)
        distinct = np.unique(sentences)
        firsts = [] if self.tag_set.numbers else list(self.tag_set.places.values())
        free = distinct[np.isin(distinct, sentences[firsts], invert=True)] if firsts else distinct[:-1]
        if not len(free):
            raise DataError(
                f"{survey.source}: every sentence is needed to learn one of its tags; give a dev set (--dev)"
            )
        share = min(MAX_HELD, max(1, round(self.data.hold_out * len(distinct))))
        return np.isin(survey.kept(_WORDS), free[:share])

    def split(self, survey: Survey) -> Examples:
        self._dev: Examples = super().split(survey)
        self.labels: list[str] = [] if self.tag_set.numbers else sorted(self.tag_set.places)
        if self.labels and self.known is not None:
            if new := [label for label in self.labels if label not in self.known.labels]:
                known = ", ".join(self.known.labels)
                raise DataError(f"{survey.source}: the base does not have the tags {named(new)}; it has {known}")
            self.labels = self.known.labels
        elif len(self.labels) == 1:
            raise DataError(f"{survey.source}: all words have the tag {named(self.labels)}; nothing to learn")
        return self._dev

    def learn(self, survey: Survey) -> TaggingPreprocessor:
        texts = (" ".join(record.fields[0]) for record in survey.records())
        return TaggingPreprocessor(self.tokenizer(survey, texts), self.labels)

    def encode(self, survey: Survey, preprocessor: TaggingPreprocessor, folder: Path) -> None:
        tokenizer, labels, longest = preprocessor.tokenizer, self.labels, self.data.max_tokens
        with open(folder / "numbers.f64", "wb") as numbers:
            self.tag_encoder = encoder = TagEncoder(survey, tokenizer, labels, longest, numbers)
            vocabulary = max(tokenizer.size, len(labels) + 1)
            corpus = self.write_corpus(survey, folder, encoder.rows(), vocabulary=vocabulary, longest=longest)
        self._check_dev()
        report = self.report
        report.words, report.tags = encoder.count, encoder.tally()
        report.fingerprint, report.vocabulary = encoder.fingerprint(corpus.fingerprint), tokenizer.size
        report.notes = [
            *(f"{shown_path(path)}: {about}" for path, about in survey.source.files),
            self.tag_set.summary(),
        ]

    def adapt(self, survey: Survey, preprocessor: TaggingPreprocessor) -> TaggingPreprocessor:
        base, words = self.known, self.tag_encoder.words
        mean, deviation = (base.mean, base.deviation) if base else self.tag_encoder.scale()
        if base:
            words = np.union1d(words, base.words) if len(base.words) else base.words
        kept = words if len(words) <= MAX_KNOWN else words[:0]
        tags = TaggingPreprocessor(preprocessor.tokenizer, preprocessor.labels, mean, deviation, kept)
        self.report.scale = (mean, deviation) if tags.numeric else None
        return tags

    def _check_dev(self) -> None:
        """Refuse a dev set with tags that cannot be known."""
        used = dict.fromkeys(chain.from_iterable(tags for _, tags in self._dev))
        if not self.labels:
            wrong = [tag for tag in used if as_number(tag) is None]
            reason = "which are not numbers, as those of the training set are"
        else:
            counted = [label for label, count in self.tag_encoder.tally().items() if count]
            wrong = sorted(used.keys() - set(self.known.labels if self.known else counted))
            reason = "which the base does not know" if self.known else "which no training sentence has"
        if wrong:
            first = next(number for number, (_, tags) in enumerate(self._dev) if not set(wrong).isdisjoint(tags))
            where = f"{self.place_of(self.data.dev, first)}: " if self.data.dev else ""
            raise DataError(
                f"{where}the dev set has the tags {named(wrong)}, {reason}; correct them, or give another (--dev)"
            )

    def read_dev(self, folder: Path, preprocessor: TaggingPreprocessor) -> Examples:
        dev: Examples = super().read_dev(folder, preprocessor)
        if any(len(words) != len(tags) or not words for words, tags in dev):
            raise DataError(f"{folder / 'dev.jsonl'}: is damaged (the numbers of tags and words differ)")
        strange = {tag for _, tags in dev for tag in tags} - set(preprocessor.labels)
        if strange and not preprocessor.numeric:
            raise DataError(f"{folder / 'dev.jsonl'}: is damaged (it has the tag {shown_text(min(strange))})")
        return dev

    def open_store(self, folder: Path, preprocessor: TaggingPreprocessor) -> TaggedStore:
        corpus = Corpus(folder / "corpus")
        marks = len(preprocessor.labels) + 1 if preprocessor.labels else 2
        corpus.check((preprocessor.tokenizer.size, marks), self.data.max_tokens)
        if not np.array_equal(corpus.source.offsets, corpus.target.offsets):
            raise DataError(f"{corpus.folder}: is damaged (pieces and tags are not as many)")
        numbers = open_numbers(folder / "numbers.f64", np.float64) if preprocessor.numeric else None
        if numbers is not None and (len(numbers) != len(corpus.source.ids) or np.isinf(numbers).any()):
            raise DataError(f"{folder / 'numbers.f64'}: is damaged (the numbers of values and pieces differ)")
        return TaggedStore(corpus, numbers)

    def batches(self, prepared: Prepared, tokens: int, seed: int) -> TaggedBatches:
        store, name, feedback = prepared.store, prepared.about.fingerprint, self.built["model"].name == "jordan"
        return TaggedBatches(store.corpus, tokens, seed, store.numbers, prepared.preprocessor, feedback, mark=name)

    @classmethod
    def describe(cls, data: Mapping[str, Any], nouns: str = "") -> list[tuple[str, str]]:
        scale = "numbers, {:.4g} ± {:.4g}".format(*data["scale"]) if data["scale"] else ""
        return [("tags", scale or shown_classes(data["tags"], 1000)), *super().describe(data)]


def named(tags: Sequence[str]) -> str:
    """Tags for a message, the first few of many."""
    return ", ".join(map(shown_text, tags[:10])) + (f" and {len(tags) - 10} more" if len(tags) > 10 else "")


class TagEncoder:
    """Encodes the training sentences as pieces with marks beside them, and counts their tags."""

    def __init__(self, survey: Survey, cutter: Tokenizer, labels: list[str], longest: int, numbers: BinaryIO):
        self.survey, self.cutter, self.labels, self.longest = survey, cutter, labels, longest
        self._marks = {label: 1 + place for place, label in enumerate(labels)}
        self._counts = np.zeros(1 + len(labels), dtype=np.int64)
        self._numbers, self._digest = numbers, hashlib.sha256()
        self.words: Hashes = np.zeros(0, np.uint64)
        self.count, self._mean, self._squares = 0, 0.0, 0.0

    def rows(self) -> Iterator[tuple[list[int], npt.NDArray[np.int64], None]]:
        for chunk in batched(self.survey.records(), CHUNK):
            seen: set[str] = set()
            for record, (ids, starts) in zip(chunk, cut(self.cutter, [r.fields[0] for r in chunk]), strict=True):
                words, tags = record.fields
                if len(ids) > self.longest:
                    self.survey.leave_out(record, "too_many_tokens")
                    continue
                seen.update(words)
                marks = np.zeros(len(ids), dtype=np.int64)
                if self.labels:
                    marks[starts] = [self._marks[tag] for tag in tags]
                    self._counts += np.bincount(marks, minlength=len(self._counts))
                else:
                    marks[starts] = 1
                    self._number(len(ids), starts, tags)
                self.count += len(starts)
                yield ids, marks, None
            self.words = np.union1d(self.words, fingerprints(seen))

    def _number(self, pieces: int, starts: list[int], tags: Sequence[str]) -> None:
        """Keep the numbers of a sentence; their mean and Σ(y − mean)² join those of the others (Chan et al. 1979)."""
        y = np.array([float(tag) for tag in tags])
        values = np.full(pieces, np.nan)
        values[starts] = y
        self._numbers.write(values.tobytes())
        self._digest.update(values.tobytes())
        total, shift = self.count + len(y), float(y.mean()) - self._mean
        self._squares += float(np.square(y - y.mean()).sum()) + shift**2 * self.count * len(y) / total
        self._mean += shift * len(y) / total

    def scale(self) -> tuple[float, float]:
        """Mean and standard deviation of the numbers."""
        if self.labels:
            return 0.0, 1.0
        deviation = float(np.sqrt(self._squares / self.count))
        if not deviation > 1e-12 * abs(self._mean):
            raise DataError(f"{self.survey.source}: all words have the number {self._mean:g}; nothing to learn")
        return self._mean, deviation

    def tally(self) -> dict[str, int]:
        counts = dict(zip(self.labels, self._counts[1:].tolist(), strict=True))
        return dict(sorted(counts.items(), key=lambda pair: -pair[1]))

    def fingerprint(self, pieces: str) -> str:
        """The fingerprint of pieces, marks and numbers."""
        return pieces if self.labels else hashlib.sha256((pieces + self._digest.hexdigest()).encode()).hexdigest()


class TagSet:
    """Which tags there are, where each occurs first, and whether they are numbers."""

    def __init__(self, wanted: Literal["auto", "labels", "numbers"]):
        self.wanted = wanted
        self.places: dict[str, int] = {}
        """The sound sentence that a tag occurs in first; MAX_TAGS of them."""
        self.numeric, self._pointed = True, False

    @property
    def numbers(self) -> bool:
        found = self.numeric and (self._pointed or len(self.places) > FEW_NUMBERS)
        return self.wanted == "numbers" or (self.wanted == "auto" and found)

    def add(self, sentence: AnyRecord, place: int) -> None:
        words, tags = sentence.fields
        for tag in dict.fromkeys(tags):
            if tag in self.places:
                continue
            full, numeric = len(self.places) >= MAX_TAGS, as_number(tag) is not None
            where = f"{shown_path(sentence.file)}, the sentence at line {sentence.line}"
            choose = "correct it, or choose the columns: --columns 1,2"
            if not numeric and (self.wanted == "numbers" or (full and self.numeric and self.wanted == "auto")):
                named = f"the tag {shown_text(tag)} of the word {shown_text(words[tags.index(tag)])}"
                raise DataError(f"{where}: {named} is not a number, but the tags are read as numbers; {choose}")
            self.numeric &= numeric
            if full and (self.wanted == "labels" or not self.numeric):
                named = f"over {MAX_TAGS:,} different tags, the last is {shown_text(tag)}"
                raise DataError(f"{where}: {named}; are these tags? {choose}")
            if not full:
                self._pointed |= "." in tag
                self.places[tag] = place

    def summary(self) -> str:
        """What the tags are taken for."""
        if self.wanted != "auto" or not self.numeric:
            return f"the tags are read as {'numbers' if self.numbers else 'labels'}"
        if self.numbers:
            return "the tags are read as numbers, as all of them are; to change this: --set data.tags=labels"
        return f"the tags are read as labels, {len(self.places)} whole numbers; to change this: --set data.tags=numbers"

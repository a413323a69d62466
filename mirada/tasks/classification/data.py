"""Texts with a label each, of one part or two: how they are checked, split by class, and encoded.

A EOS         a text          A EOS B EOS   a text of two parts, as BERT is pre-trained with them
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from pydantic import BaseModel, Field, model_validator
from torch import Tensor

from mirada.contracts import EOS, PAD, Rows, SequenceBatch, Sizes
from mirada.data import report as reports
from mirada.data.batching import Groups
from mirada.data.corpus import Corpus
from mirada.data.labels import TAB, LabelledPreparation, example, shown_classes, unreadable
from mirada.data.preparation import Prepared
from mirada.data.records import AnyRecord
from mirada.data.sources import PairFiles, TableSection
from mirada.data.splits import LabelNames
from mirada.data.survey import Survey, fingerprint
from mirada.data.tokenizer import Tokenizer
from mirada.errors import BundleError, DataError, UsageError
from mirada.parsing import load_json

LONGEST = 400
"""Tokens that are read of a text, unless set otherwise."""

Labelled = list[tuple[str, str]]
"""Texts with their labels, for evaluation; two parts of a text have a tab between them."""


class LabelledConfig(TableSection):
    """Which texts to learn from."""

    needs = "a table of texts and labels"

    files: tuple[str, ...] = ()
    """Tables of texts and labels (CSV, TSV, JSONL, plain or gzipped)."""
    hold_out: float = Field(0.1, gt=0, lt=1)
    """The share of each class to hold out if there is no dev set."""
    max_tokens: int | None = Field(None, ge=4)
    """Texts with more tokens than this are truncated and counted. Default: 400, or the model's limit; a bag reads
    all."""
    columns: tuple[str, ...] = ()
    """The text and its label, or two texts and the label of the pair, by name or by number from 1."""
    duplicates: Literal["drop", "keep"] = "drop"
    """What to do about texts that occur again with the same label."""
    contradictions: Literal["drop", "keep"] = "drop"
    """What to do about texts that occur with different labels."""
    vectors: str | None = None
    """A word2vec or GloVe text file with word vectors to start from."""

    @model_validator(mode="after")
    def _few_columns(self) -> LabelledConfig:
        if len(self.columns) > 3:
            raise ValueError(f"columns={','.join(self.columns)}: name a text and its label, or two texts and a label")
        return self

    @property
    def parts(self) -> int:
        """Parts of a text: two when pairs are classified."""
        return 2 if len(self.columns) == 3 else 1


@dataclass
class Report(reports.Report):
    """What was read of labelled texts, and what became of it."""

    cut: int = 0
    """Training texts that were cut at `max_tokens`."""
    classes: dict[str, int] = field(default_factory=dict)
    """Training texts of each."""
    parts: int = 1
    """Parts of each text."""


@dataclass(frozen=True)
class ClassificationPreprocessor:
    """The tokenizer and the labels of a classifier."""

    required = ("tokenizer.json", "labels.json")
    tokenizer: Tokenizer
    labels: list[str]
    parts: int = 1
    """Parts of a text: two when pairs are classified."""

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.tokenizer.size, len(self.labels))

    def files(self) -> dict[str, bytes]:
        about = self.labels if self.parts == 1 else {"labels": self.labels, "parts": self.parts}
        return {
            "tokenizer.json": self.tokenizer.to_json().encode("utf-8"),
            "labels.json": json.dumps(about, ensure_ascii=False).encode("utf-8"),
        }

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> ClassificationPreprocessor:
        found = load_json(files["labels.json"], _Named | LabelNames, where / "labels.json", BundleError)
        about = found if isinstance(found, _Named) else _Named(labels=found)
        return cls(Tokenizer.load(where / "tokenizer.json", files["tokenizer.json"]), about.labels, about.parts)


class _Named(BaseModel):
    """What labels.json says; for single texts it may be the labels alone."""

    labels: LabelNames
    parts: Literal[1, 2] = 1


def framed(tokenizer: Tokenizer, texts: Sequence[str], parts: int, longest: int) -> tuple[list[list[int]], list[int]]:
    """The ids of each text, `longest` at most, without the last EOS; and how many tokens of it are cut off.

    A text is cut at its end; of two parts the longer one, until both fit.
    """
    if parts == 1:
        ids = tokenizer.encode(texts)
        return [text[:longest] for text in ids], [max(0, len(text) - longest) for text in ids]
    sides = (tokenizer.encode([text.split(TAB)[side] for text in texts]) for side in (0, 1))
    found, cut, room = [], [], longest - 1  # an EOS between them
    for a, b in zip(*sides, strict=True):
        kept = min(len(a), max(room - len(b), (room + 1) // 2))
        found.append([*a[:kept], EOS, *b[: room - kept]])
        cut.append(max(0, len(a) + len(b) - room))
    return found, cut


def segments(inputs: Tensor) -> Tensor:
    """The segment of each token of framed texts [B, T]: 0 up to the first EOS, 1 after it."""
    ends = inputs == EOS
    return (ends.cumsum(1) - ends.long()).clamp(max=1)


@dataclass
class LabelledBatches(Groups[SequenceBatch]):
    """Texts of similar length with the numbers of their labels; of two parts, with segments."""

    parts: int = 1

    def load(self, rows: Rows) -> SequenceBatch:
        inputs = torch.from_numpy(self.corpus.source.padded(rows, None, EOS, PAD))
        return SequenceBatch(
            inputs=inputs,
            segments=segments(inputs) if self.parts > 1 else None,
            lengths=torch.from_numpy(self._source[rows].astype(np.int64)),
            truth=torch.from_numpy(self.corpus.target.ids[self.corpus.target.offsets[rows]].astype(np.int64)),
            rows=torch.from_numpy(rows),
        )


class ClassificationData(LabelledPreparation[tuple[str, str]]):
    """Texts, or pairs of texts, with a label each."""

    counted = "labelled texts"
    report_type = Report
    preprocessor_type = ClassificationPreprocessor
    example_type = tuple[str, str]
    data: LabelledConfig
    report: Report

    def __init__(self, built: Any, base: Any = None):
        super().__init__(built, base)
        self.parts = self.data.parts
        if isinstance(base, ClassificationPreprocessor) and base.parts != self.parts:
            what = "two texts and their label are" if base.parts > 1 else "a text and its label are"
            raise UsageError(f"--columns {','.join(self.data.columns) or 'none'}: {what} read by the base")

    @property
    def noun(self) -> str:  # type: ignore[override]
        return "text" if self.data.parts == 1 else "pair"

    def open(self, paths: Sequence[str]) -> PairFiles:
        files = PairFiles(paths, replace(self.data.wanted, labels=True, fields=("text", "label")), self.data.format)
        files.notes = [*(f"{path}: {about}" for path, about in files.files), *files.notes]
        return files

    def fault(self, record: AnyRecord) -> str:
        return unreadable(record, self.parts)

    def example(self, record: AnyRecord) -> tuple[str, str]:
        return example(record, self.parts)

    def label(self, record: AnyRecord) -> str:
        return self.example(record)[1]

    def identity(self, record: AnyRecord) -> int:
        return fingerprint(self.example(record)[0].strip())

    def example_identities(self, examples: Labelled) -> list[int]:
        return [fingerprint(text.strip()) for text, _ in examples]

    def example_labels(self, examples: Labelled) -> list[str]:
        return [label for _, label in examples]

    def count_words(self, record: AnyRecord) -> int:
        return len(self.example(record)[0].split())

    def _texts(self, survey: Survey) -> Iterator[str]:
        return (self.example(record)[0] for record in survey.records())

    def learn(self, survey: Survey) -> ClassificationPreprocessor:
        parts = (part for text in self._texts(survey) for part in (text.split(TAB) if self.parts > 1 else [text]))
        return ClassificationPreprocessor(self.tokenizer(survey, parts), self.labels, self.parts)

    def encode(self, survey: Survey, preprocessor: ClassificationPreprocessor, folder: Path) -> None:
        tokenizer, longest, truth = preprocessor.tokenizer, self.data.max_tokens or LONGEST, self.truth(survey)

        def encode(texts: Sequence[str]) -> list[list[int]]:
            ids, beyond = framed(tokenizer, texts, self.parts, longest)
            self.report.cut += sum(map(bool, beyond))
            return ids

        rows = ((text, [number], None) for text, number in zip(self._texts(survey), truth.tolist(), strict=True))
        vocabulary = max(tokenizer.size, len(self.labels))
        self.write_corpus(survey, folder, rows, encode, vocabulary=vocabulary, longest=longest)
        if self.report.cut:
            survey.finding("truncated").count = self.report.cut
        self.report.vocabulary, self.report.parts = tokenizer.size, self.parts

    def read_dev(self, folder: Path, preprocessor: ClassificationPreprocessor) -> Labelled:
        dev: Labelled = super().read_dev(folder, preprocessor)
        if preprocessor.parts != self.parts or (self.parts > 1 and any(text.count(TAB) != 1 for text, _ in dev)):
            raise DataError(f"{folder / 'dev.jsonl'}: is damaged (its texts are not of {self.parts} part(s) each)")
        return dev

    def open_store(self, folder: Path, preprocessor: ClassificationPreprocessor) -> Corpus:
        corpus, labels = Corpus(folder / "corpus"), len(preprocessor.labels)
        corpus.check((preprocessor.tokenizer.size, labels), self.data.max_tokens or LONGEST)
        corpus.target.check(labels, longest=1, shortest=1)
        return corpus

    def batches(self, prepared: Prepared, tokens: int, seed: int) -> LabelledBatches:
        return LabelledBatches(prepared.store, tokens, seed, prepared.preprocessor.parts)

    @classmethod
    def describe(cls, data: Mapping[str, Any], nouns: str = "") -> list[tuple[str, str]]:
        nouns = "pairs" if data["parts"] > 1 else "texts"
        return [("labels", shown_classes(data["classes"], 1000)), *super().describe(data, nouns)]

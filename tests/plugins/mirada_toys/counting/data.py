"""Words and their numbers of vowels: read, checked, split and encoded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mirada.config import Section
from mirada.contracts import EOS, PAD, Rows, SequenceBatch, Sizes
from mirada.data.batching import Groups
from mirada.data.corpus import Corpus, write_corpus
from mirada.data.preparation import Preparation, Prepared
from mirada.data.records import Sources
from mirada.data.splits import Mask, repeated
from mirada.data.survey import Survey
from mirada.data.text import lines
from mirada.errors import DataError
from mirada.parsing import load_json

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
FIRST_LETTER = 3  # behind PAD, BOS, EOS


class CountingConfig(Section):
    """Which words to learn from."""

    files: tuple[str, ...] = ()
    """Files of words, each with its number of vowels."""
    dev: tuple[str, ...] = ()
    """The dev set; held out of the data when not given."""
    duplicates: str = "drop"
    """What to do about words that occur again: drop or keep."""


@dataclass(frozen=True, slots=True)
class Word:
    """A record of its own: a word and how many vowels it has."""

    fields: tuple[str, int]
    file: str
    line: int
    problem: str = ""
    marks: tuple[str, ...] = ()


def read(path: str) -> Iterator[Word]:
    for number, line in enumerate(lines(path), 1):
        word, _, count = line.partition(" ")
        problem = "" if word and set(word) <= set(ALPHABET) else "blank" if not word else "not_a_word"
        if not problem and not count.isdecimal():
            raise DataError(f"{path}, line {number}: {count!r} is not a number of vowels; write: casa 2")
        yield Word((word, int(count or 0)), path, number, problem)


def encode(words: Sequence[str]) -> list[list[int]]:
    return [[FIRST_LETTER + ALPHABET.index(letter) for letter in word] for word in words]


@dataclass(frozen=True)
class Letters:
    """The preprocessor: the alphabet is given, the largest number of vowels is learned."""

    required = ("counting.json",)
    most: int

    @property
    def sizes(self) -> Sizes:
        return Sizes(FIRST_LETTER + len(ALPHABET), 1 + self.most)

    def files(self) -> dict[str, bytes]:
        return {"counting.json": json.dumps(self.most).encode()}

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> Letters:
        return cls(load_json(files["counting.json"], int, where / "counting.json", DataError))


class WordBatches(Groups[SequenceBatch]):
    def load(self, rows: Rows) -> SequenceBatch:
        counts = self.corpus.target.ids[self.corpus.target.offsets[rows]].astype(np.int64)
        return SequenceBatch(
            inputs=torch.from_numpy(self.corpus.source.padded(rows, None, EOS, PAD)),
            lengths=torch.from_numpy(self._source[rows].astype(np.int64)),
            truth=torch.from_numpy(counts),
            rows=torch.from_numpy(rows),
        )


class CountingData(Preparation[tuple[str, int]]):
    noun = "word"
    preprocessor_type = Letters
    example_type = tuple[str, int]
    reasons = {"not_a_word": "words with other letters than a to z"}

    def open(self, paths: Sequence[str]) -> Sources:
        return Sources([(path, "words and numbers", read(path)) for path in paths])

    def keys(self, record: Word) -> tuple[int, ...]:
        return (int.from_bytes(record.fields[0].encode()[:8]),)

    def judge(self, survey: Survey) -> Iterator[tuple[str, Mask]]:
        yield "duplicate", repeated(survey.column(0))

    def example(self, record: Any) -> tuple[str, int]:
        word, count = record.fields
        return word, count

    def hold_out(self, survey: Survey) -> Mask:
        return np.arange(survey.good) % 10 == 0

    def learn(self, survey: Survey) -> Letters:
        return self.base or Letters(max(count for _, count in map(self.example, survey.records())))

    def encode(self, survey: Survey, preprocessor: Letters, folder: Path) -> None:
        rows: Any = ((word, str(count), None) for word, count in map(self.example, survey.records()))
        corpus = write_corpus(
            folder / "corpus",
            rows,
            encode,
            lambda counts: [[int(count)] for count in counts],
            vocabulary=FIRST_LETTER + len(ALPHABET),
            longest=100,
            too_long=lambda place, tokens: None,
            progress=lambda done: None,
        )
        self.report.training, self.report.fingerprint = len(corpus), corpus.fingerprint

    def open_store(self, folder: Path, preprocessor: Letters) -> Corpus:
        return Corpus(folder / "corpus")

    def batches(self, prepared: Prepared, tokens: int, seed: int) -> WordBatches:
        return WordBatches(prepared.store, tokens, seed)

"""Tagged sentences as they are read, and what a tagger needs besides its weights.

A word is cut by itself, and its first piece stands for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field, FiniteFloat

from mirada.contracts import EOS, Sizes
from mirada.data.sources import TextSection
from mirada.data.splits import LabelNames
from mirada.data.survey import fingerprint
from mirada.data.tokenizer import Tokenizer
from mirada.errors import BundleError
from mirada.parsing import load_json

MAX_KNOWN = 4_000_000
"""Different words of which a model remembers that it has seen them."""

Example = tuple[list[str], list[str]]
Examples = list[Example]
"""Sentences as words and their tags, for evaluation."""

Hashes = npt.NDArray[np.uint64]
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LARGEST = 1e50


class TaggedConfig(TextSection):
    """Which tagged sentences to learn from."""

    needs = "a file with a word and its tag on each line"

    files: tuple[str, ...] = ()
    """One word with its tag per line, a blank line between sentences (CoNLL, CoNLL-U, plain or gzipped)."""
    hold_out: float = Field(0.1, gt=0, lt=1)
    """The share of the sentences to hold out if there is no dev set; at most 10,000 sentences."""
    max_tokens: int = Field(200, ge=4)
    """Sentences with more tokens than this are left out of training; in inference they are tagged in pieces."""
    columns: tuple[str, ...] = ()
    """The columns of words and tags, by number from 1, in CoNLL-U also by name."""
    tags: Literal["auto", "labels", "numbers"] = "auto"
    """Type of the tags. `auto`: numbers if all of them are, and some have a decimal point or there are over 50
    different ones."""
    duplicates: Literal["drop", "keep"] = "drop"
    """What to do about sentences that occur again with the same tags."""
    vectors: str | None = None
    """A word2vec or GloVe text file with word vectors to start from."""


def as_number(tag: str) -> float | None:
    """The number that a tag is, if it is one."""
    if not _NUMBER.fullmatch(tag):
        return None
    value = float(tag)
    return value if abs(value) <= _LARGEST else None


@dataclass(frozen=True, eq=False)
class TaggingPreprocessor:
    """The tokenizer of a tagger, and its labels or the scale of its numbers."""

    required = ("tokenizer.json", "tags.json", "words.u64")
    tokenizer: Tokenizer
    labels: list[str]
    """Empty if the tags are numbers."""
    mean: float = 0.0
    deviation: float = 1.0
    """The mean and standard deviation of the training set; the model predicts (y − mean) / deviation."""
    words: Hashes = field(default_factory=lambda: np.zeros(0, np.uint64))
    """Fingerprints of the words of the training set, in order; none if there are too many."""

    @property
    def numeric(self) -> bool:
        return not self.labels

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.tokenizer.size, len(self.labels) or 1, numeric_outputs=self.numeric)

    def unseen(self, sentences: Iterable[Sequence[str]]) -> list[list[bool]] | None:
        """Whether each word is not in the training set, if that is known."""
        if not len(self.words):
            return None
        given = list(sentences)
        hashes = fingerprints(chain.from_iterable(given))
        near = self.words[np.searchsorted(self.words, hashes).clip(max=len(self.words) - 1)]
        ends = np.cumsum([len(words) for words in given])[:-1]
        return [new.tolist() for new in np.split(near != hashes, ends)]

    def files(self) -> dict[str, bytes]:
        about = {"mean": self.mean, "deviation": self.deviation} if self.numeric else {"labels": self.labels}
        return {
            "tokenizer.json": self.tokenizer.to_json().encode("utf-8"),
            "tags.json": json.dumps(about, ensure_ascii=False).encode("utf-8"),
            "words.u64": self.words.astype("<u8").tobytes(),
        }

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> TaggingPreprocessor:
        about: _About = load_json(files["tags.json"], _About, where / "tags.json", BundleError)
        if bool(about.labels) == (about.mean is not None):
            raise BundleError(f"{where / 'tags.json'}: has neither labels nor a scale of numbers")
        content = files["words.u64"]
        if len(content) % 8:
            raise BundleError(f"{where / 'words.u64'}: is cut: {len(content):,} bytes are not a whole number of words")
        words = np.frombuffer(content, dtype="<u8").astype(np.uint64)
        tokenizer = Tokenizer.load(where / "tokenizer.json", files["tokenizer.json"])
        return cls(tokenizer, about.labels, about.mean or 0.0, about.deviation, words)


class _About(BaseModel):
    """What tags.json says: labels, or a scale of numbers."""

    labels: LabelNames = []
    mean: FiniteFloat | None = None
    deviation: FiniteFloat = Field(1.0, gt=0)


def cut(tokenizer: Tokenizer, sentences: Sequence[Sequence[str]]) -> list[tuple[list[int], list[int]]]:
    """The pieces of each sentence's words in a row, and where each word begins; every word has a piece."""
    words = list(dict.fromkeys(chain.from_iterable(sentences)))
    nothing = [tokenizer.unknown or EOS]  # of a word that is white space, or has no letters at all
    pieces = {word: ids or nothing for word, ids in zip(words, tokenizer.encode(words), strict=True)}
    found = []
    for sentence in sentences:
        parts = [pieces[word] for word in sentence]
        starts = list(accumulate(map(len, parts), initial=0))[:-1]
        found.append((list(chain.from_iterable(parts)), starts))
    return found


def fingerprints(words: Iterable[str]) -> Hashes:
    """A 64-bit hash of each word."""
    return np.fromiter(map(fingerprint, words), dtype=np.uint64)

"""Translation memories: sentences that people have translated before.

An exact match is used as it is, also if only numbers differ and it is clear where they belong. Similar sentences are
reported beside the translation, with their score: 100 · (1 − edits / characters of the longer one), in which an edit
inserts, deletes or replaces a character.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mirada.data import language
from mirada.data.normalize import normalize
from mirada.data.readers import Wanted, open_pairs
from mirada.data.text import StrPath, shown_path
from mirada.errors import DataError, UsageError

if TYPE_CHECKING:
    from mirada.tasks.translation.pieces import SourceText

THRESHOLD = 75.0
"""The score of a similar sentence, at least."""
MAX_UNITS = 2_000_000
MAX_CHARACTERS = 1_000_000_000
"""The most units and characters of a memory, which is kept in RAM."""
LONGEST_COMPARED = 1000
"""The most characters of a sentence that is compared with others."""
AT_A_TIME = 32
"""Sentences that are compared with the memory at a time."""
ALMOST = 99.0
"""The score of a match whose numbers were replaced."""


@dataclass(frozen=True)
class Match:
    """A sentence of a memory that is like one to translate."""

    score: float
    """100 for an exact match, 99 if its numbers were replaced."""
    source: str
    target: str
    """Its translation, with the numbers of the sentence to translate."""
    where: str
    """The file and line of the memory."""
    used: bool = False
    """Whether it is the translation, rather than shown beside it."""

    def as_dict(self) -> dict[str, Any]:
        found = {"score": round(self.score, 1), "source": self.source, "target": self.target}
        return {**found, "where": self.where, "used": self.used}


class TranslationMemory:
    """Pairs of a sentence and its translation, found by the sentence or by one that is like it."""

    def __init__(self, units: Iterable[tuple[str, str, int]], file: str = "memory", target_language: str | None = None):
        """`units` are a source, its translation and its line in the file; the first of equal sources counts."""
        self.file = file
        self.doubts: list[str] = []
        """Why the memory may not fit the model."""
        self._units: list[tuple[str, str, int]] = []
        self._exact: dict[str, int] = {}
        self._shapes: dict[str, int] = {}
        self._inflects = language.primary(target_language or "") in _MANY_PLURALS
        characters = 0
        for source, target, line in units:
            key = normalize(source)
            if not key or not target.strip() or key in self._exact:
                continue
            characters += len(key) + len(target)
            if len(self._units) == MAX_UNITS or characters > MAX_CHARACTERS:
                raise DataError(
                    f"{file}, line {line}: the memory is larger than {MAX_UNITS:,} units or {MAX_CHARACTERS:,} "
                    "characters; use a part of it"
                )
            self._exact[key] = len(self._units)
            self._shapes.setdefault(_NUMBER.sub("0", key), len(self._units))
            self._units.append((key, target.strip(), line))
        # By length, since sentences of other lengths cannot be similar.
        self._order = sorted(range(len(self._units)), key=lambda number: len(self._units[number][0]))
        self._sorted = [self._units[number][0] for number in self._order]
        self._lengths = np.array([len(text) for text in self._sorted], dtype=np.int64)

    @classmethod
    def read(
        cls, path: StrPath, source_language: str | None = None, target_language: str | None = None
    ) -> TranslationMemory:
        """The memory of a file: TMX, or any other format of sentence pairs. Its languages are those of the model."""
        name = shown_path(path)
        wanted = Wanted(source_language=source_language, target_language=target_language)
        try:
            pairs = (
                (str(record.fields[0]), str(record.fields[1]), record.line)
                for record in open_pairs(str(path), wanted)
                if not record.problem
            )
            memory = cls(pairs, name, target_language)
        except (DataError, UsageError) as error:
            text, hint, _ = str(error).partition("; choose with --from")
            languages = f"; the model translates from {source_language} into {target_language}" if hint else ""
            raise DataError(text + languages) from None
        if not memory:
            raise DataError(f"{name}: has no translated sentences")
        for side, tag, place in (("sources", source_language, 0), ("translations", target_language, 1)):
            if other := language.other_than(tag, [str(unit[place]) for unit in memory._units]):
                memory.doubts.append(f"{name}: its {side} look like {other}, and the model's are in {tag}")
        return memory

    def __len__(self) -> int:
        return len(self._units)

    @property
    def fingerprint(self) -> str:
        """A hash of all pairs."""
        digest = hashlib.sha256()
        for source, target, _ in self._units:
            digest.update(f"{source}\t{target}\n".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def find(self, sentences: Sequence[str], threshold: float = THRESHOLD) -> list[Match | None]:
        """The best match of each sentence: one to use, or the most similar one with a score from the threshold on."""
        keys = [normalize(sentence) for sentence in sentences]
        found = [self._equal(key) for key in keys]
        if threshold < 100:
            open_ = [number for number, match in enumerate(found) if match is None and keys[number]]
            for number, match in zip(open_, self._similar([keys[number] for number in open_], threshold), strict=True):
                found[number] = match
        return found

    def _equal(self, key: str) -> Match | None:
        """The match of an equal sentence, or of one with other numbers."""
        if (number := self._exact.get(key)) is not None:
            source, target, line = self._units[number]
            return Match(100.0, source, target, f"{self.file}, line {line}", used=True)
        number = self._shapes.get(_NUMBER.sub("0", key))
        if number is None or self._inflects:
            return None
        source, target, line = self._units[number]
        changed = _renumbered(source, target, key)
        return None if changed is None else Match(ALMOST, source, changed, f"{self.file}, line {line}", used=True)

    def _similar(self, keys: Sequence[str], threshold: float) -> list[Match | None]:
        """The most similar sentence of each; those of similar length are compared together."""
        if not keys:
            return []
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist

        found: list[Match | None] = [None] * len(keys)
        least = threshold / 100
        order = sorted((n for n, key in enumerate(keys) if len(key) <= LONGEST_COMPARED), key=lambda n: len(keys[n]))
        for first in range(0, len(order), AT_A_TIME):
            some = order[first : first + AT_A_TIME]
            shortest, longest = len(keys[some[0]]) * least, len(keys[some[-1]]) / least
            begin, end = np.searchsorted(self._lengths, (shortest, longest + 1))
            if begin == end:
                continue
            scores = cdist(
                [keys[number] for number in some],
                self._sorted[begin:end],
                scorer=Levenshtein.normalized_similarity,
                score_cutoff=least,
                dtype=np.float32,
            )
            for number, row in zip(some, scores, strict=True):
                best = int(row.argmax())
                if row[best] >= least > 0:
                    source, target, line = self._units[self._order[begin + best]]
                    found[number] = Match(100 * float(row[best]), source, target, f"{self.file}, line {line}")
        return found


MemoryLike = str | Path | TranslationMemory
"""A memory, or its file."""


def open_memory(given: MemoryLike, source_language: str | None, target_language: str | None) -> TranslationMemory:
    """The memory itself, or that of a file in the languages of a model."""
    if isinstance(given, TranslationMemory):
        return given
    if isinstance(given, str | Path):
        return TranslationMemory.read(given, source_language, target_language)
    raise UsageError(f"memory={given!r:.40}: should be a file or a TranslationMemory")


def check_threshold(given: float) -> float:
    """The threshold, if it is a percentage and what compares sentences is installed."""
    if not isinstance(given, int | float) or not 1 <= given <= 100:
        raise UsageError(f"--memory-threshold {given}: should be a percentage from 1 to 100")
    if given < 100 and find_spec("rapidfuzz") is None:
        raise UsageError(
            "--memory: similar sentences are found with rapidfuzz, which is not installed: pip install mirada[memory]; "
            "for exact matches only: --memory-threshold 100"
        )
    return given


# ── in a translator ───────────────────────────────────────────────────────────────────────────────────────────────

Recall = Callable[[Sequence[str]], list[Match | None]]
"""The best match of each sentence."""


def recall(texts: Sequence[str], work: Sequence[SourceText], find: Recall) -> None:
    """Give the pieces of texts their matches; a text that matches as a whole becomes one piece."""
    several = [found for found in work if len(found.pieces) > 1]
    spans = [(found.pieces[0].start, found.pieces[-1].end) for found in several]
    wholes = find([texts[found.pieces[0].text][start:end] for found, (start, end) in zip(several, spans, strict=True)])
    for found, (_, end), match in zip(several, spans, wholes, strict=True):
        if match and match.used and not found.pieces[0].prefix:
            del found.pieces[1:]
            (piece,) = found.pieces
            piece.end, piece.ids, piece.match = end, [], match
            found.notes, found.parts = [], 0
    open_ = [piece for found in work for piece in found.pieces if piece.match is None]
    for piece, match in zip(open_, find([texts[piece.text][piece.start : piece.end] for piece in open_]), strict=True):
        # A prefix that is asked for goes before the memory.
        piece.match = replace(match, used=match.used and not piece.prefix) if match else None


# ── numbers ───────────────────────────────────────────────────────────────────────────────────────────────────────

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_CODES = "ar be br bs cs cy ga gd he hr lt lv mt pl ro ru sk sl sr uk"
_MANY_PLURALS = frozenset(_CODES.split())
"""Languages whose nouns have more forms after numbers than one for 1 and one for others."""


def _renumbered(source: str, target: str, sentence: str) -> str | None:
    """The translation of a sentence that differs from a source in its numbers only; None if it is not clear.

    It is clear if source and translation have the same numbers, equal numbers have become equal ones, written alike
    (1,000 and 2,000), and 1 and 0, after which nouns differ, are the same.
    """
    pairs = list(zip(_NUMBER.findall(source), _NUMBER.findall(sentence), strict=True))
    becomes = dict(pairs)
    if any(becomes[old] != new for old, new in pairs):
        return None
    if Counter(old for old, _ in pairs) != Counter(_NUMBER.findall(target)):
        return None
    for old, new in becomes.items():
        alike = re.sub(r"\d+", "0", old) == re.sub(r"\d+", "0", new)
        if old != new and (not alike or {old, new} & {"0", "1"}):
            return None
    return _NUMBER.sub(lambda number: becomes[number[0]], target)

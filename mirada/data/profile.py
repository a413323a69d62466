"""What the source texts of a translator's training data are like: their letter case, their words, their sentences.

A translator uses it to read texts that are written in another way: all in capitals, with names that it has never seen,
several sentences in a line.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field

from mirada.data.sentences import sentences
from mirada.errors import BundleError
from mirada.parsing import load_json

MAX_NAMES = 20_000
MAX_KNOWN = 500_000
"""Distinct words that are remembered, those of the first texts first."""
MAX_LETTERS = 100
"""The most lowercase letters that are remembered, those of most words first."""
SAMPLED = 50
"""Sentences are counted in every fiftieth text."""
SEVERAL = 1.5
"""Sentences in a text on average, from which a model is given whole lines."""
LARGE = 10_000
"""Known words from which an unknown one at the beginning of a sentence is taken for a name."""
FEW = 3
"""A name that occurs less often than this is not known: nothing can be learned about it."""
NOUNS = 0.2
"""The share of all words that are names from which capital letters do not tell names."""
CASED = 0.7
"""The share of texts that begin with a capital letter from which that is the rule."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")

Case = Literal["upper", "title", "lower"]


class _File(BaseModel):
    capitalized: Annotated[float, Field(ge=0, le=1)]
    stopped: Annotated[float, Field(ge=0, le=1)] = 0.0
    words: Annotated[int, Field(ge=0, le=10**6)] = 0
    unseen: Annotated[float, Field(ge=0, le=1)] = 1.0
    letters: Annotated[str, Field(max_length=MAX_LETTERS)] = ""
    sentences: Annotated[float, Field(ge=0, le=1e6)]
    names: Annotated[dict[str, str], Field(max_length=MAX_NAMES)]
    known: Annotated[str, Field(max_length=6 * MAX_KNOWN)]


@dataclass(frozen=True)
class Profile:
    """How source texts are written."""

    capitalized: float = 0.0
    """The share of texts that begin with a capital letter."""
    sentences: float = 1.0
    """How many sentences a text has on average."""
    stopped: float = 0.0
    """The share of texts that end with a mark such as a full stop."""
    words: int = 0
    """How many words most texts have at most; 0 if that is not known."""
    unseen: float = 1.0
    """The share of the words of a new text, names aside, that will be unknown."""
    letters: str = ""
    """The lowercase letters that words have."""
    names: dict[str, str] = field(default_factory=dict, repr=False)
    """How words are usually written that have capital letters inside a sentence, by their lowercase form."""
    known: bytes = field(default=b"", repr=False)
    """A hash of 32 bits for each word that occurs, in lower case; in ascending order."""

    # ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def to_json(self) -> str:
        known = base64.b64encode(self.known).decode()
        values = {**vars(replace(self)), "known": known}
        return json.dumps(values, ensure_ascii=False, indent=1, sort_keys=True)

    @classmethod
    def load(cls, path: Path, content: bytes) -> Profile:
        found: _File = load_json(content, _File, path, BundleError)
        try:
            known = base64.b64decode(found.known, validate=True)
            np.frombuffer(known, "<u4")
        except ValueError:
            raise BundleError(f"{path}: is damaged (its list of known words)") from None
        return cls(**{**dict(found), "known": known})

    def merged(self, other: Profile) -> Profile:
        """This profile with the words of another one."""
        hashes = np.union1d(np.frombuffer(self.known, "<u4"), np.frombuffer(other.known, "<u4"))
        names = dict(
            [*self.names.items(), *(pair for pair in other.names.items() if not self.knows(pair[0]))][:MAX_NAMES]
        )
        return replace(
            self,
            words=max(self.words, other.words),
            unseen=max(self.unseen, other.unseen),
            letters="".join(dict.fromkeys(self.letters + other.letters))[:MAX_LETTERS],
            names=names,
            known=hashes.astype("<u4").tobytes(),
        )

    # ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _hashes(self) -> frozenset[int]:
        return frozenset(np.frombuffer(self.known, "<u4").tolist())

    def knows(self, word: str) -> bool:
        """Whether the word occurs in the texts, in any case."""
        return _hash(word.lower()) in self._hashes

    def is_unknown_name(self, sentence: str, word: str, start: int) -> bool:
        """Whether the word at a place of a sentence is a name that the texts do not have: such a word is copied.

        Any word may begin a sentence with a capital letter: if few words are known, it is a name there only if the next
        one has one as well. Where nouns have capital letters, as in German, nothing is known to be a name.
        """
        if not self._hashes or len(self.names) > max(100, NOUNS * len(self._hashes)) or not word[0].isupper():
            return False
        if not any(map(str.isalnum, sentence[:start])) and len(self._hashes) < LARGE:
            following = sentence[start + len(word) :].lstrip()
            if not following[:1].isupper():
                return False
        return not self.knows(word)

    # ── letter case ───────────────────────────────────────────────────────────────────────────────────────────────

    def case_of(self, text: str) -> Case | None:
        """The case of a sentence that is written in another way than the texts usually are; None if it is not."""
        if self.capitalized < CASED:
            return None
        words = [word for word in _WORD.findall(text) if word.lower() != word.upper()]
        letters = "".join(words)
        if letters.isupper():
            return "upper" if len(words) > 1 or (len(letters) > 3 and not self._usual(letters).isupper()) else None
        if letters.islower():
            return "lower" if len(words) > 1 else None
        long = [word for word in words if len(word) > 3]
        plain = [word for word in words[1:] if word.istitle() and self.knows(word) and self._usual(word).islower()]
        every = all(word[0].isupper() for word in words)
        if len(words) > 2 and len(plain) > 1 and (every or all(word[0].isupper() for word in long)):
            return "title"
        return None

    def known_share(self, text: str) -> float:
        """The share of a text's words that occur in the texts."""
        words = _WORD.findall(text)
        return sum(map(self.knows, words)) / len(words) if words else 1.0

    def sentence_case(self, text: str) -> str:
        """A sentence as it is usually written: in lower case, but for names and its beginning."""
        plain = _WORD.sub(lambda found: self._usual(found[0]), text)
        first = _WORD.search(plain)
        if first is None:
            return plain
        place = first.start()
        return plain[:place] + plain[place].upper() + plain[place + 1 :]

    def _usual(self, word: str) -> str:
        small = word.lower()
        return self.names.get(small, small)


def in_case(text: str, case: Case | None) -> str:
    """A translation in the letter case of its source."""
    if case == "upper":
        return text.upper()
    if case == "lower":
        return text.lower()
    if case == "title":
        return _WORD.sub(lambda found: found[0][0].upper() + found[0][1:] if len(found[0]) > 3 else found[0], text)
    return text


class ProfileBuilder:
    """Collects what texts are like, one text after another."""

    def __init__(self) -> None:
        self.texts = self.cased = self.capitals = self.stops = self.counted = self.found = 0
        self.first: Counter[str] = Counter()
        self.inside: Counter[str] = Counter()
        self.lengths: Counter[int] = Counter()

    def add(self, text: str) -> None:
        if self.texts % SAMPLED == 0:
            self.counted += 1
            self.found += len(sentences(text))
        self.texts += 1
        words = text.split(" ")
        first = words[0]
        if first[:1].isalpha() and first[0].lower() != first[0].upper():
            self.cased += 1
            self.capitals += first[0].isupper()
        self.stops += not text[-1:].isalnum()
        self.lengths[len(words)] += 1
        if len(self.inside) < MAX_KNOWN:
            self.first[first] += 1
            self.inside.update(words[1:])

    def build(self) -> Profile:
        inside, first = _forms(self.inside), _forms(self.first)
        counts: Counter[str] = Counter()
        for word, count in (*inside.items(), *first.items()):
            counts[word.lower()] += count if word[0].isupper() else FEW
        known = np.array(sorted({_hash(word) for word, count in counts.items() if count >= FEW}), "<u4")
        return Profile(
            capitalized=round(self.capitals / max(1, self.cased), 4),
            sentences=round(self.found / max(1, self.counted), 4),
            stopped=round(self.stops / max(1, self.texts), 4),
            words=self._usual_length(),
            unseen=_unseen(inside),
            letters=_letters(inside),
            names=self._names(inside),
            known=known.tobytes(),
        )

    def _usual_length(self) -> int:
        """The number of words that all but one in twenty texts have at most."""
        left = self.texts // 20
        for length in sorted(self.lengths, reverse=True):
            left -= self.lengths[length]
            if left < 0:
                return length
        return 0

    @staticmethod
    def _names(forms: Counter[str]) -> dict[str, str]:
        best: dict[str, str] = {}
        for word, count in forms.items():
            other = best.get(word.lower())
            if other is None or count > forms[other] or (count == forms[other] and word < other):
                best[word.lower()] = word
        names = [(forms[usual], small, usual) for small, usual in best.items() if usual != small and forms[usual] > 1]
        return {small: usual for _, small, usual in sorted(names, reverse=True)[:MAX_NAMES]}


def _unseen(forms: Counter[str]) -> float:
    """P(new) ≈ n₁ / N, of N words n₁ that occur once (Good 1953); 1 if there are none."""
    counts = [count for form, count in forms.items() if form.islower()]
    return round(counts.count(1) / sum(counts), 4) if counts else 1.0


def _letters(forms: Counter[str]) -> str:
    """The lowercase letters, those of most words first."""
    counts = Counter(letter for form in forms for letter in set(form) if letter.islower())
    return "".join(letter for letter, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:MAX_LETTERS])


def _forms(chunks: Counter[str]) -> Counter[str]:
    """The words of what stands between spaces, as they are written."""
    found: Counter[str] = Counter()
    for chunk, count in chunks.items():
        for word in _WORD.findall(chunk):
            found[word] += count
    return found


def _hash(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass"))

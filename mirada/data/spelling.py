"""Correct misspelt words of texts to translate: each is read as the only known word that it can be meant for.

    We left becuase it rained.  →  We left because it rained.

A word in lower case that the training data does not have is read as another one if that is the only known word from
which it differs by two letters swapped, one left out or one doubled. It is done where unknown words are rare enough:
elsewhere most of them are spelt well, and new to the model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from mirada.data.profile import Profile

RARE = 0.01
"""The share of unknown words in a new text up to which an unknown one is likely to be misspelt."""
SHORTEST, LONGEST = 4, 30
"""Letters of a word: too many others are like a shorter one, and a longer one is none."""

_WORD = re.compile(r"(?<![\w'’-])[^\W\d_]+(?![\w'’-])")


class Correction(NamedTuple):
    """The characters [start, end) of a text, and the word they are read as."""

    start: int
    end: int
    word: str


def corrections(text: str, profile: Profile, kept: Callable[[str], object] = lambda word: None) -> list[Correction]:
    """The misspelt words of a text; those that are `kept` are spelt as they are meant."""
    if profile.unseen > RARE:
        return []
    found = []
    for match in _WORD.finditer(text):
        word = match[0]
        if not SHORTEST <= len(word) <= LONGEST or not word.islower() or profile.knows(word) or kept(word):
            continue
        meant = {other for other in _alike(word, profile.letters) if profile.knows(other)}
        if len(meant) == 1:
            found.append(Correction(*match.span(), *meant))
    return found


def _alike(word: str, letters: str) -> Iterator[str]:
    """What a word can be meant for: two letters change places, one is added, or one of a double letter goes."""
    for place in range(len(word)):
        before, here, after = word[:place], word[place], word[place + 1 :]
        if after and after[0] != here:
            yield before + after[0] + here + after[1:]
        if after and after[0] == here:
            yield before + after
        if place:
            yield from (before + letter + here + after for letter in letters)

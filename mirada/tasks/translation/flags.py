"""Flags: what a translation should be checked for, found without a reference.

repetition   words, or parts of a word, are repeated over and over, and not in the source
cut          it reached the length limit
lost         a number, address, placeholder, tag or other span of the source is missing
copied       it is the source again
language     the source is not in the model's language
spelling     a misspelt word of the source was read as another one
name         an unknown word at the beginning of a sentence was taken for a name, and copied
short        it is far shorter than its source
uncovered    words of the source have no counterpart (looked for where the probabilities of words are asked for)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from mirada.data import language
from mirada.data.masking import Masked, spans
from mirada.data.placeholders import found, key
from mirada.data.profile import Profile

FLAGS = ("repetition", "cut", "lost", "copied", "language", "spelling", "name", "short", "uncovered")
_REMARKS = {
    "repetition": "its translation repeats itself",
    "lost": "its translation lost a number, an address or similar",
    "copied": "its translation is the same as the source",
    "language": "seems to be in another language than the model's",
    "short": "its translation is far shorter than the source",
}
"""Notes for flags that have none of their own, where flags are not shown."""
LONGEST, TIMES, SINGLES = 8, 3, 4
"""Tokens of the longest loop that is looked for, and how often tokens must be repeated: several, and a single one."""
SURE, LIKELY = 0.9, 0.6
"""Probability from which a text counts as one in another language, and where most of its words are unknown."""
KNOWN, FAMILIAR = 0.6, 0.9
"""The share of known words below which a text is one of unknown words, and from which it is in the model's language."""
SHORT, FEWEST = 0.35, 10
"""The share of its source's tokens that a translation has at least, where the source has that many."""
_STUTTER = re.compile(r"([^\W\d_]{2,4})\1\1")
"""Letters three times in a row: babble (*lineineine*), unless the source has them as well (*jajaja*)."""


def loops(tokens: Sequence[object], singles: int = SINGLES) -> bool:
    """Whether a sequence repeats the same few tokens over and over; a single one, at least `singles` times."""
    if len(set(tokens)) == len(tokens):
        return False
    for size in range(1, min(LONGEST, len(tokens) // TIMES) + 1):
        run, needed = 0, size * ((singles if size == 1 else TIMES) - 1)
        for one, other in zip(tokens, tokens[size:], strict=False):
            run = run + 1 if one == other else 0
            if run >= needed:
                return True
    return False


def lost(source: str, translation: str) -> bool:
    """Whether a number, an address, a placeholder or another span of a sentence is missing in its translation."""
    if any(character.isdecimal() for character in source) or spans(source):
        there, here = found(source), found(translation)
        for kind, items in there.items():
            left = Counter(map(key, here[kind]))
            gone = Counter(map(key, items)) - left
            if gone and (kind != "number" or max(map(len, gone)) > 1 or left - Counter(map(key, items))):
                return True  # "2" may have become "two", but not "1"
        kept = (source[span.start : span.end] for span in spans(source) if span.kind != "number")
        return any(text not in translation for text in kept)
    return False


def remarks(source: str, translation: str, flags: Sequence[str]) -> list[str]:
    """Notes on a translation that was chosen among several, the first of which had these flags."""
    there = {*flags} - {"lost"} | ({"lost"} if lost(source, translation) else set())
    return [_REMARKS[flag] for flag in FLAGS if flag in there and flag in _REMARKS]


def is_copy(source: str, translation: str) -> bool:
    """Whether a translation is the source again: three words or more, and none that could be a name."""
    words = source.casefold().split()
    return len(words) > 2 and words == translation.casefold().split() and any(word.islower() for word in source.split())


def faults(source: str, masked: Masked, ids: Sequence[int], output: str, tokens: Sequence[int]) -> set[str]:
    """What is wrong with a hypothesis: the text `output` with markers, of these tokens."""
    flags = set()
    if (loops(tokens) and not loops(ids)) or (_STUTTER.search(output) and not _STUTTER.search(masked.text)):
        flags.add("repetition")
    if len(ids) >= FEWEST and len(tokens) < SHORT * len(ids):
        flags.add("short")
    if not masked.intact(output) or lost(source, masked.restore(output)):
        flags.add("lost")
    return flags


def other_language(tag: str | None, text: str, profile: Profile | None = None) -> bool:
    """Whether a text is in another language than the one with this tag: clearly, or likely and of unknown words.

    A text of known words is not looked at: to identify languages, a model has to be read, and asked.
    """
    known = profile.known_share(text) if profile else 0.0
    if not tag or known >= FAMILIAR:
        return False
    seen = language.guess(text, SURE)
    if seen is None and profile is not None and known < KNOWN:
        seen = language.guess(text, LIKELY)
    if seen is None or not language.known(tag):
        return False
    return seen != language.primary(tag) and not language.related(seen, language.primary(tag))

"""Which language a line is in, offline: py3langid's naive Bayes over byte n-grams, 140 languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

SAMPLE = 500
"""Texts that are looked at to tell the language of many."""
FEWEST_LETTERS = 20
"""Below so many letters nobody can tell."""
SURE = 0.7
"""Probability from which a line counts as identified; one in a thousand right lines of short sentences is misjudged."""


def known(language: str) -> bool:
    """Whether the identifier can tell this language (its primary tag counts: pt_BR is pt)."""
    return primary(language) in _identifier().nb_classes


def primary(tag: str) -> str:
    return tag.replace("_", "-").split("-")[0].lower()


def guess(text: str, sure: float = SURE) -> str | None:
    """The language of a line, or None when it is too short or unclear."""
    if sum(map(str.isalpha, text)) < FEWEST_LETTERS:
        return None
    language, probability = _identifier().classify(text)
    return str(language) if probability >= sure else None


def majority(texts: Iterable[str]) -> str | None:
    """The language that most of the texts are in, or None when none is clearly ahead."""
    votes = Counter(language for text in texts if (language := guess(text)))
    ahead = votes.most_common(1)
    return ahead[0][0] if ahead and ahead[0][1] >= 0.6 * votes.total() and votes.total() >= 5 else None


def not_the_same(tag: str | None, other: str | None) -> str | None:
    """The other tag, if both are known and it is that of another language."""
    return other if tag and other and primary(tag) != primary(other) else None


def other_than(tag: str | None, texts: Sequence[str]) -> str | None:
    """The language that most of a sample of the texts are in, if it is clear that it is not the one with this tag."""
    if not tag or not known(tag):
        return None
    found = majority(texts[:: max(1, len(texts) // SAMPLE)])
    return found if found != primary(tag) else None


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

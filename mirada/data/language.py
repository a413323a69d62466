"""Languages: their codes, and which one a line is in.

Lines are identified offline by py3langid, a naive Bayes classifier over byte n-grams that knows 140 languages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from mirada.data.readers.names import CODES, FORMER_CODES, ISO_639_1, language_named
from mirada.data.text import shown_text

SAMPLE = 500
"""Texts that are looked at to tell the language of many."""
MIN_LETTERS = 20
"""Letters below which a text is too short to identify its language."""
SURE = 0.7
"""Probability from which a line counts as identified; one in a thousand right lines of short sentences is misjudged."""


WHICH_TEXTS, WHICH_LENGTH, WHICH_LETTERS = 50, 200, 8
"""Texts, and characters of each, that are looked at to choose between two languages; letters that this needs."""
WHICH_SURE, WHICH_LEAST = 0.95, 0.03
"""The share of their probabilities that the likelier of two languages must have, and its own probability."""
MIN_VOTES = 20
"""Identified lines from which data in swapped columns is refused."""
MIN_FOREIGN = 50
"""Identified lines of a side from which a third language is refused."""

UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u31f0-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
"""Characters of scripts that put no space between words or sentences: Thai, Lao, Tibetan, Burmese, Khmer, Chinese,
Japanese."""
_TAG = re.compile(r"([A-Za-z]{2,3})([-_@.][A-Za-z0-9]{1,8})*")

_KIN = (
    "no nb nn da", "hr sr bs sl mk bg sh", "id ms jv", "cs sk", "gl pt es an ca oc", "af nl", "zh ja", "hi mr ne",
    "fa ps ur ar ug ku", "ru uk be bg", "xh zu", "rw rn", "tl fil", "az tr", "kk ky", "lv lt", "et fi",
)  # fmt: skip
"""Languages that the identifier may take for each other."""


def code_fault(tag: str) -> str:
    """What is wrong with a language code, and the way out; nothing if it is well formed.

    Two letters must be of ISO 639-1. Three may be any: ISO 639-3 has thousands, and qaa to qtz are for everybody's use.
    """
    form = _TAG.fullmatch(tag)
    if form and (len(form[1]) == 3 or form[1].lower() in f"{ISO_639_1} {FORMER_CODES}".split()):
        return ""
    meant = language_named(tag)
    hint = f"did you mean {meant}?" if meant else "write es, pt-BR, or three letters of ISO 639-3 such as nah"
    return f"{shown_text(tag, 30)} is not a language code; {hint}"


def known(language: str) -> bool:
    """Whether the identifier can tell this language (its primary tag counts: pt_BR is pt, and so is por)."""
    return primary(language) in _identifier().nb_classes


def primary(tag: str) -> str:
    """The language of a tag without country or script; of a common one the code of two letters."""
    code = re.split("[-_@.]", tag.strip())[0].lower()
    return CODES.get(code, code)


def guess(text: str, sure: float = SURE) -> str | None:
    """The language of a line, or None when it is too short or unclear."""
    if sum(map(str.isalpha, text)) < MIN_LETTERS:
        return None
    language, probability = _identifier().classify(text)
    return str(language) if probability >= sure else None


def which(texts: Sequence[str], tags: tuple[str, str]) -> str | None:
    """Which of two languages some texts are in, all in all; None if that is not clear."""
    text = " ".join(text[:WHICH_LENGTH] for text in texts[:: max(1, len(texts) // WHICH_TEXTS)])
    if sum(map(str.isalpha, text)) < WHICH_LETTERS or not all(map(known, tags)):
        return None
    found = {str(code): float(share) for code, share in _identifier().rank(text)}
    one, other = (found.get(primary(tag), 0.0) for tag in tags)
    if max(one, other) < max(WHICH_LEAST, WHICH_SURE * (one + other)):
        return None
    return tags[0] if one > other else tags[1]


def votes(texts: Iterable[str]) -> Counter[str]:
    """How many of the texts are in which language; texts that cannot be identified are left out."""
    return Counter(language for text in texts if (language := guess(text)))


def majority(votes: Counter[str]) -> str | None:
    """The language that most of the texts are in, or None when none is clearly ahead."""
    ahead = votes.most_common(1)
    return ahead[0][0] if ahead and ahead[0][1] >= 0.6 * votes.total() and votes.total() >= 5 else None


def mismatch(votes: tuple[Counter[str], Counter[str]], languages: tuple[str | None, str | None]) -> str:
    """Why data is not in its declared languages, and the way out; empty unless that is beyond doubt."""
    source, target = (primary(tag) if tag and known(tag) else None for tag in languages)
    if source == target:
        return ""
    if source and target:
        wrong, right = votes[0][target] + votes[1][source], votes[0][source] + votes[1][target]
        both = votes[0][target] > votes[0][source] and votes[1][source] > votes[1][target]
        if both and wrong >= max(MIN_VOTES, 9 * right):
            return (
                f"its lines are {target} → {source}, and not {source} → {target}: swap the columns (--columns 2,1) or "
                f"the files, or train the other way (--from {target} --to {source})"
            )
    for side, option, given, seen in (("source", "--from", source, votes[0]), ("target", "--to", target, votes[1])):
        if given is None or seen.total() < MIN_FOREIGN or 50 * seen[given] > seen.total():
            continue
        look, count = seen.most_common(1)[0]
        if 10 * count >= 9 * seen.total() and not related(look, given):
            return f"its {side} side is {look}, and not {given}: give other data, or say so ({option} {look})"
    return ""


def related(language: str, other: str) -> bool:
    """Whether the identifier may take one language for the other."""
    return any({language, other} <= set(kin.split()) for kin in _KIN)


def not_the_same(tag: str | None, other: str | None) -> str | None:
    """The other tag, if both are known and it is that of another language."""
    return other if tag and other and primary(tag) != primary(other) else None


def other_than(tag: str | None, texts: Sequence[str]) -> str | None:
    """The language that most of a sample of the texts are in, if it is clear that it is not the one with this tag."""
    if not tag or not known(tag):
        return None
    found = majority(votes(texts[:: max(1, len(texts) // SAMPLE)]))
    return found if found != primary(tag) else None


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

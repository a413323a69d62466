"""What can be wrong with a pair of sentences. Each check sees one pair; the checker adds what takes the whole corpus.

A kind of finding has a name, which is also its setting (`check.numbers=drop`), a title for a person, and what training
does about it: leave the pair out (drop), learn from it all the same (keep), or drop it whatever the settings (always).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from mirada.config import Section
from mirada.data.placeholders import found, key
from mirada.data.readers import Pair

LONGEST_TEXT = 20_000
"""Characters in a sentence, beyond which it is left out without trying to tokenise it."""

Action = Literal["drop", "keep"]


@dataclass(frozen=True)
class Kind:
    """A kind of finding."""

    title: str
    always: bool = False
    """Left out whatever the settings say."""


KINDS: dict[str, Kind] = {
    "languages": Kind("data in other languages than it is said to be in"),
    "invalid_bytes": Kind("lines with bytes that are not UTF-8 (of Latin-1? `iconv -f latin1 -t utf8`)", always=True),
    "blank": Kind("blank lines", always=True),
    "one_sided": Kind("lines with one side only", always=True),
    "too_long": Kind(f"texts of over {LONGEST_TEXT:,} characters", always=True),
    "too_many_words": Kind("sentences of more words than data.max_tokens", always=True),
    "duplicate": Kind("exact duplicates of an earlier pair"),
    "near_duplicate": Kind("near duplicates (but for case, digits, punctuation) of an earlier pair"),
    "in_dev": Kind("pairs that are also in the dev or test set"),
    "source_in_dev": Kind("sources that the dev or test set has with another translation"),
    "copied": Kind("sentences that were not translated (both sides are equal)"),
    "length_ratio": Kind("sides of very different length"),
    "swapped": Kind("pairs whose sides look swapped"),
    "wrong_language": Kind("lines that look like another language"),
    "numbers": Kind("numbers that differ between the sides"),
    "addresses": Kind("URLs or e-mail addresses that differ between the sides"),
    "placeholders": Kind("placeholders (%s, {name}, <b>) that differ between the sides"),
    "control_characters": Kind("control characters in the text"),
    "bad_decoding": Kind("text that was decoded wrongly somewhere (Ã©, â€™, �)"),
}


class CheckConfig(Section):
    """What training does about doubtful pairs: drop leaves them out, keep learns from them all the same."""

    languages: Literal["refuse", "keep"] = "refuse"
    """What to do about data whose columns are swapped, or one of which is in a third language."""
    duplicate: Action = "drop"
    near_duplicate: Action = "keep"
    in_dev: Action = "drop"
    source_in_dev: Action = "keep"
    copied: Action = "drop"
    length_ratio: Action = "drop"
    swapped: Action = "keep"
    wrong_language: Action = "keep"
    numbers: Action = "keep"
    addresses: Action = "keep"
    placeholders: Action = "keep"
    control_characters: Action = "keep"
    bad_decoding: Action = "keep"
    ratio: float = Field(5.0, gt=1)
    """How many times the corpus's usual ratio of lengths is very different."""
    copied_words: int = Field(4, ge=1)
    """Equal sides of fewer words than this are taken for names, numbers or codes, which stay as they are."""

    def action(self, kind: str) -> Action:
        if kind not in KINDS or KINDS[kind].always:
            return "drop"
        return "drop" if getattr(self, kind) == "drop" else "keep"


_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_BAD_DECODING = re.compile(r"Ã[\x80-\xbf¡-¿]|Â[\xa0-\xbf]|â€[\x80-\xbf™œ“”˜¦]?|ï»¿|\ufffd")
_SHORT = 30
"""Characters below which lengths say nothing: "Sí." may well be "Yes, of course."."""


def faults(pair: Pair, longest: int) -> str | None:
    """Why a pair cannot be learned from at all, if so; what the file itself says comes first."""
    if pair.problem:
        return pair.problem
    source, target = pair.source.strip(), pair.targets[0].strip()
    if not source and not target:
        return "blank"
    if not source or not target:
        return "one_sided"
    texts = (pair.source, *pair.targets)
    if has_invalid_bytes(*texts):
        return "invalid_bytes"
    if max(map(len, texts)) > LONGEST_TEXT:
        return "too_long"
    # A text has at least half as many characters as words.
    if any(len(text) > 2 * longest and len(text.split()) > longest for text in texts):
        return "too_many_words"
    return None


def has_invalid_bytes(*texts: str) -> bool:
    """Whether bytes were read leniently that are not UTF-8."""
    return not all(map(str.isascii, texts)) and _SURROGATE.search("".join(texts)) is not None


def doubts(pair: Pair, config: CheckConfig) -> list[str]:
    """What is doubtful about a pair by itself."""
    source, target = pair.source, pair.targets[0]
    kinds = []
    if source.strip() == target.strip() and len(source.split()) >= config.copied_words:
        kinds.append("copied")
    whole = source + target
    if _CONTROL.search(whole):
        kinds.append("control_characters")
    if not whole.isascii() and _BAD_DECODING.search(whole):
        kinds.append("bad_decoding")
    if _may_hold(source) or _may_hold(target):
        there, here = found(source), found(target)
        for kind, name in (("number", "numbers"), ("url", "addresses"), ("placeholder", "placeholders")):
            if _differ(there[kind], here[kind], kind):
                kinds.append(name)
    return kinds


def far_apart(source: int, target: int, usual: float, ratio: float) -> bool:
    """Whether lengths in characters differ by more than `ratio` from the usual target/source of the corpus."""
    if max(source, target) < _SHORT:
        return False
    actual = (target + 1) / (source + 1)
    return not 1 / ratio <= actual / usual <= ratio


_HOLDS = re.compile(r"[\d%{}<>&@]|://|www\.", re.IGNORECASE)


def _may_hold(text: str) -> bool:
    """A quick look, since most sentences hold nothing that has to be kept."""
    return _HOLDS.search(text) is not None


def _differ(one: list[str], other: list[str], kind: str) -> bool:
    """Whether what should be kept was not; small numbers may be words on the other side."""
    left, right = Counter(map(key, one)), Counter(map(key, other))
    extra = (left - right) + (right - left)
    if kind == "number":
        return any(len(number) > 1 for number in extra) and bool(one or other)
    return bool(extra)

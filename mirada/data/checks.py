"""Why records are left out or doubtful: stable identifiers with words for people, and the checks of sentence pairs."""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from mirada.config import Section
from mirada.data.placeholders import found, key
from mirada.data.records import AnyRecord

LONGEST_TEXT = 20_000
"""The most characters of a sentence; a longer one is left out without trying to tokenize it."""

Action = Literal["drop", "keep"]

REASONS = {
    "languages": "data in other languages than it is said to be in",
    "refused": "what training refuses",
    # what the file itself says
    "fuzzy": "fuzzy: translations that nobody has checked",
    "obsolete": "obsolete entries",
    "untranslated": "untranslated",
    "missing_source": "units without a text in the source language",
    "missing_target": "units without a text in the target language",
    "cell_count": "{nouns} with a line with another number of cells",
    "not_text": "values that are not text",
    "not_object": "lines that are not a JSON object",
    "not_array": "lines that are not a JSON array",
    "repeated_key": "JSON objects with a key given twice",
    "invalid_unicode": "text that is not valid Unicode",
    "tab": "{nouns} with a tab where spaces stand between cells",
    "no_tag": "{nouns} with a word without a tag",
    "no_word": "{nouns} with a tag without a word",
    "hidden_file": "hidden files and folders",
    "outside_class": "files that are in no class's folder",
    "nested_folder": "folders inside a class's folder",
    "unreadable": "files that cannot be opened",
    "empty_file": "empty files",
    "not_image": "files that are not images",
    "too_large": "images of too many megapixels",
    "bit_depth": "images of over 16 bits a pixel",
    "damaged": "images that are damaged or cut short",
    # one record by itself
    "invalid_bytes": "lines with bytes that are not UTF-8 (of Latin-1? `iconv -f latin1 -t utf8`)",
    "blank": "blank lines",
    "one_sided": "lines with one side only",
    "no_text": "labels without a text",
    "no_label": "{nouns} without a label",
    "too_long": f"texts of over {LONGEST_TEXT:,} characters, or over 10,000 words",
    "too_many_words": "sentences of more words than data.max_tokens",
    "too_many_tokens": "{nouns} of more than data.max_tokens tokens",
    "too_few_tokens": "{nouns} of too few tokens to hide a word in",
    "missing_values": "rows with missing values",
    "synthetic_target": "synthetic {nouns} for the other direction (a model made their target)",
    # compared with others
    "contradiction": "{nouns} that occur with different answers",
    "duplicate": "exact duplicates of an earlier {noun}",
    "near_duplicate": "near duplicates (but for case, digits, punctuation) of an earlier {noun}",
    "in_dev": "{nouns} that are also in the dev or test set",
    "source_in_dev": "sources that the dev or test set has with another translation",
    "synthetic_in_dev": "synthetic {nouns} of a sentence in the dev or test set",
    "copied": "sentences that were not translated (both sides are equal)",
    "length_ratio": "sides of very different length",
    "swapped": "{nouns} whose sides look swapped",
    "wrong_language": "lines that look like another language",
    "numbers": "numbers that differ between the sides",
    "addresses": "URLs or e-mail addresses that differ between the sides",
    "placeholders": "placeholders (%s, {{name}}, <b>) that differ between the sides",
    "control_characters": "control characters in the text",
    "bad_decoding": "text that was decoded wrongly somewhere (Ã©, â€™, �)",
    # kept, but changed
    "synthetic": "synthetic {nouns} (a model made their source), which are tagged in training",
    "inline_tags_removed": "inline tags removed",
    "truncated": "{nouns} that are cut at data.max_tokens",
    "replaced_bytes": "{nouns} with bytes that are not UTF-8, which are read as �",
}
"""What each identifier means, the gravest first: a record that is left out counts once, for the gravest reason."""

OF_ONE = {
    "fuzzy": "is fuzzy: nobody has checked it",
    "obsolete": "is obsolete",
    "untranslated": "is untranslated",
    "missing_source": "has no text in the source language",
    "missing_target": "has no text in the target language",
    "cell_count": "has another number of cells",
    "not_text": "has a value that is not text",
    "not_object": "is not a JSON object",
    "not_array": "is not a JSON array",
    "repeated_key": "has a key twice",
    "invalid_unicode": "has text that is not valid Unicode",
    "invalid_bytes": "has bytes that are not UTF-8 (of Latin-1? `iconv -f latin1 -t utf8`)",
    "blank": "is blank",
    "one_sided": "has one side only",
    "too_long": f"has a text of over {LONGEST_TEXT:,} characters",
}
"""Why a pair cannot be read, of a single one that is named by its file and line."""


def in_words(reason: str, noun: str = "record", nouns: str = "") -> str:
    """A reason for a person to read; one of an older version is in words already."""
    return REASONS[reason].format(noun=noun, nouns=nouns or f"{noun}s") if reason in REASONS else reason


def of_one(reason: str, noun: str = "pair") -> str:
    """A reason for a person to read, of a single record: has one side only."""
    return OF_ONE.get(reason) or in_words(reason, noun)


class CheckConfig(Section):
    """What training does about doubtful pairs: drop leaves them out, keep learns from them anyway."""

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


_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_BAD_DECODING = re.compile(r"Ã[\x80-\xbf¡-¿]|Â[\xa0-\xbf]|â€[\x80-\xbf™œ“”˜¦]?|ï»¿|\ufffd")
_SHORT = 30
"""Characters below which lengths are not compared: "Sí." may well be "Yes, of course."."""


def fault(record: AnyRecord, longest: int) -> str:
    """Why a sentence and its translations cannot be learned from at all, if so; what the file itself says comes first.

    `longest` is in words; 0 for any length.
    """
    if record.problem:
        return record.problem
    texts = record.fields
    source, target = not texts[0] or texts[0].isspace(), not texts[1] or texts[1].isspace()
    if source or target:
        return "blank" if source and target else "one_sided"
    for text in texts:
        if not text.isascii() and _SURROGATE.search(text):
            return "invalid_bytes"
    size = max(map(len, texts))
    if size > LONGEST_TEXT:
        return "too_long"
    # A text has at least half as many characters as words.
    if longest and size > 2 * longest and any(len(text.split()) > longest for text in texts):
        return "too_many_words"
    return ""


def has_invalid_bytes(*texts: str) -> bool:
    """Whether bytes were read leniently that are not UTF-8."""
    return not all(map(str.isascii, texts)) and _SURROGATE.search("".join(texts)) is not None


def doubts(source: str, target: str, config: CheckConfig) -> list[str]:
    """What is doubtful about a pair by itself."""
    kinds = []
    if source.strip() == target.strip() and len(source.split()) >= config.copied_words:
        kinds.append("copied")
    whole = source + target
    if not whole.isprintable() and _CONTROL.search(whole):
        kinds.append("control_characters")
    if not whole.isascii() and _BAD_DECODING.search(whole):
        kinds.append("bad_decoding")
    if _may_hold(source) or _may_hold(target):
        there, here = found(source), found(target)
        for kind, name in (("number", "numbers"), ("url", "addresses"), ("placeholder", "placeholders")):
            if _differ(there[kind], here[kind], kind):
                kinds.append(name)
    return kinds


def far_apart(lengths: npt.NDArray[np.uint32], ratio: float) -> npt.NDArray[np.bool_]:
    """Whether lengths in characters, source·2¹⁶ + target [N], differ by more than `ratio` from their usual ratio."""
    usual = float(((lengths & 0xFFFF).sum() + 1) / ((lengths >> 16).sum() + 1))
    source, target = (lengths >> 16).astype(np.float32), (lengths & 0xFFFF).astype(np.float32)
    share = (target + 1) / (source + 1) / np.float32(usual)
    return np.asarray((np.maximum(source, target) >= _SHORT) & ((share < 1 / ratio) | (share > ratio)))


_HOLDS = re.compile(r"[\d%{}<>&@]|://|www\.", re.IGNORECASE)


def _may_hold(text: str) -> bool:
    """Whether a text may hold something to be kept: a quick test that most sentences fail."""
    return _HOLDS.search(text) is not None


def _differ(one: list[str], other: list[str], kind: str) -> bool:
    """Whether what should be kept was not; small numbers may be words on the other side."""
    left, right = Counter(map(key, one)), Counter(map(key, other))
    extra = (left - right) + (right - left)
    if kind == "number":
        return any(len(number) > 1 for number in extra) and bool(one or other)
    return bool(extra)

"""Inline tags: taken out of a sentence before it is translated, and put back where the words they enclose have gone.

    The <b>black cat</b> sleeps.  →  The black cat sleeps.  →  El gato negro duerme.  →  El <b>gato negro</b> duerme.

Which word has gone where is read from the cross-attention, so no tag gets lost and pairs stay nested.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

TAG = re.compile("[\ue100-\ue1ff]")
"""Stands for a tag in a text while its other spans are masked."""
MAX_TAGS = 256
_CLOSING = re.compile(r"</")
_EMPTY = re.compile(r"<(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b|<[^<>]*/>", re.IGNORECASE)
_NAME = re.compile(r"</?([^\s/>]+)")
_NOT = re.compile(r"(?<=n)['’]t\b")

Places = Sequence[tuple[int, int]]
"""The characters [start, end) of the tokens of a text."""


@dataclass(frozen=True)
class Tags:
    """The tags of a sentence."""

    texts: tuple[str, ...]
    places: tuple[int, ...]
    """Where each stands in the text without them."""


NO_TAGS = Tags((), ())


def take_out(text: str, tags: Sequence[str]) -> tuple[str, Tags]:
    """A text without its tags, for each of which it has a character of `TAG`."""
    plain, places = "", list[int]()
    for part in re.split(f"({TAG.pattern})", text):
        if TAG.fullmatch(part):
            places.append(len(plain))
        else:
            plain += part
    return plain, Tags(tuple(tags), tuple(places))


def put_back(
    tags: Tags, plain: str, source: Places, text: str, target: Places, attention: npt.NDArray[np.float32]
) -> str:
    """A translation of a `plain` source with a character of `TAG` for each tag.

    `attention` [T, S] says how much each token of the translation looks at each of the source.
    """
    partners = pairs(tags.texts)
    looked = attention.argmax(1) if attention.size else np.zeros(len(target), np.int64)  # [T]
    ranges: dict[int, tuple[int, int]] = {}
    for number in reversed(range(len(tags.places))):  # what is inside comes first, and then what encloses it
        partner, place = partners[number], tags.places[number]
        if partner is None:
            start = _word_start(text, _nearest(source, place, target, looked, len(text)))
            ranges[number] = start, start
        elif partner > number:
            start, end = _range(source, place, tags.places[partner], text, target, looked)
            if plain[: tags.places[partner]].rstrip()[-1:].isalnum():  # a mark at the end belongs to what follows
                while end > start and not text[end - 1].isalnum() and not TAG.match(text[end - 1]):
                    end -= 1
            inner = [ranges[other] for other in range(number + 1, partner) if other in ranges]
            start, end = min([start, *(one for one, _ in inner)]), max([end, *(other for _, other in inner)])
            ranges[number] = _apart(start, end, [ranges[other] for other in ranges if other > partner])
    if _crossing(ranges):  # tags around everything are at least well formed
        ranges = {number: span if partners[number] is None else (0, len(text)) for number, span in ranges.items()}
    marks = sorted(mark for number, span in ranges.items() for mark in _marks(number, partners[number], *span))
    for place, *_, number in reversed(marks):
        text = text[:place] + chr(0xE100 + number) + text[place:]
    return text


def _crossing(ranges: Mapping[int, tuple[int, int]]) -> bool:
    """Whether one range begins inside of another and ends outside of it."""
    return any(start < begin < end < stop for start, end in ranges.values() for begin, stop in ranges.values())


def _apart(start: int, end: int, others: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """A range that overlaps none of the others in part: where it would, it ends or begins."""
    for begin, stop in others:
        if start < begin < end < stop:
            end = begin
        elif begin < start < stop < end:
            start = stop
    return start, max(start, end)


def _marks(number: int, partner: int | None, start: int, end: int) -> list[tuple[int, int, int, int, int]]:
    """Where a tag and its partner stand, in an order that keeps pairs nested: place, rank, order of that rank, tag."""
    if partner is None:
        return [(start, 1, 0, number, number)]
    if start == end:
        return [(start, 1, 0, number, number), (start, 1, 0, partner, partner)]
    return [(start, 2, -end, number, number), (end, 0, -start, -number, partner)]


def pairs(tags: Sequence[str]) -> list[int | None]:
    """For each tag the one that it opens or closes with, if that is there."""
    partner: list[int | None] = [None] * len(tags)
    waiting: list[tuple[str, int]] = []
    for place, tag in enumerate(tags):
        name = _NAME.match(tag)
        if name is None or _EMPTY.match(tag):
            continue
        if not _CLOSING.match(tag):
            waiting.append((name[1].lower(), place))
        elif waiting and waiting[-1][0] == name[1].lower():
            _, other = waiting.pop()
            partner[place], partner[other] = other, place
    return partner


def _range(
    source: Places, start: int, end: int, text: str, target: Places, looked: npt.NDArray[np.int64]
) -> tuple[int, int]:
    """The words of a translation that look at the characters [start, end) of its source."""
    enclosed = [number for number, (begin, stop) in enumerate(source) if begin < end and stop > start]
    found = [target[token] for token, seen in enumerate(looked) if seen in enclosed and token < len(target)]
    if start == end or not found:
        place = _word_start(text, _nearest(source, start, target, looked, len(text)))
        return place, place
    return _word_start(text, min(begin for begin, _ in found)), _word_end(text, max(stop for _, stop in found))


def _nearest(source: Places, place: int, target: Places, looked: npt.NDArray[np.int64], end: int) -> int:
    """Where a translation continues with what follows a place of its source."""
    following = [number for number, (_, stop) in enumerate(source) if stop > place]
    found = [target[token][0] for token, seen in enumerate(looked) if seen in following[:1] and token < len(target)]
    if found:
        return min(found)
    share = min(1.0, place / max(1, source[-1][1])) if source else 1.0
    return round(share * end)


def _inside_word(text: str, place: int) -> bool:
    """Whether a place has a part of one word on both sides: the not of *isn't* is none by itself."""
    if not 0 < place < len(text):
        return False
    return (text[place - 1].isalnum() and text[place].isalnum()) or any(
        _NOT.match(text, start) for start in (place, place - 1)
    )


def _word_start(text: str, place: int) -> int:
    while place < len(text) and text[place] == " ":
        place += 1
    while _inside_word(text, place):
        place -= 1
    return place


def _word_end(text: str, place: int) -> int:
    while _inside_word(text, place):
        place += 1
    while place and text[place - 1] == " ":
        place -= 1
    return place

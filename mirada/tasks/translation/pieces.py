"""Pieces of a text that a translator takes one by one: sentences, in the form in which its model has learned to read.

    <p>CALL %s AT 12:30.</p> <p>Thanks!</p>

The sentences are found first, so that tags around them stay where they are. Spans to copy become markers, capitals
become an ordinary sentence; `Piece.finish` gives a translation the spans and the case of its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from mirada.data.language import primary
from mirada.data.masking import MARKER, Masked, Span, mask, spans
from mirada.data.profile import Case, Profile, in_case
from mirada.data.sentences import sentences


@dataclass
class Piece:
    """A part of a text that the model can take: a sentence, or a part of a long one."""

    text: int
    """Which of the texts it belongs to."""
    start: int
    end: int
    source: str
    """Its text as it stands there."""
    masked: Masked
    """The same with markers for spans, in the case that the model knows."""
    case: Case | None = None
    ids: list[int] = field(default_factory=list)
    prefix: list[int] = field(default_factory=list)
    best: list[tuple[str, float]] = field(default_factory=list)
    """Its n best translations with their scores."""
    tokens: list[int] = field(default_factory=list)
    """Those of the first."""
    complete: bool = True
    flags: set[str] = field(default_factory=set)
    confidence: float = 0.0
    """The mean probability of a token."""
    words: list[tuple[str, float]] = field(default_factory=list)
    """The words of the first translation with their probabilities."""

    def finish(self, text: str) -> str:
        """A translation of the masked text as one of the piece: in its case, with its spans."""
        return self.masked.restore(in_case(text, self.case))

    @property
    def copied(self) -> bool:
        """Whether there is nothing to translate: numbers, addresses and signs without a word beside them."""
        return bool(self.masked.spans) and not any(map(str.isalpha, self.masked.text))


class Cutter:
    """Cuts texts into pieces for a model."""

    def __init__(self, profile: Profile | None, masks: bool, language: str | None):
        self.profile, self.masks, self.language = profile, masks, primary(language) if language else None

    def cut(self, number: int, text: str, split: bool) -> Iterator[Piece]:
        """The sentences of a text, or all of it as one piece unless `split`."""
        found = spans(text) if self.masks or split else []
        outline = _outline(text, found)
        places = sentences(outline, self.language) if split else [(0, len(text))]
        for start, end in places:
            start, end = _inside(text, *stripped(text, start, end), found)
            if end > start:
                yield self.piece(number, text, start, end)

    def piece(self, number: int, text: str, start: int, end: int) -> Piece:
        """The part [start, end) of a text as the model reads it."""
        source, profile = text[start:end], self.profile
        case = profile.case_of(MARKER.sub("", source)) if profile else None
        masked = Masked(source)
        if self.masks:
            names = partial(profile.is_unknown_name, source) if profile and case is None else None
            masked = mask(source, spans(source, names))
        if case and profile:
            masked = Masked(profile.sentence_case(masked.text), masked.spans)
        return Piece(number, start, end, source, masked, case)


def stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of a text without the white space at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))


# ── tags ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_CLOSING = re.compile(r"</")
_EMPTY = re.compile(r"<(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b|<[^<>]*/>", re.IGNORECASE)
_NAME = re.compile(r"</?([^\s/>]+)")


def _outline(text: str, found: Sequence[Span]) -> str:
    """The text with its addresses and tags replaced, as long as they are, by what marks no end of a sentence."""
    parts, end = list[str](), 0
    for span in found:
        if span.kind in ("address", "placeholder"):
            tag = text[span.start : span.end]
            filler = " " if _EMPTY.match(tag) else "’" if tag.startswith("</") else "#" if tag.startswith("<") else "X"
            parts += [text[end : span.start], filler * len(tag)]
            end = span.end
    return "".join([*parts, text[end:]]) if parts else text


def _inside(text: str, start: int, end: int, found: Sequence[Span]) -> tuple[int, int]:
    """The part of a sentence that is within its outer tags: <b>Come in.</b> is as good as what it encloses."""
    tags = [span for span in found if start <= span.start and span.end <= end and text[span.start] == "<"]
    if not tags:
        return start, end
    pairs = _pairs(text, tags)
    first, last = 0, len(tags) - 1
    while first <= last:
        opens, closes = tags[first].start == start, tags[last].end == end
        if opens and pairs[first] is None:
            start, first = tags[first].end, first + 1
        elif closes and pairs[last] is None:
            end, last = tags[last].start, last - 1
        elif opens and closes and pairs[first] == last:
            start, end, first, last = tags[first].end, tags[last].start, first + 1, last - 1
        else:
            break
        start, end = stripped(text, start, end)
    return start, end


def _pairs(text: str, tags: Sequence[Span]) -> list[int | None]:
    """For each tag the one that it opens or closes with, if that is there."""
    partner: list[int | None] = [None] * len(tags)
    waiting: list[tuple[str, int]] = []
    for place, span in enumerate(tags):
        tag = text[span.start : span.end]
        name = _NAME.match(tag)
        if name is None or _EMPTY.match(tag):
            continue
        if not _CLOSING.match(tag):
            waiting.append((name[1].lower(), place))
        elif waiting and waiting[-1][0] == name[1].lower():
            _, other = waiting.pop()
            partner[place], partner[other] = other, place
    return partner

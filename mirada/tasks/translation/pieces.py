"""Pieces of a text that a translator takes one by one: sentences, in the form in which its model has learned to read.

    <p>CALL %s AT 12:30.</p> <p>Thanks!</p>

The sentences are found first, so that tags around them stay where they are. Spans to copy become markers, capitals
become an ordinary sentence; `Piece.finish` gives a translation the spans and the case of its source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from mirada.data.language import primary
from mirada.data.masking import MARKERS, Masked, Span, mask, spans, without
from mirada.data.normalize import nfc
from mirada.data.profile import CASED, Case, Profile, in_case
from mirada.data.sentences import sentences
from mirada.data.spelling import Correction
from mirada.tasks.translation.glossary import Required
from mirada.tasks.translation.markup import MAX_TAGS, NO_TAGS, TAG, Tags, pairs, take_out
from mirada.tasks.translation.memory import Match

Find = Callable[[str], list[Required]]
"""Finds the terms of a glossary in a sentence."""
STOPPED = 0.7
"""The share of texts with a mark at their end from which that is the rule."""
_WORD = re.compile(r"[^\W\d_]+")
_MARKUP = re.compile(r"<[^<>]*>")


@dataclass(frozen=True)
class Direction:
    """A direction of translation."""

    tag: Sequence[int] = ()
    """The ids before every source that tell a model of two directions which it is."""
    language: str | None = None
    """The language of the sources, if it is known."""
    into: str | None = None
    """The language of the translations, if it is known."""


ONE_DIRECTION = Direction()


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
    """The same with markers for spans and without tags, in the case that the model knows."""
    tags: Tags = NO_TAGS
    match: Match | None = None
    """What a translation memory has for it."""
    open_ended: bool = False
    """Whether it has no mark at its end although texts usually have one: then its translation has no full stop."""
    inner: bool = False
    """Whether it begins inside a sentence: then its translation begins with a lowercase letter if it does."""
    cut: bool = False
    """Whether it ends inside a sentence: then its translation ends without a mark if it does."""
    case: Case | None = None
    tag: Sequence[int] = ()
    """The ids before those of its text, which tell the direction."""
    ids: list[int] = field(default_factory=list)
    prefix: list[int] = field(default_factory=list)
    best: list[tuple[str, float]] = field(default_factory=list)
    """Its n best translations with their scores."""
    tokens: list[int] = field(default_factory=list)
    """The tokens of the first of them."""
    complete: bool = True
    flags: set[str] = field(default_factory=set)
    confidence: float = 0.0
    """The mean probability of a token."""
    words: list[tuple[str, float]] = field(default_factory=list)
    """The words of the first translation with their probabilities."""
    corrected: list[tuple[str, str]] = field(default_factory=list)
    """Misspelt words, and as what they are read."""
    unknown: str = ""
    """Its first word, if that is unknown and only taken for a name because it begins with a capital letter."""
    uncovered: list[str] = field(default_factory=list)
    """Words of the source that seem to have no counterpart in it."""

    def correct(self, found: Sequence[Correction]) -> None:
        """Read words as others, but not across a tag."""
        text, places = self.masked.text, self.tags.places
        for start, end, word in reversed(found):
            if not any(start < place < end for place in places):
                self.corrected.insert(0, (text[start:end], word))
                longer = len(word) - (end - start)
                places = tuple(place + longer if place >= end else place for place in places)
                text = text[:start] + word + text[end:]
        self.masked, self.tags = Masked(text, self.masked.spans), Tags(self.tags.texts, places)

    def finish(self, text: str, first: bool = True) -> str:
        """Turn a translation of the masked text into one of the piece: in its case, with its spans and tags.

        `first` tells whether the text is the beginning of the translation, or a later part of it.
        """
        ends = (".", "!", "?") if self.cut else "."
        if self.open_ended and text.endswith(ends) and not text.endswith(".."):
            text = text[:-1]
        text = self.masked.restore(in_case(text, self.case))
        if first and self.inner and self.case is None:
            text = self._continued(text)
        return TAG.sub(lambda found: self.tags.texts[ord(found[0]) - 0xE100], text) if self.tags.texts else text

    def _continued(self, text: str) -> str:
        """Begin a translation with a lowercase letter if the source does, except I and names: words of the source."""
        first, letter = _WORD.search(text), next(filter(str.isalpha, self.source), "")
        if not first or not letter.islower() or not first[0].istitle() or len(first[0]) == 1 or first[0] in self.source:
            return text
        return text[: first.start()] + first[0].lower() + text[first.end() :]

    @property
    def remembered(self) -> str | None:
        """Its translation by a memory, if that has it."""
        return self.match.target if self.match and self.match.used else None

    @property
    def copied_name(self) -> str:
        """Its first word, if that is unknown and stands in the translation as it is."""
        return self.unknown if self.best and self.remembered is None and self.unknown in self.best[0][0] else ""

    @property
    def plain(self) -> str:
        """Its text without tags, in the case that the model knows."""
        return self.masked.restore(self.masked.text)

    @property
    def copied(self) -> bool:
        """Whether there is nothing to translate: numbers, addresses and signs without a word beside them."""
        return bool(self.masked.spans) and not any(map(str.isalpha, self.masked.text))


@dataclass
class SourceText:
    """A text being translated: its pieces, or why there are none."""

    mark: str = ""
    """The language mark (>>fra<<) in front of each of its sentences."""
    direction: Direction = ONE_DIRECTION
    problem: str | None = None
    terms: Find | None = None
    """Finds the terms of a glossary, whose spelling is not corrected."""
    spelling: bool = True
    """Whether misspelt words are corrected."""
    pieces: list[Piece] = field(default_factory=list)
    parts: int = 0
    """How many parts its overlong sentences were split into."""
    notes: list[str] = field(default_factory=list)


class Cutter:
    """Cuts texts into pieces for a model."""

    def __init__(self, profile: Profile | None, masks: bool):
        self.profile, self.masks = profile, masks

    def cut(
        self, number: int, text: str, split: bool, language: str | None = None, terms: Find | None = None
    ) -> Iterator[Piece]:
        """The sentences of a text, or all of it as one piece unless `split`; `terms` are not taken for names."""
        found = spans(text)
        outline = _outline(text, found)
        places = sentences(outline, language and primary(language)) if split else [(0, len(text))]
        case = self._case(text, found)
        for start, end in places:
            start, end = _inside(text, *stripped(text, start, end), found)
            if end > start:
                yield self.piece(number, text, start, end, case, terms)

    def _case(self, text: str, found: Sequence[Span]) -> Case | None:
        """The case of a text all in upper or lower case; its sentences may be too short to show it."""
        case = self.profile.case_of(without(text, found)) if self.profile else None
        return None if case == "title" else case

    def piece(
        self,
        number: int,
        text: str,
        start: int,
        end: int,
        case: Case | None = None,
        terms: Find | None = None,
        inner: bool = False,
        cut: bool = False,
    ) -> Piece:
        """The part [start, end) of a text as the model reads it; `case` is that of the text, if it is unusual.

        `inner` and `cut` tell whether it begins and ends inside a sentence.
        """
        source, profile = nfc(text[start:end]), self.profile
        if case is None and profile and not (inner or cut):  # of a clause it is that of the sentence
            case = profile.case_of(without(source, spans(source)))
        names = self._unknown(source, terms) if self.masks and case is None else None
        found = spans(source, names)
        if not self.masks:  # tags need no markers
            found = [] if TAG.search(source) else [span for span in found if is_tag(source, span)][:MAX_TAGS]
        tags = [source[span.start : span.end] for span in found if is_tag(source, span)][:MAX_TAGS]
        masked = mask(source, found, [chr(0xE100 + place) for place in range(len(tags))])
        if case and profile:
            masked = Masked(_in_sentence_case(masked.text, profile, terms), masked.spans)
        plain, taken = take_out(masked.text, tags)
        open_ended = bool(profile and profile.stopped > STOPPED) and (plain[-1:].isalnum() or plain[-1:] in MARKERS)
        if inner and case is None and profile and profile.capitalized >= CASED:
            plain = plain[:1].upper() + plain[1:]  # as a sentence begins
        marked = Masked(plain, masked.spans)
        unknown = "" if inner else _doubtful_name(source, found)
        return Piece(number, start, end, source, marked, taken, None, open_ended, inner, cut, case, unknown=unknown)

    def _unknown(self, source: str, terms: Find | None) -> Callable[[str, int], bool] | None:
        """Whether a word of a sentence is a name that the model does not know, and not a term of a glossary."""
        profile = self.profile
        if profile is None or terms is None:
            return partial(profile.is_unknown_name, source) if profile else None
        return lambda word, start: profile.is_unknown_name(source, word, start) and not terms(word)


def _doubtful_name(source: str, found: Sequence[Span]) -> str:
    """The first word of a sentence if it was taken for a name, and no capitals in it or after it say that it is one."""
    for span in found:
        word, before, after = source[span.start : span.end], source[: span.start], source[span.end :]
        if span.kind == "name" and not any(map(str.isalnum, _MARKUP.sub("", before))):
            return word if word[1:].islower() and not _MARKUP.sub("", after).lstrip()[:1].isupper() else ""
    return ""


def _in_sentence_case(text: str, profile: Profile, terms: Find | None) -> str:
    """A text in unusual case as an ordinary one; a term of a glossary that would not be found then stays as it is."""
    new = profile.sentence_case(text)
    if terms is None or len(new) != len(text):
        return new
    there = {(term.start, term.end) for term in terms(new)}
    for term in terms(text):
        if (term.start, term.end) not in there:
            new = new[: term.start] + text[term.start : term.end] + new[term.end :]
    return new


def is_tag(text: str, span: Span) -> bool:
    """Whether a span of a text is a tag: <b>, </a>."""
    return span.kind == "placeholder" and text[span.start] == "<"


def stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of a text without the white space at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))


# ── tags ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_BREAK = re.compile(
    r"</?(?:address|article|aside|blockquote|br|dd|div|dl|dt|figcaption|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol"
    r"|p|pre|section|table|tbody|td|tfoot|th|thead|tr|ul)\b",
    re.IGNORECASE,
)
"""Tags that end a line."""


def _outline(text: str, found: Sequence[Span]) -> str:
    """The text with its addresses and tags replaced, as long as they are, by what marks no end of a sentence."""
    parts, end = list[str](), 0
    for span in found:
        if span.kind in ("address", "placeholder"):
            tag = text[span.start : span.end]
            parts += [text[end : span.start], _filler(tag) * len(tag)]
            end = span.end
    return "".join([*parts, text[end:]]) if parts else text


def _filler(span: str) -> str:
    """A character that ends a sentence where a span does, or can stand at its beginning or end if a tag can."""
    if not span.startswith("<"):
        return "X"
    if _BREAK.match(span):
        return "\n"
    return "’" if span.startswith("</") else "#"


def _inside(text: str, start: int, end: int, found: Sequence[Span]) -> tuple[int, int]:
    """The part of a sentence that is within its outer tags: <b>Come in.</b> is as good as what it encloses."""
    tags = [span for span in found if start <= span.start and span.end <= end and text[span.start] == "<"]
    if not tags:
        return start, end
    partners = pairs([text[span.start : span.end] for span in tags])
    first, last = 0, len(tags) - 1
    while first <= last:
        opens, closes = tags[first].start == start, tags[last].end == end
        if opens and partners[first] is None:
            start, first = tags[first].end, first + 1
        elif closes and partners[last] is None:
            end, last = tags[last].start, last - 1
        elif opens and closes and partners[first] == last:
            start, end, first, last = tags[first].end, tags[last].start, first + 1, last - 1
        else:
            break
        start, end = stripped(text, start, end)
    return start, end

"""Spans that a translation passes on unchanged, hidden behind markers that the model learns to copy.

    Call %s at 12:30.  →  Call ① at ②.  →  Ligue para ① às ②.  →  Ligue para %s às 12:30.

A marker is a character of Unicode's private use area, one token of the subwords; a text that has such characters
itself has them masked as well. In training, what stands on both sides of a pair is masked on both, under numbers drawn
at random so that all markers are learned; and now and then a name that both sides share, so that a marker can stand for
any word. In use, the spans of a sentence are numbered as they come.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mirada.data.placeholders import ADDRESS, PLACEHOLDER, without_punctuation

MARKERS = "".join(map(chr, range(0xE000, 0xE00C)))
"""The most spans of a sentence that are masked, and their markers."""
MARKER = re.compile(f"[{MARKERS[0]}-{MARKERS[-1]}]")

NAMES_MASKED = 4
"""Every fourth pair has its shared names masked."""

_SIGNS = "$€£¥₹"
_GAP = " \u00a0\u2009\u202f"
_AFTER = rf"[{_GAP}][{_SIGNS}](?![{_GAP}]?\d|\w)"  # 5 €
_EMOJI = "\U0001f000-\U0001faff\u2600-\u27bf\u2b05-\u2b55\u231a-\u23ff"
_SPAN = re.compile(
    rf"""(?P<address>{ADDRESS})
    | (?P<placeholder>{PLACEHOLDER}
      )
    | (?P<own>[\ue000-\uf8ff]+)
    | (?P<emoji>(?:[{_EMOJI}][\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]?\u200d?)+)
    | (?P<code>(?<![\w@#/.-])(?:
          [@\#][^\W\d_]\w+                                                # @someone #something
        | [\w-]+\.(?:txt|pdf|docx?|odt|xlsx?|csv|html?|xml|json|ya?ml|md|png|jpe?g|gif|svg|zip|exe|py|js|cpp|sh|mp[34])
        | (?=\w*[a-zA-Z])\w+_\w+(?:\(\))?                                 # snake_case
        | (?:[A-Za-z]:\\|~?/)(?:[\w.-]+[\\/])+[\w.-]*                     # C:\\x\\y /usr/bin
        | (?=[A-Z-]*\d)(?=[\d-]*[A-Z])[A-Z\d]+(?:[-.][A-Z\d]+)*           # B-52 ISO9001 COVID-19
      )(?![\w-]))
    | (?P<number>(?<![\w.,])\+\d{{1,3}}(?:[{_GAP}.-]?\(\d{{1,4}}\)|[{_GAP}.-]\d{{2,}}){{1,6}}(?!\w)  # +1 555 123-4567
      | (?<![\w.,])(?:\+|(?:R|US)?[{_SIGNS}][{_GAP}]?)?(?:
          \d{{1,3}}(?:[ \u00a0\u2009\u202f]\d{{3}})+(?!\d)(?:[.,٫]\d+)?   # 1 000 000
        | \d+(?:[.,:/'’·٫٬–-]\d+)+                                        # 12.50 14:30 12/05/2026 555-0199
        | \d{{2,}} | (?<=[{_SIGNS}])\d | (?<=[{_SIGNS}][{_GAP}])\d | \d(?=[%€£]|{_AFTER})
      )(?:[%€£]|{_AFTER})?(?!\w))                        # 12.50 €
    """,
    re.VERBOSE,
)
_QUICK = re.compile(
    rf"[@<&%{{_\\/#\ue000-\uf8ff{_EMOJI}]|[{_SIGNS}+][{_GAP}]?\d|\d(?:\d|[%€£]|[{_GAP}][{_SIGNS}]"
    r"|[.,:'’·٫٬–-]\d|[A-Z])|[A-Z]-?\d|\.[a-z]|[Ww]{3}"
)
"""What every text with a span matches, and most others do not."""
_CLOCK = re.compile(r"\d{1,2}[AP]M")
_NAME = re.compile(r"(?<![\w'’-])[^\W\d_][^\W\d_'’-]{2,}(?![\w-])(?!['’](?!s\b))")


class Span(NamedTuple):
    """The characters [start, end) of a text, and what they are: address, placeholder, emoji, code, number, name."""

    start: int
    end: int
    kind: str


def spans(text: str, is_name: Callable[[str, int], bool] | None = None) -> list[Span]:
    """What a translation should pass on unchanged, in order; `is_name` decides on capitalized words and their place."""
    found: list[Span] = []
    if _QUICK.search(text):
        for match in _SPAN.finditer(text):
            kind, start, end = str(match.lastgroup), match.start(), match.end()
            if kind == "address":
                end = start + len(without_punctuation(match[0]))
            if end > start and not _CLOCK.fullmatch(match[0]):
                found.append(Span(start, end, kind) if match[0][0] == "<" else _with_brackets(text, start, end, kind))
    return sorted([*found, *_names(text, found, is_name)]) if is_name is not None else found


def _with_brackets(text: str, start: int, end: int, kind: str) -> Span:
    """A span with the brackets that enclose nothing else: (12:30) is copied as a whole."""
    alone = start < 2 or text[start - 2].isspace()
    enclosed = start and f"{text[start - 1]}{text[end : end + 1]}" in ("()", "[]")
    return Span(start - 1, end + 1, kind) if alone and enclosed else Span(start, end, kind)


def _names(text: str, taken: Sequence[Span], is_name: Callable[[str, int], bool]) -> list[Span]:
    """The names outside of other spans; those that follow each other are one."""
    found: list[Span] = []
    for match in _NAME.finditer(text):
        start, end = match.span()
        if all(end <= span.start or span.end <= start for span in taken) and is_name(match[0], start):
            if found and text[found[-1].end : start] == " ":
                start = found.pop().start
            found.append(Span(start, end, "name"))
    return found


@dataclass(frozen=True)
class Masked:
    """A text with markers for its spans."""

    text: str
    spans: tuple[str, ...] = ()
    """What the markers stand for, in their order."""

    def restore(self, text: str) -> str:
        """A translation with the spans in the places of their markers; markers that the source has not are dropped."""
        if not MARKER.search(text):
            return text
        return MARKER.sub(lambda found: self._span(ord(found[0]) - ord(MARKERS[0])), text)

    def _span(self, number: int) -> str:
        return self.spans[number] if number < len(self.spans) else ""

    def intact(self, text: str) -> bool:
        """Whether a translation has every marker once, and no others."""
        return sorted(MARKER.findall(text)) == list(MARKERS[: len(self.spans)])


def mask(text: str, found: Sequence[Span], tags: Sequence[str] = ()) -> Masked:
    """Replace the first spans of a text by markers, until these run out, and its first tags by `tags`."""
    chosen, kept = [], list[str]()
    markers, left = iter(MARKERS), list(tags)[::-1]
    for span in found:
        tagged = left and span.kind == "placeholder" and text[span.start] == "<"
        marker = left.pop() if tagged else next(markers, None)
        if marker is not None:
            chosen.append((span, marker))
            kept += [] if tagged else [text[span.start : span.end]]
    return Masked(_replaced(text, chosen), tuple(kept))


def without(text: str, found: Sequence[Span]) -> str:
    """The text with spaces in the place of its spans."""
    return _replaced(text, ((span, " ") for span in found)) if found else text


def mask_pair(source: str, target: str) -> tuple[str, str]:
    """A training pair with markers for what both sides have."""
    ours, theirs = shared_spans(source, target)
    return (_replaced(source, ours), _replaced(target, theirs)) if ours else (source, target)


def shared_spans(source: str, target: str) -> tuple[list[tuple[Span, str]], list[tuple[Span, str]]]:
    """What both sides of a training pair have, by side, with its markers."""
    drawn = zlib.crc32(source.encode("utf-8", "surrogatepass"))
    quick = _QUICK.search(source) is not None and _QUICK.search(target) is not None
    names = _shared_names(source, target) if drawn % NAMES_MASKED == 0 else set()
    if not quick and not names:
        return [], []
    is_name = (lambda word, _: word in names) if names else None
    ours, theirs = spans(source, is_name), spans(target, is_name)
    if not ours or not theirs:
        return [], []
    kept = Counter(_texts(source, ours)) & Counter(_texts(target, theirs))
    ours, theirs = _first(source, ours, kept), _first(target, theirs, kept)
    if not ours:
        return [], []
    markers = _drawn(len(ours), drawn // NAMES_MASKED)
    owners: dict[str, list[str]] = {}
    for text, marker in zip(_texts(source, ours), markers, strict=True):
        owners.setdefault(text, []).append(marker)
    there = [owners[text].pop(0) for text in _texts(target, theirs)]
    return list(zip(ours, markers, strict=True)), list(zip(theirs, there, strict=True))


def _shared_names(source: str, target: str) -> set[str]:
    """The names of a pair: words with a capital letter that stand once on both sides."""
    here, there = _NAME.findall(source), _NAME.findall(target)
    shared = {word for word in here if not word.islower()}.intersection(there)
    return {word for word in shared if here.count(word) == there.count(word) == 1}


def _texts(text: str, found: Iterable[Span]) -> list[str]:
    return [text[span.start : span.end] for span in found]


def _first(text: str, found: Sequence[Span], kept: Counter[str]) -> list[Span]:
    """The spans whose texts are kept, each as often as that, and no more than there are markers."""
    left, chosen = Counter({one: kept[one] for one in list(kept)[: len(MARKERS)]}), []
    for span in found:
        one = text[span.start : span.end]
        if left[one] > 0:
            left[one] -= 1
            chosen.append(span)
    return chosen if len(chosen) <= len(MARKERS) else []


def _drawn(count: int, number: int) -> str:
    """`count` different markers, in an order that depends on the number."""
    left, drawn = list(MARKERS), ""
    for _ in range(count):
        number, place = divmod(number, len(left))
        drawn += left.pop(place)
    return drawn


def _replaced(text: str, found: Iterable[tuple[Span, str]]) -> str:
    parts, end = list[str](), 0
    for span, marker in found:
        parts += [text[end : span.start], marker]
        end = span.end
    return "".join([*parts, text[end:]])

"""The tags inside of a text that is to be translated: `<b>`, `</a>`, `<g1>`, `<x2/>`.

A translation must have each of them once, and those that belong together must still enclose something. `mended` puts
right what is easily put right; `placed` puts tags into a translation that was made without them.

What looks like a tag or an entity in the text itself is escaped (`&lt;`, `&amp;`); a lone & or < stays as it is.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, takewhile

TAG = re.compile(r"</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>")
"""A tag; the same pattern as in `data/placeholders.py`."""

_NO_END = "area base br col embed hr img input link meta param source track wbr"
VOID = frozenset(_NO_END.split())
"""Elements of HTML that have no end tag."""

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_AMBIGUOUS = re.compile(rf"<(?=/?[A-Za-z])|&(?={_ENTITY.pattern[1:]})")
_BETWEEN_WORDS = re.compile(r"(?<=\w)<[A-Za-z][\w:.-]*(?:\s[^<>]*)?/>(?=\w)")
_LINK = re.compile(r"<a(?:\d+>|[\s>])")
_NAME = re.compile(r"</?([A-Za-z][\w:.-]*)")


def shown(text: str) -> str:
    """A text as it stands between tags: what could be taken for a tag or an entity is escaped."""
    return _AMBIGUOUS.sub(lambda match: "&lt;" if match[0] == "<" else "&amp;", text)


def meant(text: str) -> str:
    """The text that stands between tags, without escapes."""
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text)


def tags(text: str) -> list[str]:
    """The tags of a text, in their order."""
    return TAG.findall(text)


def parts(text: str) -> list[tuple[str, str]]:
    """A text as pairs of a tag and the text after it; the first tag is empty."""
    return list(zip(["", *tags(text)], TAG.split(text), strict=True))


def stripped(text: str) -> str:
    """A text without its tags; one that stands alone between two words leaves a space."""
    return re.sub(r"  +", " ", TAG.sub("", _BETWEEN_WORDS.sub(" ", text))).strip()


def pairs(found: list[str]) -> list[tuple[int, int]]:
    """The places of tags that belong together, as (opening, closing). A tag whose partner is missing stands alone."""
    return matched([_named(tag) for tag in found])


def _named(tag: str) -> tuple[str, str]:
    """The name of a tag, and whether it opens, closes or is void."""
    match = _NAME.match(tag)
    name = match[1].lower() if match else tag
    return name, "close" if tag.startswith("</") else "void" if tag.endswith("/>") or name in VOID else "open"


def matched(items: Sequence[tuple[str, str]]) -> list[tuple[int, int]]:
    """The places of items that belong together, given their names and roles: open, close, or anything else."""
    waiting: list[tuple[str, int]] = []
    found = []
    for place, (name, role) in enumerate(items):
        if role == "open":
            waiting.append((name, place))
        elif role == "close":
            at = next((at for at in range(len(waiting) - 1, -1, -1) if waiting[at][0] == name), None)
            if at is not None:
                found.append((waiting[at][1], place))
                del waiting[at:]
    return sorted(found)


def _enclosures(found: list[str]) -> Counter[tuple[str, str]]:
    return Counter((found[opening], found[closing]) for opening, closing in pairs(found))


def fits(source: str, translation: str) -> bool:
    """Whether a translation has the tags of its source, each once, with the same ones belonging together."""
    there, wanted = tags(translation), tags(source)
    return Counter(there) == Counter(wanted) and _enclosures(there) == _enclosures(wanted)


def emptied(source: str, translation: str) -> bool:
    """Whether a pair of tags that encloses a text in the source encloses none in the translation."""
    return not _filled(source) <= _filled(translation)


def _filled(text: str) -> Counter[tuple[str, str]]:
    """The pairs of tags that enclose a text."""
    pieces, found = parts(text), tags(text)
    return Counter(
        (found[opening], found[closing])
        for opening, closing in pairs(found)
        if any(words.strip() for _, words in pieces[opening + 1 : closing + 1])
    )


def may_be_written(source: str, translation: str) -> bool:
    """Whether a translation has no tags but those of its source, and no half of a pair.

    Whole pairs may be missing: they only say how a text looks. A tag that stands alone may not.
    """
    there, wanted = tags(translation), tags(source)
    paired = _enclosures(there)
    alone = Counter(there) - Counter(tag for pair in paired.elements() for tag in pair)
    alone_before = Counter(wanted) - Counter(tag for pair in _enclosures(wanted).elements() for tag in pair)
    return not paired - _enclosures(wanted) and alone == alone_before


def mended(source: str, translation: str) -> str | None:
    """The translation with all tags of its source, if only those at its ends were lost or some are too many."""
    if fits(source, translation):
        return translation
    wanted = tags(source)
    left = Counter(wanted)

    def once(match: re.Match[str]) -> str:
        left[match[0]] -= 1
        return match[0] if left[match[0]] >= 0 else ""

    text = TAG.sub(once, translation)
    missing = Counter(wanted) - Counter(tags(text))
    pieces = parts(source)
    lead = list(takewhile(lambda place: not pieces[place][1].strip(), range(len(pieces))))
    trail = list(takewhile(lambda place: not pieces[place][1].strip(), range(len(pieces) - 1, 0, -1)))
    before = [tag for tag, _ in pieces[1 : len(lead) + 1] if missing[tag]] if lead else []
    after = [tag for tag, _ in pieces[len(pieces) - len(trail) :] if missing[tag]]
    text = "".join([*before, text, *after])
    return text if fits(source, text) else None


def insides(source: str) -> list[str]:
    """The texts that pairs of tags enclose, without tags; `placed` looks for their translations."""
    pieces = parts(source)
    return [_inside(pieces, pair) for pair in pairs(tags(source))]


def _inside(pieces: list[tuple[str, str]], pair: tuple[int, int]) -> str:
    opening, closing = pair
    return re.sub(r"  +", " ", "".join(text for _, text in pieces[opening + 1 : closing + 1])).strip()


def placed(source: str, plain: str, translated: Mapping[str, str]) -> tuple[str, list[str]]:
    """A translation that was made without tags, with those of its source, and the texts whose tags found no place.

    A pair goes around the translation of what it enclosed, if that occurs once. If not, a link goes around everything,
    or each of several around words as far in as it was; other pairs are left out. A tag that stands alone goes between
    words.
    """
    found, pieces = tags(source), parts(source)
    sizes = [len(text) for _, text in pieces]
    share = [before / max(1, sum(sizes)) for before in accumulate(sizes)]  # of the text, in front of each tag
    spots: list[tuple[int, int, str]] = []  # where in the plain text, in which order, which tag
    spans: list[tuple[tuple[int, int], tuple[int, int]]] = []  # of a pair in the source, and in the plain text
    lost = []
    together = pairs(found)
    several = sum(bool(_LINK.match(found[opening])) for opening, _ in together) > 1
    for opening, closing in together:
        inside = _inside(pieces, (opening, closing))
        options = [_occurrence(plain, translated.get(inside, ""))]
        if _LINK.match(found[opening]):
            options.append(_words(plain, share[opening], share[closing]) if several else (0, len(plain)))
        fitting = (one for one in options if one and all(_agree((opening, closing), one, *other) for other in spans))
        span = next(fitting, None)
        if span is None:
            lost.append(inside)
            continue
        spans.append(((opening, closing), span))
        spots += [(span[0], opening, found[opening]), (span[1], closing, found[closing])]
    paired = {place for pair in together for place in pair}
    for place, tag in enumerate(found):
        if place not in paired:
            at = _boundary(plain, share[place])
            apart = " " if at and pieces[place][1].endswith(" ") else ""
            spots.append((at, place, apart + tag))
    result, end = "", 0
    for at, _, tag in _in_order(spots):
        result, end = result + plain[end:at] + tag, at
    return result + plain[end:], lost


def _in_order(spots: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Tags at one place: what closes comes first, then as in the source."""
    return sorted(spots, key=lambda spot: (spot[0], not (spot[2].startswith("</") and spot[0] > 0), spot[1]))


def _agree(pair: tuple[int, int], span: tuple[int, int], before: tuple[int, int], there: tuple[int, int]) -> bool:
    """Whether a pair of tags can have its span beside that of one before it: both apart, or inside of it as it was."""
    if before[1] > pair[1]:
        return there[0] <= span[0] and span[1] <= there[1]
    return span[1] <= there[0] or there[1] <= span[0]


def _occurrence(text: str, part: str) -> tuple[int, int] | None:
    """Where a part occurs in a text as whole words, if it does so once."""
    wanted = part.strip().strip(".,;:!?").casefold()
    if not wanted or len(text.casefold()) != len(text):
        return None
    places = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(wanted)}(?!\w)", text.casefold())]
    return places[0] if len(places) == 1 else None


def _words(text: str, begin: float, end: float) -> tuple[int, int] | None:
    """The words between two shares of a text, at least one."""
    words = [match.span() for match in re.finditer(r"\S+", text)]
    if not words:
        return None
    first = min(round(begin * len(words)), len(words) - 1)
    return words[first][0], words[max(first, min(round(end * len(words)), len(words)) - 1)][1]


def _boundary(text: str, share: float) -> int:
    """The end of the word that is nearest to a share of the text."""
    ends = [0, *(match.end() for match in re.finditer(r"\S+", text))]
    return min(ends, key=lambda end: abs(end - share * len(text)))

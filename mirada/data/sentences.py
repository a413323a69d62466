"""Where the sentences of a text begin and end; nothing of it is changed or lost.

A sentence ends

- at a line break;
- after 。！？ and the like, with or without a space;
- after . ! ? … and the like, where white space follows and then what can begin a sentence: no lowercase letter, except
  after ! and ?, or in a line that begins with one itself. A full stop after a title, an abbreviation, an initial or
  the number of an item ends none.

Closing quotes and brackets belong to the sentence before them. The rules are those that many languages share; the
abbreviations of a language come from sentencex. Where there is no mark to go by (Thai), a line is one sentence.
"""

from __future__ import annotations

import re

_CLOSING = "\"'»”’)\\]}›」』）】》〉〕〗"
_OPENING = "\"'«“‘(\\[{‹「『（【《〈„‚¿¡*_#—–\\-"
_WIDE = "。！？｡"
_NARROW = ".!?…؟۔।॥։።፧။។៕‼⁇⁈⁉"

# Quantifiers are possessive (++, *+), so that no text takes more than linear time.
_END = re.compile(
    rf"(?P<wide>[{_WIDE}][{_WIDE}…⋯!?]*+(?P<quote>[{_CLOSING}]*+))(?=(?P<after>.?))"
    rf"|(?<![{_NARROW}])(?P<mark>[{_NARROW}]++)(?P<closing>(?:[{_CLOSING}]|[ \xa0\u202f][»›])*+)"
    rf"\s++(?=[{_OPENING}\s]*+(?P<next>\S))"
)
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_FIRST = re.compile(rf"[{_OPENING}\s]*+(\S)")
_LAST_WORD = re.compile(r"[^\s(\[{«“‘\"'¿¡„‹/—–]+$")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_NUMBER = re.compile(r"\d|[IVXLC]+\b")
_BEYOND_NUMBER = re.compile(
    r"(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhundert)\b"
)

# All without their last full stop, in lower case.
_TITLES = """mr mrs ms mx dr drs prof st ste sr sra sres sras srta dra dras dña rev hon lt cpt capt cmdr sgt lic arq
excmo excma ilmo ilma rvdo hr frl mme mlle mgr dott avv exmo exma"""
_INSIDE = "vs cf viz approx aprox resp incl excl ej bzw ggf evtl inkl exkl vgl avda ctra dpto depto"
_BEFORE_NUMBERS = """no nr num núm nos p pp pág págs pag pags vol vols art arts cap caps fig figs sec ch eq tel tlf tfno
ext ca c av jan feb mar apr jun jul aug sep sept oct nov dec ene abr ago dic"""
_NEVER_LAST, _NUMBERED = frozenset(f"{_TITLES} {_INSIDE}".split()), frozenset(_BEFORE_NUMBERS.split())
_MAY_END = frozenset(["a.m", "p.m", "s.a", "s.l"])
"""Initials that often end a sentence: a capital letter after them begins the next."""


def sentences(text: str, language: str | None = None) -> list[tuple[int, int]]:
    """The places [start, end) of a text's sentences, in order. Between them, before and after is only white space.

    With the code of its language, abbreviations of that language end no sentence.
    """
    found: list[tuple[int, int]] = []
    for line in _LINE.finditer(text):
        start = 0
        for end in [*_without_abbreviations(line[0], _ends(line[0]), language), len(line[0])]:
            part = line[0][start:end]
            if part.strip():
                first = line.start() + start + len(part) - len(part.lstrip())
                found.append((first, first + len(part.strip())))
            start = end
    return found


def _without_abbreviations(line: str, ends: list[int], language: str | None) -> list[int]:
    """The ends but for full stops that sentencex, which knows the abbreviations of many languages, does not end at."""
    if language is None or not any(line[end - 1] == "." for end in ends):
        return ends
    import sentencex

    others = {boundary["end_index"] for boundary in sentencex.get_sentence_boundaries(language, line)}
    return [end for end in ends if line[end - 1] != "." or not others.isdisjoint(range(end, _next(line, end) + 1))]


def _next(line: str, place: int) -> int:
    """The end of the white space after a place."""
    return place + len(line[place:]) - len(line[place:].lstrip())


def _ends(line: str) -> list[int]:
    """Where the sentences of a line end, but for the last."""
    ends = [0]
    first = _FIRST.match(line)
    small = first is not None and first[1].islower()
    for mark in _END.finditer(line):
        if mark["wide"] is None:
            if _is_end(line, ends[-1], mark, small):
                ends.append(mark.end("closing"))
        elif not mark["quote"] or not mark["after"] or mark["after"].isspace() or mark["after"] in _OPENING:
            ends.append(mark.end("wide"))  # else the sentence continues after the quotation
    return ends[1:]


def _is_end(line: str, start: int, mark: re.Match[str], small: bool) -> bool:
    """Whether a mark with white space after it ends the sentence that begins at `start`."""
    following, stop = mark["next"], mark["mark"] == "."
    if following in _NARROW or following in "»›)]}”’」』":
        return False
    if following.islower() and not (small and stop):
        return not mark["closing"] and not {".", "…"} & set(mark["mark"])
    word = _LAST_WORD.search(line, max(start, mark.start() - 40), mark.start()) if stop else None
    if word is None:
        return True
    before, after = word[0].lower(), mark.end()
    if word[0].isdecimal() and (
        not line[start : word.start()].strip(_OPENING + " ") or _BEYOND_NUMBER.match(line, after)
    ):
        return False  # 1. Open it.
    if before in _NUMBERED and _NUMBER.match(line, after):
        return False
    if _INITIALS.fullmatch(word[0]) and (word[0][0].isupper() or "." in before) and before not in _MAY_END:
        return False  # J. R. R. Tolkien; e.g. this
    return before not in _NEVER_LAST

"""Text as a model reads it: canonical Unicode (NFC) and plain spaces.

    NFD, mixed forms                        NFC: "e" and an accent are "é"
    no-break, thin, ideographic spaces,     one plain space, runs of them too
    tabs, line breaks, other white space
    outer white space                       taken away
    soft hyphens, zero-width spaces, BOM,   taken away
    word joiners, control characters

Joiners that shape letters and emoji (U+200C, U+200D) and marks of direction stay. A tokenizer that normalizes does so
when it is learned and whenever it is used: see `Tokenizer`.
"""

from __future__ import annotations

import re
import unicodedata

INVISIBLE = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u180e\u200b\u2060\ufeff"
_ODD = re.compile(rf"[\s{INVISIBLE}]{{2,}}|[^\S ]|[{INVISIBLE}]")


def normalize(text: str) -> str:
    """The text as a model reads it. Doing it again changes nothing."""
    if not text.isprintable() or "  " in text:  # a quick look: all that is odd cannot be printed, or is two spaces
        text = _ODD.sub(lambda found: " " if any(map(str.isspace, found[0])) else "", text)
    return nfc(text).strip(" ")


def nfc(text: str) -> str:
    """The text in Unicode's canonical composed form."""
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def aligned(text: str) -> tuple[str, list[tuple[int, int]]]:
    """`normalize(text)`, and for each character of it the characters [start, end) of the text that it stands for."""
    if normalize(text) == text:
        return text, [(place, place + 1) for place in range(len(text))]
    normal, spans = "", list[tuple[int, int]]()
    for start, end in _clusters(text):
        part = normalize(text[start:end])
        if not part and any(map(str.isspace, text[start:end])) and normal and not normal.endswith(" "):
            part = " "
        normal += part
        spans += [(start, end)] * len(part)
    kept = len(normal.rstrip(" "))
    whole = normalize(text)
    # Clusters are found by looking at neighbours; should a rare script compose over more, all of it is one.
    return (whole, spans[:kept]) if normal[:kept] == whole else (whole, [(0, len(text))] * len(whole))


def _clusters(text: str) -> list[tuple[int, int]]:
    """Parts of a text that can be normalized one by one: a character with what joins it, or white space."""
    starts: list[int] = []
    composed = ""  # what the part so far is; nothing if it is white space
    for place, character in enumerate(text):
        clean, grown = normalize(character), normalize(composed + character)
        apart = not unicodedata.combining(character) and grown == composed + clean
        if character.isspace() or (clean and (apart or not composed)) or not starts:
            starts.append(place)
            composed = clean
        else:
            composed = grown
    return list(zip(starts, [*starts[1:], len(text)][: len(starts)], strict=True))

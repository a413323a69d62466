"""Labelled texts, as the rows of a table give them: a text and its label, or two texts and their label.

A text has one part or two. Two are one text with a tab between them, which is the only tab in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from mirada.data.checks import KINDS, has_invalid_bytes
from mirada.data.readers.pair import Pair

TAB = "\t"


def joined(parts: Sequence[str]) -> str:
    """Parts as one text; a tab inside of one becomes the space it looks like."""
    return TAB.join(part.replace(TAB, " ") for part in parts)


def example(row: Pair, parts: int) -> tuple[str, str]:
    """The text of a row and its label, which stands last; either may be empty."""
    if parts == 1:
        return row.source, row.targets[0].strip()
    first, second, label = (row.source, *row.targets, "", "")[:3]
    return joined((first, second)), label.strip()


def unreadable(row: Pair, parts: int) -> str | None:
    """Why a row cannot be learned from, if so."""
    text, label = example(row, parts)
    there = [bool(part.strip()) for part in (text.split(TAB) if parts > 1 else [text])]
    if row.problem:
        return row.problem
    if not any(there):
        return "labels without a text" if label else KINDS["blank"].title
    if not all(there):
        return "pairs with one text only"
    if not label:
        return "texts without a label"
    return KINDS["invalid_bytes"].title if has_invalid_bytes(text, label) else None

"""Labelled texts, as the rows of a table give them: a text and its label, or two texts and their label.

A text has one part or two. Two are one text with a tab between them, which is the only tab in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from mirada.data.checks import has_invalid_bytes
from mirada.data.records import AnyRecord

TAB = "\t"


def joined(parts: Sequence[str]) -> str:
    """Parts as one text; a tab inside of one becomes the space it looks like."""
    return TAB.join(part.replace(TAB, " ") for part in parts)


def example(row: AnyRecord, parts: int) -> tuple[str, str]:
    """The text of a row and its label, which stands last; either may be empty."""
    if parts == 1:
        return row.fields[0], row.fields[1].strip()
    first, second, label = (*row.fields, "", "")[:3]
    return joined((first, second)), label.strip()


def unreadable(row: AnyRecord, parts: int) -> str:
    """Why a row cannot be learned from, as an identifier; empty if it can."""
    text, label = example(row, parts)
    there = [bool(part.strip()) for part in (text.split(TAB) if parts > 1 else [text])]
    if row.problem:
        return row.problem
    if not any(there):
        return "no_text" if label else "blank"
    if not all(there):
        return "one_sided"
    if not label:
        return "no_label"
    return "invalid_bytes" if has_invalid_bytes(text, label) else ""

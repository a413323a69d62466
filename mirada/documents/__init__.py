"""Documents to translate: what is text in them, and how they are written with its translation. They know no model.

    HTML                a page                             `html`
    Markdown            a text with markup                 `markdown`
    SRT, WebVTT         subtitles                          `subtitles`
    CSV, TSV            a table                            `table`
    JSONL               an object a line                   `jsonl`
    TMX                 a translation memory               `tmx`
    DOCX                a Word document                    `docx`
    ODT                 an OpenDocument text               `odt`
    text                lines                              `lines`

A module registers what it reads as `FORMATS`: a `Format` by its name, which is what `data/foreign.py` calls it.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path

from mirada.data.foreign import foreign
from mirada.documents.document import Document, Format, Options, Segment
from mirada.errors import UsageError

PLAIN = Options()

__all__ = ["Document", "Options", "Segment", "formats", "read_document"]


@cache
def formats() -> dict[str, Format]:
    """Every format that can be translated, by its name."""
    found: dict[str, Format] = {}
    for module in pkgutil.iter_modules(__path__):
        found |= getattr(import_module(f"{__name__}.{module.name}"), "FORMATS", {})
    return found


def read_document(path: str | Path, options: Options = PLAIN, kind: str | None = None) -> Document:
    """Read a document. Its name says what kind it is, or else its first bytes."""
    kind = foreign(path) if kind is None else kind
    if kind not in formats():
        known = ", ".join(sorted(name for name in formats() if name))
        raise UsageError(f"{path}: this document format is not supported; supported are text, {known}")
    one = formats()[kind]
    if options.columns and not one.columns:
        raise UsageError(f"--columns {','.join(options.columns)}: applies to tables (CSV, TSV, JSONL); leave it out")
    return one.read(str(path), options)

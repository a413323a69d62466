"""From the files people have to pairs of sentences: a module a format, one `Pair` for all of them.

    TSV     source, tab, target                       .tsv .txt         `tsv`
    CSV     a table, or TSV with chosen columns       .csv              `table`
    JSONL   an object a line                          .jsonl .ndjson    `jsonl`
    TMX     a translation memory                      .tmx              `tmx`
    PO, MO  gettext catalogs, or a folder of files    .po .mo .gmo      `catalogs`
    lines   two or more parallel files                                  `parallel`

Each plain or gzipped. The name decides, then the first bytes; a format can also be given.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

from mirada.data.readers.pair import ANYTHING, Pair, Reader, Wanted
from mirada.data.readers.parallel import Parallel
from mirada.data.readers.tsv import has_header
from mirada.data.text import faults_named, opened_text, shown_path
from mirada.errors import DataError, UsageError

__all__ = ["ANYTHING", "FORMATS", "Pair", "Parallel", "Reader", "Wanted", "files_of", "find_format", "open_pairs"]

FORMATS = {
    "tsv": ("tsv", "Tsv"),
    "csv": ("table", "Table"),
    "jsonl": ("jsonl", "JsonLines"),
    "tmx": ("tmx", "Tmx"),
    "po": ("catalogs", "Po"),
    "mo": ("catalogs", "Mo"),
}
"""Name of the format: module and class, imported when needed."""

_SUFFIXES = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".tmx": "tmx",
    ".po": "po",
    ".pot": "po",
    ".mo": "mo",
    ".gmo": "mo",
}
_BEGINNINGS = (
    (b"\xde\x12\x04\x95", "mo"),
    (b"\x95\x04\x12\xde", "mo"),
    (b"<?xml", "tmx"),
    (b"<tmx", "tmx"),
    (b"<\0?\0x\0", "tmx"),  # UTF-16 without a byte order mark
    (b"\0<\0?\0x", "tmx"),
    (b"{", "jsonl"),
    (b"msgid ", "po"),
)


def find_format(path: str) -> str:
    """The format of a file, by its name or else by its first bytes; TSV if nothing else fits."""
    name = path.lower().removesuffix(".gz")
    for suffix, format_ in _SUFFIXES.items():
        if name.endswith(suffix):
            return format_
    with faults_named(path), opened_text(path) as stream:
        head = stream.peek(16)[:16].removeprefix(b"\xef\xbb\xbf")
    return next((format_ for beginning, format_ in _BEGINNINGS if head.startswith(beginning)), "tsv")


def open_pairs(path: str, wanted: Wanted = ANYTHING, format_: str | None = None) -> Reader:
    """The reader of one file."""
    if format_ is not None and format_ not in FORMATS:
        raise UsageError(f"data.format={format_}: there is no such format; there are: {', '.join(FORMATS)}")
    chosen = format_ or find_format(path)
    if chosen == "tsv" and (wanted.columns or wanted.labels or has_header(path, wanted)):
        chosen = "csv"  # a table whose cells are kept apart by tabs
    module, name = FORMATS[chosen]
    reader: Reader = getattr(import_module(f"mirada.data.readers.{module}"), name)(path, wanted)
    return reader


def files_of(path: str, wanted: Wanted = ANYTHING) -> tuple[list[str], list[str]]:
    """The files a path stands for, and a line on each group of files in a folder that is not read."""
    if not os.path.isdir(path):
        return [path], []
    from mirada.data.readers.catalogs import choose

    found = sorted(str(file) for file in Path(path).rglob("*") if file.is_file() and _suffix_known(file.name))
    if not found:
        raise DataError(f"{shown_path(path)}: has no files to learn from ({' '.join(_SUFFIXES)}, plain or .gz)")
    return choose(path, found, wanted)


def _suffix_known(name: str) -> bool:
    return any(name.lower().removesuffix(".gz").endswith(suffix) for suffix in _SUFFIXES)

"""From the files people have to pairs of sentences: a module for each format, one `Record` for all of them.

    TSV     source, tab, target                       .tsv .txt         `tsv`
    CSV     a table, or TSV with chosen columns       .csv              `table`
    JSONL   an object a line                          .jsonl .ndjson    `jsonl`
    TMX     a translation memory                      .tmx              `tmx`
    PO, MO  gettext catalogs, or a folder of files    .po .mo .gmo      `catalogs`
    lines   two or more parallel files                                  `parallel`

Each plain or gzipped. The name decides, then the first bytes; a format can also be given. A module registers what it
reads as `FORMATS`: a `Format` by its name. Other packages add theirs by an entry point of the group `mirada.readers`
whose value is such a module.
"""

from __future__ import annotations

import os
import pkgutil
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from mirada.data.readers.pair import ANYTHING, Format, Reader, Wanted
from mirada.data.readers.parallel import Parallel
from mirada.data.text import faults_named, opened_text, shown_path
from mirada.errors import DataError, UsageError

__all__ = ["ANYTHING", "Parallel", "Reader", "Wanted", "files_of", "find_format", "formats", "open_pairs"]


@cache
def formats() -> dict[str, Format]:
    """Every format that can be read, by its name."""
    modules = [f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)]
    modules += [entry.value for entry in entry_points(group="mirada.readers")]
    found: dict[str, Format] = {}
    for module in map(import_module, modules):
        found |= {name: one for name, one in getattr(module, "FORMATS", {}).items() if name not in found}
    return found


def find_format(path: str) -> str:
    """The format of a file, by its name or else by its first bytes; TSV if nothing else fits."""
    name = path.lower().removesuffix(".gz")
    for found, one in formats().items():
        if name.endswith(one.suffixes):
            return found
    with faults_named(path), opened_text(path) as stream:
        head = stream.peek(16)[:16].removeprefix(b"\xef\xbb\xbf")
    return next((found for found, one in formats().items() if head.startswith(one.beginnings)), "tsv")


def open_pairs(path: str, wanted: Wanted = ANYTHING, format_: str | None = None) -> Reader:
    """The reader of one file."""
    if format_ is not None and format_ not in formats():
        raise UsageError(f"data.format={format_}: there is no such format; there are: {', '.join(formats())}")
    return formats()[format_ or find_format(path)].reader(path, wanted)


def files_of(path: str, wanted: Wanted = ANYTHING) -> tuple[list[str], list[str]]:
    """The files a path stands for, and a line on each group of files in a folder that is not read."""
    if not os.path.isdir(path):
        return [path], []
    from mirada.data.readers.catalogs import choose

    found = sorted(str(file) for file in Path(path).rglob("*") if file.is_file() and _suffix_known(file.name))
    if not found:
        raise DataError(f"{shown_path(path)}: has no files to train on ({' '.join(_suffixes())}, plain or .gz)")
    return choose(path, found, wanted)


def _suffixes() -> tuple[str, ...]:
    return tuple(suffix for one in formats().values() for suffix in one.suffixes)


def _suffix_known(name: str) -> bool:
    return name.lower().removesuffix(".gz").endswith(_suffixes())

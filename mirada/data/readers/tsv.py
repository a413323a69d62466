"""TSV: source, tab, target and any further references on each line. No quoting: a quote is a character."""

import itertools
from collections.abc import Iterator

from mirada.data.readers.names import HEADER_PROBE, is_header
from mirada.data.readers.pair import (
    ANYTHING,
    MAX_COLUMNS,
    Format,
    Reader,
    Wanted,
    references,
    synthetic_column,
    too_many_columns,
)
from mirada.data.readers.table import Table
from mirada.data.records import Record
from mirada.data.text import StrPath, lines, shown_path, shown_text
from mirada.errors import DataError

TSV_PROBE = 100
"""Non-blank lines without a single tab, after which a file is not taken for TSV."""


def has_header(path: StrPath, wanted: Wanted) -> bool:
    """Whether the first row names columns, so that the file is a table rather than lines of pairs."""
    filled = (line.split("\t", MAX_COLUMNS) for line in lines(path, lenient=True) if line.strip())
    rows = list(itertools.islice(filled, 1 + HEADER_PROBE))
    if rows and synthetic_column(rows[0]) is not None:
        return True
    if wanted.header is not None:
        return wanted.header
    return bool(rows) and len(rows[0]) > 1 and is_header(rows[0], rows[1:], (0, 1), wanted)


class Tsv:
    """The pairs of a TSV file.

    Every line gives a pair: a blank one an empty pair, one without a tab an empty target, for the checker to count.
    """

    def __init__(self, path: StrPath, wanted: Wanted = ANYTHING):
        self.path, self.lenient = str(path), wanted.lenient
        self.about = "TSV: {}, tab, {}".format(*wanted.fields)
        untabbed: list[str] = []
        for line in lines(path, lenient=wanted.lenient):
            if "\t" in line:
                return
            if line.strip():
                untabbed.append(line)
            if len(untabbed) == TSV_PROBE:
                break
        if untabbed:
            which = f"the first {TSV_PROBE} lines" if len(untabbed) == TSV_PROBE else "its lines"
            raise DataError(
                f"{shown_path(path)}: does not look like a TSV file: none of {which} has a tab; the first is "
                f"{shown_text(untabbed[0])}; {wanted.how_to_divide('a tab')}"
            )

    def __iter__(self) -> Iterator[Record]:
        for number, line in enumerate(lines(self.path, lenient=self.lenient), 1):
            if line.count("\t") >= MAX_COLUMNS:
                raise too_many_columns(shown_path(self.path), number, line.count("\t") + 1)
            source, *targets = line.split("\t")
            yield Record((source, *references(targets or [""])), self.path, number)


def _open(path: str, wanted: Wanted) -> Reader:
    """Lines of pairs, or a table whose cells are separated by tabs."""
    table = wanted.columns or wanted.labels or has_header(path, wanted)
    return Table(path, wanted) if table else Tsv(path, wanted)


FORMATS = {"tsv": Format(_open, (".tsv",))}

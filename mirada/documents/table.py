"""Tables, CSV and TSV: the cells of chosen columns, in place or into another column.

A target column that the table has is filled where it is empty; one that it has not is added at the end.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from mirada.data.readers.names import HEADER_PROBE, is_header, is_number
from mirada.data.readers.pair import ANYTHING
from mirada.data.readers.table import PLAIN_QUOTES, Grid, blank, place_of
from mirada.data.text import shown_text
from mirada.documents.columns import chosen
from mirada.documents.document import (
    Block,
    Document,
    Format,
    Options,
    Piece,
    Source,
    TextDocument,
    is_text,
    read_source,
)
from mirada.errors import DataError, UsageError

_HINT = "a text with a line each is translated with --as-text"


class _Cell(NamedTuple):
    """A cell: where it is, quotes included, and what it says."""

    start: int
    end: int
    text: str
    quoted: bool


Row = list[_Cell]


def read(path: str, options: Options) -> Document:
    """A table, whose delimiter is found out by looking. Columns have the names of the first row, or numbers."""
    source = read_source(path)
    grid = Grid(path, hint=_HINT)
    try:
        for _ in grid:  # says what is wrong with its quotes
            pass
    except DataError as fault:
        raise DataError(
            str(fault).replace(PLAIN_QUOTES, "if quotes are plain characters here, save it as TSV")
        ) from None
    first = _names(source.text, grid)
    if not options.columns:
        shown = ", ".join(f"{number} {shown_text(name, 30)}" for number, name in enumerate(first[:20], 1))
        raise UsageError(f"{source.name}: which columns should be translated? It has {shown}: --columns 1")
    blocks: list[Block] = []
    places: list[tuple[int, int, bool]] = []
    for column, target in chosen(options.columns) if first else ():
        from_ = place_of(source.name, first, column)
        header = not is_number(column) or column in first or _has_header(source.text, grid, from_)
        to = _place(source.name, first, target)
        if to == len(first):
            source = source._replace(text=_widened(source, grid, target if header else ""))
            first = [*first, target]
        places.append((from_, to, header))
    for from_, to, header in places:
        rows = itertools.islice(_rows(source.text, grid), int(header), None)
        blocks += [block for row in rows for block in _block(row, from_, to, grid)]
    return TextDocument(source, blocks)


def _names(text: str, grid: Grid) -> list[str]:
    """The cells of the first row."""
    return [cell.text for cell in next(_rows(text, grid), [])]


def _has_header(text: str, grid: Grid, column: int) -> bool:
    """Whether the first row evidently names the columns, one of which is chosen by its number."""
    first, *below = [[cell.text for cell in row] for row in itertools.islice(_rows(text, grid), 1 + HEADER_PROBE)]
    return is_header(first, below, [column], ANYTHING)


def _place(name: str, first: list[str], target: str) -> int:
    """The place of a target column; that after the last one if it is to be added."""
    names = [cell.strip().casefold() for cell in first]
    if target.casefold() in names or (is_number(target) and int(target) != len(first) + 1):
        return place_of(name, first, target)
    return len(first)


def _widened(source: Source, grid: Grid, name: str) -> str:
    """The table with one more column, which is empty but for its name."""
    width = len(_names(source.text, grid))
    parts, done = [], 0
    for number, row in enumerate(_rows(source.text, grid)):
        if len(row) > width:
            line = source.line(row[0].start)
            raise DataError(
                f"{source.name}, line {line}: has {len(row)} cells, and the first row {width}; a column cannot be added"
            )
        more = grid.delimiter * (width + 1 - len(row)) + (_quoted(name, grid) if number == 0 else "")
        parts += [source.text[done : row[-1].end], more]
        done = row[-1].end
    return "".join([*parts, source.text[done:]])


def _block(row: Row, from_: int, to: int, grid: Grid) -> Iterator[Block]:
    """The cell of a row that is translated, if it has text and there is a place for it."""
    if max(from_, to) >= len(row) or not is_text(row[from_].text):
        return
    cell, target = row[from_], row[to]
    pieces = [Piece(cell.start, cell.end, cell.text)]
    escape = partial(_quoted, grid=grid, always=cell.quoted)
    if from_ == to:
        yield Block(pieces, escape, markup=False)
    elif not target.text.strip():
        yield Block(pieces, escape, target=(target.start, target.end), fills=True, markup=False)


def _quoted(text: str, grid: Grid, always: bool = False) -> str:
    """A text as a cell. TSV has no quotes, so that tabs and line ends become spaces."""
    if not grid.quotes:
        return re.sub(r"[\t\r\n]+", " ", text)
    needed = always or any(character in text for character in (grid.delimiter, '"', "\n", "\r"))
    return '"' + text.replace('"', '""') + '"' if needed else text


def _rows(text: str, grid: Grid) -> Iterator[Row]:
    """The rows that have something in them, with the places of their cells."""
    mark = re.escape(grid.delimiter)
    plain = rf"[^{mark}\n]*?(?=\r?\n|{mark}|\Z)"
    cell = re.compile((r'"(?:[^"]|"")*+"|' if grid.quotes else "") + plain)
    excel = re.match(r'"?sep=[^\w\s]"?\r?\n', text, re.IGNORECASE)
    row: Row = []
    at = excel.end() if excel else 0
    while at < len(text) or row:
        match = cell.match(text, at)
        if match is None:  # cannot be: the grid has read it
            raise DataError(f"the cell at character {at} cannot be read")
        raw = match[0]
        quoted = grid.quotes and raw.startswith('"')
        row.append(_Cell(match.start(), match.end(), raw[1:-1].replace('""', '"') if quoted else raw, quoted))
        at = match.end()
        if text.startswith(grid.delimiter, at):
            at += 1
            continue
        if not blank([cell.text for cell in row]):
            yield row
        row = []
        at += 2 if text.startswith("\r\n", at) else 1


FORMATS = {"csv": Format(read, columns=True), "tsv": Format(read, columns=True)}

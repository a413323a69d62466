"""Tables of numbers over time, read.

A step is a row. Nothing is guessed about a cell that is not plainly a number: it is refused, with its file and line.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
import shlex
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from mirada.data.checks import has_invalid_bytes
from mirada.data.readers.names import is_number
from mirada.data.readers.table import SAMPLE_ROWS, Grid, blank, place_numbered, place_of
from mirada.data.text import StrPath, shown_text
from mirada.errors import DataError, UsageError
from mirada.tasks.forecasting.times import Clock, Format, format_of, step_between

Numbers = npt.NDArray[np.float64]
Missing = Literal["refuse", "interpolate", "drop"]

MAX_CELLS = 1_000_000
"""The most cells of a table, so that a bundle can carry the series that its model was evaluated on."""
LARGEST = 1e100
"""The largest number; the squares of larger ones may overflow."""
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", ".", "-"})

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # or else three digits after a decimal comma
_FIRST_CELLS = 5  # say whether a column has dates; a later cell that has none is then an error
_TABLE = "put one between the columns, and the same number of cells in every row"


@dataclass(frozen=True)
class Series:
    """Numbers over time: a row for each step, a column for each quantity."""

    names: tuple[str, ...]
    values: Numbers  # [N, C]
    times: list[str] | None  # as the file writes them
    lines: npt.NDArray[np.int64]  # [N] where each row stands in the file
    notes: list[str]
    """What was done to the rows, or taken for granted, and a person should know."""

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint_of(self.values, *self.names)

    def __str__(self) -> str:
        span = f" from {self.times[0]} to {self.times[-1]}, {step_between(self.times)} apart" if self.times else ""
        return f"{len(self.values):,} rows{span}; {', '.join(map(shown_text, self.names))}"


def fingerprint_of(values: Numbers, *names: str) -> str:
    """A hash of the numbers and the names of a series."""
    found = hashlib.sha256(repr((names, values.shape)).encode())
    found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


# --- reading --------------------------------------------------------------------------------------------------------


def read_table(
    path: StrPath, columns: Sequence[str] = (), time: str | None = None, missing: Missing = "refuse"
) -> Series:
    """The columns of a CSV or TSV file (by name, or by number from 1), with the times that stand beside them."""
    grid = Grid(path, lenient=True, hint=_TABLE)
    layout = _Layout(grid, columns, time)
    found = [_Column(grid, place, layout.names[place]) for place in layout.chosen]
    clock = None if layout.time is None else Clock(grid.name, layout.names[layout.time], layout.format)
    lines, empty = array("q"), 0
    for line, cells in grid:
        if line == layout.header:
            continue
        if blank(cells):
            empty += 1
            continue
        if len(cells) != layout.width:
            raise DataError(f"{grid.name}, line {line}: has {len(cells)} cells where the first row has {layout.width}")
        if (len(lines) + 1) * len(found) > MAX_CELLS:
            raise DataError(f"{grid.name}, line {line}: more than {MAX_CELLS:,} cells; choose fewer columns or rows")
        lines.append(line)
        if clock is not None and layout.time is not None:
            clock.add(line, cells[layout.time].strip())
        for column in found:
            column.add(line, cells[column.place].strip())
    for column in found:
        column.check_commas()
    if not lines:
        raise DataError(f"{grid.name}: has no rows of numbers{' below its header' if layout.header else ''}")
    series = Series(
        tuple(column.name for column in found),
        np.stack([np.frombuffer(column.values) for column in found], axis=1),
        clock.labels if clock else None,
        np.array(lines, np.int64),
        [f"{empty:,} empty rows left out"] if empty else [],
    )
    if clock is None:
        series.notes.append(
            "no column with times found: the rows keep the order of the file (--set data.time=NAME selects one)"
        )
    elif clock.reversed:
        series = replace(
            _rows_of(series, slice(None, None, -1)), notes=[*series.notes, "newest row first: order reversed"]
        )
    return _without_gaps(grid.name, series, missing)


class _Layout:
    """What stands where in a table: found out from its first rows."""

    def __init__(self, grid: Grid, columns: Sequence[str], time: str | None):
        sample = list(itertools.islice((row for row in grid if not blank(row[1])), SAMPLE_ROWS))
        if not sample:
            raise DataError(f"{grid.name}: is empty")
        first = [cell.strip() for cell in sample[0][1]]
        self.width = len(first)
        rows = [[cell.strip() for cell in cells] for _, cells in sample if len(cells) == self.width]
        below = [cells[1:] for cells in zip(*rows, strict=True)]  # column by column
        numbered = [f"column {number}" for number in range(1, self.width + 1)]
        if _is_header(first, below):
            self.header, self.names = sample[0][0], [name or n for name, n in zip(first, numbered, strict=True)]
        else:
            self.header, self.names, below = 0, numbered, list(zip(*rows, strict=True))
        if has_invalid_bytes(*self.names):
            raise DataError(f"{grid.name}, line {self.header}: not UTF-8; convert it with `iconv -f latin1 -t utf8`")
        asked = [self._place(grid, first, column) for column in columns]
        self.time = None if time is None else self._place(grid, first, time)
        for place, count in Counter([*asked, self.time]).items():
            if place is not None and count > 1:
                raise UsageError(f"{grid.name}: the column {shown_text(self.names[place])} is asked for twice")
        if self.time is None:
            self.time = _find_time(below, asked)
        self.format = None if self.time is None else format_of([cell for cell in below[self.time] if cell])
        self.chosen = asked or [self._only_numeric(grid.name, below)]

    def _place(self, grid: Grid, first: Sequence[str], asked: str) -> int:
        if self.header:
            return place_of(grid.name, first, asked)
        if not is_number(asked):
            raise DataError(
                f"{grid.name}: has no header to find {shown_text(asked)} in; choose columns by number, from 1 to "
                f"{self.width}: the first row is {shown_text(grid.delimiter.join(first))}"
            )
        return place_numbered(grid.name, first, int(asked))

    def _only_numeric(self, file: str, below: Sequence[Sequence[str]]) -> int:
        places = [
            place
            for place, cells in enumerate(below)
            if place != self.time and any(map(_is_value, cells)) and all(_is_value(c) or _is_gap(c) for c in cells)
        ]
        if len(places) == 1:
            return places[0]
        names = [self.names[place] if self.header else str(place + 1) for place in places or range(self.width)]
        listed = ", ".join(shown_text(name, 30) for name in names[:20]) + (", …" if len(names) > 20 else "")
        if not places:
            raise DataError(f"{file}: has no column of numbers but for its times; its columns: {listed}")
        raise UsageError(f"{file}: which column? {listed} are numbers: --column {shlex.quote(names[0])}")


def _is_header(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has a text where others have numbers or times, or has nothing but texts."""
    over_data = (_is_text(name) and any(map(_is_datum, cells)) for name, cells in zip(first, below, strict=True))
    return any(over_data) or all(map(_is_text, first))


def _is_value(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def _is_gap(cell: str) -> bool:
    return cell.casefold() in MISSING


def _is_datum(cell: str) -> bool:
    return _is_value(cell) or format_of([cell]) is not None


def _is_text(cell: str) -> bool:
    return not _is_gap(cell) and not _is_datum(cell)


def _find_time(below: Sequence[Sequence[str]], asked: Sequence[int]) -> int | None:
    """The first column of dates; or else of numbers that count up or down evenly, beside other numbers."""
    places = sorted(set(range(len(below))) - set(asked))
    for place in places:
        form = format_of([cell for cell in below[place] if cell][:_FIRST_CELLS])
        if form and form.pattern not in ("%Y", ""):
            return place
    with_values = {place for place, cells in enumerate(below) if cells and _is_value(cells[0])}
    for place in places:
        others = with_values - {place} if len(with_values) < 2 else with_values
        counted = [Format("").local(cell) for cell in below[place]] if others else []
        whole = [number for number in counted if number is not None]
        if len(whole) > 2 and len(whole) == len(counted) and len(set(np.diff(whole)) - {0}) == 1:
            return place
    return None


class _Column:
    """The numbers of one column as they are read; what is missing is NaN."""

    def __init__(self, grid: Grid, place: int, name: str):
        self.place, self.name, self._file = place, name, grid.name
        self._commas = grid.delimiter in ";\t"
        self.values = array("d")
        self._seen: dict[str, tuple[int, str]] = {}  # decimal marks: where each stood first

    def add(self, line: int, cell: str) -> None:
        if _is_gap(cell):
            self.values.append(math.nan)
            return
        if not _is_value(cell) or ("," in cell and not self._commas):
            raise self._fault(line, cell, "is not a number; write it like 1234.5 or 1.2e3: no unit, no thousands marks")
        value = float(cell.replace(",", "."))
        if abs(value) > LARGEST:
            raise self._fault(line, cell, f"is too large: numbers go up to {LARGEST:g}")
        if not cell.isdecimal():
            mark = "thousands?" if _THOUSANDS.fullmatch(cell) else "," if "," in cell else "." if "." in cell else ""
            self._seen.setdefault(mark, (line, cell))
        self.values.append(value)

    def check_commas(self) -> None:
        """A comma is a decimal mark only where nothing speaks against it."""
        doubtful = self._seen.get("thousands?")
        comma = self._seen.get(",", doubtful)
        if comma and "." in self._seen:
            line, cell = self._seen["."]
            raise self._fault(
                *comma, f"has a decimal comma, but {shown_text(cell)} in line {line} a point; write points"
            )
        if doubtful and "," not in self._seen:
            raise self._fault(*doubtful, "may have a decimal comma or a thousands mark; write a decimal point, or none")

    def _fault(self, line: int, cell: str, what: str) -> DataError:
        return DataError(f"{self._file}, line {line}, column {shown_text(self.name)}: {shown_text(cell)} {what}")


def _rows_of(series: Series, rows: slice | npt.NDArray[np.int64]) -> Series:
    """The series with some of its rows, in that order."""
    times = series.times
    if times is not None:
        times = times[rows] if isinstance(rows, slice) else [times[row] for row in rows]
    return replace(series, values=series.values[rows], lines=series.lines[rows], times=times)


def _without_gaps(name: str, series: Series, missing: Missing) -> Series:
    """The series with its missing values refused, filled in, or dropped with their rows."""
    gaps: npt.NDArray[np.bool_] = np.isnan(series.values)  # [N, C]
    rows = np.asarray(gaps.any(axis=1))  # [N]
    if not rows.any():
        return series
    first = int(np.flatnonzero(rows)[np.argmin(series.lines[rows])])
    column = series.names[int(np.argmax(gaps[first]))]
    if missing == "refuse":
        raise DataError(
            f"{name}, line {series.lines[first]}, column {shown_text(column)}: no value, and {int(gaps.sum()):,} are "
            f"missing in {int(rows.sum()):,} of {len(rows):,} rows; fill them in with --set data.missing=interpolate, "
            "or leave such rows out with --set data.missing=drop"
        )
    if rows.all() and (missing == "drop" or gaps.all(axis=0).any()):
        raise DataError(f"{name}: every row lacks a value; choose other columns with --column")
    if missing == "drop":
        kept = replace(_rows_of(series, np.flatnonzero(~rows)), notes=[*series.notes])
        kept.notes.append(
            f"{int(rows.sum()):,} of {len(rows):,} rows left out for missing values: steps are uneven there"
        )
        return kept
    known = [np.flatnonzero(~gap) for gap in gaps.T]
    begin, end = max(int(where[0]) for where in known), min(int(where[-1]) for where in known) + 1
    if begin >= end:
        raise DataError(f"{name}: its columns have no values at the same time; choose fewer columns")
    steps = np.arange(len(rows))
    values = np.stack([np.interp(steps, at, x[at]) for at, x in zip(known, series.values.T, strict=True)], axis=1)
    filled = int(gaps[begin:end].sum())
    kept = replace(_rows_of(replace(series, values=values), slice(begin, end)), notes=[*series.notes])
    if filled:
        kept.notes.append(f"{filled:,} missing values filled in on a straight line between their neighbours")
    if begin or end < len(rows):
        kept.notes.append(
            f"{len(rows) - end + begin:,} rows at the ends left out: values are missing, with none beyond"
        )
    return kept

"""Tables: CSV as people and programs export it, and TSV of which some columns were chosen.

The character between cells, and the columns, are found out by looking; `about` says what was found.
"""

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from mirada.data.readers.names import (
    HEADER_PROBE,
    are_names,
    is_header,
    is_number,
    named_columns,
    nearest,
    two_languages,
)
from mirada.data.readers.pair import (
    MAX_COLUMNS,
    Format,
    Wanted,
    references,
    synthetic_column,
    synthetic_mark,
    too_many_columns,
)
from mirada.data.records import Record
from mirada.data.text import LONGEST_LINE, StrPath, lines, shown_path, shown_text
from mirada.errors import DataError, UsageError

DELIMITERS = "\t|;,"
"""What may stand between cells. Where two fit equally well, the one that prose has less of comes first."""

SAMPLE_ROWS = 200
"""Rows that are looked at to find out the delimiter."""

_SAMPLE_SIZE = 2**18
PLAIN_QUOTES = "if quotes are plain characters here: --set data.quotes=false"

# A carriage return within a line is text here, but not for the csv module. UTF-8 cannot hold this stand-in.
_RETURN = "\udc0d"
_QUOTED_CELL = re.compile(r'"(?:[^"]+|"")*+("?)')
_EXCEL_DELIMITER = re.compile(r'"?sep=([^"\w\s]|\t)"?\s*', re.IGNORECASE)

Row = tuple[int, list[str]]
"""The line a row begins in, and its cells."""


class Grid:
    """A table's rows, blank ones too. How cells are divided is found out by looking at the file's beginning."""

    def __init__(self, path: StrPath, quotes: bool = True, lenient: bool | None = None, *, hint: str):
        self.path, self.name, self._lenient = str(path), shown_path(path), lenient
        sample = _sample(self.path)
        self.tabs = _tabs_only(self.path, sample)
        self.quotes = quotes and not self.tabs
        excel = None if self.tabs or not sample else _EXCEL_DELIMITER.fullmatch(sample[0])
        self._excel = excel is not None
        self.delimiter = "\t" if self.tabs else excel[1] if excel else _sniff(self.name, sample, self.quotes, hint)

    def __iter__(self) -> Iterator[Row]:
        texts = lines(self.path, keep_ends=True, lenient=self._lenient)
        rows = _rows(self.name, texts, self.delimiter, self.quotes)
        return (row for row in rows if not (self._excel and row[0] == 1))  # that line is not an entry


class Table:
    """The pairs of a table, a row each."""

    def __init__(self, path: StrPath, wanted: Wanted):
        self._grid = grid = Grid(path, wanted.quotes, wanted.lenient, hint=wanted.how_to_divide())
        self.path, self._name = grid.path, grid.name
        self._header = 0  # its line
        self._made: int | None = None  # the column that says which other one a model made
        self.about = f"{'TSV' if grid.tabs else 'CSV'}, {grid.delimiter!r} between cells".replace(r"'\t'", "tab")
        self.note = ""
        rows = list(itertools.islice((row for row in grid if not blank(row[1])), 1 + HEADER_PROBE))
        if not rows:
            return
        line, first = rows[0]
        self._width = len(first)
        if self._width < 2:
            raise _no_table(self._name, first[0], "tab" if grid.tabs else ", ; | or tab", wanted.how_to_divide())
        self._names = [cell.strip() for cell in first]
        self._made = synthetic_column(first)
        if self._made is not None:
            self._columns, has_header = _choose_among(self._names, wanted), True
        else:
            self._columns, has_header = _choose(self._name, first, [cells for _, cells in rows[1:]], wanted)
        shown = [shown_text(first[column].strip()) if has_header else str(column + 1) for column in self._columns]
        self.about += f", columns {', '.join(shown[:-1])} and {shown[-1]} of {self._width}"
        if has_header:
            self._header = line
            self.about += f", named in line {line}"
            if wanted.header is None and self._made is None and not _named(first, wanted):
                self.note = f"line {line} is read as a header, not as a pair; if it is a pair: --set data.header=false"

    def __iter__(self) -> Iterator[Record]:
        for line, cells in self._grid:
            if line == self._header:
                continue
            if blank(cells):
                yield Record(("", ""), self.path, line)
                continue
            problem = "" if len(cells) == self._width else "cell_count"
            source, *targets = (cells[column] if column < len(cells) else "" for column in self._columns)
            yield Record((source, *references(targets)), self.path, line, problem, self._marks(line, cells))

    def _marks(self, line: int, cells: Sequence[str]) -> tuple[str, ...]:
        """Which side of a row a model made, by the column that says so."""
        made = "" if self._made is None or self._made >= len(cells) else cells[self._made].strip()
        return synthetic_mark(made, [self._names[column] for column in self._columns], f"{self._name}, line {line}")


# --- rows -----------------------------------------------------------------------------------------------------------


def _rows(name: str, texts: Iterable[str], delimiter: str, quotes: bool) -> Iterator[Row]:
    """The rows of lines that still have their ends."""
    if quotes:
        yield from _quoted_rows(name, texts, delimiter)
    else:
        for number, text in enumerate(texts, 1):
            if text.count(delimiter) >= MAX_COLUMNS:
                raise too_many_columns(name, number, text.count(delimiter) + 1)
            yield number, text.removesuffix("\r\n").removesuffix("\n").split(delimiter)


def _quoted_rows(name: str, texts: Iterable[str], delimiter: str) -> Iterator[Row]:
    """Rows whose cells may be quoted, and then hold delimiters and line ends."""
    row: list[str] = []  # the lines of the row that is being read
    first, size = 1, 0

    def feed() -> Iterator[str]:
        nonlocal size
        for text in texts:
            row.append(_hidden(text) if "\r" in text else text)
            size += len(text)
            if size > 2 * LONGEST_LINE:  # each cell is closed, but the row never ends
                raise DataError(
                    f"{name}, line {first}: a row is longer than {2 * LONGEST_LINE // 2**20} MiB; close its quotes, "
                    f"or {PLAIN_QUOTES}"
                )
            yield row[-1]

    reader = csv.reader(feed(), delimiter=delimiter, strict=True)
    while True:
        first, size = reader.line_num + 1, 0
        row.clear()
        limit = csv.field_size_limit(LONGEST_LINE)  # global, so it is put back after each row
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            raise _quote_fault(name, first, "".join(row), delimiter) from None
        finally:
            csv.field_size_limit(limit)
        if len(cells) > MAX_COLUMNS:
            raise too_many_columns(name, first, len(cells))
        yield first, [cell.replace(_RETURN, "\r") for cell in cells]


def _hidden(text: str) -> str:
    """The line with carriage returns hidden from the csv module, except that of its end."""
    end = len(text) - (2 if text.endswith("\r\n") else 0)
    return text[:end].replace("\r", _RETURN) + text[end:]


def _quote_fault(name: str, first: int, row: str, delimiter: str) -> DataError:
    """The error for a row whose quotes do not fit: names the line where the cell began."""
    place = 0
    while True:
        cell = _QUOTED_CELL.match(row, place)
        end = cell.end() if cell else place
        if cell and (not cell[1] or row[end : end + 1] not in (delimiter, "\r", "\n", "")):
            break
        place = row.find(delimiter, end) + 1
        if not place:
            return DataError(
                f"{name}, line {first}: a cell is longer than {LONGEST_LINE // 2**20} MiB; close its quote, "
                f"or {PLAIN_QUOTES}"
            )
    began = first + row.count("\n", 0, place)
    shown = shown_text(row[place : place + 60].replace(_RETURN, "\r"))
    if not cell[1]:
        return DataError(
            f"{name}, line {began}: the quote that opens the cell {shown} is never closed; close it, or {PLAIN_QUOTES}"
        )
    line = first + row.count("\n", 0, end)
    after = shown_text(row[end : end + 20].replace(_RETURN, "\r"))
    return DataError(
        f"{name}, line {line}: {after} follows the closing quote of the cell {shown} that begins in line {began}; "
        f"write quotes inside a cell twice, or {PLAIN_QUOTES}"
    )


def blank(cells: Sequence[str]) -> bool:
    """Whether a row holds nothing."""
    return not any(cell.strip() for cell in cells)


# --- what stands between cells --------------------------------------------------------------------------------------


def _sample(path: str) -> list[str]:
    """The first lines of the file, with their ends."""
    sample, size = [], 0
    for text in lines(path, keep_ends=True, lenient=True):
        sample.append(text)
        size += len(text)
        if size > _SAMPLE_SIZE:
            break
    return sample


def _tabs_only(path: str, sample: Sequence[str]) -> bool:
    """Whether this is TSV, where a quote is a character: by its name, or if the name says nothing by its first line."""
    name = path.lower().removesuffix(".gz")
    if name.endswith((".tsv", ".csv")):
        return name.endswith(".tsv")
    return "\t" in next((text.strip("\r\n") for text in sample if text.strip()), "")


def _sniff(name: str, sample: Sequence[str], quotes: bool, hint: str) -> str:
    """The delimiter with which most rows have as many cells as the first."""
    filled = [text for text in sample if text.strip()]
    scores = {delimiter: _consistency(sample, delimiter, quotes) for delimiter in DELIMITERS}
    best = max(DELIMITERS, key=lambda delimiter: scores[delimiter])
    if scores[best][0] >= 0.5 or not filled:
        return best
    if scores[best][0] > 0:
        raise _no_table(name, filled[0], ", ; | or tab", hint)
    # Not even the first row can be read: with the likeliest delimiter, reading it says why.
    return max(DELIMITERS, key=filled[0].count)


def _consistency(sample: Sequence[str], delimiter: str, quotes: bool) -> tuple[float, bool, int]:
    """How well a delimiter fits: the share of rows like the first, then whether all can be read.

    Then cells that begin with a space count against it, since in prose a comma is followed by one.
    """
    rows: list[list[str]] = []
    whole = True
    try:
        for _, cells in itertools.islice(_rows("", sample, delimiter, quotes), SAMPLE_ROWS):
            if not blank(cells):
                rows.append(cells)
    except DataError:
        whole = False
    if not rows or len(rows[0]) < 2:
        return 0.0, whole, 0
    share = sum(len(cells) == len(rows[0]) for cells in rows) / len(rows)
    return share, whole, -sum(cell.startswith(" ") for cells in rows for cell in cells)


def _no_table(name: str, first: str, delimiters: str, hint: str) -> DataError:
    return DataError(
        f"{name}: does not look like a table: no {delimiters} divides its first row, and most others alike, into "
        f"two or more cells; the first row is {shown_text(first.strip())}; {hint}"
    )


# --- which columns --------------------------------------------------------------------------------------------------


def _named(first: Sequence[str], wanted: Wanted) -> bool:
    """Whether the user names columns by what the first row calls them, or it is plain what they are."""
    by_name = bool(wanted.columns) and not all(map(is_number, wanted.columns))
    return by_name or bool(named_columns(first, wanted) or two_languages(first, wanted))


def _choose(name: str, first: list[str], below: list[list[str]], wanted: Wanted) -> tuple[list[int], bool]:
    """The chosen columns, counted from 0, and whether the first row is a header."""

    def has_header(chosen: Sequence[int]) -> bool:
        return is_header(first, below, chosen, wanted) if wanted.header is None else wanted.header

    one, other = wanted.fields
    if wanted.columns:
        if len(wanted.columns) < 2:
            raise UsageError(f"--columns {wanted.columns[0]}: names one column; give the {one} and the {other}")
        if all(is_number(column) for column in wanted.columns):
            numbers = [place_numbered(name, first, int(column)) for column in wanted.columns]
            return numbers, has_header(numbers)
        if wanted.header is False:
            raise UsageError(
                f"--columns {','.join(wanted.columns)}: there are no names with data.header=false; choose by number"
            )
        return [place_of(name, first, column) for column in wanted.columns], True
    found = None if wanted.header is False else named_columns(first, wanted) or two_languages(first, wanted)
    if found:
        return list(found), True
    if len(first) == 2 and (wanted.header is not None or not are_names(first, wanted)):
        return [0, 1], has_header((0, 1))
    raise UsageError(
        f"{name}: has {len(first)} columns, and its first row does not say which are {one} and {other}: "
        f"{_listed(first)}; choose them with --columns 1,2 or by name"
    )


def _choose_among(names: Sequence[str], wanted: Wanted) -> list[int]:
    """The columns of a table that names them and marks what is synthetic: those asked for, if it has them."""
    plain = [name.casefold() for name in names]
    asked = [column.strip().casefold() for column in wanted.columns]
    if len(asked) > 1 and all(column in plain for column in asked):
        return [plain.index(column) for column in asked]
    return list(named_columns(names, wanted) or two_languages(names, wanted) or (0, 1))


def place_numbered(name: str, first: Sequence[str], number: int) -> int:
    """The place, from 0, of the column with that number, from 1; `first` is the row to show if there is none."""
    if not 1 <= number <= len(first):
        raise DataError(f"{name}: has no column {number}; it has {len(first)}: {_listed(first)}")
    return number - 1


def place_of(name: str, first: Sequence[str], asked: str) -> int:
    """The place of the column that has the asked name in the header, or else the asked number."""
    names = [cell.strip().casefold() for cell in first]
    asked = asked.strip()
    if names.count(asked.casefold()) == 1:
        return names.index(asked.casefold())
    if is_number(asked):
        return place_numbered(name, first, int(asked))
    if asked.casefold() in names:
        raise DataError(f"{name}: has several columns named {shown_text(asked)}; choose by number: {_listed(first)}")
    raise DataError(f"{name}: has no column {shown_text(asked)}{nearest(asked, first)}; it has {_listed(first)}")


def _listed(cells: Sequence[str]) -> str:
    shown = ", ".join(f"{number} {shown_text(cell.strip(), 30)}" for number, cell in enumerate(cells[:20], 1))
    return shown + (", …" if len(cells) > 20 else "")


FORMATS = {"csv": Format(Table, (".csv",))}

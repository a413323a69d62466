"""What every reader of sentence pairs gives, and what it may be asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from mirada.data.records import Record
from mirada.data.text import shown_text
from mirada.errors import DataError

SYNTHETIC = "mirada:synthetic"
"""The column or key that says which other one of its row a model made, by its name; empty if none."""
MAX_COLUMNS = 10_000
"""The most columns of a table; with more, it is taken for something else."""


TRANSLATION = ("source", "target")


@dataclass(frozen=True)
class Wanted:
    """Which of a file's texts are wanted."""

    columns: tuple[str, ...] = ()
    """Source, target and further references, by name or by number (from 1); as the format has it when empty."""
    source_language: str | None = None
    target_language: str | None = None
    quotes: bool = True
    """Whether quotes in a CSV file hold cells together, or are characters like others."""
    lenient: bool | None = None
    """Whether lines with bytes that are not UTF-8 are wanted too, their bytes as lone surrogates; None: no setting."""
    labels: bool = False
    """Whether the target is a label of the source, a text, rather than its translation."""
    header: bool | None = None
    """Whether the first row of a table names its columns; None finds out."""
    fuzzy: bool = False
    """Whether a catalog's fuzzy entries, translations that are not checked yet, are wanted too."""
    fields: tuple[str, str] = TRANSLATION
    """What messages call the first text of a row, and those after it."""

    def how_to_divide(self, by: str = "one") -> str:
        """What to do about a table whose cells nothing divides."""
        between = f"put {by} between {' and '.join(self.fields)}"
        return f"{between}, or give two files with --source and --target" if self.fields == TRANSLATION else between


ANYTHING = Wanted()


class Reader(Protocol):
    """A file of sentence pairs. Making one looks at the file's beginning; iterating reads it, as often as you like.

    Every entry of the file gives a record, whose fields are the source, its translation and any further references.
    The translation is always there, if only as an empty text; empty references at the end are not. A record that cannot
    be used has a `problem` or an empty text, and the quality checks count it. A file that cannot be read as what it is
    said to be raises a DataError.
    """

    about: str
    """One line on how the file is read: "CSV with ';' between cells, columns 'es' and 'en'"."""

    def __iter__(self) -> Iterator[Record]: ...


@dataclass(frozen=True)
class Format:
    """A file format: what reads it, and how to recognize it."""

    reader: Callable[[str, Wanted], Reader]
    suffixes: tuple[str, ...] = ()
    beginnings: tuple[bytes, ...] = ()
    """The first bytes of such files, for those whose name does not tell."""


def synthetic_column(first: Sequence[str]) -> int | None:
    """The place of the column that says what a model made, by the first row; it comes after those of the texts."""
    names = [cell.strip() for cell in first]
    return names.index(SYNTHETIC, 2) if SYNTHETIC in names[2:] else None


def synthetic_mark(made: str, names: Sequence[str], place: str) -> tuple[str, ...]:
    """The mark of a row whose column `made` a model made; `names` are those of the source and the targets."""
    if not made:
        return ()
    if made not in names:
        raise DataError(
            f"{place}: {shown_text(made, 30)} in the column {SYNTHETIC}, which names the column that a model made: "
            f"{' or '.join(names)}; correct it, or leave it empty"
        )
    return ("synthetic",) if made == names[0] else ("synthetic_target",)


def too_many_columns(name: str, line: int, count: int) -> DataError:
    """The error for a row with too many cells."""
    return DataError(
        f"{name}, line {line}: {count:,} columns; the limit is {MAX_COLUMNS:,}; is this a table with one row per "
        "line? Extract the columns you need (`cut -f 1,2`)"
    )


def references(targets: Sequence[str]) -> tuple[str, ...]:
    """The targets without the empty ones at the end; the first one stays."""
    end = len(targets)
    while end > 1 and not targets[end - 1]:
        end -= 1
    return tuple(targets[:end])


def matches(asked: str, found: str) -> bool:
    """Whether a language tag is the one asked for or a variety of it: `en` takes `en-US`, `pt_BR` takes `pt-br`."""
    asked, found = (tag.strip().lower().replace("_", "-") for tag in (asked, found))
    return found == asked or found.startswith(asked + "-")

"""Parallel files: line n of one translates line n of the other. Files of different length are refused."""

import itertools
import os
from array import array
from collections.abc import Iterator, Sequence
from typing import NoReturn

from mirada.data.readers.pair import references
from mirada.data.records import Record
from mirada.data.text import StrPath, lines, shown_path, shown_text
from mirada.errors import DataError, UsageError


class Parallel:
    """The pairs of one source file and one or more target files, line by line; further files are further references.

    Files of different length are an error, raised where the shortest ends: it tells where they seem to part.
    """

    about = "parallel files, line by line"

    def __init__(self, source: StrPath, targets: Sequence[StrPath], lenient: bool | None = None):
        if not targets:
            raise UsageError("reading parallel text needs at least one target file")
        self.lenient = lenient
        self.paths = [os.fspath(path) for path in (source, *targets)]

    def __iter__(self) -> Iterator[Record]:
        readers = [lines(path, lenient=self.lenient) for path in self.paths]
        for number, row in enumerate(itertools.zip_longest(*readers), 1):
            if None in row:
                counts = [
                    number - (line is None) + sum(1 for _ in rest) for line, rest in zip(row, readers, strict=True)
                ]
                _raise_unequal(self.paths, counts, self.lenient)
            yield Record((row[0], *references(row[1:])), self.paths[0], number)


def _raise_unequal(paths: Sequence[StrPath], counts: Sequence[int], lenient: bool | None) -> NoReturn:
    """Raises the error for files of different length, with both counts and the place where they seem to part."""
    other = next(index for index, count in enumerate(counts) if count != counts[0])
    first, second = paths[0], paths[other]
    message = (
        f"the files do not have the same number of lines: {shown_path(first)} has {counts[0]}, "
        f"{shown_path(second)} has {counts[other]}"
    )
    parting = _parting(_lengths(first, lenient), _lengths(second, lenient))
    raise DataError(
        f"{message}; they seem to diverge near line {parting + 1}: {_shown_line(first, parting, lenient)} "
        f"against {_shown_line(second, parting, lenient)}"
    )


def _lengths(path: StrPath, lenient: bool | None) -> Sequence[int]:
    """The length of every line in characters, in a few bytes each."""
    return array("I", (len(line) for line in lines(path, lenient=lenient)))


def _shown_line(path: StrPath, index: int, lenient: bool | None) -> str:
    """One line of a file for a message, or a word for its end."""
    for line in itertools.islice(lines(path, lenient=lenient), index, index + 1):
        return shown_text(line)
    return "the end of the file"


def _parting(first: Sequence[int], second: Sequence[int]) -> int:
    """The index k where lengths agree best if the longer file has all its extra lines there.

    The cost of k is Σ_{i<k} c(aᵢ, bᵢ) + Σ_{i≥k} c(aᵢ, bᵢ₊ₑ) with a the shorter file, b the longer and e the number of
    extra lines; going from k to k+1 changes two terms. The distance c(a, b) = |a − rb| / √(a + rb) is that of Gale
    and Church (1993), "A program for aligning sentences in bilingual corpora", r the files' ratio of lengths.
    """
    short, long = sorted((first, second), key=len)
    extra = len(long) - len(short)
    ratio = max(1, sum(short)) / max(1, sum(long)) * (len(long) / max(1, len(short)))

    def distance(a: int, b: int) -> float:
        return abs(a - ratio * b) / (a + ratio * b + 1) ** 0.5

    best = 0
    cost = lowest = 0.0
    for index, length in enumerate(short, 1):
        cost += distance(length, long[index - 1]) - distance(length, long[index - 1 + extra])
        # The last of equal places: the usual cause is a file that was cut short.
        if cost <= lowest:
            best, lowest = index, cost
    return best

"""Records, what a source of data yields, and the spill: the records that are kept, on disk, to be read again.

A source is parsed once. What passes the first checks goes to the spill, from which all later passes read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TextIO

import numpy as np
import numpy.typing as npt

CHUNK = 512
"""Records on a line of a spill."""


class Record(NamedTuple):
    """One example as its file has it."""

    fields: tuple[Any, ...]
    """Texts, or lists of texts, as the task reads them."""
    file: str
    """The file as the user named it."""
    line: int
    """Counted from 1; 0 where a file is one record."""
    problem: str = ""
    """Why the source itself says that this is nothing to learn from: a reason of `checks.REASONS`."""
    marks: tuple[str, ...] = ()
    """What the reader did to the text and a person should know: reasons, too."""


class AnyRecord(Protocol):
    """What the data path reads of a record, whatever its type."""

    @property
    def fields(self) -> tuple[Any, ...]: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def problem(self) -> str: ...
    @property
    def marks(self) -> tuple[str, ...]: ...


class Source(Protocol):
    """Opened files; iterating reads their records, in order. `str()` names the files for a message."""

    notes: list[str]
    """What a person should know about how the files are read; may grow while they are."""

    @property
    def files(self) -> list[tuple[str, str]]:
        """Each file, and how it is read."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


@dataclass
class Sources:
    """The files of one task, each read by an iterable of its own, one after another."""

    readers: list[tuple[str, str, Iterable[Any]]]
    """Name, how it is read, records."""

    notes: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[tuple[str, str]]:
        return [(name, about) for name, about, _ in self.readers]

    def __iter__(self) -> Iterator[Any]:
        for _, _, reader in self.readers:
            yield from reader

    def __str__(self) -> str:
        return listed([name for name, _ in self.files])


def listed(names: list[str], most: int = 3) -> str:
    """Names with commas between, the first few of many."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


class Spill:
    """Records on disk: written once, then read as often as needed, and deleted at the end.

    Its lines are JSON, each with many records; a file's name is stored once.
    """

    def __init__(self, path: Path):
        self._path = path
        self._files: dict[str, int] = {}
        self._chunk: list[tuple[Any, ...]] = []
        self._out: TextIO | None = path.open("w", encoding="ascii")
        self._size = 0

    def add(self, record: AnyRecord) -> None:
        number = self._files.setdefault(record.file, len(self._files))
        self._chunk.append((record.fields, number, record.line, record.marks))
        self._size += 1
        if len(self._chunk) == CHUNK:
            self._flush()

    def _flush(self) -> None:
        if self._chunk and self._out:
            self._out.write(json.dumps(self._chunk, check_circular=False) + "\n")
            self._chunk = []

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self.select(None))

    def select(self, chosen: npt.NDArray[np.bool_] | None) -> Iterator[tuple[int, Record]]:
        """The records that are chosen (all if None), with their places; lines without any are not parsed."""
        if self._out:
            self._flush()
            self._out.close()
            self._out = None
        names = list(self._files)
        with open(self._path, encoding="ascii") as lines:
            for first, line in zip(range(0, self._size, CHUNK), lines, strict=True):
                asked = None if chosen is None else chosen[first : first + CHUNK].tolist()
                if asked is not None and not any(asked):
                    continue
                for place, (fields, file, number, marks) in enumerate(json.loads(line)):
                    if asked is None or asked[place]:
                        yield first + place, Record(tuple(fields), names[file], number, "", tuple(marks))

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._out:
            self._out.close()
        self._path.unlink(missing_ok=True)

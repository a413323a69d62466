"""Records, what a source of data yields, and the spill: the records that are kept, on disk, to be read again.

A source is parsed once. What passes the first checks goes to the spill, from which all later passes read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from mirada.data.corpus import batched

CHUNK = 64
"""Lines of a spill that are parsed at a time."""


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
    """Records on disk, a line of JSON each: written once, then read as often as needed, and deleted at the end."""

    def __init__(self, path: Path):
        self._path = path
        self._files: dict[str, int] = {}  # a name is stored once
        self._out = path.open("w", encoding="ascii")
        self._encode = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode
        self._size = 0

    def add(self, record: AnyRecord) -> None:
        number = self._files.setdefault(record.file, len(self._files))
        self._out.write(self._encode((record.fields, number, record.line, record.marks)) + "\n")
        self._size += 1

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self.select(np.ones(self._size, bool)))

    def select(self, chosen: npt.NDArray[np.bool_]) -> Iterator[tuple[int, Record]]:
        """The records that are chosen, with their places; no others are parsed."""
        self._out.close()
        names = list(self._files)
        with open(self._path, encoding="ascii") as lines:
            for some in batched(compress(enumerate(lines), chosen.tobytes()), CHUNK):
                parsed = json.loads(f"[{','.join(line for _, line in some)}]")
                for (place, _), (fields, file, number, marks) in zip(some, parsed, strict=True):
                    yield place, Record(tuple(fields), names[file], number, "", tuple(marks))

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *exception: object) -> None:
        self._out.close()
        self._path.unlink(missing_ok=True)

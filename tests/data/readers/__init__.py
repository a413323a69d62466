"""What the tests of the readers share: files to read, and the errors they end with."""

import gzip
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import settings

from mirada.data.readers import Reader
from mirada.data.records import Record
from mirada.errors import DataError, MiradaError

PACKERS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress]
packed = pytest.mark.parametrize("pack", PACKERS, ids=["plain", "gzip"])
any_text = settings(derandomize=True, max_examples=100, deadline=None, database=None)


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def texts(pairs: Iterable[Record]) -> list[tuple[str, ...]]:
    return [pair.fields for pair in pairs]


def fault(read: Callable[[], Iterable[object]], kind: type[MiradaError] = DataError) -> str:
    """The message of the error that making or using a reader ends with; always a single line."""
    with pytest.raises(kind) as caught:
        list(read())
    assert type(caught.value) is kind
    message = str(caught.value)
    assert message.isprintable()
    return message


def check_memory(make: Callable[[], Reader], count: int) -> None:
    """Reads a file of some 10 MB twice: every pair comes, and memory stays flat."""
    tracemalloc.start()
    reader = make()
    counts = [sum(1 for _ in reader) for _ in range(2)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counts == [count, count]
    assert peak < 2**20

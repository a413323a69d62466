"""Damage files as bytes and as arrays of numbers, or replace them by something that is not a regular file."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

Change = Callable[[Path, random.Random], str]
"""Damages a file; returns what was done."""


def as_bytes(path: Path, chance: random.Random) -> str:
    content = bytearray(path.read_bytes())
    how = chance.choice(["flip", "cut", "empty", "insert", "double", "zeros"])
    at = chance.randrange(len(content) + 1)
    if how == "flip" and content:
        for _ in range(chance.choice([1, 1, 3, 20])):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif how == "cut":
        del content[at:]
    elif how == "empty":
        content.clear()
    elif how == "insert":
        content[at:at] = bytes(chance.randrange(256) for _ in range(chance.choice([1, 4, 100])))
    elif how == "double":
        content += bytes(content)
    else:
        content[at : at + 64] = bytes(len(content[at : at + 64]))
    path.write_bytes(content)
    return f"bytes {how} at {at}"


def to_directory(path: Path, chance: random.Random) -> str:
    path.unlink()
    path.mkdir()
    return "a directory"


def to_fifo(path: Path, chance: random.Random) -> str:
    path.unlink()
    os.mkfifo(path)
    return "a FIFO"


def to_loop(path: Path, chance: random.Random) -> str:
    path.unlink()
    path.symlink_to(path.name)
    return "a symlink to itself"


def to_zeros(path: Path, chance: random.Random) -> str:
    path.unlink()
    path.symlink_to("/dev/zero")
    return "a symlink to /dev/zero"


def to_sparse(path: Path, chance: random.Random) -> str:
    size = chance.choice([2**20, 2**31, 2**36, 2**40])
    keep = chance.random() < 0.5
    with open(path, "r+b" if keep else "wb") as file:
        file.truncate(max(size, path.stat().st_size))
    return f"a sparse file of {size} bytes{' after its content' if keep else ''}"


def to_nothing(path: Path, chance: random.Random) -> str:
    path.unlink()
    return "deleted"


REPLACEMENTS: list[Change] = [to_directory, to_fifo, to_loop, to_zeros, to_sparse, to_nothing]


def as_array(path: Path, chance: random.Random) -> str:
    """Numbers where numbers are: offsets that go back, ids beyond the vocabulary, values that are not finite."""
    content = bytearray(path.read_bytes())
    width = 2 if path.suffix == ".ids" else 8
    if len(content) < width:
        return as_bytes(path, chance)
    at = width * chance.randrange(len(content) // width)
    value = chance.choice(
        [b"\xff" * width, bytes(width), b"\0" * (width - 1) + b"\x40", b"\xff" * (width - 1) + b"\x7f"]
    )
    count = chance.choice([1, 1, 10, len(content)])
    end = min(len(content), at + count * width)
    content[at:end] = (value * count)[: end - at]
    path.write_bytes(content)
    return f"numbers from {at}: {count} times {value.hex()}"

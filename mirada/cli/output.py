"""Output files: they get their name when they are complete; a failure leaves nothing behind."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from mirada.errors import UsageError
from mirada.files import atomic_write

_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")


def check_new(path: Path | None, option: str, packed: bool = False) -> None:
    """Refuse a file that exists, and a name of a compressed file; `packed` allows gzip."""
    if path is None:
        return
    if path.exists() or path.is_symlink():
        raise UsageError(f"{option} {path}: exists already; choose another name")
    if path.suffix.lower() in _PACKED and not (packed and path.suffix.lower() == ".gz"):
        raise UsageError(
            f"{option} {path}: compressed output is not supported; write {path.with_suffix('')} and compress that"
        )


@contextmanager
def new_file(path: Path, option: str) -> Iterator[TextIO]:
    """Open a new text file, which gets its name when it is complete."""
    with new_binary(path, option) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape", newline="\n")
        try:
            yield text
        finally:
            text.detach()


@contextmanager
def new_binary(path: Path, option: str) -> Iterator[BinaryIO]:
    """Open a new binary file, which gets its name when it is complete."""
    check_new(path, option)
    try:
        with atomic_write(path) as out:
            yield out
    except OSError as error:
        raise cannot_write(option, path, error) from None


@contextmanager
def text_output(out: Path | None) -> Iterator[TextIO]:
    """Open a new file, or standard output."""
    if out is not None:
        with new_file(out, "--out") as sink:
            yield sink
        return
    yield standard_output()


def standard_output() -> TextIO:
    """Standard output as UTF-8, whatever the terminal is set to."""
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    return sys.stdout


def cannot_write(option: str, path: Path, error: OSError) -> UsageError:
    """The error for a file that cannot be written."""
    return UsageError(f"{option} {path}: cannot be written ({error.strerror})")

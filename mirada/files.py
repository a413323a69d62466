"""Write files atomically; read only regular files of limited size."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mirada.errors import MiradaError, UsageError

SMALL_FILE = 64 * 2**20
"""The most bytes of a card, a configuration, a tokenizer or a dev set."""


def open_regular(path: Path, error: type[MiradaError]) -> BinaryIO:
    """Open a regular file for reading; a FIFO could block for ever, and a device never end."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as fault:
        raise error(f"{path}: cannot be read ({fault.strerror})") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        what = "a directory" if stat.S_ISDIR(os.fstat(handle).st_mode) else "neither a file nor a directory"
        os.close(handle)
        raise error(f"{path}: cannot be read (it is {what})")
    return open(handle, "rb")


def read_bytes(path: Path, error: type[MiradaError], most: int = SMALL_FILE) -> bytes:
    """Read a regular file of at most `most` bytes."""
    with open_regular(path, error) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise error(f"{path}: is larger than {most // 2**20} MiB, which it never should be")
        try:
            return file.read(size)
        except OSError as fault:
            raise error(f"{path}: cannot be read ({fault.strerror})") from None


def check_writable(path: Path, error: type[MiradaError]) -> None:
    """Refuse a path that exists and is not a regular file: writing to a FIFO could block for ever."""
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        return
    except OSError as fault:
        raise error(f"{path}: cannot be written ({fault.strerror})") from None
    if not stat.S_ISREG(kind):
        raise error(f"{path}: cannot be written (it is not a regular file); remove it")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with atomic_write(path) as out:
        out.write(content)


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Write to a temporary file, flush it to disk, then rename it: readers see the old file or the new one."""
    partial = path.with_name(path.name + ".partial")
    try:
        with open(partial, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


@contextmanager
def new_directory(path: Path, option: str = "--out") -> Iterator[Path]:
    """A temporary directory that becomes `path`, which must not exist yet, at the end; nothing is left on an error."""
    if path.exists() or path.is_symlink():
        raise UsageError(f"{option} {path}: exists already; choose another name")
    temporary = path.parent / f".mirada-{os.getpid()}-{path.name}"
    shutil.rmtree(temporary, ignore_errors=True)  # of a process that was killed
    try:
        temporary.mkdir(parents=True)
        yield temporary
        temporary.rename(path)
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8"))


def write_output(path: Path, content: str | bytes) -> None:
    """Write a file that the user has named; UsageError if that is not possible."""
    check_writable(path, UsageError)
    try:
        write_bytes(path, content.encode("utf-8") if isinstance(content, str) else content)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from None


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that a rename in it survives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cache_folder() -> Path:
    """The user's cache directory, for what can be computed again: `$MIRADA_CACHE`, or the system's."""
    if given := os.environ.get("MIRADA_CACHE"):
        return Path(given)
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "mirada"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mirada"

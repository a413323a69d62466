"""Where answers go: standard output, or a file that is whole when it has its name.

`new_file` is for what is written in one go. `write_answers` is for answers that come a chunk at a time, one for each
line of the input: they are collected in `<out>.partial`, always a whole number of lines, and `<out>.partial.json`
says whose answers they are. The same command continues there after an interruption.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from mirada.cli.app import say
from mirada.cli.input import Given
from mirada.cli.progress import Progress
from mirada.errors import Interrupted, MiradaError, UsageError
from mirada.files import sync_folder, write_text, written_whole

SAVE_SECONDS = 1.0
"""How often it is recorded how far the answers are; a kill loses the work since then."""

_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")

Job = dict[str, Any]
"""What decides the answers besides the input: the verb, the bundle, the options."""

Answer = Callable[[int, list[str], Progress], tuple[list[str], int]]
"""The answers to a chunk of the input, each with its line ends, and how many of them failed.

It is told how many answers there are before."""


def check_new(path: Path | None, option: str) -> None:
    """Nothing that exists is written over, and nothing is called packed that is not."""
    if path is None:
        return
    if path.exists() or path.is_symlink():
        raise UsageError(f"{option} {path}: exists already; choose another name")
    if path.suffix.lower() in _PACKED:
        raise UsageError(
            f"{option} {path}: is not written packed; call it {path.with_suffix('')} and pack it afterwards"
        )


@contextmanager
def new_file(path: Path, option: str) -> Iterator[TextIO]:
    """A new text file, which gets its name when all of it is written; nothing is left behind by a failure."""
    with new_binary(path, option) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape", newline="\n")
        try:
            yield text
        finally:
            text.detach()


@contextmanager
def new_binary(path: Path, option: str) -> Iterator[BinaryIO]:
    """The same for bytes."""
    check_new(path, option)
    try:
        with written_whole(path) as out:
            yield out
    except OSError as error:
        raise _cannot(option, path, error) from None


@contextmanager
def text_output(out: Path | None) -> Iterator[TextIO]:
    """A new file, or standard output."""
    if out is not None:
        with new_file(out, "--out") as sink:
            yield sink
        return
    yield _stdout()


def job_of(verb: str, bundle: Path, **options: Any) -> Job:
    """The job that a verb does with a bundle and these options."""
    return {"verb": verb, "bundle": hashlib.sha256((bundle / "card.json").read_bytes()).hexdigest(), **options}


def write_answers(
    given: Given, out: Path | None, job: Job, answer: Answer, finish: Callable[[Path], None] | None = None
) -> int:
    """Answer the input a chunk at a time, to `out` or standard output; returns how many answers failed.

    What an interrupted call of the same job left in `<out>.partial` is continued. At the end that file gets the name
    `out`, or `finish` makes `out` of it.
    """
    answers: _Answers = _Stdout() if out is None else _Partial(out, job, finish)
    progress = Progress(given, shown=out is not None or not sys.stdout.isatty())
    try:
        with answers, progress:
            for chunk in answers.remaining(given):
                progress.start(answers.done)
                rows, failed = answer(answers.answered, chunk, progress)
                answers.add(chunk, rows, failed)
            answers.finish()
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted after {progress.far(answers.done)}{answers.hint()}") from None
    except MiradaError:
        if hint := answers.hint():
            say(f"mirada: stopped after {progress.far(answers.done)}{hint}")
        raise
    return answers.failed


class _Answers(ABC):
    """Answers that are written down."""

    def __init__(self) -> None:
        self.done = 0
        """Inputs that are dealt with."""
        self.answered = 0
        """Answers to them; a file of many pictures has many."""
        self.failed = 0

    def __enter__(self) -> None:
        return

    def __exit__(self, *_: object) -> None:
        return

    def remaining(self, given: Given) -> Iterator[list[str]]:
        """The chunks of the input that are not answered yet."""
        return iter(given)

    def add(self, chunk: list[str], rows: list[str], failed: int) -> None:
        """Write down the answers to a chunk."""
        self.write("".join(rows))
        self.done, self.answered, self.failed = self.done + len(chunk), self.answered + len(rows), self.failed + failed

    @abstractmethod
    def write(self, text: str) -> None: ...

    def finish(self) -> None:
        return

    def hint(self) -> str:
        """How to continue."""
        return ""


class _Stdout(_Answers):
    def __init__(self) -> None:
        super().__init__()
        self._sink = _stdout()

    def write(self, text: str) -> None:
        self._sink.write(text)
        self._sink.flush()


class _Partial(_Answers):
    """`<out>.partial`, and the record of whose answers it has and how many."""

    def __init__(self, out: Path, job: Job, make: Callable[[Path], None] | None):
        super().__init__()
        self._make = make
        check_new(out, "--out")
        self.out, self.job = out, json.loads(json.dumps(job))
        self.partial = out.with_name(out.name + ".partial")
        self.record = out.with_name(out.name + ".partial.json")
        self._size = 0
        self._read = hashlib.sha256()
        self._wanted = ""  # the digest of the inputs whose answers are there already
        self._saved = 0.0
        self._finished = False
        self._file: io.FileIO | None = None
        if self.partial.exists():
            self._reopen()

    def __enter__(self) -> None:
        try:
            self._file = open(self.partial, "r+b" if self.partial.exists() else "x+b", buffering=0)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"--out {self.out}: another process is writing it; wait for it, or choose another name"
            ) from None
        except OSError as error:
            raise _cannot("--out", self.out, error) from None
        self._file.truncate(self._size)
        self._file.seek(self._size)
        if self.done:
            say(f"continuing {self.partial} after {self.done:,} lines")
        self._save()

    def __exit__(self, *_: object) -> None:
        if self._file is None:
            return
        if self._finished:
            self._file.close()
            return
        with suppress(OSError):  # a disk that is full: the record of the last second holds
            self._file.truncate(self._size)
            self._save()
        self._file.close()
        if not self.done:
            self.partial.unlink(missing_ok=True)
            self.record.unlink(missing_ok=True)

    def remaining(self, given: Given) -> Iterator[list[str]]:
        skip = self.done
        for chunk in given:
            self._look_at(chunk[:skip])
            rest, skip = chunk[skip:], max(0, skip - len(chunk))
            if not skip and self._wanted:
                self._check_input()
            if rest:
                yield rest
        if skip:
            self._check_input()

    def add(self, chunk: list[str], rows: list[str], failed: int) -> None:
        super().add(chunk, rows, failed)
        self._look_at(chunk)
        if time.monotonic() >= self._saved + SAVE_SECONDS:
            self._save()

    def write(self, text: str) -> None:
        assert self._file is not None
        content = memoryview(text.encode("utf-8", "surrogateescape"))
        size = self._size + len(content)
        try:
            while content:
                content = content[self._file.write(content) :]
        except OSError as error:
            raise _cannot("--out", self.out, error) from None
        self._size = size

    def finish(self) -> None:
        assert self._file is not None
        check_new(self.out, "--out")
        os.fsync(self._file.fileno())
        if self._make is None:
            os.replace(self.partial, self.out)
        else:
            self._make(self.partial)
            self.partial.unlink()
        self.record.unlink(missing_ok=True)
        sync_folder(self.out.parent)
        self._finished = True

    def hint(self) -> str:
        return f", kept in {self.partial}; the same command continues it" if self.done and not self._finished else ""

    def _look_at(self, inputs: list[str]) -> None:
        for text in inputs:
            self._read.update(text.encode("utf-8", "surrogatepass") + b"\n")

    def _check_input(self) -> None:
        if self._read.hexdigest() != self._wanted:
            raise self._other("other lines")
        self._wanted = ""

    def _save(self) -> None:
        record = {
            "job": self.job,
            "done": self.done,
            "answered": self.answered,
            "failed": self.failed,
            "bytes": self._size,
            "input": self._wanted or self._read.hexdigest(),
        }
        write_text(self.record, json.dumps(record, indent=2))
        self._saved = time.monotonic()

    def _reopen(self) -> None:
        """Takes up what an earlier call left, if it is the same job."""
        try:
            found = json.loads(self.record.read_bytes())
            job, self._wanted = found["job"], str(found["input"])
            counts = (_count(found[key]) for key in ("done", "answered", "failed", "bytes"))
            self.done, self.answered, self.failed, self._size = counts
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise UsageError(
                f"--out {self.out}: {self.partial} is in the way, and no record says what it is; delete or rename it"
            ) from None
        if not isinstance(job, dict) or self.partial.stat().st_size < self._size:
            raise UsageError(f"--out {self.out}: {self.partial} or its record was altered; delete both")
        others = [key for key in {**self.job, **job} if self.job.get(key) != job.get(key)]
        if others:
            raise self._other(f"another {others[0]}")

    def _other(self, what: str) -> UsageError:
        return UsageError(
            f"--out {self.out}: {self.partial} has {self.done:,} answers to {what}; finish it with the command that "
            "began it, delete it, or choose another name"
        )


def _count(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError
    return value


def _stdout() -> TextIO:
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    return sys.stdout


def _cannot(option: str, path: Path, error: OSError) -> UsageError:
    return UsageError(f"{option} {path}: cannot be written ({error.strerror})")

"""Answers that come a chunk at a time, one for each line of the input: to standard output, or to a file.

Until all are there, the file is `<out>.partial`, always a whole number of lines, and `<out>.partial.json` says whose
answers they are. The same command continues it after an interruption.
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
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from mirada.cli.app import say
from mirada.cli.input import Given
from mirada.cli.output import cannot_write, check_new, standard_output
from mirada.cli.progress import Progress
from mirada.errors import Interrupted, MiradaError, UsageError
from mirada.files import sync_folder, write_text

SAVE_SECONDS = 1.0
"""How often it is recorded how far the answers are; a kill loses the work since then."""

Job = dict[str, Any]
"""What decides the answers besides the input: the verb, the bundle, the options."""

Answer = Callable[[int, list[str], Progress], tuple[list[str], int]]
"""The answers to a chunk of the input, each with its line ends, and how many of them failed.

It is told how many answers there are before."""


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
                progress.start(answers.state.done)
                rows, failed = answer(answers.state.answered, chunk, progress)
                answers.add(chunk, rows, failed)
            answers.finish()
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted after {progress.far(answers.state.done)}{answers.hint()}") from None
    except MiradaError:
        if hint := answers.hint():
            say(f"mirada: stopped after {progress.far(answers.state.done)}{hint}")
        raise
    return answers.state.failed


class _State(NamedTuple):
    """How far the answers are: one value, so that an interruption finds either the old one or the new one."""

    done: int = 0
    """Inputs that are dealt with."""
    answered: int = 0
    """Answers to them; a file of many images has many."""
    failed: int = 0
    size: int = 0
    """Bytes of all answers."""
    digest: str = hashlib.sha256().hexdigest()
    """Of all inputs that are dealt with, each mixed into the digest of those before."""

    def after(self, chunk: list[str], rows: list[str], failed: int, size: int) -> _State:
        digest = _mixed(self.digest, chunk)
        return _State(self.done + len(chunk), self.answered + len(rows), self.failed + failed, self.size + size, digest)


def _mixed(digest: str, inputs: list[str]) -> str:
    for text in inputs:
        digest = hashlib.sha256(f"{digest}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
    return digest


class _Answers(ABC):
    """Answers that are written down."""

    state = _State()

    def __enter__(self) -> None:
        return

    def __exit__(self, *_: object) -> None:
        return

    def remaining(self, given: Given) -> Iterator[list[str]]:
        """The chunks of the input that are not answered yet."""
        return iter(given)

    def add(self, chunk: list[str], rows: list[str], failed: int) -> None:
        """Write down the answers to a chunk."""
        content = "".join(rows)
        state = self.state.after(chunk, rows, failed, self.write(content))
        self.state = state

    @abstractmethod
    def write(self, text: str) -> int:
        """Write a text; returns its size in bytes."""

    def finish(self) -> None:
        return

    def hint(self) -> str:
        """How to continue."""
        return ""


class _Stdout(_Answers):
    def __init__(self) -> None:
        self._sink = standard_output()

    def write(self, text: str) -> int:
        self._sink.write(text)
        self._sink.flush()
        return len(text)


class _Partial(_Answers):
    """`<out>.partial`, and the record of whose answers it has and how many."""

    def __init__(self, out: Path, job: Job, make: Callable[[Path], None] | None):
        check_new(out, "--out")
        self.out, self.job, self._make = out, json.loads(json.dumps(job)), make
        self.partial = out.with_name(out.name + ".partial")
        self.record = out.with_name(out.name + ".partial.json")
        self._ours = True  # not once it is known that the answers are those of another input
        self._saved = 0.0
        self._finished = False
        self._file: io.FileIO | None = None
        if self.partial.exists() and (self.partial.stat().st_size or self.record.exists()):
            self.state = self._found()

    def __enter__(self) -> None:
        try:
            file = open(self.partial, "r+b" if self.partial.exists() else "x+b", buffering=0)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.truncate(self.state.size)
            file.seek(self.state.size)
        except BlockingIOError:
            raise UsageError(
                f"--out {self.out}: another process is writing it; wait for it, or choose another name"
            ) from None
        except OSError as error:
            raise cannot_write("--out", self.out, error) from None
        self._file = file
        if self.state.done:
            say(f"continuing {self.partial} after {self.state.done:,} lines")
        self._save()

    def __exit__(self, *_: object) -> None:
        assert self._file is not None
        if not self._finished:
            with suppress(OSError, UsageError):  # a disk that is full: the record of the last second holds
                self._file.truncate(self.state.size)
                self._save()
            if not self.state.done:
                self.partial.unlink(missing_ok=True)
                self.record.unlink(missing_ok=True)
        self._file.close()

    def remaining(self, given: Given) -> Iterator[list[str]]:
        skip, digest = self.state.done, _State().digest
        for chunk in given:
            rest = chunk[skip:]
            if skip:
                digest = _mixed(digest, chunk[:skip])
                skip = max(0, skip - len(chunk))
                if not skip:
                    self._check_input(digest)
            if rest:
                yield rest
        if skip:
            self._check_input(digest)

    def _check_input(self, digest: str) -> None:
        if digest != self.state.digest:
            self._ours = False
            raise self._other("other lines")

    def add(self, chunk: list[str], rows: list[str], failed: int) -> None:
        super().add(chunk, rows, failed)
        if time.monotonic() >= self._saved + SAVE_SECONDS:
            self._save()

    def write(self, text: str) -> int:
        assert self._file is not None
        content = text.encode("utf-8", "surrogateescape")
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise cannot_write("--out", self.out, error) from None
        return len(content)

    def finish(self) -> None:
        assert self._file is not None
        check_new(self.out, "--out")
        self._finished = True
        try:
            os.fsync(self._file.fileno())
            if self._make is None:
                os.replace(self.partial, self.out)
            else:
                self._make(self.partial)
                self.partial.unlink()
            self.record.unlink(missing_ok=True)
            sync_folder(self.out.parent)
        except BaseException as error:
            self._finished = self.out.exists()
            if isinstance(error, OSError):
                raise cannot_write("--out", self.out, error) from None
            raise

    def hint(self) -> str:
        kept = self.state.done and self._ours and not self._finished
        return f", kept in {self.partial}; the same command continues it" if kept else ""

    def _save(self) -> None:
        try:
            write_text(self.record, json.dumps({"job": self.job, **self.state._asdict()}, indent=2))
        except OSError as error:
            raise cannot_write("--out", self.out, error) from None
        self._saved = time.monotonic()

    def _found(self) -> _State:
        """How far an earlier call came, if its job is the same."""
        try:
            found = json.loads(self.record.read_bytes())
            job = dict(found["job"])
            done, answered, failed, size = (_count(found[key]) for key in ("done", "answered", "failed", "size"))
            state = _State(done, answered, failed, size, str(found["digest"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise UsageError(
                f"--out {self.out}: {self.partial} is in the way, and no record says what it is; delete or rename it"
            ) from None
        self.state = state
        others = [key for key in {**self.job, **job} if self.job.get(key) != job.get(key)]
        if others:
            raise self._other(f"another {others[0]}")
        if self.partial.stat().st_size < state.size:
            raise UsageError(f"--out {self.out}: {self.partial} was altered since; delete it to begin again")
        return state

    def _other(self, what: str) -> UsageError:
        return UsageError(
            f"--out {self.out}: {self.partial} has {self.state.done:,} answers to {what}; finish it with the command "
            "that began it, delete it, or choose another name"
        )


def _count(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError
    return value

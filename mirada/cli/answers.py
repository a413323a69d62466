"""Predictions for each line of the input, a chunk at a time, as text or JSON: to standard output, or to a file.

Until it is complete, the file is `<out>.partial`, always a whole number of lines, and `<out>.partial.json` records what
it belongs to. The same command continues it after an interruption.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from mirada.cli.app import say
from mirada.cli.input import Input
from mirada.cli.output import cannot_write, check_new, standard_output
from mirada.cli.progress import Progress
from mirada.errors import Interrupted, MiradaError, UsageError
from mirada.files import sync_folder, write_text
from mirada.predictions import Prediction

SAVE_SECONDS = 1.0
"""How often the state of the file is recorded; a kill loses the work since then."""

Job = dict[str, Any]
"""What decides the predictions besides the input: the verb, the bundle, the options."""


class Lines(NamedTuple):
    """A chunk of the input."""

    texts: list[str]
    first: int = 1
    """The number of the first of them."""
    progress: Callable[[int], None] = lambda done: None
    """Called with the number of texts that are done."""


Predict = Callable[[Lines], Iterable[Prediction]]
"""The predictions for a chunk of the input."""


class Answer(Protocol):
    """What a verb answers: a prediction, an evaluation, …"""

    @property
    def notes(self) -> Any: ...
    def as_dict(self) -> dict[str, Any]: ...
    def as_text(self) -> str: ...


def formatted(answer: Answer, json_: bool) -> str:
    """An answer as a line of JSON, or as text for a person."""
    return json.dumps(answer.as_dict(), ensure_ascii=False) if json_ else answer.as_text()


def job_of(verb: str, bundle: Path, **options: Any) -> Job:
    """The job that a verb does with a bundle and these options."""
    from mirada.bundle import members

    cards = [hashlib.sha256((member / "card.json").read_bytes()).hexdigest() for member in members(bundle)]
    return {"verb": verb, "bundle": "+".join(cards), **options}


def write_answers(
    given: Input,
    out: Path | None,
    job: Job,
    predict: Predict,
    *,
    json_: bool = False,
    finish: Callable[[Path], None] | None = None,
) -> int:
    """Write the predictions for the input to `out` or standard output; returns how many inputs have none.

    What an interrupted call of the same job left in `<out>.partial` is continued. At the end that file gets the name
    `out`, or `finish` makes `out` of it, and says what is to be said about each prediction.
    """
    for _ in predict(Lines([])):  # wrong options are refused before anything is written
        pass
    answers = _Answers() if out is None else _Partial(out, {**job, "json": json_}, finish)
    progress = Progress(given, shown=out is not None or not sys.stdout.isatty())
    try:
        with answers, progress:
            for chunk in answers.remaining(given):
                progress.start(answers.state.done)
                first = answers.state.answered + 1
                predictions = list(predict(Lines(chunk, first, progress)))
                for number, prediction in enumerate(predictions if finish is None else (), first):
                    _say_remarks(prediction, number)
                rows = [_row(prediction, number, json_) for number, prediction in enumerate(predictions, first)]
                answers.add(chunk, rows, sum(prediction.problem is not None for prediction in predictions))
            answers.finish()
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted after {progress.position(answers.state.done)}{answers.hint()}") from None
    except MiradaError:
        if hint := answers.hint():
            say(f"mirada: stopped after {progress.position(answers.state.done)}{hint}")
        raise
    return answers.state.failed


def _say_remarks(prediction: Prediction, number: int) -> None:
    """Print a prediction's problem and its notes."""
    where = prediction.where(number)
    if prediction.problem:
        say(f"mirada: {where}: {prediction.problem}; its line is left empty")
    for remark in prediction.notes:
        say(f"mirada: {where}: {remark}")


def _row(prediction: Prediction, number: int, json_: bool) -> str:
    """A prediction with its line ends."""
    return (formatted(prediction, True) if json_ else prediction.as_text(number)) + "\n"


class _State(NamedTuple):
    """How far the work is: one value, so that an interruption finds either the old one or the new one."""

    done: int = 0
    """Inputs that are done."""
    answered: int = 0
    """Their predictions; a file of many images has many."""
    failed: int = 0
    size: int = 0
    """Bytes of all predictions."""
    digest: str = hashlib.sha256().hexdigest()
    """A chained digest of all inputs that are done."""


def _chained(digest: str, inputs: list[str]) -> str:
    """A digest of a digest and the inputs that follow."""
    for text in inputs:
        digest = hashlib.sha256(f"{digest}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
    return digest


class _Answers:
    """Writes predictions to standard output."""

    state = _State()

    def __enter__(self) -> None:
        self._sink = standard_output()

    def __exit__(self, *_: object) -> None:
        return

    def remaining(self, given: Input) -> Iterator[list[str]]:
        """The chunks of the input that are still to do."""
        return iter(given)

    def add(self, chunk: list[str], rows: list[str], failed: int) -> None:
        """Write the predictions for a chunk."""
        before, digest = self.state, _chained(self.state.digest, chunk)
        size = before.size + self.write("".join(rows))
        self.state = _State(before.done + len(chunk), before.answered + len(rows), before.failed + failed, size, digest)

    def write(self, text: str) -> int:
        """Write a text; returns its size in the output."""
        self._sink.write(text)
        self._sink.flush()
        return len(text)

    def finish(self) -> None:
        return

    def hint(self) -> str:
        """How to continue."""
        return ""


class _Partial(_Answers):
    """Writes predictions to `<out>.partial`, with a record of what it belongs to and how far it is."""

    def __init__(self, out: Path, job: Job, make: Callable[[Path], None] | None):
        check_new(out, "--out", packed=make is not None)
        self.out, self.job, self._make = out, json.loads(json.dumps(job)), make
        self.partial = out.with_name(out.name + ".partial")
        self.record = out.with_name(out.name + ".partial.json")
        self._ours = True  # False once the input turns out to be another one
        self._saved = 0.0
        self._finished = False
        if self.partial.exists() and (self.partial.stat().st_size or self.record.exists()):
            self._open_record()

    def __enter__(self) -> None:
        with self._writing():
            self._file = open(self.partial, "r+b" if self.partial.exists() else "x+b", buffering=0)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._file.truncate(self.state.size)
            self._file.seek(self.state.size)
        if self.state.done:
            say(f"continuing {self.partial} after {self.state.done:,} lines")
        self._save()

    def __exit__(self, *_: object) -> None:
        if not self._finished:
            with suppress(OSError, UsageError):  # a disk that is full: the record of the last second holds
                self._file.truncate(self.state.size)
                self._save()
            if not self.state.done:
                self.partial.unlink(missing_ok=True)
                self.record.unlink(missing_ok=True)
        self._file.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Refuse an `out` that cannot be written, with the reason."""
        try:
            yield
        except BlockingIOError:
            raise UsageError(
                f"--out {self.out}: another process is writing it; wait for it, or choose another name"
            ) from None
        except OSError as error:
            raise cannot_write("--out", self.out, error) from None

    def remaining(self, given: Input) -> Iterator[list[str]]:
        skip, digest = self.state.done, _State().digest
        for chunk in given:
            rest = chunk[skip:]
            if skip:
                digest = _chained(digest, chunk[:skip])
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
        content = text.encode("utf-8", "surrogateescape")
        rest = memoryview(content)
        with self._writing():
            while rest:
                rest = rest[self._file.write(rest) :]
        return len(content)

    def finish(self) -> None:
        check_new(self.out, "--out", packed=self._make is not None)
        self._finished = True
        try:
            with self._writing():
                os.fsync(self._file.fileno())
                if self._make is None:
                    os.replace(self.partial, self.out)
                else:
                    self._make(self.partial)
                    self.partial.unlink()
                self.record.unlink(missing_ok=True)
                sync_folder(self.out.parent)
        except BaseException:
            self._finished = self.out.exists()
            raise

    def hint(self) -> str:
        kept = self.state.done and self._ours and not self._finished
        return f", kept in {self.partial}; run the same command to continue" if kept else ""

    def _save(self) -> None:
        with self._writing():
            write_text(self.record, json.dumps({"job": self.job, **self.state._asdict()}, indent=2))
        self._saved = time.monotonic()

    def _open_record(self) -> None:
        """Read the state that an earlier call of the same job left."""
        try:
            found = json.loads(self.record.read_bytes())
            job, state = dict(found["job"]), _State(*(found[key] for key in _State._fields))
            if not all(isinstance(count, int) and count >= 0 for count in state[:-1]):
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise UsageError(
                f"--out {self.out}: {self.partial} is in the way, and there is no record of what it is; "
                "delete or rename it"
            ) from None
        self.state = state
        others = [key for key in {**self.job, **job} if self.job.get(key) != job.get(key)]
        if others:
            raise self._other(f"another {others[0]}")
        if self.partial.stat().st_size < state.size:
            raise UsageError(f"--out {self.out}: {self.partial} was modified; delete it to start over")

    def _other(self, what: str) -> UsageError:
        return UsageError(
            f"--out {self.out}: {self.partial} has {self.state.done:,} results for {what}; finish it with the command "
            "that started it, delete it, or choose another name"
        )

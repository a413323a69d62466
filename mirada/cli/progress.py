"""The progress of long jobs, on standard error: what is done, how fast, and the time left."""

from __future__ import annotations

import time
from typing import Protocol

from mirada.cli.app import quiet
from mirada.console import Console, duration

PATIENCE = 2.0
"""Seconds before progress is shown; most jobs are done by then."""


class Work(Protocol):
    """What there is to do."""

    unit: str
    """What is counted: lines, pairs."""

    @property
    def total(self) -> int | None:
        """How many there are, if that is known."""


class Progress:
    """Shows what is done, the speed and the time left on standard error, unless --quiet."""

    def __init__(self, work: Work, shown: bool = True):
        self.work = work
        self.shown = shown and not quiet()
        self._console = Console()
        self._live = False
        self._began = time.monotonic()
        self._first: int | None = None
        self._done = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._console.__exit__(None, None, None)

    def start(self, done: int) -> None:
        """Start a chunk, after `done` inputs."""
        if self._first is None:
            self._first, self._began = done, time.monotonic()
        self._done = done
        self(0)

    def __call__(self, more: int) -> None:
        """Report how many of this chunk are done."""
        seconds = time.monotonic() - self._began
        if not self.shown or seconds < PATIENCE:
            return
        if not self._live:
            self._console.__enter__()
            self._live = True
        total, done = self.work.total, self._done + more
        done = min(done, total) if total else done
        speed = (done - (self._first or 0)) / seconds
        left = f", {duration((total - done) / speed)} left" if total and speed else ""
        self._console.passing(f"{self.position(done)}, {speed:,.1f} {self.work.unit}/s{left}")

    def position(self, done: int) -> str:
        """How many of how many are done, in words."""
        total = self.work.total
        return f"{done:,} of {total:,} {self.work.unit}" if total else f"{done:,} {self.work.unit}"

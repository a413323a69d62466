"""Stop requests: Ctrl-C and SIGTERM end a run where nothing is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequested(Exception):
    """A stop was requested during a validation."""


@contextmanager
def stop_requests(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM set the event; a second one ends the program at once."""
    if threading.current_thread() is not threading.main_thread():  # signals can only be caught there
        yield
        return

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()
        for name in before:
            signal.signal(name, before[name])

    found = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
    before = {name: handler for name, handler in found.items() if handler is not None}  # None: set in C, left alone
    for name in before:
        signal.signal(name, ask)
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)

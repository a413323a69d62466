"""The time that each phase of a run takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timing(dict[str, float]):
    """Seconds by phase; `with timing("scoring"):` adds to one of them, and `timing.next` ends one as another begins."""

    _phase: str | None = None
    _since = 0.0

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self[phase] = self.get(phase, 0.0) + time.monotonic() - began

    def next(self, phase: str | None) -> None:
        """End the current phase, and begin this one unless it is None."""
        now = time.monotonic()
        if self._phase is not None:
            self[self._phase] = self.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now

"""The time that each phase of a run takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timing(dict[str, float]):
    """Seconds by phase; `with timing("scoring"):` adds to one of them."""

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self[phase] = self.get(phase, 0.0) + time.monotonic() - began

"""A kill −9 at every moment: a copy of this process does something and is killed at its n-th file operation."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator

OPERATIONS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.listdir", "os.scandir")


def kills(prepare: Callable[[], object], action: Callable[[], object]) -> Iterator[int]:
    """Prepare, then act until the first, second, … file operation, for ever one more, until nothing is left to kill."""
    number = 0
    while True:
        number += 1
        prepare()
        if not _killed(action, number):
            return
        yield number


def _killed(action: Callable[[], object], number: int) -> bool:
    child = os.fork()
    if child == 0:
        seen = 0

        def watch(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal seen
            if event not in OPERATIONS:
                return
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)

        code = 1
        try:
            sys.addaudithook(watch)
            action()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    assert status == 0 or os.WTERMSIG(status) == signal.SIGKILL, f"failed before operation {number}"
    return status != 0

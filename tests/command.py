"""`mirada …` as a person types it, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run(*arguments: object, text: str | bytes = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """`mirada …` in a process of its own."""
    given = text.encode() if isinstance(text, str) else text
    done = subprocess.run(
        [sys.executable, "-m", "mirada.cli", *map(str, arguments)],
        input=given,
        capture_output=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    out, errors = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in errors, errors
    return subprocess.CompletedProcess(done.args, done.returncode, out, errors)


def refused(*arguments: object, code: int = 1, text: str | bytes = "") -> str:
    """The one line that a command is refused with."""
    done = run(*arguments, text=text)
    assert done.returncode == code, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("mirada: ")]
    assert len(said) == 1, done.stderr
    return said[0]

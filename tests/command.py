"""`mirada …` as a person types it: in this process, which has loaded everything already, or in one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import traceback
from contextlib import chdir, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path

from mirada.cli import main

Done = subprocess.CompletedProcess[str]


def run(*arguments: object, text: str | bytes = "", cwd: Path | None = None) -> Done:
    """The command as a call: a new Python would spend most of its time on imports."""
    given = text.encode() if isinstance(text, str) else text
    out, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    argv, stdin = sys.argv, sys.stdin
    sys.argv = ["mirada", *map(str, arguments)]
    sys.stdin = io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
    code = 0
    try:
        with redirect_stdout(out), redirect_stderr(errors), chdir(cwd) if cwd else nullcontext():
            main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        raise AssertionError(f"mirada {' '.join(map(str, arguments))}\n{traceback.format_exc()}") from None
    finally:
        sys.argv, sys.stdin = argv, stdin
    said = [stream.buffer.getvalue().decode() for stream in (out, errors)]
    return Done(list(map(str, arguments)), code, *said)


def spawn(*arguments: object, text: str | bytes = "", cwd: Path | None = None) -> Done:
    """The command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "mirada.cli", *map(str, arguments)],
        input=text.encode() if isinstance(text, str) else text,
        capture_output=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    out, errors = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in errors, errors
    return Done(done.args, done.returncode, out, errors)


def refused(*arguments: object, code: int = 1, text: str | bytes = "") -> str:
    """The one line that a command is refused with."""
    done = run(*arguments, text=text)
    assert done.returncode == code, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("mirada: ")]
    assert len(said) == 1, done.stderr
    return said[0]

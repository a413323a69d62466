"""A fixed sample of `python -m bench tamper`: altered bundles and run folders are opened or refused, nothing else."""

from __future__ import annotations

import os
import subprocess
import sys

SAMPLE = ("--ways", "25", "--seed", "7", "--kinds", "transformer", "--processes", "1")


def test_altered_bundles_and_runs_are_opened_or_refused() -> None:
    """In a process of its own, which has one thread: what is forked for each case must have no others."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", "tamper", *SAMPLE],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "transformer bundle: " in done.stdout
    assert "transformer run: " in done.stdout
    assert done.stdout.count(" 0 failed") == 3

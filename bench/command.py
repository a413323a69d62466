"""Run the `mirada` command in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def mirada(*words: str | Path) -> str:
    """Run a command and return its standard output; standard error is shown."""
    command = [sys.executable, "-m", "mirada.cli", *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    if done.returncode:
        sys.exit(f"mirada {' '.join(map(str, words))}: failed; see its output above")
    return done.stdout


def scores(bundle: Path, test: Path) -> dict[str, float]:
    """The scores of `mirada evaluate`, by name."""
    found = json.loads(mirada("evaluate", bundle, test, "--json"))
    return {score["name"]: score["value"] for score in found["scores"]}

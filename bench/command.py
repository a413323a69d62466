"""`mirada` as a person calls it, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def mirada(*words: str | Path) -> str:
    """What a command wrote to standard output; what it says meanwhile is shown."""
    command = [sys.executable, "-m", "mirada.cli", *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    if done.returncode:
        sys.exit(f"mirada {' '.join(map(str, words))}: failed; what it said is above")
    return done.stdout


def scores(bundle: Path, test: Path) -> dict[str, float]:
    """What `mirada evaluate` finds, by name."""
    found = json.loads(mirada("evaluate", bundle, test, "--json"))
    return {score["name"]: score["value"] for score in found["scores"]}

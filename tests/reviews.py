"""Reviews of films: the same words, and their order decides, as in "sí, me gustó mucho, no la vi completa"."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

SMALL: dict[str, Any] = {
    "model": {"width": 32, "dropout": 0.0},
    "train": {"batch_tokens": 1500, "lr": 1e-2, "warmup": 10, "threads": 1},
}


def rows(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Distinct texts with their labels, half of each."""
    chance = random.Random(seed)
    found: dict[str, str] = {}
    while len(found) < count:
        good = len(found) % 2 == 0
        first, last = ("sí", "no") if good else ("no", "sí")
        film = " ".join(chance.choice(["drama", "comedia", "cine", "obra", "actor", "guion"]) for _ in range(3))
        much, when = chance.choice(["mucho", "tanto"]), chance.choice(["ayer", "hoy", "completa"])
        text = f"{film}: {first} me gustó {much}, {last} la vi {when}"
        found.setdefault(text, "good" if good else "bad")
    return list(found.items())


def write(path: Path, reviews: list[tuple[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([("text", "label"), *reviews])
    return path

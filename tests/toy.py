"""A toy language that a tiny model learns in seconds: every word has one translation, and adjectives change sides."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

NOUNS = {"gato": "cat", "perro": "dog", "tren": "train", "libro": "book", "barco": "boat", "lobo": "wolf"}
ADJECTIVES = {"rojo": "red", "negro": "black", "viejo": "old", "nuevo": "new"}
VERBS = {"ve": "sees", "sigue": "follows", "busca": "seeks", "tiene": "has"}

TINY: dict[str, Any] = {
    "model": {"width": 64, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 128, "dropout": 0.0},
    "tokenizer": {"vocabulary": 340},
    "train": {"batch_tokens": 1500, "lr": 5e-3, "warmup": 20, "threads": 1},
}
SETTINGS = [f"{section}.{key}={value}" for section, part in TINY.items() for key, value in part.items()]


def pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Distinct sentences with their translations."""
    chance = random.Random(seed)
    found: dict[str, str] = {}

    def phrase() -> tuple[str, str]:
        noun, adjective = chance.choice(sorted(NOUNS)), chance.choice(sorted(ADJECTIVES))
        if chance.random() < 0.5:
            return f"el {noun}", f"the {NOUNS[noun]}"
        return f"el {noun} {adjective}", f"the {ADJECTIVES[adjective]} {NOUNS[noun]}"

    while len(found) < count:
        verb = chance.choice(sorted(VERBS))
        (s, t), (o, u) = phrase(), phrase()
        number = str(chance.randrange(100)) if chance.random() < 0.2 else ""
        found[" ".join(f"{s} {verb} {o} {number}".split())] = " ".join(f"{t} {VERBS[verb]} {u} {number}".split())
    return list(found.items())


def write(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows), encoding="utf-8")
    return path

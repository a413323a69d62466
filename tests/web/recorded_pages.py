"""Pages of invented recordings: as many tokens, layers and heads, in as many scripts, as a test wants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mirada.explorer.entry import Packed
from mirada.explorer.page import rendered
from mirada.explorer.weights import file_of, packed

Array = npt.NDArray[np.float32]

ENTRY: dict[str, Any] = {
    "name": "invented",
    "task": "translation",
    "architecture": "transformer",
    "config": {},
    "sizes": {},
    "tokenizers": {"source": None, "target": None},
    "normalizes": {"source": False, "target": False},
    "labels": None,
    "decode": {"beam": 5, "length_penalty": 1.0, "max_ratio": 3.0, "max_length": 256},
    "languages": {"source": None, "target": None},
    "directions": None,
    "opening": None,
    "proof": None,
    "precision": "float16",
    "parameters": 1,
    "scores": [],
    "facts": [],
    "aliases": {},
    "training": None,
}


def looks(layers: int, heads: int, rows: int, columns: int, seed: int = 0) -> dict[str, Array]:
    """Cross-attention of a decoder, a different one in every head."""
    chance = np.random.default_rng(seed)
    scores = [np.exp(3 * chance.standard_normal((heads, rows, columns))) for _ in range(layers)]
    return {
        f"decoder.{layer}.cross.weights": (one / one.sum(-1, keepdims=True)).astype(np.float32)
        for layer, one in enumerate(scores)
    }


def recorded_page(path: Path, source: Sequence[str], target: Sequence[str], tensors: dict[str, Array]) -> Path:
    """The page of one recorded sentence; the pieces end with </s>."""
    text, output = "".join(source[:-1]).strip(), "".join(target[:-1]).strip()
    sentence = {
        "text": text,
        "source": [*source],
        "target": [*target],
        "ids": [9] * (len(target) - 1),
        "output": output,
    }
    entry = {**ENTRY, "sentence": text, "recorded": [sentence]}
    page = Packed(entry, {"recorded-0": packed(file_of(tensors, "float16"))})
    path.write_text(rendered([page], "invented"), encoding="utf-8")
    return path

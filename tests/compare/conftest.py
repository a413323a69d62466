"""Comparisons that many tests look at: interrupted, resumed, and on a dev set with hostile text."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mirada.compare import Comparison, compare, measurements
from mirada.errors import Interrupted
from mirada.training.loop import Event
from tests import toy

MODELS = ["seq2seq-elman", "seq2seq-lstm+additive", "transformer"]
SETTINGS: dict[str, Any] = {
    "model": {"width": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 32, "dropout": 0.0},
    "tokenizer": {"vocabulary": 340},
    "train": {"batch_tokens": 800, "validate_every": 100, "checkpoint_every": 1, "validate_sentences": 5},
    "decode": {"beam": 2, "max_ratio": 0.5},
}
HOSTILE = """<script>x</script> & "a" 'b' </svg> $x$ el ve"""


def ask(pairs: Path, out: Path, **changes: Any) -> Comparison:
    """A comparison that takes seconds."""
    options: dict[str, Any] = {"models": MODELS, "steps": 4, "settings": SETTINGS, "threads": 1, **changes}
    return compare(pairs, out=out, **options)


HEAD = ("text", "label")
GOOD, BAD = 'buena & "mejor"', "<script>mala</script>"
ORDERED: dict[str, Any] = {
    "model": {"width": 16, "layers": 1, "heads": 2, "feed_forward": 32, "dropout": 0.0},
    "train": {"batch_tokens": 600, "lr": 0.02, "validate_every": 1000, "checkpoint_every": 1},
}


def opinions() -> list[tuple[str, str]]:
    """Texts whose words are the same whatever their label: only their order tells."""
    things = ["película", "serie", "obra", "novela", "comedia", "historia"]
    rows = []
    for liked, seen, verb in product(things, things, ["vi", "leí", "oí", "conocí", "busqué"]):
        rows.append((f"no me gustó la {liked}, sí {verb} la {seen}", BAD))
        rows.append((f"sí me gustó la {liked}, no {verb} la {seen}", GOOD))
    random.Random(0).shuffle(rows)
    return rows


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="session")
def quick() -> Iterator[None]:
    """Measurements with the fewest rounds, on small batches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measurements, "ENOUGH_SECONDS", 0.0)
        patch.setattr(measurements, "MIN_ROUNDS", 1)
        patch.setattr(measurements, "TIMED", 5)
        patch.setattr(measurements, "BATCH_TOKENS", 256)
        yield


@dataclass
class Resumed:
    """A comparison that was interrupted in the second model, and asked for again."""

    comparison: Comparison
    first: dict[str, str]  # the files of the model that was finished when it was interrupted, and what was in them
    message: str  # of the interruption
    notes: list[str]  # of the second call
    pairs: Path
    dev: Path


@pytest.fixture(scope="session")
def resumed(tmp_path_factory: pytest.TempPathFactory, quick: None) -> Resumed:
    folder = tmp_path_factory.mktemp("compare")
    pairs = toy.write(folder / "pairs.tsv", toy.pairs(200))
    rows = [*toy.pairs(206)[200:], ("gato", "cat"), (HOSTILE, HOSTILE), (f"{HOSTILE} " * 3, "long")]
    dev = toy.write(folder / "dev.tsv", rows)
    return _resumed(folder, pairs, dev, MODELS, source_language="es", target_language="en")


@pytest.fixture(scope="session")
def classifiers(tmp_path_factory: pytest.TempPathFactory, quick: None) -> Resumed:
    """A bag, an LSTM and a Transformer on texts whose order decides."""
    folder = tmp_path_factory.mktemp("classifiers")
    learned, texts = opinions()[:-40], opinions()[-40:]
    texts.append((f"{HOSTILE} " + "sí me gustó, " * 60, GOOD))
    files = toy.write(folder / "texts.tsv", [HEAD, *learned])
    dev = toy.write(folder / "dev.tsv", [HEAD, *texts])
    models = ["bag", "lstm", "transformer"]
    return _resumed(folder, files, dev, models, task="classification", steps=None, epochs=3, settings=ORDERED)


def _resumed(folder: Path, files: Path, dev: Path, models: list[str], **options: Any) -> Resumed:
    second, notes = False, []

    def stop(event: Event) -> None:
        nonlocal second
        second |= event.kind == "note" and "(2 of " in event.figures["text"]
        if second and event.kind == "step" and event.figures["step"] == 3:
            raise KeyboardInterrupt

    def note(event: Event) -> None:
        if event.kind == "note":
            notes.append(event.figures["text"])
        elif event.kind == "resumed":
            notes.append(f"resumed at step {event.figures['step']}")

    out = folder / "report"
    common: dict[str, Any] = {"dev": dev, "models": models, **options}
    with pytest.raises(Interrupted) as interrupted:
        ask(files, out, listen=stop, **common)
    assert not (out / "report.html").exists()
    first = digests(out / "models" / models[0])
    comparison = ask(files, out, listen=note, **common)
    return Resumed(comparison, first, str(interrupted.value), notes, files, dev)

"""One comparison that many tests look at: interrupted, resumed, and on a dev part with hostile text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
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
    "decode": {"beam": 2, "max_ratio": 1.0},
}
HOSTILE = """<script>x</script> & "a" 'b' </svg> $x$ el ve"""


def ask(pairs: Path, out: Path, **changes: Any) -> Comparison:
    """A comparison that takes seconds."""
    options: dict[str, Any] = {"models": MODELS, "steps": 4, "settings": SETTINGS, "threads": 1, **changes}
    return compare(pairs, out=out, **options)


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="session")
def quick() -> Iterator[None]:
    """Measurements with the fewest rounds, on small batches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measurements, "ENOUGH_SECONDS", 0.0)
        patch.setattr(measurements, "FEWEST_ROUNDS", 1)
        patch.setattr(measurements, "TIMED_SENTENCES", 5)
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
    forecasts, notes = 0, []

    def stop(event: Event) -> None:
        nonlocal forecasts
        forecasts += event.kind == "forecast"
        if forecasts == 2 and event.kind == "step" and event.figures["step"] == 3:
            raise KeyboardInterrupt

    def note(event: Event) -> None:
        if event.kind == "note":
            notes.append(event.figures["text"])

    out = folder / "report"
    common: dict[str, Any] = {"dev": dev, "source_language": "es", "target_language": "en"}
    with pytest.raises(Interrupted) as interrupted:
        ask(pairs, out, listen=stop, **common)
    assert not (out / "report.html").exists()
    first = digests(out / "models" / MODELS[0])
    comparison = ask(pairs, out, listen=note, **common)
    return Resumed(comparison, first, str(interrupted.value), notes, pairs, dev)

"""What is said of a training that has not written a bundle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from mirada.training import checkpoints, status
from mirada.training.checkpoints import Progress


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A run with a checkpoint: its best perplexity so far was 3.25, at step 20."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.yaml").write_text("task: masked_lm\nmodel: {name: bert}\n")
    events = [
        {"kind": "validation", "step": 10, "score": 7.5, "best": True, "measure": "perplexity"},
        {"kind": "validation", "step": 20, "score": 3.25, "best": True, "measure": "perplexity"},
        {"kind": "validation", "step": 30, "score": 4.0, "best": False, "measure": "perplexity"},
    ]
    (run / "log.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    progress = Progress(step=30, best_score=-3.25, best_step=20)
    checkpoints.save(run / "checkpoints", progress, {"model.w": torch.zeros(1)})
    return tmp_path


def best(folder: Path) -> str | None:
    about = status.info(folder)
    assert about is not None
    return dict(status.text(folder, about)).get("best")


def test_the_best_score_is_shown_as_the_measure_that_it_is(out: Path) -> None:
    """A checkpoint has it with the other sign where lower is better."""
    about = status.info(out)
    assert about is not None
    assert (about["training"]["best_score"], about["training"]["measure"]) == (3.25, "perplexity")
    assert best(out) == "perplexity 3.25 on the dev set at step 20"


def test_without_a_log_the_checkpoint_has_to_do(out: Path) -> None:
    (out / "run" / "log.jsonl").unlink()
    assert best(out) == "score -3.25 on the dev set at step 20"


def test_before_the_first_validation_there_is_no_best(out: Path) -> None:
    checkpoints.save(out / "run" / "checkpoints", Progress(step=40), {"model.w": torch.zeros(1)})
    assert best(out) is None

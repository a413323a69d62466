"""The training recipe: its defaults are decisions, and every setting has its bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from mirada.models.gpt import GPTConfig
from mirada.training.config import MAY_CHANGE, TrainConfig, fixed

RECIPE: dict[str, Any] = {
    "optimizer": "muon", "lr": 8e-3, "betas": (0.9, 0.98), "momentum": 0.9, "weight_decay": 0.0, "penalty": 0.0,
    "schedule": "auto", "warmup": 100, "max_batch_tokens": 4000, "accumulate": 1, "label_smoothing": 0.1, "clip": 1.0,
    "average": 0.02, "validate_sentences": 400, "seed": 1, "precision": "auto",
    "device": "auto",
}  # fmt: skip
OPEN = (
    *("preset", "batch_tokens", "base", "minutes", "epochs", "steps", "patience"),
    *("validate_every", "final_sentences", "checkpoint_every", "threads"),
)


def test_the_defaults_are_the_recipe() -> None:
    assert TrainConfig().model_dump() == {**RECIPE, **dict.fromkeys(OPEN)}


BOUNDS: dict[str, tuple[list[Any], list[Any]]] = {  # what is taken, and what is just beyond it
    "lr": ([1e-9, 1e6], [0, -1, 1.1e6, float("inf"), float("nan")]),
    "betas": ([(0.0, 0.0), (0.99, 0.999)], [(0.9, 1.0), (-0.1, 0.9), (0.9,)]),
    **dict.fromkeys(("momentum", "label_smoothing", "average"), ([0, 0.999], [-0.001, 1])),
    **dict.fromkeys(("weight_decay", "penalty"), ([0, 1e6], [-0.001, 1.1e6, float("inf")])),
    "clip": ([0, 1e9], [-0.001, 1.1e9, float("inf")]),
    **dict.fromkeys(("batch_tokens", "max_batch_tokens"), ([16, 10**6], [15])),
    **dict.fromkeys(
        (
            *("accumulate", "epochs", "steps", "patience", "validate_every"),
            *("validate_sentences", "final_sentences", "checkpoint_every"),
        ),
        ([1, 10**6], [0, -1, 1.5]),
    ),
    "warmup": ([0], [-1]),
    "minutes": ([0.01, 1e7], [0, -1, 1.1e7, float("inf")]),
    "seed": ([0, 2**32 - 1], [-1, 2**32]),
    "threads": ([1, 1024], [0, 1025]),
    "optimizer": (["adam", "sgd"], ["lion"]),
    "schedule": (["constant", "inverse_sqrt"], ["square"]),
    "precision": (["float32", "bfloat16"], ["float16"]),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_every_setting_has_its_bounds(name: str) -> None:
    good, bad = BOUNDS[name]
    for value in good:
        assert getattr(TrainConfig.model_validate({name: value}), name) == value
    for value in bad:
        with pytest.raises(ValidationError, match=name):
            TrainConfig.model_validate({name: value})


def test_what_a_resumed_run_may_not_change_is_compared_as_json() -> None:
    """As it is read back from a checkpoint: settings of model and training by name, without those that may change."""
    found = fixed(TrainConfig(), GPTConfig())
    assert json.loads(json.dumps(found)) == found
    assert {name.removeprefix("train.") for name in found if name.startswith("train.")} == (
        TrainConfig.model_fields.keys() - {*MAY_CHANGE, "base"}
    )
    assert found["model.width"] == GPTConfig().width
    assert fixed(TrainConfig(), None).keys() == {name for name in found if name.startswith("train.")}
    assert {"steps", "epochs", "minutes", "patience"} < {*MAY_CHANGE}


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
@pytest.mark.parametrize("budget", [{"minutes": 1}, {"epochs": 1}, {"steps": 1}])
def test_a_decay_to_zero_needs_a_budget(schedule: str, budget: dict[str, Any]) -> None:
    assert TrainConfig.model_validate({"schedule": schedule, **budget}).budgeted
    with pytest.raises(ValidationError, match=f"schedule={schedule}"):
        TrainConfig.model_validate({"schedule": schedule})
    assert not TrainConfig(schedule="constant").budgeted

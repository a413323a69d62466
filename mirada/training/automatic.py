"""Automatic settings: model preset, batch size and dropout, chosen by the data, the budget and the machine.

Within a budget in minutes, a model has to see enough data in enough steps: a large one that sees a quarter of an epoch
in 60 steps loses to one a fifth of its size. With a budget in steps or epochs, or without one, the
choice depends on the data alone, so that runs are reproducible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from mirada import models, precision
from mirada.device import gigaflops
from mirada.tasks.task import Prepared, Task
from mirada.tensors import outline
from mirada.training.config import TrainConfig
from mirada.training.estimate import CostEstimate, estimate_cost
from mirada.training.timing import Timing

Sections = Mapping[str, Any]
"""The sections of a configuration by name."""

LEAST_BATCH = 500
"""Tokens in the smallest batch that is chosen automatically."""
STEPS_IN_EPOCH = 40
"""The fewest steps per epoch of a small dataset."""
ENOUGH_TOKENS = 20_000_000
"""The tokens that a larger preset has to see to beat a smaller one in the same time."""
SHORT = 60.0
"""Below so many seconds of training, the smallest preset is used without measuring the others."""
PARAMETERS = {"tiny": 1.3e6, "small": 6e6}
"""Approximate numbers of parameters, with a vocabulary of some thousands, for a rough estimate of the speed."""
TOKENS_IN_WORD = 1.4
TRIAL_TOKENS = 2000
"""Tokens in the batches with which the speed of a preset is measured."""
MAX_ROWS = TRIAL_TOKENS // 2
"""Rows of the products that are timed to choose the precision. More do not change the ratio, and with as many for the
preset as for the training one trial serves both."""


@dataclass(frozen=True)
class Choice:
    """The complete configuration, the estimated cost, and notes for the user on both."""

    sections: dict[str, Any]
    estimate: CostEstimate
    notes: list[str]


def choose(
    task: Task,
    built: Sections,
    data: Prepared,
    device: torch.device,
    seconds: Callable[[], float | None],
    timing: Timing | None = None,
) -> Choice:
    """Fill in the preset, the batch size and the dropout where they are not set.

    `seconds` returns how much time a budget in minutes leaves for training.
    """
    sections = dict(built)
    timing = Timing() if timing is None else timing
    train: TrainConfig = built["train"]
    everything = data.batches(train.max_batch_tokens, train.seed).tokens
    chosen: list[str] = []
    if train.preset == "auto":
        with timing("choosing the preset"):
            preset = _preset(task, sections, data, everything, device, seconds())
        sections = _with_preset(task, sections, preset)
        train = sections["train"]
        chosen.append(f"preset {preset}")
    batch = train.batch_tokens or batch_size(train, everything)
    with timing("choosing the precision"):
        sections, arithmetic = with_precision(task, sections, data, batch, device)
    train = sections["train"]
    with timing("estimate"):
        cost = _estimate(task, sections, data, batch, device)
    left = seconds()
    if train.batch_tokens is None:
        affordable = None if left is None else left * cost.tokens_per_second / task.steps_in_budget
        batch = batch_size(train, everything, affordable)
        sections["train"] = train = train.model_copy(update={"batch_tokens": batch})
        cost = cost.on(data.batches(batch, train.seed), train.accumulate)
        chosen.append(f"batches of {batch:,} tokens")
    ends = _ends(train, cost, left)
    epochs = min(ends.values(), default=float("inf")) / cost.steps_per_epoch
    if getattr(sections["model"], "dropout", 0.0) is None:
        sections["model"] = sections["model"].model_copy(update={"dropout": dropout(epochs)})
        chosen.append(f"dropout {dropout(epochs):g}")
    notes = [f"arithmetic: {arithmetic.precision} ({arithmetic.reason})"] if arithmetic.reason else []
    return Choice(sections, cost, notes + _notes(chosen, ends, epochs, left))


def _notes(chosen: list[str], ends: Mapping[str, float], epochs: float, left: float | None) -> list[str]:
    """Messages on the chosen settings, and on which of several limits ends the run."""
    notes = []
    if chosen and left is not None:
        steps = min(ends.values())
        allows = f"{steps:,.0f} steps, {epochs:.1f} epochs"
        notes.append(f"chosen for this budget: {', '.join(chosen)}; it allows about {allows}")
    elif chosen:
        notes.append(f"chosen for this data: {', '.join(chosen)}")
    if len(ends) > 1:
        first = min(ends, key=ends.__getitem__)
        notes.append(f"{first} ends the training first (of {' and '.join(ends)}), after about {epochs:.1f} epochs")
    return notes


def _preset(
    task: Task, sections: Sections, data: Prepared, tokens: int, device: torch.device, left: float | None
) -> str:
    """The largest preset that sees enough tokens in the seconds that are left.

    They are tried in the precision that suits the smallest: mostly that one is chosen, and no other trial is needed.
    """
    smallest, *larger = task.presets
    if left is None:
        return task.presets[-1]
    if left <= SHORT or not larger:
        return smallest
    train: TrainConfig = sections["train"]
    batch = min(TRIAL_TOKENS, train.batch_tokens or batch_size(train, tokens))
    likely, _ = with_precision(task, _with_preset(task, sections, smallest), data, batch, device)
    for preset in reversed(larger):
        tried = _with_preset(task, sections, preset)
        tried["train"] = tried["train"].model_copy(update={"precision": likely["train"].precision})
        if left * _estimate(task, tried, data, batch, device, steps=1).tokens_per_second >= ENOUGH_TOKENS:
            return preset
    return smallest


def _with_preset(task: Task, sections: Sections, preset: str) -> dict[str, Any]:
    sizes = models.find_preset(sections["model"].name, task.name, preset)["model"]
    model = sections["model"].model_copy(update=sizes)
    return {**sections, "model": model, "train": sections["train"].model_copy(update={"preset": preset})}


def with_precision(
    task: Task, sections: Sections, data: Prepared, batch: int, device: torch.device
) -> tuple[dict[str, Any], precision.Choice]:
    """The sections with the precision that suits the model and the machine."""
    train: TrainConfig = sections["train"]
    if train.precision == "float32":
        return dict(sections), precision.Choice("float32")
    with outline():
        network = task.network(sections["model"], data.preprocessor)
    rows = min(MAX_ROWS, batch // 2)  # half of the tokens are in the source, half in the target
    needs_float32 = getattr(task.loss(train.label_smoothing), "needs_float32", False)
    chosen = precision.choose(train.precision, network, rows, device, needs_float32)
    return {**sections, "train": train.model_copy(update={"precision": chosen.precision})}, chosen


def _estimate(
    task: Task, sections: Sections, data: Prepared, batch: int, device: torch.device, steps: int = 3
) -> CostEstimate:
    train: TrainConfig = sections["train"]
    network = task.network(sections["model"], data.preprocessor).to(device)
    return estimate_cost(
        network, task.loss(train.label_smoothing), data.batches(batch, train.seed), train, device, steps
    )


def _ends(config: TrainConfig, cost: CostEstimate, left: float | None) -> dict[str, float]:
    """The step at which each limit of the budget is reached."""
    limits = {
        "--steps": config.steps,
        "--epochs": config.epochs and config.epochs * cost.steps_per_epoch,
        "--minutes": left and left / cost.step_seconds,
    }
    return {name: steps for name, steps in limits.items() if steps is not None}


def batch_size(config: TrainConfig, corpus_tokens: int, affordable: float | None = None) -> int:
    """The tokens of a batch; at most `affordable`, so that a budget in minutes allows enough steps."""
    wanted = corpus_tokens // STEPS_IN_EPOCH
    if affordable is not None:
        wanted = min(wanted, int(affordable))
    return min(config.max_batch_tokens, max(LEAST_BATCH, wanted))


def dropout(epochs: float) -> float:
    """No dropout for a few epochs, more for many."""
    return 0.0 if epochs <= 4 else 0.1 if epochs <= 15 else 0.2


def words_seen(config: TrainConfig, seconds: float) -> int | None:
    """Words that a preset sees in so many seconds of training, guessed from the speed of matrix products."""
    preset = "tiny" if config.preset == "auto" else config.preset
    if preset not in PARAMETERS:
        return None
    # Each token passes through half of the model, encoder or decoder; forward and backward take 6 operations a weight.
    tokens_per_second = 0.6 * gigaflops() * 1e9 / (3 * PARAMETERS[preset])
    return max(1, int(tokens_per_second * seconds / TOKENS_IN_WORD))

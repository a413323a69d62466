"""How fast a model trains on this machine: a few real steps of one that is thrown away."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from mirada.contracts import Loss, Plan, Rows
from mirada.device import peak_memory
from mirada.training.config import TrainConfig
from mirada.training.optimizers import Optimizers, clip

LONG_ENOUGH = 2.0
"""Seconds after which the steps taken so far must do."""


@dataclass(frozen=True)
class Forecast:
    """What a training will cost."""

    parameters: int
    tokens_per_second: float
    epoch_tokens: int
    steps_per_epoch: int
    padding: float
    memory: int
    """The most bytes that this process has used so far."""

    @property
    def epoch_seconds(self) -> float:
        return self.epoch_tokens / self.tokens_per_second

    @property
    def step_seconds(self) -> float:
        return self.epoch_seconds / self.steps_per_epoch

    def on(self, batches: Plan[Any], accumulate: int) -> Forecast:
        """The same for other batches of the same data."""
        steps = math.ceil(len(batches.epoch(0)) / accumulate)
        return replace(self, steps_per_epoch=steps, padding=batches.padding(0))

    def as_dict(self) -> dict[str, Any]:
        """For the log and the console."""
        return {
            "parameters": self.parameters,
            "tokens_per_second": self.tokens_per_second,
            "epoch_seconds": self.epoch_seconds,
            "steps_per_epoch": self.steps_per_epoch,
            "memory": self.memory,
            "padding": self.padding,
        }


def forecast(
    model: nn.Module,
    objective: Callable[[Any, Any], Loss],
    batches: Plan[Any],
    config: TrainConfig,
    device: torch.device,
    steps: int,
) -> Forecast:
    """Time a few steps of a model that is not used afterwards, so that nothing of them remains."""
    with torch.random.fork_rng():
        optimizers = Optimizers(model, config)
        plan = batches.epoch(0)
        chosen = _typical(plan, steps)
        _step(model, optimizers, objective, batches, chosen[0], config, device)  # the first one pays for allocations
        began, tokens = time.monotonic(), 0
        for rows in chosen:
            tokens += _step(model, optimizers, objective, batches, rows, config, device)
            if time.monotonic() - began > LONG_ENOUGH:
                break
        speed = tokens / max(1e-9, time.monotonic() - began)
    return Forecast(
        parameters=sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        tokens_per_second=speed,
        epoch_tokens=batches.tokens,
        steps_per_epoch=math.ceil(len(plan) / config.accumulate),
        padding=batches.padding(0),
        memory=peak_memory(),
    )


def _typical(plan: Sequence[Rows], steps: int) -> list[Rows]:
    """Batches of short, middling and long examples, from the beginning of an epoch."""
    ordered = sorted(plan[: 8 * steps], key=lambda rows: -len(rows))
    return [ordered[(2 * number + 1) * len(ordered) // (2 * steps)] for number in range(min(steps, len(ordered)))]


def _step(
    model: nn.Module,
    optimizers: Optimizers,
    objective: Callable[[Any, Any], Loss],
    batches: Plan[Any],
    rows: Rows,
    config: TrainConfig,
    device: torch.device,
) -> int:
    """One step at a rate of 0, which costs what any step costs; its tokens."""
    batch = batches.load(rows).to(device)
    model.train()
    loss = objective(model, batch)
    loss.total.backward()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    clip(gradients, 1 / max(1, loss.count), config.clip)
    optimizers.step(rate=0.0)
    for parameter in model.parameters():
        parameter.grad = None
    return int(batch.tokens)

"""Estimate the cost of a run from a few training steps of a model that is then discarded."""

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
from mirada.precision import arithmetic
from mirada.training.config import TrainConfig
from mirada.training.optimizers import Optimizers

MEASURE_SECONDS = 2.0
"""No further step is timed after so many seconds."""


@dataclass(frozen=True)
class CostEstimate:
    """The cost of training a model on this machine."""

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

    def on(self, batches: Plan[Any], accumulate: int) -> CostEstimate:
        """The same for other batches of the same data."""
        return replace(self, steps_per_epoch=_steps_per_epoch(batches, accumulate), padding=batches.padding(0))

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


def estimate_cost(
    model: nn.Module,
    objective: Callable[[Any, Any], Loss],
    batches: Plan[Any],
    config: TrainConfig,
    device: torch.device,
    steps: int,
    clock: Callable[[], float] = time.monotonic,
) -> CostEstimate:
    """Time a few training steps; random numbers drawn afterwards are as if there had been none."""

    def step(rows: Rows) -> int:
        """Take a step at a learning rate of 0, which costs as much as any; its tokens."""
        batch = batches.load(rows).to(device)
        with arithmetic(config.precision, device):
            loss = objective(model, batch)
        loss.total.backward()
        optimizers.step(rate=0.0)
        model.zero_grad()
        return int(batch.tokens)

    model.train()
    optimizers = Optimizers(model, config)
    with torch.random.fork_rng():
        chosen = _typical(batches.epoch(0), steps)
        step(chosen[0])  # the first one allocates memory
        began, tokens = clock(), 0
        for rows in chosen:
            tokens += step(rows)
            elapsed = clock() - began
            if elapsed > MEASURE_SECONDS:
                break
    return CostEstimate(
        parameters=sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        tokens_per_second=tokens / max(1e-9, elapsed),
        epoch_tokens=batches.tokens,
        steps_per_epoch=_steps_per_epoch(batches, config.accumulate),
        padding=batches.padding(0),
        memory=peak_memory(),
    )


def _steps_per_epoch(batches: Plan[Any], accumulate: int) -> int:
    return math.ceil(len(batches.epoch(0)) / accumulate)


def _typical(plan: Sequence[Rows], steps: int) -> list[Rows]:
    """Batches of short, medium and long examples, from the beginning of an epoch."""
    ordered = sorted(plan[: 8 * steps], key=lambda rows: -len(rows))
    return [ordered[(2 * number + 1) * len(ordered) // (2 * steps)] for number in range(min(steps, len(ordered)))]

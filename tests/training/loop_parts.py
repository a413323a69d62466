"""A model small enough to check by hand, and the loop that trains it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mirada.contracts import Batch, Loss, Validation
from mirada.data.batching import Batches
from mirada.training.config import TrainConfig
from mirada.training.loop import Event, Objective, Training


class Mean(nn.Module):
    """One number that should become the mean of all tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.guess = nn.Parameter(torch.zeros(()))


def squared_error(model: nn.Module, batch: Batch) -> Loss:
    real = batch.target_output[batch.target_output > 2].float()
    assert isinstance(model, Mean)
    return Loss(((real - model.guess) ** 2).sum(), len(real))


def training(
    batches: Batches,
    folder: Path,
    objective: Objective[nn.Module] = squared_error,
    scores: list[float] | None = None,
    model: nn.Module | None = None,
    clock: Callable[[], float] = time.monotonic,
    started: float = 0.0,
    **config: object,
) -> tuple[Training[nn.Module], list[Event]]:
    folder.mkdir(exist_ok=True)
    events: list[Event] = []
    left = list(scores or [])
    settings = {"optimizer": "sgd", "lr": 0.05, "momentum": 0.0, "clip": 0.0, "warmup": 0, **config}
    run = Training(
        model or Mean(),
        objective,
        batches,
        lambda model, size: Validation(left.pop(0) if left else 0.0),
        TrainConfig(**settings),
        folder,
        torch.device("cpu"),
        events.append,
        started,
        clock=clock,
    )
    return run, events


def of(events: list[Event], kind: str, *figures: str) -> list[tuple[Any, ...]]:
    return [tuple(event.figures[name] for name in figures) for event in events if event.kind == kind]

"""Final scoring of a run, within the time that its budget leaves for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mirada.metrics.score import Evaluation
from mirada.tasks.task import Model
from mirada.training.config import TrainConfig
from mirada.training.schedule import FINAL_SHARE

Scorer = Callable[[Model, Any], Evaluation]
"""Scores a model on a dev set, or on a sample if there is no time for all of it."""

PROBE = 16
"""Examples that are scored to measure the time per example."""


def scorer(settings: TrainConfig) -> Scorer:
    """Scores all of the dev set, unless a number of examples is set or a budget in minutes has no time for all."""

    def score(model: Model, dev: Any) -> Evaluation:
        if settings.final_sentences is not None:
            return model.score(model.sample(dev, settings.final_sentences))
        if settings.minutes is None or len(dev) <= PROBE:
            return model.score(dev)
        allowed, began = settings.minutes * 60 * FINAL_SHARE / 2, time.monotonic()
        model.score(model.sample(dev, PROBE))
        each = max(1e-6, time.monotonic() - began) / PROBE
        chosen = model.sample(dev, max(PROBE, int(allowed / each)))
        found = model.score(chosen)
        if len(chosen) == len(dev):
            return found
        note = f"scored on {len(chosen):,} of {len(dev):,}, evenly sampled: the budget leaves no time for all"
        return replace(found, notes=(*found.notes, note))

    return score

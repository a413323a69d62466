"""How fast trained models are, in training and in use. Nothing here trains or writes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import torch

from mirada.compare.results import Curves
from mirada.compare.task_report import TaskReport
from mirada.contracts import Batch, SequenceBatch
from mirada.data.quality import Notify
from mirada.tasks.task import Model, Prepared

BATCH_TOKENS = 2048
"""Tokens in every batch that a step is timed with: many rows of short sequences, few of long ones."""
TIMED = 100
"""Dev examples that inference is timed with, at most."""
CURVE_POINTS = 100
"""Points of a loss curve, at most."""

MAX_ROUNDS, MIN_ROUNDS = 7, 3
ENOUGH_SECONDS = 30.0
"""Seconds after which no further round begins, once there are enough."""

Key = TypeVar("Key")


def training_speed(events: Sequence[Mapping[str, Any]]) -> float | None:
    """Tokens a second of the steps in a training log, without validations and breaks.

    A run too short to have two log lines in a row has its forecast, which timed a few real steps.
    """
    tokens, seconds = 0, 0.0
    for before, now in pairwise(events):
        if before["kind"] == now["kind"] == "step" and now["seconds"] > before["seconds"]:
            tokens += now["tokens"]  # of all steps since the line before
            seconds += now["seconds"] - before["seconds"]
    if seconds:
        return tokens / seconds
    kinds = ("estimate", "forecast")  # its name in logs of earlier versions
    forecasts = [float(event["tokens_per_second"]) for event in events if event["kind"] in kinds]
    return forecasts[-1] if forecasts else None


def training_curves(events: Sequence[Mapping[str, Any]], by_minute: bool) -> Curves:
    """The loss and the dev scores in a training log, by minute or by step."""

    def points(kind: str, figure: str) -> list[tuple[float, float]]:
        chosen = [event for event in events if event["kind"] == kind]
        return [(event["seconds"] / 60 if by_minute else event["step"], event[figure]) for event in chosen]

    loss = points("step", "loss")
    together = max(1, -(-len(loss) // CURVE_POINTS))
    means = [loss[at : at + together] for at in range(0, len(loss), together)]
    smooth = [(some[-1][0], statistics.fmean(y for _, y in some)) for some in means]
    metrics = [str(event["measure"]) for event in events if event["kind"] == "validation"]
    return Curves(smooth, points("validation", "score"), metrics[-1] if metrics else "")


def median_seconds(jobs: Mapping[Key, Callable[[], object]], notify: Callable[[int, int], None]) -> dict[Key, float]:
    """How long each job takes. They take turns, so that a busy moment of the machine does not hit one alone."""
    for done, job in enumerate(jobs.values()):
        notify(done, len(jobs))
        job()  # the first time pays for allocations
    times: dict[Key, list[float]] = {key: [] for key in jobs}
    began = time.perf_counter()
    for round_ in range(MAX_ROUNDS):
        if round_ >= MIN_ROUNDS and time.perf_counter() - began > ENOUGH_SECONDS:
            break
        for done, (key, job) in enumerate(jobs.items()):
            notify(done, len(jobs))
            at = time.perf_counter()
            job()
            times[key].append(time.perf_counter() - at)
    return {key: statistics.median(found) for key, found in times.items()}


def speed_by_length(
    models: Mapping[str, Model], report: TaskReport, prepared: Prepared, notify: Notify
) -> dict[str, dict[int, float]]:
    """Tokens a second, forward and backward, in batches of equally many tokens but sequences of one length each.

    What a step computes grows little with the length; what has to wait for the word before it does.
    """
    batches = {
        (name, length): batch.to(model.device)
        for name, model in models.items()
        for length in report.lengths
        if length < int(model.config["model"].get("max_length", length + 1))
        and (batch := report.batch(model, prepared, length, BATCH_TOKENS)) is not None
    }

    def step(model: Model, batch: Batch | SequenceBatch) -> None:
        loss = report.task.loss(float(model.config["train"]["label_smoothing"]))
        model.network.train().zero_grad(set_to_none=True)
        loss(model.network, batch).total.backward()
        if model.device.type == "cuda":  # a CPU has always finished its work
            torch.cuda.synchronize(model.device)

    jobs = {key: partial(step, models[key[0]], batch) for key, batch in batches.items()}
    try:
        seconds = median_seconds(jobs, lambda done, total: notify("timing a step by length", done, total))
    finally:
        for model in models.values():
            model.network.eval().zero_grad(set_to_none=True)
    speeds: dict[str, dict[int, float]] = {name: {} for name in models}
    for (name, length), batch in batches.items():
        speeds[name][length] = batch.tokens / seconds[name, length]
    return speeds


def inference_speed(
    models: Mapping[str, Model], report: TaskReport, prepared: Prepared, notify: Notify
) -> tuple[dict[str, float], int]:
    """How much each model does in a second of the same work, all of it given at once; and how much work that is."""
    counts: dict[str, int] = {}

    def infer(name: str) -> None:
        counts[name] = report.infer(models[name], prepared, TIMED)

    jobs = {name: partial(infer, name) for name in models}
    seconds = median_seconds(jobs, lambda done, total: notify("timing inference", done, total))
    return {name: counts[name] / taken for name, taken in seconds.items()}, next(iter(counts.values()))

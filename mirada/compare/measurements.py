"""How quick trained models are, in training and in use. Nothing here trains or writes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import torch

from mirada import tasks
from mirada.compare.task_reports import Subject
from mirada.contracts import Batch, SequenceBatch
from mirada.data.quality import Notify
from mirada.tasks.task import Model, Prepared

BATCH_TOKENS = 2048
"""In every batch that a step is timed with: short sequences come in many rows, long ones in few."""
TIMED = 100
"""Dev examples that use is timed with, at most."""

ROUNDS, FEWEST_ROUNDS = 7, 3
ENOUGH_SECONDS = 30.0
"""After so long, no further round begins unless there are too few."""

Key = TypeVar("Key")
Job = Callable[[], object]


def training_speed(events: Sequence[Mapping[str, Any]]) -> float | None:
    """Tokens a second of the steps in a training's log; validations and breaks are not counted.

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


def median_seconds(jobs: Mapping[Key, Job], notify: Callable[[int, int], None]) -> dict[Key, float]:
    """How long each job takes. They take turns, so that a busy moment of the machine does not hit one alone."""
    for done, job in enumerate(jobs.values()):
        notify(done, len(jobs))
        job()  # the first time pays for allocations
    times: dict[Key, list[float]] = {key: [] for key in jobs}
    began = time.perf_counter()
    for round_ in range(ROUNDS):
        if round_ >= FEWEST_ROUNDS and time.perf_counter() - began > ENOUGH_SECONDS:
            break
        for done, (key, job) in enumerate(jobs.items()):
            notify(done, len(jobs))
            at = time.perf_counter()
            job()
            times[key].append(time.perf_counter() - at)
    return {key: statistics.median(found) for key, found in times.items()}


def speed_by_length(
    models: Mapping[str, Model], subject: Subject, prepared: Prepared, notify: Notify
) -> dict[str, dict[int, float]]:
    """Tokens a second, forward and backward, in batches of equally many tokens but sequences of one length each.

    What a step computes grows little or not at all with the length; what must wait for the word before it does.
    """
    batches = {
        (name, length): subject.batch(model, prepared, length, BATCH_TOKENS).to(_device(model))
        for name, model in models.items()
        for length in subject.lengths
        if length < int(model.config["model"]["max_length"])
    }
    jobs = {key: _pass(models[key[0]], batch) for key, batch in batches.items()}
    what = f"timing a step by {subject.sequence} length"
    try:
        seconds = median_seconds(jobs, lambda done, total: notify(what, done, total))
    finally:
        for model in models.values():
            model.network.eval().zero_grad(set_to_none=True)
    speeds: dict[str, dict[int, float]] = {name: {} for name in models}
    for (name, length), batch in batches.items():
        speeds[name][length] = batch.tokens / seconds[name, length]
    return speeds


def _pass(model: Model, batch: Batch | SequenceBatch) -> Job:
    objective = tasks.find(model.card["task"]).objective(float(model.config["train"]["label_smoothing"]))

    def job() -> None:
        model.network.train().zero_grad(set_to_none=True)
        objective(model.network, batch).total.backward()
        _wait(model)

    return job


def use_per_second(
    models: Mapping[str, Model], subject: Subject, asked: Sequence[Any], notify: Notify
) -> dict[str, float]:
    """How quickly each model does the same work, all of it handed over at once."""
    jobs: dict[str, Job] = {name: partial(subject.use, model, asked) for name, model in models.items()}
    seconds = median_seconds(jobs, lambda done, total: notify("timing use", done, total))
    return {name: len(asked) / taken for name, taken in seconds.items()}


def _device(model: Model) -> torch.device:
    return next(model.network.parameters()).device


def _wait(model: Model) -> None:
    """Until the device has done what it was given; a CPU always has."""
    if _device(model).type == "cuda":
        torch.cuda.synchronize(_device(model))

"""What is measured of trained models: speeds, paths, samples, attention. Nothing here trains or writes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import torch

from mirada.compare.results import Look, Route, Sample
from mirada.config import Values
from mirada.contracts import BOS, EOS, Batch
from mirada.data.doctor import Notify
from mirada.data.prepare import Examples
from mirada.errors import InputError, UsageError
from mirada.model import Model
from mirada.tasks.translation import CrossEntropy

LENGTHS = (8, 16, 32, 64, 128)
"""Sentence lengths, in tokens on each side, that a step is timed with."""
BATCH_TOKENS = 2048
"""In every one of these batches, both sides counted: short sentences come in many rows, long ones in few."""
TIMED_SENTENCES = 100
"""Dev sentences that translation is timed with, at most."""
SAMPLES = 8
ATTENDED_WORDS = 8
"""About so many words has the sentence whose attention is shown."""

ROUNDS, FEWEST_ROUNDS = 7, 3
ENOUGH_SECONDS = 30.0
"""After so long, no further round begins unless there are too few."""

Key = TypeVar("Key")
Job = Callable[[], object]


# ── speed ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


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
    forecasts = [float(event["tokens_per_second"]) for event in events if event["kind"] == "forecast"]
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


def speed_by_length(models: Mapping[str, Model], notify: Notify) -> dict[str, dict[int, float]]:
    """Tokens a second, forward and backward, in batches of equally many tokens but sentences of one length each.

    What a step computes grows little or not at all with the length; what must wait for the word before it does.
    """
    batches = {
        (name, length): _batch(model, length)
        for name, model in models.items()
        for length in LENGTHS
        if length < int(model.config["model"]["max_length"])
    }
    jobs = {key: _pass(models[key[0]], batch) for key, batch in batches.items()}
    try:
        seconds = median_seconds(jobs, lambda done, total: notify("timing a step by sentence length", done, total))
    finally:
        for model in models.values():
            model.network.eval().zero_grad(set_to_none=True)
    speeds: dict[str, dict[int, float]] = {name: {} for name in models}
    for (name, length), batch in batches.items():
        speeds[name][length] = batch.tokens / seconds[name, length]
    return speeds


def _batch(model: Model, length: int) -> Batch:
    """Random words: what they are makes no difference to the time."""
    rows = max(1, BATCH_TOKENS // (2 * length))
    chance = torch.Generator().manual_seed(length)

    def words(vocabulary: int) -> torch.Tensor:
        body = torch.randint(EOS + 1, vocabulary, (rows, length - 1), generator=chance)
        return torch.cat([body, torch.full((rows, 1), EOS)], 1)  # [B, length]

    target = torch.cat([torch.full((rows, 1), BOS), words(model.target_tokenizer.size)], 1)
    return Batch(words(model.source_tokenizer.size), target).to(_device(model))


def _pass(model: Model, batch: Batch) -> Job:
    objective = CrossEntropy(float(model.config["train"]["label_smoothing"]))

    def job() -> None:
        model.network.train().zero_grad(set_to_none=True)
        objective(model.network, batch).total.backward()
        _wait(model)

    return job


def sentences_per_second(models: Mapping[str, Model], sources: Sequence[str], notify: Notify) -> dict[str, float]:
    """How quickly each model translates the same sentences, all of them handed over at once."""

    jobs: dict[str, Job] = {name: partial(model.translate, sources) for name, model in models.items()}
    seconds = median_seconds(jobs, lambda done, total: notify("timing translation", done, total))
    return {name: len(sources) / taken for name, taken in seconds.items()}


def _device(model: Model) -> torch.device:
    return next(model.network.parameters()).device


def _wait(model: Model) -> None:
    """Until the device has done what it was given; a CPU always has."""
    if _device(model).type == "cuda":
        torch.cuda.synchronize(_device(model))


# ── paths ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def routes(model: Values) -> tuple[Route | None, Route | None]:
    """The longest path between two words: across (source to target), and within a sentence; both have n words.

    "The shorter these paths between any combination of positions in the input and output sequences, the easier it is
    to learn long-range dependencies" (Vaswani et al. 2017, §4, table 1: O(n) for a recurrent layer, O(1) for
    self-attention). Counted here are the steps from one position to another that a signal takes at least, for the two
    words that are worst off; layers above each other cost nothing.

        recurrent       within  x_1 → h_1 → … → h_n                                   n − 1
                        across  x_i → … → h_n → s_0 → s_1 → … → s_n                   (n − 1) + 1 + n = 2n
                                read in both directions, the middle word has the
                                longest way to an end                                 ⌊(n − 1)/2⌋ + 1 + n
                        across, with attention, x_i → h_i → c_n                       1
        self-attention  within and across                                             1
    """
    name = model["name"]
    if name == "transformer":
        return _route("1", lambda n: 1), _route("1", lambda n: 1)
    if not name.startswith("seq2seq-"):
        return None, None
    within = _route("n − 1", lambda n: n - 1)
    if model["attention"] != "none":
        return _route("1", lambda n: 1), within
    if model["bidirectional"]:
        return _route("⌊(n − 1)/2⌋ + 1 + n", lambda n: (n - 1) // 2 + 1 + n), within
    return _route("2n", lambda n: 2 * n), within


def _route(formula: str, steps: Callable[[int], int]) -> Route:
    return Route(formula, {n: steps(n) for n in LENGTHS})


# ── what a person looks at ────────────────────────────────────────────────────────────────────────────────────────────


def choose_samples(dev: Examples) -> list[Sample]:
    """Dev sentences from short to long, evenly spread over the lengths there are."""
    order = sorted(range(len(dev)), key=lambda i: (len(dev[i][0].split()), i))
    last = len(order) - 1
    count = min(SAMPLES, len(order))
    chosen = [order[round(k * last / max(1, count - 1))] for k in range(count)]
    return [Sample(dev[i][0], list(dev[i][1])) for i in chosen]


def choose_attended(dev: Examples) -> str:
    """The dev sentence whose attention is shown: long enough to see something, short enough to read."""
    return min((source for source, _ in dev), key=lambda source: abs(len(source.split()) - ATTENDED_WORDS))


def look(model: Model, sentence: str) -> Look | None:
    """The cross-attention of a sentence, averaged over layers and heads; None when the model has none."""
    try:
        seen = model.attend(sentence)
    except (UsageError, InputError):  # it has no attention, or the sentence is too long for it
        return None
    weights = [[round(float(weight), 4) for weight in row] for row in seen.mean]
    return Look(seen.source, seen.target, weights)

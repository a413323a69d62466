"""The loop and its parts, on a model small enough to check by hand."""

from __future__ import annotations

import itertools
import math
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from mirada.contracts import Batch, Loss, Validation
from mirada.data.batching import Batches
from mirada.data.corpus import write_corpus
from mirada.errors import Interrupted, TrainingError
from mirada.training.checkpoints import Progress, load, save
from mirada.training.config import TrainConfig
from mirada.training.loop import Event, Objective, Training
from mirada.training.muon import orthogonal
from mirada.training.optimizers import Optimizers, clip


class Mean(nn.Module):
    """One number that should become the mean of all tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.guess = nn.Parameter(torch.zeros(()))


def squared_error(model: nn.Module, batch: Batch) -> Loss:
    real = batch.target_output[batch.target_output > 2].float()
    assert isinstance(model, Mean)
    return Loss(((real - model.guess) ** 2).sum(), len(real))


@pytest.fixture
def batches(tmp_path: Path) -> Batches:
    chance = np.random.default_rng(0)
    sentences = [chance.integers(3, 9, size=chance.integers(1, 9)).tolist() for _ in range(200)]

    def encode(texts: object) -> list[list[int]]:
        return [sentences[int(text)] for text in texts]  # type: ignore[attr-defined]

    pairs = [(str(number), str(number), number) for number in range(len(sentences))]
    corpus = write_corpus(
        tmp_path / "corpus", pairs, encode, encode, vocabulary=10, longest=50, too_long=lambda i, n: None
    )
    return Batches(corpus, budget=100, seed=0)


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


def test_it_learns(batches: Batches, tmp_path: Path) -> None:
    run, _ = training(batches, tmp_path, epochs=5, average=0)
    run.run()
    ids = batches.corpus.target.ids
    assert isinstance(run.model, Mean)
    assert run.model.guess.item() == pytest.approx(float(ids.mean()), abs=0.2)
    assert run.progress.epoch == 5
    assert run.progress.position == 0


def test_accumulated_batches_are_one_large_batch(batches: Batches, tmp_path: Path) -> None:
    """Sums and counts: the gradient is that of the mean over all tokens, whatever batches they came in."""
    run, _ = training(batches, tmp_path, steps=1, accumulate=10_000, average=0, schedule="constant")
    run.run()
    ids = batches.corpus.target.ids
    assert isinstance(run.model, Mean)
    assert run.model.guess.item() == pytest.approx(0.05 * 2 * float(ids.mean()), rel=1e-5)


def test_non_finite_losses_are_survived(batches: Batches, tmp_path: Path) -> None:
    calls = 0

    def sometimes(model: nn.Module, batch: Batch) -> Loss:
        nonlocal calls
        calls += 1
        loss = squared_error(model, batch)
        return Loss(loss.total * (math.nan if calls % 3 == 0 else 1.0), loss.count)

    run, events = training(batches, tmp_path, sometimes, steps=30)
    run.run()
    assert isinstance(run.model, Mean)
    assert math.isfinite(run.model.guess.item())
    assert run.progress.skipped == 10
    assert sum(event.kind == "note" for event in events) == 10


def test_losses_that_stay_non_finite_end_the_run(batches: Batches, tmp_path: Path) -> None:
    def never(model: nn.Module, batch: Batch) -> Loss:
        loss = squared_error(model, batch)
        return Loss(loss.total * math.inf, loss.count)

    run, _ = training(batches, tmp_path, never, steps=100)
    with pytest.raises(TrainingError, match=r"--set train\.lr="):
        run.run()


def test_it_stops_when_the_score_does_not_get_better(batches: Batches, tmp_path: Path) -> None:
    """Patience counts steps; of equal scores the later weights are kept, but that is no improvement."""
    run, _ = training(batches, tmp_path, scores=[1, 2, 3, 2, 3, 1, 9], patience=15, validate_every=5)
    assert run.run().step == 30
    assert (run.progress.best_score, run.progress.best_step) == (3, 25)


def test_a_falling_loss_is_an_improvement_too(batches: Batches, tmp_path: Path) -> None:
    looks = iter([5.0, 4.0, 3.0, 2.0, 2.5, 2.5, 2.5])
    run, _ = training(batches, tmp_path, patience=10, validate_every=5)
    run.validate = lambda model, size: Validation(0.0, figures={"loss": next(looks)})
    assert run.run().step == 30  # the loss was last better at step 20
    assert run.progress.best_step == 30  # all scores are equal


def test_patience_begins_after_the_warm_up(batches: Batches, tmp_path: Path) -> None:
    run, events = training(batches, tmp_path, scores=[9, *[1] * 20], patience=10, validate_every=5, warmup=40)
    assert run.run().step == 50
    assert [event.figures["waited"] for event in events if event.kind == "validation"] == [0] * 8 + [5, 10]


def test_nothing_is_validated_before_the_warm_up_has_ended(batches: Batches, tmp_path: Path) -> None:
    run, events = training(batches, tmp_path / "none", scores=[*range(5)], warmup=250)
    run.run()
    looks = [event.figures["step"] for event in events if event.kind == "validation"]
    assert looks[0] == 300  # every 100 steps: an epoch is shorter
    assert run.progress.step == 700 + 800  # the best of five, and eight looks more
    run, events = training(batches, tmp_path / "steps", steps=100, warmup=1000)
    run.run()
    assert [event.figures["step"] for event in events if event.kind == "validation"] == [*range(20, 101, 10)]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_number_is_never_the_best(bad: float, batches: Batches, tmp_path: Path) -> None:
    run, _ = training(batches, tmp_path, scores=[bad, 1.0, bad, 2.0], steps=20, validate_every=5)
    run.run()
    assert (run.progress.best_score, run.progress.best_step) == (2.0, 20)


def test_the_averaged_weights_of_the_end_are_taken_when_no_score_is_a_number(batches: Batches, tmp_path: Path) -> None:
    run, _ = training(batches, tmp_path, scores=[math.nan] * 4, steps=20, validate_every=5, average=0.5)
    run.run()
    assert run.average is not None
    expected = run.average.tensors[0].item()
    run.take_best()
    assert isinstance(run.model, Mean)
    assert run.model.guess.item() == expected
    assert not (tmp_path / "best.safetensors").exists()


def test_a_run_that_stopped_early_stays_finished_until_its_limits_change(batches: Batches, tmp_path: Path) -> None:
    limits: dict[str, Any] = {"steps": 1000, "patience": 10, "validate_every": 5}
    first, _ = training(batches, tmp_path, scores=[3, *[1] * 9], **limits)
    assert first.run().step == 15
    again, events = training(batches, tmp_path, **limits)
    assert again.run().step == 15
    assert not [event for event in events if event.kind == "step"]
    raised, _ = training(batches, tmp_path, **{**limits, "steps": 1010})
    assert raised.run().step == 25


def test_a_stop_request_during_a_validation_leaves_it_to_the_resumed_run(batches: Batches, tmp_path: Path) -> None:
    def run_once(folder: Path, stop: bool) -> Training[nn.Module]:
        run, _ = training(batches, folder, steps=30, validate_every=10, average=0.3)

        def validate(model: nn.Module, size: int) -> Validation:
            if stop and run.progress.step == 20:
                os.kill(os.getpid(), signal.SIGINT)
                run.check_stop()
                pytest.fail("it was not stopped")
            assert isinstance(model, Mean)
            return Validation(model.guess.item())

        run.validate = validate
        return run

    whole = run_once(tmp_path / "whole", stop=False)
    whole.run()
    with pytest.raises(Interrupted):
        run_once(tmp_path / "stopped", stop=True).run()
    resumed = run_once(tmp_path / "stopped", stop=False)
    resumed.run()
    seconds: dict[str, Any] = {"seconds": 0.0, "validation_seconds": 0.0}
    assert replace(resumed.progress, **seconds) == replace(whole.progress, **seconds)
    names = ["best.safetensors", "checkpoints/step-00000030.safetensors"]
    for name in names:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes()


def test_validations_have_a_bounded_share_of_the_examples_and_one_size(batches: Batches, tmp_path: Path) -> None:
    run, events = training(batches, tmp_path, steps=100, validate_every=20, validate_sentences=1000)
    sizes: list[int] = []

    def validate(model: nn.Module, size: int) -> Validation:
        sizes.append(size)
        return Validation(0.0)

    run.validate = validate
    run.run()
    seen = 20 * len(batches.corpus) // len(batches.epoch(0))
    assert len(sizes) == 5
    assert sizes[0] == pytest.approx(max(32, 0.1 * seen), rel=0.3)
    assert len(set(sizes)) == 1
    assert {event.figures["size"] for event in events if event.kind == "validation"} == set(sizes)


def test_slow_validations_become_smaller_and_fewer(batches: Batches, tmp_path: Path) -> None:
    """In a budget of ten minutes in which each dev example takes a second, most of the time is left for training."""
    clock = [0.0]
    run, _ = training(batches, tmp_path, clock=lambda: clock[0], minutes=10, validate_sentences=1000)
    sizes: list[int] = []

    def validate(model: nn.Module, size: int) -> Validation:
        sizes.append(size)
        clock[0] += size
        return Validation(0.0)

    def slow(model: nn.Module, batch: Batch) -> Loss:
        clock[0] += 1.0
        return squared_error(model, batch)

    run.validate, run.objective = validate, slow
    run.run()
    assert sizes[0] == 32  # what tells the cost
    assert sizes[1:] == [32] * (len(sizes) - 1)
    assert sum(sizes) <= 0.06 * 600 + 3 * 32
    assert run.progress.step > 0.8 * 0.96 * 600
    assert clock[0] <= 600 + 33


def test_a_time_budget_ends_decayed(batches: Batches, tmp_path: Path) -> None:
    ticks = itertools.count(0, 0.01)  # a clock that advances by a hundredth of a second whenever it is read
    run, events = training(batches, tmp_path, clock=lambda: next(ticks), minutes=0.1)
    run.run()
    rates = [event.figures["rate"] for event in events if event.kind == "step"]
    assert rates[-1] < 0.05 * 0.2
    assert rates[0] > 0.05 * 0.5


@pytest.mark.parametrize("kind", ["sgd", "adam", "adamw", "muon"])
def test_an_optimiser_goes_on_from_its_saved_memory(kind: str, tmp_path: Path) -> None:
    def build() -> tuple[nn.Module, Optimizers]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3))
        return model, Optimizers(model, TrainConfig(optimizer=kind))

    def step(model: nn.Module, optimizers: Optimizers) -> None:
        model(torch.arange(5)).pow(2).sum().backward()
        optimizers.step(0.01)
        model.zero_grad()

    straight = build()
    for _ in range(6):
        step(*straight)
    first = build()
    for _ in range(3):
        step(*first)
    save(tmp_path, Progress(step=3), first[1].state())
    second = build()
    second[0].load_state_dict(first[0].state_dict())
    found = load(tmp_path, pytest.fail)
    assert found is not None
    second[1].restore(found[1])
    for _ in range(3):
        step(*second)
    for expected, got in zip(straight[0].parameters(), second[0].parameters(), strict=True):
        assert torch.equal(expected, got)


def test_muon_makes_updates_nearly_orthogonal() -> None:
    torch.manual_seed(0)
    for shape in ((3, 64, 64), (2, 64, 256), (2, 256, 64)):
        values = torch.linalg.svdvals(orthogonal(torch.randn(shape)))
        assert values.max() < 1.3
        assert values.median() > 0.6


def test_clip_scales_then_shrinks() -> None:
    gradients = [torch.full((4,), 6.0), torch.full((12,), 6.0)]  # norm 24
    assert clip(gradients, 0.5, 3.0) == pytest.approx(12.0)
    assert torch.cat(gradients).norm().item() == pytest.approx(3.0)
    assert clip(gradients, 1.0, 0.0) == pytest.approx(3.0)
    assert torch.cat(gradients).norm().item() == pytest.approx(3.0)

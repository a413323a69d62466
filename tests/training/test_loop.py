"""The loop and its parts, on a model small enough to check by hand."""

from __future__ import annotations

import itertools
import json
import math
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from mirada.contracts import Batch, Loss, Rows, Validation
from mirada.data.batching import Batches
from mirada.data.corpus import write_corpus
from mirada.errors import Interrupted, TrainingError
from mirada.training import checkpoints
from mirada.training.checkpoints import Progress, load, save
from mirada.training.config import TrainConfig
from mirada.training.loop import Event, Objective, Training
from mirada.training.muon import orthogonal
from mirada.training.optimizers import Optimizers, clip
from mirada.training.stopping import StopRequested


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


# --- time, by a clock that the test sets ---


class Clock:
    """Stands still unless something takes time."""

    def __init__(self, now: float = 1000.0):
        self.now = now

    def __call__(self) -> float:
        return self.now


def timed(
    batches: Batches, folder: Path, clock: Clock, step: float = 1.0, look: float = 5.0, **config: Any
) -> tuple[Training[nn.Module], list[Event]]:
    """A run that began ten seconds ago, in which a batch and a validation take so many seconds."""
    run, events = training(batches, folder, clock=clock, started=clock.now - 10, **config)

    def objective(model: nn.Module, batch: Batch) -> Loss:
        clock.now += step
        return squared_error(model, batch)

    def validate(model: nn.Module, size: int) -> Validation:
        clock.now += look
        return Validation(1.0)

    run.objective, run.validate = objective, validate
    return run, events


def of(events: list[Event], kind: str, *figures: str) -> list[tuple[Any, ...]]:
    return [tuple(event.figures[name] for name in figures) for event in events if event.kind == kind]


def test_seconds_count_from_the_start_of_the_session_and_over_all_sessions(batches: Batches, tmp_path: Path) -> None:
    clock = Clock()
    run, events = timed(batches, tmp_path, clock, steps=4, validate_every=2)
    run.run()
    assert of(events, "step", "step", "seconds") == [(1, 11), (2, 12), (3, 18), (4, 19)]
    assert of(events, "validation", "step", "seconds") == [(2, 17), (4, 24)]
    assert (run.progress.validations, run.progress.validation_seconds) == (2, 10)
    assert run.progress.seconds == 19
    clock.now += 12_345  # the time between two sessions is not counted
    again, events = timed(batches, tmp_path, clock, steps=6, validate_every=2)
    again.run()
    assert of(events, "resumed", "step", "seconds") == [(4, 19)]
    assert of(events, "step", "step", "seconds") == [(5, 19 + 11), (6, 19 + 12)]
    assert (again.progress.validations, again.progress.validation_seconds) == (3, 15)


def test_what_follows_the_training_is_estimated(batches: Batches, tmp_path: Path) -> None:
    """By the validations so far, or as the share of a budget in minutes that is reserved for it."""
    run, events = timed(batches, tmp_path / "steps", Clock(), look=6.0, steps=5, validate_every=2)
    run.run()
    assert of(events, "step", "afterwards") == [(0,), (0,), (6,), (6,), (6,)]
    run, events = timed(batches, tmp_path / "minutes", Clock(), minutes=1, validate_every=100)
    run.run()
    assert set(of(events, "step", "afterwards")) == {(60 * 0.04,)}


def test_a_budget_in_minutes_ends_with_the_step_that_spends_it(batches: Batches, tmp_path: Path) -> None:
    """57.6 seconds for training, ten of them gone before the first step."""
    run, events = timed(batches, tmp_path, Clock(), minutes=1, validate_every=1000, step=0.5)
    run.run()
    assert run.progress.step == 96  # 58 seconds
    assert of(events, "step", "spent")[0] == pytest.approx((10.5 / 57.6,))
    assert of(events, "step", "spent")[-1] == (1.0,)
    assert of(events, "step", "rate")[0] == pytest.approx((0.05 * (1 - 10 / 57.6),))


def saved_steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with every checkpoint that is saved."""
    found: list[int] = []
    save = checkpoints.save

    def spy(folder: Path, progress: Progress, tensors: Any) -> None:
        found.append(progress.step)
        save(folder, progress, tensors)

    monkeypatch.setattr(checkpoints, "save", spy)
    return found


@pytest.mark.parametrize(("second", "expected"), [(20.0, [3, 6, 7]), (19.9, [4, 7]), (60.0, [*range(1, 8)])])
def test_a_checkpoint_is_saved_every_minute(
    second: float, expected: list[int], batches: Batches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = saved_steps(monkeypatch)
    run, _ = timed(batches, tmp_path, Clock(), step=second, steps=7, validate_every=100)
    run.run()
    assert found == expected


def test_a_checkpoint_is_saved_every_so_many_steps(
    batches: Batches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = saved_steps(monkeypatch)
    run, _ = timed(batches, tmp_path, Clock(), step=99.0, steps=8, checkpoint_every=3, validate_every=100)
    run.run()
    assert found == [3, 6, 8]


def test_phases_are_timed(batches: Batches, tmp_path: Path) -> None:
    run, _ = training(batches, tmp_path, steps=2)
    assert run.timing == {"training": 0.0, "validation": 0.0, "checkpoints": 0.0}
    run.run()
    assert set(run.timing) == {"training", "validation", "checkpoints"}
    assert all(seconds > 0 for seconds in run.timing.values())


# --- what ends a run, and what a resumed one refuses ---


def test_the_limit_of_non_finite_steps_is_exact(batches: Batches, tmp_path: Path) -> None:
    """24 in a row are survived, a good one starts the count anew, 25 are not."""
    calls = 0

    def bad(model: nn.Module, batch: Batch) -> Loss:
        nonlocal calls
        calls += 1
        loss = squared_error(model, batch)
        return Loss(loss.total * (1.0 if calls == 25 else math.nan), loss.count)

    run, events = training(batches, tmp_path, bad, steps=100, lr=0.08)
    with pytest.raises(TrainingError, match=r"^25 steps .*--set train\.lr=0\.02"):
        run.run()
    assert calls == 24 + 1 + 25
    assert run.progress.skipped == 24 + 25
    assert [event.figures["text"].split()[1] for event in events if event.kind == "note"][:2] == ["1", "2"]


def test_a_gradient_that_is_not_finite_is_skipped_too(batches: Batches, tmp_path: Path) -> None:
    """√ at 0 has a finite value and an infinite slope."""

    def steep(model: nn.Module, batch: Batch) -> Loss:
        assert isinstance(model, Mean)
        return Loss(model.guess.abs().sqrt() + 1.0, 1)

    run, _ = training(batches, tmp_path, steep, steps=3)
    run.run()
    assert run.progress.skipped == 3
    assert isinstance(run.model, Mean)
    assert run.model.guess.item() == 0.0


@pytest.mark.parametrize(("count", "moved"), [(0, 3.0), (1, 3.0), (2, 1.5)])
def test_a_gradient_is_divided_by_the_number_of_terms(
    count: int, moved: float, batches: Batches, tmp_path: Path
) -> None:
    def slope(model: nn.Module, batch: Batch) -> Loss:
        assert isinstance(model, Mean)
        return Loss(-3.0 * model.guess + 8.0, count)

    run, events = training(batches, tmp_path, slope, steps=1, lr=1.0, schedule="constant", average=0)
    run.run()
    assert isinstance(run.model, Mean)
    assert run.model.guess.item() == moved
    assert of(events, "step", "loss", "norm") == [(8.0 / max(1, count), moved)]


def test_every_step_and_validation_is_reported_with_its_figures(batches: Batches, tmp_path: Path) -> None:
    run, events = training(batches, tmp_path, scores=[2.0, 1.0], steps=4, validate_every=2)
    run.run()
    names = {"step", "epoch", "loss", "rate", "norm", "tokens", "seconds", "spent", "afterwards"}
    assert all(set(event.figures) == names for event in events if event.kind == "step")
    plan = len(batches.epoch(0))
    assert of(events, "step", "epoch", "spent") == [(n / plan, n / 4) for n in range(1, 5)]
    figures = ("step", "score", "measure", "best", "size", "waited", "patience", "example")
    assert of(events, "validation", *figures) == [
        (2, 2.0, "score", True, 32, 0, None, None),
        (4, 1.0, "score", False, 32, 2, None, None),
    ]
    assert (run.progress.examples, run.progress.validation_size) == (0, 32)


def test_examples_are_counted_until_a_validation(batches: Batches, tmp_path: Path) -> None:
    run, _ = training(batches, tmp_path, steps=3, validate_every=2, accumulate=2)
    run.validate = lambda model, size: Validation(float(run.progress.examples))
    run.run()
    rows = [len(rows) for rows in batches.epoch(0)]
    assert run.progress.best_score == sum(rows[:4])  # the second validation, of fewer examples, scores less


@pytest.mark.parametrize(("steps", "extra"), [(10, 0), (9, 0), (11, 1)])
def test_a_finished_run_trains_further_when_its_budget_grows(
    steps: int, extra: int, batches: Batches, tmp_path: Path
) -> None:
    first, _ = training(batches, tmp_path, steps=10)
    first.run()
    again, events = training(batches, tmp_path, steps=steps)
    progress = again.run()
    assert len(of(events, "step", "step")) == extra
    assert progress.finished
    assert progress.step == 10 + extra


def test_a_run_without_a_budget_trains_further_when_its_patience_changes(batches: Batches, tmp_path: Path) -> None:
    first, _ = training(batches, tmp_path, scores=[3, 1, 1], patience=10, validate_every=5)
    assert first.run().step == 15
    again, _ = training(batches, tmp_path, patience=20, validate_every=5)
    assert again.run().step == 35  # twenty more without an improvement


def test_a_finished_run_of_a_version_without_limits_stays_finished(batches: Batches, tmp_path: Path) -> None:
    first, _ = training(batches, tmp_path, scores=[3, 1, 1], patience=10, validate_every=5)
    first.run()
    path = tmp_path / "checkpoints" / "step-00000015.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "limits": None}))
    again, _ = training(batches, tmp_path, patience=20, validate_every=5)
    assert again.run().step == 15


def test_a_checkpoint_of_other_data_is_refused(batches: Batches, tmp_path: Path) -> None:
    run, _ = training(batches, tmp_path, steps=2)
    run.run()
    path = tmp_path / "checkpoints" / "step-00000002.json"
    about = json.loads(path.read_text())
    again, _ = training(batches, tmp_path, steps=3)
    path.write_text(json.dumps({**about, "corpus": "other"}))
    with pytest.raises(TrainingError, match="other data"):
        again.run()
    plan = len(batches.epoch(0))
    path.write_text(json.dumps({**about, "position": plan}))
    with pytest.raises(TrainingError, match="batches"):
        again.run()
    path.write_text(json.dumps({**about, "position": plan - 1}))
    assert again.run().step == 3


def test_the_model_is_left_for_inference_with_its_own_weights_where_nothing_was_averaged_or_scored(
    batches: Batches, tmp_path: Path
) -> None:
    run, _ = training(batches, tmp_path, scores=[math.nan], steps=3, average=0)
    run.run()
    assert isinstance(run.model, Mean)
    before = run.model.guess.item()
    run.model.train()
    run.take_best()
    assert run.model.guess.item() == before
    assert not run.model.training


def test_a_stop_request_counts_only_during_a_validation(batches: Batches, tmp_path: Path) -> None:
    run, _ = training(batches, tmp_path, steps=3)
    run.check_stop()
    run.stop()
    run.check_stop()
    run.progress.validation_pending = True
    with pytest.raises(StopRequested):
        run.check_stop()


def test_the_batches_of_an_epoch_are_planned_once(batches: Batches, tmp_path: Path) -> None:
    """Planning takes long on a large corpus; without a budget, the first epoch's length decides the interval."""

    class Counting(Batches):
        asked: ClassVar[list[int]] = []

        def epoch(self, epoch: int) -> list[Rows]:
            self.asked.append(epoch)
            return super().epoch(epoch)

    counting = Counting(batches.corpus, 100, 0)
    run, _ = training(counting, tmp_path, scores=[1.0, *[0.0] * 9], patience=45, validate_every=15)
    run.run()
    assert Counting.asked == list(range(run.progress.epoch + 1))


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

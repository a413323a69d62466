"""The time that the training loop takes, counts and budgets, by a clock that the test sets."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from mirada.contracts import Batch, Loss, Validation
from mirada.data.batching import Batches
from mirada.training import checkpoints
from mirada.training.checkpoints import Progress
from mirada.training.loop import Event, Training
from tests.training.loop_parts import of, squared_error, training


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

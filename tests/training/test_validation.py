"""When a run validates, on how many examples, and how long it waits for an improvement."""

from __future__ import annotations

import pytest

from mirada.training.checkpoints import Progress
from mirada.training.config import TrainConfig
from mirada.training.validation import due, interval, patience, size


@pytest.mark.parametrize(("steps", "expected"), [(1, 100), (99, 100), (101, 101), (1999, 1999), (2001, 2000)])
def test_the_interval_is_an_epoch_within_limits(steps: int, expected: int) -> None:
    assert interval(TrainConfig(), steps) == expected
    assert interval(TrainConfig(validate_every=7), steps) == 7


def test_patience_is_eight_intervals_without_a_budget_and_endless_with_one() -> None:
    assert patience(TrainConfig(), 150) == 1200
    assert patience(TrainConfig(steps=10), 150) is None
    assert patience(TrainConfig(steps=10, patience=3), 150) == 3


def test_a_set_interval_is_kept_even_during_the_warm_up() -> None:
    config = TrainConfig(validate_every=5, warmup=100)
    assert [step for step in range(1, 16) if due(config, Progress(step=step), 0, 0, 5)] == [5, 10, 15]


def test_without_a_budget_validations_begin_after_the_warm_up() -> None:
    config = TrainConfig(warmup=20)
    assert [step for step in range(1, 45) if due(config, Progress(step=step), 0, 0, 10)] == [20, 30, 40]


def test_with_a_budget_every_tenth_but_the_first() -> None:
    config = TrainConfig(warmup=0, steps=100)
    found = [step for step in range(1, 101) if due(config, Progress(step=step), (step - 1) / 100, step / 100, 50)]
    assert found == [20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert not due(config, Progress(step=10), 0.05, 0.19, 50)
    assert due(config, Progress(step=10), 0.05, 0.2, 50)
    assert not due(config, Progress(step=10), 0.2, 0.29, 50)


def test_validations_that_took_their_share_of_the_time_are_left_out() -> None:
    """6 % of what is spent so far of the 576 seconds that ten minutes leave for training."""
    config = TrainConfig(warmup=0, minutes=10)
    share = 0.06 * 0.5 * 576
    assert due(config, Progress(step=10, validation_seconds=share), 0.49, 0.5, 100)
    assert not due(config, Progress(step=10, validation_seconds=share + 0.01), 0.49, 0.5, 100)
    assert due(TrainConfig(warmup=0, steps=20), Progress(step=10, validation_seconds=1e9), 0.49, 0.5, 100)


def unmeasured(examples: int) -> float:
    pytest.fail("only a budget in minutes measures the time")


@pytest.mark.parametrize(("examples", "expected"), [(0, 32), (329, 32), (330, 33), (999, 99), (10_000, 400)])
def test_a_tenth_of_the_training_examples_are_validated_on(examples: int, expected: int) -> None:
    assert size(TrainConfig(), Progress(examples=examples), unmeasured) == expected


def test_the_size_is_decided_once_and_never_beyond_the_setting() -> None:
    assert size(TrainConfig(), Progress(examples=9999, validation_size=77), unmeasured) == 77
    assert size(TrainConfig(validate_sentences=5), Progress(examples=9999), unmeasured) == 5


@pytest.mark.parametrize(("seconds", "expected"), [(3.456, 32), (1.728, 64), (0.864, 128), (1e-3, 400), (0, 400)])
def test_with_a_budget_in_minutes_a_validation_gets_its_share_of_the_time(seconds: float, expected: int) -> None:
    """A tenth of 6 % of 576 seconds, 3.456, for each; `seconds` is what 32 examples take."""
    asked: list[int] = []

    def measure(examples: int) -> float:
        asked.append(examples)
        return seconds

    found = size(TrainConfig(minutes=10), Progress(examples=10_000), measure)
    assert abs(found - expected) <= 1  # rounding of 3.456
    assert asked == [32]


def test_the_smallest_validation_is_not_measured() -> None:
    assert size(TrainConfig(minutes=10), Progress(examples=10), unmeasured) == 32
    assert size(TrainConfig(minutes=10), Progress(examples=10_000), lambda examples: 100.0) == 32

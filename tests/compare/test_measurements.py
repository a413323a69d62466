"""Speeds and curves from training logs, and fair timing."""

from __future__ import annotations

from typing import Any

import pytest

from mirada.compare import measurements


def test_training_speed_leaves_out_validations_and_breaks() -> None:
    def step(seconds: float, tokens: int) -> dict[str, Any]:
        return {"kind": "step", "seconds": seconds, "tokens": tokens}

    forecast = {"kind": "forecast", "tokens_per_second": 7.0}
    validation = {"kind": "validation", "seconds": 30.0}
    events = [forecast, step(1, 50), step(3, 200), validation, step(40, 900), step(41, 100)]
    assert measurements.training_speed(events) == pytest.approx(300 / 3)
    assert measurements.training_speed([forecast, step(1, 50)]) == 7.0
    assert measurements.training_speed([step(1, 50)]) is None


def test_jobs_take_turns_and_the_first_round_does_not_count(quick: None) -> None:
    done: list[str] = []
    jobs = {name: (lambda name=name: done.append(name)) for name in "ab"}
    seconds = measurements.median_seconds(jobs, lambda done, total: None)
    assert "".join(done) == "ab" * (1 + measurements.MIN_ROUNDS)
    assert set(seconds) == {"a", "b"}


def test_curves_are_smoothed_and_follow_the_budget() -> None:
    steps = [{"kind": "step", "step": n, "seconds": 30.0 * n, "loss": float(n % 2)} for n in range(1, 301)]
    scored = {"kind": "validation", "step": 300, "seconds": 9000.0, "score": 20.5, "measure": "chrF++"}
    by_step = measurements.training_curves([*steps, scored], by_minute=False)
    assert len(by_step.loss) == measurements.CURVE_POINTS
    assert by_step.loss[:2] == [(3, pytest.approx(2 / 3)), (6, pytest.approx(1 / 3))]
    assert (by_step.dev, by_step.metric) == ([(300, 20.5)], "chrF++")
    by_minute = measurements.training_curves([*steps, scored], by_minute=True)
    assert by_minute.loss[-1][0] == by_minute.dev[0][0] == 150
    assert measurements.training_curves([], by_minute=True).dev == []

"""Budgets, warm-up and learning rates, at their exact edges."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mirada.training.config import TrainConfig
from mirada.training.schedule import Budget, learning_rate, warmup


def test_learning_rates() -> None:
    linear = TrainConfig(lr=1.0, warmup=10, steps=1000)
    assert learning_rate(linear, 4, 0.005) == pytest.approx(0.5 * 0.995)
    assert learning_rate(linear, 500, 0.5) == pytest.approx(0.5)
    assert learning_rate(linear, 999, 1.0) == 0
    paper = TrainConfig(lr=512**-0.5 * 4000**-0.5, warmup=4000)
    for step in (1, 100, 3999, 4000, 4001, 100_000):  # d^-0.5 · min(step^-0.5, step · warmup^-1.5)
        expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert learning_rate(paper, step - 1, 0.0) == pytest.approx(expected)
    cosine = TrainConfig(lr=2.0, warmup=0, steps=10, schedule="cosine")
    for spent in (0.0, 0.25, 0.5, 1.0):
        assert learning_rate(cosine, 5, spent) == pytest.approx(1 + math.cos(math.pi * spent))
    constant = TrainConfig(lr=0.3, warmup=4, schedule="constant")
    assert [learning_rate(constant, step, 0.9) for step in (0, 1, 3, 99)] == pytest.approx([0.075, 0.15, 0.3, 0.3])


@pytest.mark.parametrize("given", [{"minutes": 3}, {"epochs": 2}, {"steps": 9}])
def test_with_any_budget_the_rate_decays_linearly_unless_set(given: dict[str, Any]) -> None:
    assert learning_rate(TrainConfig(lr=1.0, warmup=0, **given), 99, 0.25) == 0.75
    set_ = TrainConfig(lr=1.0, warmup=25, schedule="inverse_sqrt", **given)
    assert learning_rate(set_, 99, 0.25) == 0.5


def test_without_warm_up_the_inverse_square_root_begins_at_once() -> None:
    config = TrainConfig(lr=1.0, warmup=0)
    assert [learning_rate(config, step, 0.0) for step in (0, 3, 15)] == [1.0, 0.5, 0.25]


def test_warm_up_ends_after_its_steps_or_a_tenth_of_the_budget() -> None:
    free = TrainConfig(warmup=10)
    assert [warmup(free, step, 0.9) for step in (0, 5, 10, 11)] == [0.0, 0.5, 1.0, 1.0]
    assert warmup(TrainConfig(warmup=0), 0, 0.0) == 1.0
    budgeted = TrainConfig(warmup=10, steps=1000)
    assert warmup(budgeted, 5, 0.02) == 0.5
    assert warmup(budgeted, 1, 0.05) == pytest.approx(0.5)
    assert warmup(budgeted, 1, 0.1) == 1.0
    assert warmup(budgeted, 0, 0.5) == 1.0


def test_budgets_end_with_the_first_limit() -> None:
    budget = Budget(steps=100, epochs=2, seconds=60)
    assert budget.spent(10, 1.0, 6) == 0.5
    assert budget.spent(90, 1.0, 6) == 0.9
    assert budget.spent(10, 0.1, 45) == 0.75
    assert budget.spent(10, 0.1, 120) == 1.0
    assert Budget(None, None, None).spent(10**9, 10**9, 10**9) == 0.0


def test_a_budget_in_minutes_reserves_a_share_for_the_final_scores() -> None:
    assert Budget.of(TrainConfig(minutes=10, steps=7, epochs=3)) == Budget(7, 3, 10 * 60 * 0.96)
    assert Budget.of(TrainConfig()) == Budget(None, None, None)

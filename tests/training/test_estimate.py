"""The cost estimate: what it times, by which clock, and that it leaves nothing behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from mirada.contracts import Batch, Loss, Rows
from mirada.data.batching import Batches
from mirada.training.config import TrainConfig
from mirada.training.estimate import CostEstimate, _typical, estimate_cost
from tests.training.reference import Words, corpus_of, next_word


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> Batches:
    return corpus_of(tmp_path_factory.mktemp("corpus"))


def estimate(
    batches: Batches,
    model: nn.Module | None = None,
    clock: Callable[[], float] = time.monotonic,
    steps: int = 3,
    seen: list[list[int]] | None = None,
    **given: Any,
) -> CostEstimate:
    def objective(model: nn.Module, batch: Batch) -> Loss:
        assert model.training
        torch.rand(())
        if seen is not None and batch.rows is not None:
            seen.append(batch.rows.tolist())
        return next_word(model, batch)

    config = TrainConfig.model_validate({"optimizer": "sgd", **given})
    return estimate_cost(model or Words(), objective, batches, config, torch.device("cpu"), steps, clock)


@pytest.mark.parametrize("kind", ["sgd", "adam", "adamw", "muon"])
def test_it_leaves_weights_gradients_and_random_numbers_as_they_were(kind: str, batches: Batches) -> None:
    model = Words().eval()
    before, numbers = [p.detach().clone() for p in model.parameters()], torch.get_rng_state()
    estimate(batches, model, optimizer=kind, momentum=0.9, weight_decay=0.1)
    assert all(torch.equal(p, was) for p, was in zip(model.parameters(), before, strict=True))
    assert all(p.grad is None for p in model.parameters())
    assert torch.equal(torch.get_rng_state(), numbers)


def test_gradients_of_one_step_do_not_reach_the_next(batches: Batches) -> None:
    model = Words()

    def objective(model: nn.Module, batch: Batch) -> Loss:
        assert all(p.grad is None for p in model.parameters())
        return next_word(model, batch)

    estimate_cost(model, objective, batches, TrainConfig(optimizer="sgd"), torch.device("cpu"), 3)


def test_what_it_counts(batches: Batches) -> None:
    model = Words()
    model.output.bias.requires_grad_(False)
    found = estimate(batches, model, accumulate=2)
    trained = sum(p.numel() for p in model.parameters()) - model.output.bias.numel()
    assert found.parameters == trained
    assert found.epoch_tokens == batches.tokens
    assert found.padding == batches.padding(0)
    assert found.steps_per_epoch == -(-len(batches.epoch(0)) // 2)
    assert found.memory > 2**20
    assert found.epoch_seconds == pytest.approx(batches.tokens / found.tokens_per_second)
    assert found.step_seconds == pytest.approx(found.epoch_seconds / found.steps_per_epoch)
    names = ("parameters", "tokens_per_second", "epoch_seconds", "steps_per_epoch", "memory", "padding")
    assert found.as_dict() == {name: getattr(found, name) for name in names}


def test_the_first_step_is_not_timed(batches: Batches) -> None:
    """Speed is that of three steps, by a clock that is read before them and after each."""
    seen: list[list[int]] = []
    clock = iter([10.0, 10.2, 10.3, 10.5])
    found = estimate(batches, clock=lambda: next(clock), seen=seen)
    assert len(seen) == 4
    assert seen[0] == seen[1]
    tokens = [batches.load(np.array(rows)).tokens for rows in seen]
    assert found.tokens_per_second == pytest.approx(sum(tokens[1:]) / 0.5)
    assert next(clock, None) is None


@pytest.mark.parametrize(("second", "steps"), [(2.0, 3), (2.001, 2)])
def test_it_ends_when_more_than_two_seconds_have_passed(second: float, steps: int, batches: Batches) -> None:
    seen: list[list[int]] = []
    clock = iter([100.0, 100.5, 100.0 + second, 109.0])
    estimate(batches, clock=lambda: next(clock), seen=seen)
    assert len(seen) == 1 + steps


def test_a_clock_that_stands_still_gives_a_large_speed(batches: Batches) -> None:
    assert 1e9 < estimate(batches, clock=lambda: 5.0).tokens_per_second < 1e13


def test_other_batches_of_the_same_data(batches: Batches, tmp_path: Path) -> None:
    found = estimate(batches)
    other = Batches(batches.corpus, budget=200, seed=4)
    moved = found.on(other, accumulate=3)
    assert moved.steps_per_epoch == -(-len(other.epoch(0)) // 3)
    assert moved.padding == other.padding(0) != found.padding
    assert moved.tokens_per_second == found.tokens_per_second


class Changing(Batches):
    """Batches of which every epoch has one fewer, and more padding."""

    def epoch(self, epoch: int) -> list[Rows]:
        return super().epoch(epoch)[epoch:]

    def padding(self, epoch: int = 0) -> float:
        return 0.25 + epoch


def test_it_is_about_the_first_epoch(batches: Batches) -> None:
    changing, seen = Changing(batches.corpus, budget=60, seed=3), list[list[int]]()
    first = [rows.tolist() for rows in changing.epoch(0)]
    found = estimate(changing, seen=seen)
    assert all(rows in first for rows in seen)
    for made in (found, estimate(batches).on(changing, 1)):
        assert (made.steps_per_epoch, made.padding) == (len(first), 0.25)


def sizes(chosen: Sequence[Rows]) -> list[int]:
    return [len(rows) for rows in chosen]


def test_batches_of_all_sizes_are_timed() -> None:
    """From the middle of each third of the first 8 × 3 batches, the largest first."""
    plan = [np.arange(number) for number in (*range(24, 0, -1), 99, 98)]
    assert sizes(_typical(plan, 3)) == [20, 12, 4]
    assert sizes(_typical(list(reversed(plan[:24])), 3)) == [20, 12, 4]
    assert sizes(_typical(plan[:2], 3)) == [24, 23]
    assert sizes(_typical(plan, 1)) == [20]

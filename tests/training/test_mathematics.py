"""What training computes, against a plain loop (`reference.py`): gradients, rates, averages, what is kept of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from mirada.contracts import Batch, Loss, StatefulLoss, Validation
from mirada.data.batching import Batches
from mirada.errors import Interrupted
from mirada.training.config import TrainConfig
from mirada.training.loop import Event, Training
from tests.tensors import close
from tests.training import reference
from tests.training.reference import Words, corpus_of, next_word

Weights = list[Tensor]


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> Batches:
    return corpus_of(tmp_path_factory.mktemp("corpus"))


def weights(model: nn.Module) -> Weights:
    return [parameter.detach().clone() for parameter in model.parameters()]


def settings(**given: Any) -> TrainConfig:
    usual = {"optimizer": "sgd", "momentum": 0.0, "lr": 0.5, "clip": 0.0, "warmup": 0, "steps": 12}
    return TrainConfig.model_validate({**usual, **given})


class Run:
    """A training that remembers its events, and the weights at every step and at every validation."""

    def __init__(
        self,
        batches: Batches,
        folder: Path,
        objective: Callable[[nn.Module, Batch], Loss] = next_word,
        listen: Callable[[Event], None] = lambda event: None,
        **given: Any,
    ):
        self.model, self.events = Words(), list[Event]()
        self.weights, self.validated = list[Weights](), list[Weights]()
        self._listen = listen
        folder.mkdir(exist_ok=True)
        self.training: Training[nn.Module] = Training(
            self.model,
            objective,
            batches,
            self._validate,
            settings(**given),
            folder,
            torch.device("cpu"),
            self._hear,
            0.0,
        )

    def _validate(self, model: nn.Module, size: int) -> Validation:
        assert not model.training
        self.validated.append(weights(model))
        return Validation(float(len(self.validated)))  # better every time

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        if event.kind == "step":
            self.weights.append(weights(self.model))
        self._listen(event)

    def of(self, figure: str) -> list[Any]:
        return [event.figures[figure] for event in self.events if event.kind == "step"]


def same(found: Weights, expected: Weights, tolerance: float = 1e-11) -> None:
    for one, other in zip(found, expected, strict=True):
        close(one, other, tolerance)


def differ(found: Weights, other: Weights) -> bool:
    return any(not torch.allclose(one, two, atol=1e-6) for one, two in zip(found, other, strict=True))


# --- the whole loop ---

CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "warm-up": {"warmup": 100},
    "short warm-up": {"warmup": 3, "steps": 40},
    "accumulated": {"accumulate": 3},
    "clipped": {"clip": 0.05},
    "clip that never bites": {"clip": 1e6},
    "λΣW²": {"penalty": 0.03},
    "λΣW², accumulated": {"penalty": 0.03, "accumulate": 2},
    "several epochs": {"steps": 45},
    "momentum": {"momentum": 0.9, "lr": 0.1},
    "SGD, decayed": {"weight_decay": 0.1},
    "Adam": {"optimizer": "adam", "lr": 0.01, "weight_decay": 0.1},
    "AdamW": {"optimizer": "adamw", "lr": 0.01, "weight_decay": 0.1},
    "other betas": {"optimizer": "adamw", "lr": 0.01, "betas": (0.8, 0.9)},
    "Muon": {"optimizer": "muon", "lr": 0.02},
    "Muon, decayed": {"optimizer": "muon", "lr": 0.02, "weight_decay": 0.3},
    "wide average": {"average": 0.5, "steps": 30},
}


def plain_optimizers(model: Words, c: TrainConfig) -> list[Optimizer]:
    """PyTorch's own, and Muon for the one matrix that is neither an embedding nor the output."""
    everything = list(model.parameters())
    if c.optimizer == "sgd":
        return [SGD(everything, lr=c.lr, momentum=c.momentum, weight_decay=c.weight_decay)]
    if c.optimizer == "adam":
        return [Adam(everything, lr=c.lr, betas=c.betas, weight_decay=c.weight_decay)]
    inner, output = model.inner.weight, model.output.weight
    free = [model.embedding.weight, model.inner.bias, model.output.bias]
    decayed = [output] if c.optimizer == "muon" else [inner, output]
    groups = [{"params": decayed, "weight_decay": c.weight_decay}, {"params": free, "weight_decay": 0.0}]
    rest = AdamW(groups, lr=c.lr, betas=c.betas)
    return [reference.Muon([inner], c.weight_decay), rest] if c.optimizer == "muon" else [rest]


@pytest.mark.parametrize("case", CASES)
def test_training_is_the_plain_loop(case: str, batches: Batches, tmp_path: Path) -> None:
    run = Run(batches, tmp_path, **CASES[case])
    run.training.run()
    model = Words()
    expected = reference.train(model, plain_optimizers(model, run.training.config), batches, run.training.config)
    assert run.of("loss") == pytest.approx(expected.losses, rel=1e-9)
    assert run.of("rate") == pytest.approx(expected.rates, rel=1e-12)
    assert run.of("norm") == pytest.approx(expected.norms, rel=1e-9)
    same(run.weights[-1], weights(model), 1e-9)
    same(run.validated[-1], expected.averages[-1], 1e-9)


def test_the_average_is_validated_and_kept(batches: Batches, tmp_path: Path) -> None:
    """Not the weights that are being trained, which go on untouched."""
    run = Run(batches, tmp_path, average=0.3, steps=30, validate_every=10)
    run.training.run()
    model = Words()
    expected = reference.train(model, plain_optimizers(model, run.training.config), batches, run.training.config)
    for place, validated in zip((9, 19, 29), run.validated, strict=True):
        same(validated, expected.averages[place])
        assert differ(validated, run.weights[place])
    same(weights(run.model), run.weights[-1])
    names = [name for name, _ in run.model.named_parameters()]
    kept = load_file(tmp_path / "best.safetensors")
    same([kept[name] for name in names], expected.averages[-1])
    run.training.take_best()
    same(weights(run.model), expected.averages[-1])
    assert not run.model.training


def test_an_average_over_a_growing_window_forgets_the_beginning(batches: Batches, tmp_path: Path) -> None:
    """The first weights, which know nothing, have no part in it; a window of a fixed size would not grow."""
    run = Run(batches, tmp_path, average=0.5, steps=40, validate_every=1, schedule="constant")
    run.training.run()
    by_hand = [torch.zeros_like(w) for w in run.weights[0]]
    for step, now in enumerate(run.weights):
        n = max(1.0, 0.5 * step)
        by_hand = [a + (w - a) / n for a, w in zip(by_hand, now, strict=True)]
        same(run.validated[step], by_hand)
    for step in (0, 1, 2):  # n = 1: the average is what was last trained
        same(run.validated[step], run.weights[step])


def test_without_an_average_the_weights_themselves_are_kept(batches: Batches, tmp_path: Path) -> None:
    run = Run(batches, tmp_path, average=0)
    run.training.run()
    same(run.validated[-1], run.weights[-1])
    run.training.take_best()
    same(weights(run.model), run.weights[-1])


# --- random numbers ---


def drawn(batches: Batches, folder: Path, **given: Any) -> list[list[float]]:
    """What each step draws, a number for every batch."""
    numbers: list[float] = []
    steps: list[list[float]] = []

    def objective(model: nn.Module, batch: Batch) -> Loss:
        numbers.append(torch.rand(()).item())
        return next_word(model, batch)

    def listen(event: Event) -> None:
        if event.kind == "step":
            steps.append(list(numbers))
            numbers.clear()

    Run(batches, folder, objective, listen, **given).training.run()
    return steps


def test_every_step_draws_anew_from_seed_and_step(batches: Batches, tmp_path: Path) -> None:
    first = drawn(batches, tmp_path / "a", steps=20)
    flat = [number for step in first for number in step]
    assert len(flat) == len(set(flat)) == 20
    assert drawn(batches, tmp_path / "b", steps=20) == first
    assert drawn(batches, tmp_path / "c", steps=10) == first[:10]
    other = drawn(batches, tmp_path / "d", steps=20, seed=2)
    assert not {number for step in other for number in step} & set(flat)


def test_accumulated_batches_draw_differently(batches: Batches, tmp_path: Path) -> None:
    steps = drawn(batches, tmp_path, steps=5, accumulate=3)
    assert all(len(step) == len(set(step)) == 3 for step in steps[:3])


def test_a_resumed_run_draws_what_the_uninterrupted_one_does(batches: Batches, tmp_path: Path) -> None:
    whole = drawn(batches, tmp_path / "whole", steps=20, schedule="constant")
    first = drawn(batches, tmp_path / "parts", steps=8, schedule="constant")
    second = drawn(batches, tmp_path / "parts", steps=20, schedule="constant")
    assert first + second == whole


# --- states that are carried from batch to batch ---


def test_what_is_carried_from_batch_to_batch_is_saved_and_restored(batches: Batches, tmp_path: Path) -> None:
    class Carrying(StatefulLoss):
        def __init__(self) -> None:
            super().__init__()
            self.found: list[int] = []

        def __call__(self, model: nn.Module, batch: Batch) -> Loss:
            self.found.append(int(self.carried["calls"]) if self.carried else 0)
            self.carried = {"calls": torch.tensor(self.found[-1] + 1)}
            return next_word(model, batch)

    found = []
    for steps in (2, 4):
        objective = Carrying()
        Run(batches, tmp_path, objective, steps=steps).training.run()
        found += objective.found
    assert found == [0, 1, 2, 3]


# --- sums and counts ---


def test_batches_of_any_size_make_the_same_step(tmp_path: Path) -> None:
    """Sums over sums of counts: a step over a whole epoch does not depend on how it was cut into batches."""
    ends = []
    for budget in (40, 90, 10_000):
        batches = corpus_of(tmp_path / str(budget), budget=budget)
        sizes = {len(rows) for rows in batches.epoch(0)}
        run = Run(batches, tmp_path / f"run{budget}", steps=1, accumulate=10_000, penalty=0.01, average=0)
        run.training.run()
        assert len(sizes) > 1 or budget == 10_000
        ends.append((run.of("loss"), run.weights[-1], run.of("tokens")))
    for loss, end, tokens in ends[1:]:
        assert loss == pytest.approx(ends[0][0])
        assert tokens == ends[0][2]
        same(end, ends[0][1])


def test_a_step_counts_the_tokens_of_its_batches(batches: Batches, tmp_path: Path) -> None:
    run = Run(batches, tmp_path, steps=5)
    run.training.run()
    expected = [batches.load(rows).tokens for rows in batches.epoch(0)[:5]]
    assert run.of("tokens") == expected
    assert run.training.progress.tokens == sum(expected)


def test_every_epoch_trains_on_its_own_order(batches: Batches, tmp_path: Path) -> None:
    """Batch after batch as `epoch(e)` has them, epoch after epoch; each batch is told how far the training is."""
    seen: list[tuple[list[int], float]] = []

    def objective(model: nn.Module, batch: Batch) -> Loss:
        assert batch.rows is not None
        seen.append((batch.rows.tolist(), batch.epoch))
        return next_word(model, batch)

    plans = [[rows.tolist() for rows in batches.epoch(epoch)] for epoch in range(3)]
    run = Run(
        batches,
        tmp_path,
        objective,
        epochs=3,
        steps=None,
    )
    run.training.run()
    assert [rows for rows, _ in seen] == [rows for plan in plans for rows in plan]
    assert [epoch for _, epoch in seen] == sorted(epoch for _, epoch in seen)
    assert (run.training.progress.epoch, run.training.progress.position) == (3, 0)


# --- resume ---


@pytest.mark.parametrize("kind", ["sgd", "adam", "adamw", "muon"])
def test_a_run_in_pieces_is_the_whole_run(kind: str, batches: Batches, tmp_path: Path) -> None:
    """Weights, average and optimiser state, to the last bit, wherever it is cut: also between epochs."""
    common: dict[str, Any] = {"optimizer": kind, "momentum": 0.9, "lr": 0.01, "schedule": "constant", "average": 0.3}
    whole = Run(batches, tmp_path / "whole", steps=25, **common)
    whole.training.run()
    for steps in (1, 7, len(batches.epoch(0)), 19, 25):
        part = Run(batches, tmp_path / "parts", steps=steps, **common)
        part.training.run()
    same(part.weights[-1], whole.weights[-1], 0.0)
    same(part.validated[-1], whole.validated[-1], 0.0)
    one, other = part.training.optimizers.state(), whole.training.optimizers.state()
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert part.training.progress.tokens == whole.training.progress.tokens


def test_a_stop_loses_no_step(batches: Batches, tmp_path: Path) -> None:
    """A signal between two steps: what is saved goes on as if nothing had been."""

    def listen(event: Event) -> None:
        if event.kind == "step" and event.figures["step"] == 6:
            os.kill(os.getpid(), signal.SIGTERM)

    common: dict[str, Any] = {"optimizer": "adamw", "lr": 0.01, "steps": 15}
    whole = Run(batches, tmp_path / "whole", **common)
    whole.training.run()
    part = Run(batches, tmp_path / "part", listen=listen, **common)
    with pytest.raises(Interrupted, match="step 6"):
        part.training.run()
    rest = Run(batches, tmp_path / "part", **common)
    rest.training.run()
    assert rest.of("step") == list(range(7, 16))
    same(rest.weights[-1], whole.weights[-1], 0.0)

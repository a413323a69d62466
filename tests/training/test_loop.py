"""The training loop: gradients, losses that are not finite, what it reports."""

from __future__ import annotations

import math
from pathlib import Path
from typing import ClassVar

import pytest
from torch import nn

from mirada.contracts import Batch, Loss, Rows, Validation
from mirada.data.batching import Batches
from mirada.errors import TrainingError
from tests.training.loop_parts import Mean, of, squared_error, training


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

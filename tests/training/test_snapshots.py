"""Snapshots of a model while it learns: when they are taken, which stay, and that a resumed run has the same."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mirada.data.batching import Batches
from mirada.errors import Interrupted, TrainingError
from mirada.training.loop import Training
from mirada.training.snapshots import MOST, Snapshots, due
from tests.training.loop_parts import Mean, training


def guess(model: nn.Module) -> Tensor:
    """What shows the model: its one number."""
    assert isinstance(model, Mean)
    return model.guess.detach().clone()[None]


def watched(batches: Batches, folder: Path, **config: Any) -> Training[nn.Module]:
    run, _ = training(batches, folder, model=Mean(), **config)
    run.snapshot = guess
    return run


def test_they_are_evenly_spaced_on_a_logarithmic_scale() -> None:
    assert [step for step in range(1000) if due(step)] == [0, 25, 35, 50, 71, 100, 141, 200, 283, 400, 566, 800]


def test_they_are_taken_before_training_and_while_it_runs_whatever_its_budget(batches: Batches, tmp_path: Path) -> None:
    run = watched(batches, tmp_path / "run", steps=60, validate_every=20, average=0.0)
    run.run()
    assert sorted(run.snapshots.taken) == [0, 25, 35, 50]
    values = [float(run.snapshots.taken[step]) for step in sorted(run.snapshots.taken)]
    assert values[0] == 0.0
    assert values == sorted(values)
    assert all(tensor.dtype == torch.float16 for tensor in run.snapshots.taken.values())


def test_they_show_the_averaged_weights(batches: Batches, tmp_path: Path) -> None:
    run = watched(batches, tmp_path / "run", steps=25, average=0.5)
    run.run()
    assert run.average is not None
    assert float(run.snapshots.taken[25]) == pytest.approx(float(run.average.tensors[0]), abs=0.002)
    assert abs(float(run.average.tensors[0]) - float(run.parameters[0].detach())) > 0.01


def test_training_is_the_same_with_and_without_them(batches: Batches, tmp_path: Path) -> None:
    def draw(model: nn.Module) -> Tensor:
        return torch.rand(3)

    def noisy(model: nn.Module, batch: object) -> object:
        loss = objective(model, batch)  # type: ignore[arg-type]
        return type(loss)(loss.total * (1 + torch.rand(())), loss.count)

    from tests.training.loop_parts import squared_error as objective

    found = []
    for name, hook in (("without", lambda model: None), ("with", draw)):
        run, _ = training(batches, tmp_path / name, objective=noisy, steps=60, validate_every=20)  # type: ignore[arg-type]
        run.snapshot = hook
        run.run()
        found.append(float(run.parameters[0].detach()))
    assert found[0] == found[1]
    assert run.snapshots.taken[25].shape == (3,)


def test_a_resumed_run_has_the_same(batches: Batches, tmp_path: Path) -> None:
    config: dict[str, Any] = {"steps": 120, "validate_every": 20, "checkpoint_every": 15}
    whole = watched(batches, tmp_path / "whole", **config)
    whole.run()
    interrupted = watched(batches, tmp_path / "stopped", **config)
    interrupted.listen = lambda event: interrupted.stop() if event.figures.get("step") == 52 else None
    with pytest.raises(Interrupted):
        interrupted.run()
    resumed = watched(batches, tmp_path / "stopped", **config)
    resumed.run()
    assert list(resumed.snapshots.taken) == list(whole.snapshots.taken)
    for step, tensor in whole.snapshots.taken.items():
        assert torch.equal(resumed.snapshots.taken[step], tensor)


def test_of_many_those_stay_that_are_evenly_spaced() -> None:
    some = Snapshots()
    for step in [0, 25, 50, *range(100, 20_001, 100)]:
        some.add(step, torch.tensor([step / 1e4]))
    steps = sorted(some.taken)
    assert len(steps) == MOST
    assert (steps[0], steps[-1]) == (0, 20_000)
    ratios = [(after + 25) / (before + 25) for before, after in pairwise(steps)]
    assert max(ratios[1:]) / min(ratios[1:]) < 2.5  # evenly on a logarithmic scale, as far as there were any
    assert float(some.taken[20_000]) == 2.0


def test_other_pictures_take_the_place_of_the_earlier_ones() -> None:
    some = Snapshots()
    some.add(0, torch.zeros(2))
    some.add(25, torch.zeros(3))
    assert list(some.taken) == [25]


@pytest.mark.parametrize(
    "tensors",
    [
        {"first": torch.zeros(2, dtype=torch.float16)},
        {"0" * 5000: torch.zeros(2, dtype=torch.float16)},
        {"00000200": torch.zeros(2, dtype=torch.float16)},
        {"00000000": torch.zeros(2)},
        {"00000000": torch.zeros(2, dtype=torch.float16), "00000025": torch.zeros(3, dtype=torch.float16)},
        {f"{step:08d}": torch.zeros(1, dtype=torch.float16) for step in range(MOST + 1)},
    ],
)
def test_snapshots_of_another_run_are_refused(tensors: dict[str, Tensor]) -> None:
    with pytest.raises(TrainingError, match="snapshots"):
        Snapshots().restore(tensors, 100)


def test_a_checkpoint_without_them_is_continued(batches: Batches, tmp_path: Path) -> None:
    first, _ = training(batches, tmp_path / "run", steps=30)
    first.run()
    again = watched(batches, tmp_path / "run", steps=60)
    again.run()
    assert min(again.snapshots.taken) > 30

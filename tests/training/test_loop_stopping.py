"""When the training loop stops, and how a stopped or finished run continues."""

from __future__ import annotations

import json
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from mirada.contracts import Validation
from mirada.data.batching import Batches
from mirada.errors import Interrupted, TrainingError
from mirada.training.loop import Training
from mirada.training.stopping import StopRequested, stop_requests
from tests.training.loop_parts import Mean, of, training


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


def test_a_run_that_stopped_early_stays_finished_until_its_limits_change(batches: Batches, tmp_path: Path) -> None:
    limits: dict[str, Any] = {"steps": 1000, "patience": 10, "validate_every": 5}
    first, _ = training(batches, tmp_path, scores=[3, *[1] * 9], **limits)
    assert first.run().step == 15
    again, events = training(batches, tmp_path, **limits)
    assert again.run().step == 15
    assert not [event for event in events if event.kind == "step"]
    raised, _ = training(batches, tmp_path, **{**limits, "steps": 1010})
    assert raised.run().step == 25


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


def test_a_stop_request_counts_only_during_a_validation(batches: Batches, tmp_path: Path) -> None:
    run, _ = training(batches, tmp_path, steps=3)
    run.check_stop()
    run.stop()
    run.check_stop()
    run.progress.validation_pending = True
    with pytest.raises(StopRequested):
        run.check_stop()


def test_a_handler_that_cannot_be_put_back_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has no name for one that was set in C, by a program that has Python inside."""
    before, stop = signal.getsignal(signal.SIGTERM), threading.Event()
    monkeypatch.setattr(signal, "getsignal", {signal.SIGINT: signal.default_int_handler}.get)
    with stop_requests(stop):
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(1)
    monkeypatch.undo()
    assert signal.getsignal(signal.SIGTERM) is before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

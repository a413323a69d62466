"""Two workers, as threads of one process, train the model that one worker does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
from torch import nn

from mirada.contracts import Validation
from mirada.data.batching import Batches
from mirada.errors import Interrupted
from mirada.training.config import TrainConfig
from mirada.training.loop import Event, Training
from mirada.training.workers import Workers
from tests.tensors import close
from tests.training.reference import Words, corpus_of, next_word

T = TypeVar("T")
SGD: dict[str, Any] = {"optimizer": "sgd", "lr": 0.3, "momentum": 0.9, "warmup": 5, "clip": 0.5, "penalty": 0.01}


class Threads(Workers):
    """Workers that meet at a barrier; what they exchange lies on a table between them."""

    def __init__(self, rank: int, barrier: threading.Barrier, table: list[Any]):
        self.rank, self.count, self.barrier, self.table = rank, barrier.parties, barrier, table

    def _exchange(self, value: Any) -> list[Any]:
        self.table[self.rank] = value
        self.barrier.wait(20)
        found = list(self.table)
        self.barrier.wait(20)
        return found

    def sum_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        for parameter in parameters:
            given = [gradient for gradient in self._exchange(parameter.grad) if gradient is not None]
            parameter.grad = torch.stack(given).sum(0) if given else None

    def sum(self, *values: float) -> tuple[float, ...]:
        return tuple(map(sum, zip(*self._exchange(values), strict=True)))

    def any(self, flag: bool) -> bool:
        return any(self._exchange(flag))

    def from_first(self, compute: Callable[[], T]) -> T:
        def tried() -> T | BaseException:
            try:
                return compute()
            except Exception as error:
                return error

        found: T | BaseException = self._exchange(tried() if self.first else None)[0]
        if isinstance(found, BaseException):
            raise found
        return found


class Run:
    """A training as one worker sees it."""

    def __init__(self, batches: Batches, folder: Path, workers: Workers, **given: Any):
        self.events: list[Event] = []
        self.validated = 0
        self.error: BaseException | None = None
        self.clock = given.pop("clock", lambda: 0.0)
        self.listen: Callable[[Event], None] = lambda event: None
        self.training: Training[nn.Module] = Training(
            Words(), next_word, batches, self._validate, TrainConfig.model_validate({**SGD, **given}), folder,
            torch.device("cpu"), self._hear, 0.0, workers, lambda: self.clock(),
        )  # fmt: skip

    def _validate(self, model: nn.Module, size: int) -> Validation:
        self.validated += 1
        return Validation(float(self.validated))

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        self.listen(event)

    def __call__(self) -> None:
        try:
            self.training.run()
        except BaseException as error:
            self.error = error

    def of(self, figure: str) -> list[float]:
        return [event.figures[figure] for event in self.events if event.kind == "step"]

    @property
    def weights(self) -> torch.Tensor:
        return torch.cat([parameter.detach().flatten() for parameter in self.training.model.parameters()])


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> Batches:
    return corpus_of(tmp_path_factory.mktemp("corpus"), sentences=58)


def two(batches: Batches, folder: Path, **given: Any) -> list[Run]:
    barrier, table = threading.Barrier(2), [None, None]
    for rank in range(2):
        (folder / str(rank)).mkdir(parents=True, exist_ok=True)
    return [Run(batches, folder / str(rank), Threads(rank, barrier, table), **given) for rank in range(2)]


def together(runs: list[Run]) -> None:
    threads = [threading.Thread(target=run, daemon=True) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_one_worker_takes_everything_and_waits_for_nobody() -> None:
    one = Workers()
    assert one.first
    assert one.share([3, 4, 5]) == [3, 4, 5]
    assert one.sum(1.5, 2) == (1.5, 2)
    assert (one.any(True), one.any(False)) == (True, False)
    assert one.from_first(lambda: "x") == "x"


def test_two_workers_make_the_steps_of_one_that_accumulates(batches: Batches, tmp_path: Path) -> None:
    """Gradients, losses, tokens and examples are summed; the last step of an odd epoch has a batch for one alone."""
    assert len(batches.epoch(0)) % 2 == 1
    runs = two(batches, tmp_path, steps=25, accumulate=1)
    together(runs)
    (tmp_path / "alone").mkdir()
    alone = Run(batches, tmp_path / "alone", Workers(), steps=25, accumulate=2)
    alone()
    assert [run.error for run in (*runs, alone)] == [None] * 3
    for run in runs:
        close(run.weights, alone.weights, 1e-12)
        assert run.of("loss") == pytest.approx(alone.of("loss"), rel=1e-12)
        assert run.of("norm") == pytest.approx(alone.of("norm"), rel=1e-10)
        assert run.of("tokens") == alone.of("tokens")
        assert run.training.interval == alone.training.interval
        one, other = run.training.progress, alone.training.progress
        assert (one.epoch, one.position, one.tokens) == (other.epoch, other.position, other.tokens)
        assert (one.best_score, one.best_step) == (other.best_score, other.best_step)
    assert torch.equal(runs[0].weights, runs[1].weights)


def test_only_the_first_worker_validates_and_writes(batches: Batches, tmp_path: Path) -> None:
    runs = two(batches, tmp_path, steps=10, validate_every=4)
    together(runs)
    assert [run.validated for run in runs] == [3, 0]
    assert (tmp_path / "0" / "best.safetensors").exists()
    assert len(list((tmp_path / "0" / "checkpoints").iterdir())) == 2
    assert list((tmp_path / "1").iterdir()) == []
    assert [run.training.progress.best_step for run in runs] == [10, 10]


def test_the_first_workers_clock_ends_the_run(batches: Batches, tmp_path: Path) -> None:
    """One clock advances by 0.02 seconds a step, the other stands still: both workers stop at the same step."""
    runs = two(batches, tmp_path, minutes=0.01)
    runs[0].clock = lambda: 0.02 * runs[0].training.progress.step
    together(runs)
    assert [run.error for run in runs] == [None, None]
    first, second = (run.training.progress for run in runs)
    assert first.finished
    assert second.finished
    assert first.step == second.step == 29  # 0.6 s × 0.96 in steps of 0.02 s
    assert first.seconds == second.seconds


def test_the_first_workers_clock_decides_on_checkpoints(batches: Batches, tmp_path: Path) -> None:
    """Half a minute a step by the first clock; the other is ahead of it and stands still."""
    runs = two(batches, tmp_path, steps=7)
    runs[0].clock = lambda: 30.0 * runs[0].training.progress.step
    runs[1].clock = lambda: 1e6
    together(runs)
    assert [run.error for run in runs] == [None, None]
    assert {path.stem for path in (tmp_path / "0" / "checkpoints").iterdir()} == {"step-00000006", "step-00000007"}


@pytest.mark.parametrize("asked", [0, 1])
def test_a_stop_request_to_one_worker_stops_both(asked: int, batches: Batches, tmp_path: Path) -> None:
    runs = two(batches, tmp_path, steps=20)

    def listen(event: Event) -> None:
        if event.kind == "step" and event.figures["step"] == 6:
            runs[asked].training.stop()

    runs[asked].listen = listen
    together(runs)
    for run in runs:
        assert isinstance(run.error, Interrupted)
        assert run.training.progress.step == 6
    assert (tmp_path / "0" / "checkpoints" / "step-00000006.safetensors").exists()


def test_workers_draw_different_random_numbers(batches: Batches, tmp_path: Path) -> None:
    """Or all would drop out the same units. Seeds are set one after the other here: threads share the generator."""

    class Other(Workers):
        rank = 1

    drawn = []
    for workers in (Workers(), Other()):
        run = Run(batches, tmp_path, workers, steps=1)
        run.training._gradients(batches.epoch(0)[:1])
        drawn.append(torch.rand(()).item())
    assert drawn[0] != drawn[1]

"""The training loop, for any model, loss and validation.

A step sums the gradients of the loss over `accumulate` batches, divides them by the number of terms, clips them and
updates the weights. Step n draws its random numbers from (seed, n) and its batches from (seed, epoch), so that a
resumed run equals an uninterrupted one.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from safetensors.torch import save
from torch import Tensor, nn

from mirada.bundle import put_weights, weights_of
from mirada.contracts import Loss, Plan, Rows, StatefulLoss, Validation
from mirada.errors import Interrupted, TrainingError
from mirada.files import write_bytes
from mirada.precision import arithmetic
from mirada.tensors import read_tensors
from mirada.training import checkpoints, snapshots, validation
from mirada.training.averaging import WeightAverage
from mirada.training.checkpoints import Progress
from mirada.training.config import LIMITS, TrainConfig, fixed
from mirada.training.optimizers import Optimizers, clip
from mirada.training.schedule import FINAL_SHARE, Budget, learning_rate, warmup
from mirada.training.stopping import StopRequested, stop_requests
from mirada.training.timing import Timing
from mirada.training.workers import Workers

Model = TypeVar("Model", bound=nn.Module)
Objective = Callable[[Model, Any], Loss]
"""A function from a model and a batch to the summed loss; a `StatefulLoss` carries a state from batch to batch."""
CHECKPOINT_SECONDS = 60.0
RANK_SEED = 2654435769
"""The distance between the seeds of workers; odd, since only the low 32 bits seed a generator."""
NON_FINITE_LIMIT = 25
"""Consecutive steps with non-finite numbers after which a run fails."""


@dataclass(frozen=True)
class Event:
    """Progress of a run, for a console or a log: `kind` is preparing, data, estimate, resumed, step, validation, note,
    end or timing."""

    kind: str
    figures: dict[str, Any]


Listener = Callable[[Event], None]


class Training(Generic[Model]):
    """A training run in a folder, which holds `checkpoints/` and `best.safetensors`."""

    def __init__(
        self,
        model: Model,
        objective: Objective[Model],
        batches: Plan[Any],
        validate: Callable[[Model, int], Validation],
        config: TrainConfig,
        folder: Path,
        device: torch.device,
        listen: Listener,
        started: float,
        workers: Workers | None = None,
        clock: Callable[[], float] = time.monotonic,
        snapshot: Callable[[Model], Tensor | None] = lambda model: None,
    ):
        self.model, self.objective, self.batches, self.validate = model, objective, batches, validate
        self.config, self.folder, self.device, self.listen = config, folder, device, listen
        self.workers, self.snapshot = workers or Workers(), snapshot
        self.snapshots = snapshots.Snapshots()
        self.optimizers = Optimizers(model, config)
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.average = WeightAverage(self.parameters, config.average) if config.average else None
        self.progress = Progress(corpus=batches.fingerprint)
        self.budget = Budget.of(config)
        self.timing = Timing(training=0.0, validation=0.0, checkpoints=0.0)
        self._clock = clock
        self._started = started  # when this session's seconds begin to count
        self._earlier = 0.0  # seconds of earlier sessions
        self._spent = 0.0  # share of the budget before the current step
        self._saved_step = -1
        self._non_finite = 0
        self._planned: tuple[int, Sequence[Rows]] | None = None  # an epoch and its batches
        self._stop = threading.Event()

    # ── the run ───────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self) -> Progress:
        """Train until the budget is spent or patience runs out; raises Interrupted after a stop request."""
        self._restore()
        p = self.progress
        p.seconds = self.workers.from_first(self._seconds)
        self._spent = self.spent
        with stop_requests(self._stop):
            if p.step == 0:
                self._take_snapshot()
            if p.validation_pending:  # a stop request interrupted it
                over = self._validate()
                self._checkpoint(over or self._spent >= 1.0)
            last_save = self._clock()
            for batches in self._remaining():
                with self.timing("training"):
                    self._step(batches)
                before, self._spent = self._spent, self.spent
                over = self._spent >= 1.0
                if snapshots.due(p.step):
                    self._take_snapshot()
                if over or validation.due(self.config, p, before, self._spent, self.interval):
                    over = self._validate() or over
                if over or self._stopping() or self._checkpoint_due(last_save):
                    self._checkpoint(over)
                    last_save = self._clock()
                if p.finished:
                    break
        return p

    def stop(self) -> None:
        """Ask the run to save a checkpoint and stop after the current step."""
        self._stop.set()

    def _stopping(self) -> bool:
        return self.workers.any(self._stop.is_set())

    def _checkpoint_due(self, last: float) -> bool:
        if self.config.checkpoint_every:
            return self.progress.step % self.config.checkpoint_every == 0
        return self.workers.from_first(lambda: self._clock() - last >= CHECKPOINT_SECONDS)

    def _checkpoint(self, over: bool) -> None:
        """Save a checkpoint that says whether the run is over, then obey a stop request."""
        p = self.progress
        p.finished = over and not p.validation_pending
        p.limits = self._limits() if p.finished else None
        with self.timing("checkpoints"):
            self._save()
        if self._stopping() and not p.finished:
            raise Interrupted(f"stopped at step {p.step}, everything is saved")

    def _limits(self) -> list[float | None]:
        """The settings that end a run; while they stay the same, a finished run stays finished."""
        return [getattr(self.config, name) for name in LIMITS]

    @property
    def epochs(self) -> float:
        """Passes over the data so far."""
        return self.progress.epoch + self.progress.position / len(self._plan(self.progress.epoch))

    @property
    def spent(self) -> float:
        """The share of the budget used so far."""
        return self.budget.spent(self.progress.step, self.epochs, self.progress.seconds)

    def _seconds(self) -> float:
        """Seconds of this run so far, over all sessions, by this worker's clock."""
        return self._earlier + self._clock() - self._started

    @property
    def _step_size(self) -> int:
        """Batches in a step, over all workers."""
        return self.config.accumulate * self.workers.count

    def _plan(self, epoch: int) -> Sequence[Rows]:
        """The batches of an epoch; the last epoch asked for is kept, since planning a large corpus takes a while."""
        if self._planned is None or self._planned[0] != epoch:
            self._planned = epoch, self.batches.epoch(epoch)
        return self._planned[1]

    def _remaining(self) -> Iterator[Sequence[Rows]]:
        """The batches of each step from here on, without end; `progress` is advanced before each of them."""
        p, size = self.progress, self._step_size
        while not p.finished:
            plan = self._plan(p.epoch)
            chosen = plan[p.position : p.position + size]
            p.position += len(chosen)
            if p.position >= len(plan):  # a checkpoint after the last step of an epoch points to the next one
                p.epoch, p.position = p.epoch + 1, 0
            yield chosen

    # ── one step ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _gradients(self, chosen: Sequence[Rows]) -> tuple[float, int, int]:
        """Sum the gradients of a step's batches over all workers, and return the summed loss, its terms, and tokens."""
        torch.manual_seed(self.config.seed * 1_000_003 + self.progress.step + self.workers.rank * RANK_SEED)
        self.model.train()
        self.progress.examples += sum(map(len, chosen))
        total, count, tokens = 0.0, 0, 0
        for rows in self.workers.share(chosen):
            batch = replace(self.batches.load(rows).to(self.device), epoch=self.epochs)
            with arithmetic(self.config.precision, self.device):
                loss = self.objective(self.model, batch)
            value = loss.total + loss.count * self._penalty()
            value.backward()
            total, count, tokens = total + value.item(), count + loss.count, tokens + batch.tokens
        self.workers.sum_gradients(self.parameters)
        total, *counts = self.workers.sum(total, count, tokens)
        return total, int(counts[0]), int(counts[1])

    def _penalty(self) -> Tensor | float:
        """λΣW² per summed term, so that the mean loss gets it once."""
        if not self.config.penalty:
            return 0.0
        squares = [parameter.square().sum() for parameter in self.parameters if parameter.ndim > 1]
        return self.config.penalty * torch.stack(squares).sum()

    def _step(self, chosen: Sequence[Rows]) -> None:
        p = self.progress
        rate = learning_rate(self.config, p.step, self._spent)
        total, count, tokens = self._gradients(chosen)
        norm = self._clip(count)
        if math.isfinite(total) and math.isfinite(norm):
            self.optimizers.step(rate)
            self._non_finite = 0
            if self.average is not None:
                self.average.update(p.step)
        else:
            self._skip(total, norm)
        for parameter in self.parameters:
            parameter.grad = None
        if warmup(self.config, p.step, self._spent) < 1.0:  # patience begins after the warm-up
            p.improved_step = p.step + 1
        p.step += 1
        p.tokens += tokens
        p.seconds = self.workers.from_first(self._seconds)
        figures = {"step": p.step, "epoch": self.epochs, "loss": total / max(1, count), "rate": rate, "norm": norm}
        figures |= {"tokens": tokens, "seconds": p.seconds, "spent": self.spent, "afterwards": self._afterwards()}
        self.listen(Event("step", figures))

    def _afterwards(self) -> float:
        """An estimate of the seconds that scoring and writing take after training."""
        minutes, p = self.config.minutes, self.progress
        return minutes * 60 * FINAL_SHARE if minutes else p.validation_seconds / max(1, p.validations)

    def _clip(self, count: int) -> float:
        """Divide the gradients by the number of terms and clip them; returns the norm before clipping."""
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        return clip(gradients, 1 / max(1, count), self.config.clip)

    def _skip(self, total: float, norm: float) -> None:
        """Skip a step whose loss or gradient is not finite; fail after too many in a row."""
        self._non_finite += 1
        self.progress.skipped += 1
        what = f"loss {total:.3g}, gradient norm {norm:.3g}"
        self._note(f"step {self.progress.step + 1} skipped: not finite ({what})")
        if self._non_finite >= NON_FINITE_LIMIT:
            raise TrainingError(
                f"{NON_FINITE_LIMIT} steps in a row had a loss or gradient that is not finite ({what}); try a lower "
                f"learning rate: --set train.lr={self.config.lr / 4:g}"
            )

    # ── validation ────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def interval(self) -> int:
        """Steps between validations without a budget."""
        return validation.interval(self.config, math.ceil(len(self._plan(0)) / self._step_size))

    @property
    def patience(self) -> int | None:
        """Steps without improvement after which the run ends."""
        return validation.patience(self.config, self.interval)

    def _validate(self) -> bool:
        """Validate, keep the weights if none scored better, and return whether patience has run out.

        A stop request meanwhile leaves the validation pending: it is the first thing that a resumed run does.
        """
        p = self.progress
        p.validation_pending = True
        try:
            found, size, seconds = self.workers.from_first(self._score)
        except StopRequested:
            return False
        best = p.add_validation(found, size, seconds)
        waited = p.step - p.improved_step
        figures = {"step": p.step, "score": found.value, "measure": found.measure, "best": best, "size": size}
        figures |= {"waited": waited, "patience": self.patience, "seconds": self._seconds(), **found.figures}
        self.listen(Event("validation", {**figures, "example": found.example}))
        return self.patience is not None and waited >= self.patience

    def _score(self) -> tuple[Validation, int, float]:
        """Score the averaged weights, and save them if they are the best; returns score, dev examples, and seconds."""
        began = self._clock()
        with self.timing("validation"), self._averaged():
            size = validation.size(self.config, self.progress, self._time_validation)
            found = self.validate(self.model, size)
            if self.progress.is_best(found.score):
                write_bytes(self.folder / "best.safetensors", save(weights_of(self.model)))
        return found, size, self._clock() - began

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """Give the model its averaged weights, which are validated and saved, if there are any."""
        with self.average.applied() if self.average else nullcontext():
            self.model.eval()
            yield

    def _take_snapshot(self) -> None:
        """Keep a snapshot of this step, unless there is one."""
        if self.workers.first and self.progress.step not in self.snapshots.taken:
            with self.timing("validation"), self._averaged():
                picture = self.snapshot(self.model)
            if picture is not None:
                self.snapshots.add(self.progress.step, picture)

    def _time_validation(self, size: int) -> float:
        began = self._clock()
        self.validate(self.model, size)
        return self._clock() - began

    def check_stop(self) -> None:
        """Raise StopRequested if a stop was requested: called by long work inside a validation."""
        if self._stop.is_set() and self.progress.validation_pending:
            raise StopRequested

    def take_best(self) -> None:
        """Leave the model with the weights that scored best."""
        if (self.folder / "best.safetensors").exists():
            best = read_tensors(self.folder / "best.safetensors", TrainingError)
            put_weights(self.model, best, str(self.folder / "best.safetensors"))
        elif self.average is not None:
            self.average.swap()
        self.model.eval()

    # ── checkpoints ───────────────────────────────────────────────────────────────────────────────────────────────

    def _weights(self) -> dict[str, Tensor]:
        """The trained weights and their averages, by their names in a checkpoint."""
        names = [name for name, parameter in self.model.named_parameters() if parameter.requires_grad]
        weights: dict[str, Tensor] = {f"model.{name}": p for name, p in zip(names, self.parameters, strict=True)}
        if self.average is not None:
            weights |= {f"average.{name}": a for name, a in zip(names, self.average.tensors, strict=True)}
        return weights

    def _save(self) -> None:
        if not self.workers.first or (self._saved_step == self.progress.step and not self.progress.finished):
            return
        tensors = self._weights()
        tensors |= {f"optimizer.{name}": value for name, value in self.optimizers.state().items()}
        if isinstance(self.objective, StatefulLoss):
            tensors |= {f"carried.{name}": value for name, value in self.objective.carried.items()}
        tensors |= {f"snapshot.{name}": value for name, value in self.snapshots.tensors().items()}
        checkpoints.save(self.folder / "checkpoints", self.progress, tensors)
        self._saved_step = self.progress.step

    def _restore(self) -> None:
        self.progress.settings = fixed(self.config, getattr(self.model, "config", None))
        found = checkpoints.load(self.folder / "checkpoints", self._note)
        if found is None:
            return
        progress, tensors = found
        if conflict := checkpoints.conflict(progress, self.progress):
            raise TrainingError(f"{self.folder}: {conflict}")
        if progress.position and progress.position >= len(self._plan(progress.epoch)):
            raise TrainingError(f"{self.folder}: the checkpoint of step {progress.step} does not fit the batches")
        progress.settings = self.progress.settings
        weights = self._weights()
        checkpoints.check_fit(weights, tensors, self.folder)
        with torch.no_grad():
            for name, weight in weights.items():
                weight.copy_(tensors[name])
        try:
            self.optimizers.restore(checkpoints.below("optimizer.", tensors))
            self.snapshots.restore(checkpoints.below("snapshot.", tensors), progress.step)
        except TrainingError as fault:
            raise TrainingError(f"{self.folder}: {fault}") from None
        if isinstance(self.objective, StatefulLoss):
            carried = {name: t.to(self.device) for name, t in checkpoints.below("carried.", tensors).items()}
            if not self.objective.fits(self.model, carried):
                raise TrainingError(f"{self.folder}: the checkpoint carries a state that is not this model's")
            self.objective.carried = carried
        self._earlier = progress.seconds
        self.progress, self._saved_step = progress, progress.step
        self._spent = self.spent
        if progress.finished and progress.limits != self._limits():  # a budget or patience was changed
            used_up = self._spent >= 1.0 if self.config.budgeted else progress.limits is None
            progress.finished, progress.improved_step = used_up, progress.step
        self.listen(Event("resumed", {"step": progress.step, "seconds": progress.seconds}))

    def _note(self, text: str) -> None:
        self.listen(Event("note", {"text": text, "seconds": self._seconds()}))

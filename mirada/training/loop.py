"""The training loop. It knows batches, an objective and a score, and no model.

One step: gradients of the summed loss over `accumulate` batches, divided by the number of things summed, clipped,
applied. Step n draws its random numbers from (seed, n) and its batches from (seed, epoch), so that a run that is
resumed anywhere is the run that was never interrupted.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from safetensors.torch import save
from torch import Tensor, nn

from mirada.bundle import put_weights, weights_of
from mirada.contracts import Loss, Plan, Rows, StatefulLoss, Validation
from mirada.errors import Interrupted, TrainingError
from mirada.files import write_bytes
from mirada.tensors import read_tensors
from mirada.training import checkpoints
from mirada.training.checkpoints import Progress
from mirada.training.config import FINAL_SHARE, Budget, TrainConfig, fixed, learning_rate, warmed_up
from mirada.training.optimizers import Optimizers, clip
from mirada.training.stopping import StopRequested, stop_requests
from mirada.training.timing import Timing

Model = TypeVar("Model", bound=nn.Module)
Objective = Callable[[Model, Any], Loss]
"""From a model and a batch to the sum of its losses; a `StatefulLoss` carries a state from batch to batch."""
CHECKPOINT_SECONDS = 60.0
VALIDATIONS = 10
"""In a budget, the first of which is skipped: a model that has just warmed up knows nothing."""
VALIDATION_SHARE = 0.06
"""The share of a budget in minutes that validations take at most."""
EXAMPLES_SHARE = 0.1
"""Dev examples in a validation, beside the training examples since the one before."""
PROBE = 32
"""Dev examples in the smallest validation, and in the one that tells what an example costs."""
PATIENCE = 8
"""Validations without improvement, after which a run without a budget ends."""
VALIDATE_EVERY = 100, 2000
"""The fewest and the most steps between validations where there is no budget."""
NON_FINITE_LIMIT = 25
"""Steps in a row with non-finite numbers, after which a run is given up."""


@dataclass(frozen=True)
class Event:
    """Something a person or a log may want to know: `kind` is preparing, data, forecast, resumed, step,
    validation, note, end or timing."""

    kind: str
    figures: dict[str, Any]


Listener = Callable[[Event], None]


class Training(Generic[Model]):
    """One run in a folder: `checkpoints/` and `best.safetensors`."""

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
    ):
        self.model, self.objective, self.batches, self.validate = model, objective, batches, validate
        self.config, self.folder, self.device, self.listen = config, folder, device, listen
        self.optimizers = Optimizers(model, config)
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.average = [parameter.detach().clone() for parameter in self.parameters] if config.average else None
        self.progress = Progress(corpus=batches.fingerprint)
        self.budget = Budget.of(config)
        self.timing = Timing(training=0.0, validation=0.0, checkpoints=0.0)
        self._clock = started  # when this session's seconds began to count
        self._earlier = 0.0  # seconds of earlier sessions
        self._spent = 0.0  # of the budget, before the step that is being done
        self._saved_step = -1
        self._non_finite = 0
        self._planned: tuple[int, Sequence[Rows]] | None = None  # an epoch and its batches
        self._stop = threading.Event()

    # ── the run ───────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self) -> Progress:
        """Train to the end of the budget, or until the score stops getting better; Interrupted when asked to stop."""
        self._restore()
        p = self.progress
        p.seconds = self._seconds()
        self._spent = self.spent
        with stop_requests(self._stop):
            if p.validation_pending:  # a stop request had interrupted it
                over = self._validate()
                self._checkpoint(over or self._spent >= 1.0)
            last_save = time.monotonic()
            for batches in self._remaining():
                with self.timing("training"):
                    self._step(batches)
                before, self._spent = self._spent, self.spent
                over = self._spent >= 1.0
                if over or self._validation_due(before):
                    over = self._validate() or over
                waited = time.monotonic() - last_save
                every = self.config.checkpoint_every
                if over or self._stop.is_set() or (p.step % every == 0 if every else waited >= CHECKPOINT_SECONDS):
                    self._checkpoint(over)
                    last_save = time.monotonic()
                if p.finished:
                    break
        return p

    def _checkpoint(self, over: bool) -> None:
        """Write a checkpoint that says whether the run is over; then stop if somebody asked for it."""
        p = self.progress
        p.finished = over and not p.validation_pending
        p.limits = self._limits() if p.finished else None
        with self.timing("checkpoints"):
            self._save()
        if self._stop.is_set() and not p.finished:
            raise Interrupted(f"stopped at step {p.step}, everything is saved")

    def _limits(self) -> list[float | None]:
        """What a run is ended by: when all of it is as it was, a finished run has nothing more to do."""
        c = self.config
        return [c.steps, c.epochs, c.minutes, c.patience]

    @property
    def epochs(self) -> float:
        """Passes over the data so far."""
        return self.progress.epoch + self.progress.position / len(self._plan(self.progress.epoch))

    @property
    def spent(self) -> float:
        """The share of the budget that is used up."""
        return self.budget.spent(self.progress.step, self.epochs, self.progress.seconds)

    def _seconds(self) -> float:
        return self._earlier + time.monotonic() - self._clock

    def _steps_in_epoch(self, epoch: int) -> int:
        return math.ceil(len(self._plan(epoch)) / self.config.accumulate)

    def _plan(self, epoch: int) -> Sequence[Rows]:
        """The batches of an epoch, planned once: a corpus may take a while."""
        if self._planned is None or self._planned[0] != epoch:
            self._planned = epoch, self.batches.epoch(epoch)
        return self._planned[1]

    def _remaining(self) -> Iterator[Sequence[Rows]]:
        """The batches of every step still to do, for ever; `progress` says where we are before each of them."""
        p, size = self.progress, self.config.accumulate
        while not p.finished:
            plan = self._plan(p.epoch)
            while p.position < len(plan):
                chosen = plan[p.position : p.position + size]
                p.position += len(chosen)
                if p.position >= len(plan):  # a checkpoint after the last step of an epoch points to the next one
                    p.epoch, p.position = p.epoch + 1, 0
                    yield chosen
                    break
                yield chosen

    # ── one step ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _gradients(self, chosen: Sequence[Rows]) -> tuple[float, int, int]:
        """Add up the gradients of the batches: summed loss, number of things summed, tokens."""
        torch.manual_seed(self.config.seed * 1_000_003 + self.progress.step)
        self.model.train()
        total, count, tokens = 0.0, 0, 0
        for rows in chosen:
            self.progress.examples += len(rows)
            batch = replace(self.batches.load(rows).to(self.device), epoch=self.epochs)
            loss = self.objective(self.model, batch)
            value = loss.total + loss.count * self._penalty()
            value.backward()
            total, count, tokens = total + value.item(), count + loss.count, tokens + batch.tokens
        return total, count, tokens

    def _penalty(self) -> Tensor | float:
        """λΣW², for every thing that is summed, so that it is λΣW² beside the mean."""
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
            self._update_average()
        else:
            self._survive(total, norm)
        self._clear_gradients()
        p.step += 1
        if warmed_up(self.config, p.step - 1, self._spent) < 1.0:  # patience begins when this has ended
            p.improved_step = p.step
        p.tokens += tokens
        p.seconds = self._seconds()
        self.listen(
            Event(
                "step",
                {
                    "step": p.step,
                    "epoch": self.epochs,
                    "loss": total / max(1, count),
                    "rate": rate,
                    "norm": norm,
                    "tokens": tokens,
                    "seconds": p.seconds,
                    "spent": self.spent,
                    "afterwards": self._afterwards(),
                },
            )
        )

    def _afterwards(self) -> float:
        """Seconds that scoring and writing will take when the training has ended, as far as one can tell."""
        minutes, p = self.config.minutes, self.progress
        return minutes * 60 * FINAL_SHARE if minutes else p.validation_seconds / max(1, p.validations)

    def _clip(self, count: int) -> float:
        """Turn the gradients of a sum into those of a mean, and clip them; their norm before that."""
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        return clip(gradients, 1 / max(1, count), self.config.clip)

    def _clear_gradients(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def _survive(self, total: float, norm: float) -> None:
        """Leave out a step whose loss or gradient is not a finite number; give up when it does not get better."""
        self._non_finite += 1
        self.progress.skipped += 1
        what = f"loss {total:.3g}, gradient norm {norm:.3g}"
        self._note(f"step {self.progress.step + 1} is left out: not a finite number ({what})")
        if self._non_finite >= NON_FINITE_LIMIT:
            raise TrainingError(
                f"{NON_FINITE_LIMIT} steps in a row gave numbers that are not finite ({what}); try a lower rate: "
                f"--set train.lr={self.config.lr / 4:g}"
            )

    def _update_average(self) -> None:
        """a ← a + (w − a) / n, where n is the given share of the steps so far: a window that grows with the run."""
        if self.average is not None:
            window = max(1.0, self.config.average * self.progress.step)
            torch._foreach_lerp_(self.average, [p.detach() for p in self.parameters], 1 / window)

    # ── before, between and after ─────────────────────────────────────────────────────────────────────────────────

    @property
    def interval(self) -> int:
        """Steps between validations where there is no budget: an epoch, but not too few or too many."""
        fewest, most = VALIDATE_EVERY
        return self.config.validate_every or max(fewest, min(most, self._steps_in_epoch(0)))

    @property
    def patience(self) -> int | None:
        """Steps without improvement after which the run ends."""
        return self.config.patience or (None if self.config.budgeted else PATIENCE * self.interval)

    def _validation_due(self, before: float) -> bool:
        """After every tenth of the budget but the first (`before` is what was spent before this step), if validations
        have not taken too much of the time already; without a budget after every `interval` steps."""
        p = self.progress
        if self.config.validate_every:
            return p.step % self.config.validate_every == 0
        if warmed_up(self.config, p.step, self._spent) < 1.0:
            return False
        if not self.config.budgeted:
            return p.step % self.interval == 0
        due = int(VALIDATIONS * self._spent) > max(1, int(VALIDATIONS * before))
        return due and (
            self.budget.seconds is None or p.validation_seconds <= VALIDATION_SHARE * self._spent * self.budget.seconds
        )

    def _validate(self) -> bool:
        """Score the averaged weights and keep them if none were better; True when it is time to end.

        A stop request meanwhile leaves the validation pending: it is the first thing that a resumed run does.
        """
        p = self.progress
        p.validation_pending = True
        began = time.monotonic()
        try:
            with self.timing("validation"), self.averaged():
                self.model.eval()
                size = self._validation_size()
                found = self.validate(self.model, size)
                better = math.isfinite(found.score) and (p.best_score is None or found.score >= p.best_score)
                if better:
                    write_bytes(self.folder / "best.safetensors", save(weights_of(self.model)))
        except StopRequested:
            return False
        improved = better and found.score != p.best_score
        loss = found.figures.get("loss")
        if loss is not None and math.isfinite(loss) and (p.best_loss is None or loss < p.best_loss):
            p.best_loss, improved = loss, True
        if better:
            p.best_score, p.best_step = found.score, p.step
        if improved:
            p.improved_step = p.step
        p.validation_pending, p.validation_size, p.examples = False, size, 0
        p.validation_seconds += time.monotonic() - began
        p.validations += 1
        waited = p.step - p.improved_step
        figures = {"step": p.step, "score": found.value, "measure": found.measure, "best": better, "size": size}
        figures |= {"waited": waited, "patience": self.patience, "seconds": self._seconds(), **found.figures}
        self.listen(Event("validation", {**figures, "example": found.example}))
        return self.patience is not None and waited >= self.patience

    def _validation_size(self) -> int:
        """How many dev examples to use: decided at the first validation, so that all scores can be compared.

        By the training examples seen so far, which can be repeated to the bit; with a budget in minutes also by the
        time that a small validation takes.
        """
        p, most = self.progress, self.config.validate_sentences
        if p.validation_size:
            return p.validation_size
        size = min(most, max(PROBE, int(EXAMPLES_SHARE * p.examples)))
        if self.budget.seconds is not None and size > PROBE:
            began = time.monotonic()
            self.validate(self.model, PROBE)
            allowed = VALIDATION_SHARE * self.budget.seconds / VALIDATIONS
            size = min(size, max(PROBE, int(PROBE * allowed / max(1e-9, time.monotonic() - began))))
        return size

    def check_stop(self) -> None:
        """Raise StopRequested if somebody asked the run to stop: for long work inside a validation."""
        if self._stop.is_set() and self.progress.validation_pending:
            raise StopRequested

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """The model with its averaged weights, inside."""
        if self.average is None:
            yield
            return
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        assert self.average is not None
        for index, parameter in enumerate(self.parameters):
            parameter.data, self.average[index] = self.average[index], parameter.data

    def take_best(self) -> None:
        """Leave the model with the weights that scored best."""
        if (self.folder / "best.safetensors").exists():
            best = read_tensors(self.folder / "best.safetensors", TrainingError)
            put_weights(self.model, best, str(self.folder / "best.safetensors"))
        elif self.average is not None:
            self._swap()
        self.model.eval()

    # ── checkpoints ───────────────────────────────────────────────────────────────────────────────────────────────

    def _save(self) -> None:
        if self._saved_step == self.progress.step and not self.progress.finished:
            return
        names = [name for name, parameter in self.model.named_parameters() if parameter.requires_grad]
        tensors: dict[str, Tensor] = {f"model.{name}": p for name, p in zip(names, self.parameters, strict=True)}
        if self.average is not None:
            tensors |= {f"average.{name}": a for name, a in zip(names, self.average, strict=True)}
        tensors |= {f"optimizer.{name}": value for name, value in self.optimizers.state().items()}
        if isinstance(self.objective, StatefulLoss):
            tensors |= {f"carried.{name}": value for name, value in self.objective.carried.items()}
        checkpoints.save(self.folder / "checkpoints", self.progress, tensors)
        self._saved_step = self.progress.step

    def _restore(self) -> None:
        self.progress.settings = fixed(self.config, getattr(self.model, "config", None))
        found = checkpoints.load(self.folder / "checkpoints", self._note)
        if found is None:
            return
        progress, tensors = found
        if progress.corpus != self.progress.corpus:
            raise TrainingError(
                f"{self.folder}: the checkpoints were trained on other data than the corpus beside them"
            )
        if change := checkpoints.changed(progress.settings, self.progress.settings):
            raise TrainingError(f"{self.folder}: {change}: set it back in config.yaml, or start a new run")
        if progress.position and progress.position >= len(self._plan(progress.epoch)):
            raise TrainingError(f"{self.folder}: the checkpoint of step {progress.step} is of other batches")
        progress.settings = self.progress.settings
        names = [name for name, parameter in self.model.named_parameters() if parameter.requires_grad]
        kept = {f"model.{name}": p for name, p in zip(names, self.parameters, strict=True)}
        if self.average is not None:
            kept |= {f"average.{name}": p for name, p in zip(names, self.parameters, strict=True)}
        checkpoints.check_fit(kept, tensors, self.folder)
        with torch.no_grad():
            for index, (name, parameter) in enumerate(zip(names, self.parameters, strict=True)):
                parameter.copy_(tensors[f"model.{name}"])
                if self.average is not None:
                    self.average[index].copy_(tensors[f"average.{name}"])
        try:
            self.optimizers.restore(checkpoints.below("optimizer.", tensors))
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
        if progress.finished and progress.limits != self._limits():  # a budget or patience that has changed since
            used_up = self._spent >= 1.0 if self.config.budgeted else progress.limits is None
            progress.finished, progress.improved_step = used_up, progress.step
        self.listen(Event("resumed", {"step": progress.step, "seconds": progress.seconds}))

    def _note(self, text: str) -> None:
        self.listen(Event("note", {"text": text, "seconds": self._seconds()}))

"""When to validate, on how many dev examples, and how long to wait for an improvement."""

from __future__ import annotations

from collections.abc import Callable

from mirada.training.checkpoints import Progress
from mirada.training.config import TrainConfig
from mirada.training.schedule import Budget, warmup

VALIDATIONS = 10
"""The number of intervals that a budget is divided into; there is no validation after the first one."""
VALIDATION_SHARE = 0.06
"""The share of a budget in minutes that validations take at most."""
EXAMPLES_SHARE = 0.1
"""Dev examples in a validation per training example since the one before."""
PROBE = 32
"""Dev examples in the smallest validation, and in the one that measures the time per example."""
PATIENCE = 8
"""Validations without improvement after which a run without a budget ends."""
VALIDATE_EVERY = 100, 2000
"""The minimum and maximum number of steps between validations without a budget."""


def interval(config: TrainConfig, steps_in_epoch: int) -> int:
    """Steps between validations without a budget: an epoch, within `VALIDATE_EVERY`."""
    fewest, most = VALIDATE_EVERY
    return config.validate_every or max(fewest, min(most, steps_in_epoch))


def patience(config: TrainConfig, every: int) -> int | None:
    """Steps without improvement after which a run ends, where `every` is the interval between validations."""
    return config.patience or (None if config.budgeted else PATIENCE * every)


def due(config: TrainConfig, progress: Progress, before: float, spent: float, every: int) -> bool:
    """Whether to validate now, after a step during which the share of the budget spent rose from `before` to `spent`.

    With a budget, after every tenth of it but the first, unless earlier validations have used up their share of the
    time; without one, every `every` steps. Never during the warm-up, unless `train.validate_every` is set.
    """
    if config.validate_every:
        return progress.step % config.validate_every == 0
    if warmup(config, progress.step, spent) < 1.0:
        return False
    if not config.budgeted:
        return progress.step % every == 0
    seconds = Budget.of(config).seconds
    in_time = seconds is None or progress.validation_seconds <= VALIDATION_SHARE * spent * seconds
    return in_time and int(VALIDATIONS * spent) > max(1, int(VALIDATIONS * before))


def size(config: TrainConfig, progress: Progress, measure: Callable[[int], float]) -> int:
    """The number of dev examples per validation, decided at the first one so that all scores are comparable.

    It depends on the number of training examples seen so far, which makes runs reproducible. With a budget in minutes
    it also depends on `measure`, the seconds that a validation on so many examples takes.
    """
    if progress.validation_size:
        return progress.validation_size
    found = min(config.validate_sentences, max(PROBE, int(EXAMPLES_SHARE * progress.examples)))
    seconds = Budget.of(config).seconds
    if seconds is not None and found > PROBE:
        allowed = VALIDATION_SHARE * seconds / VALIDATIONS
        found = min(found, max(PROBE, int(PROBE * allowed / max(1e-9, measure(PROBE)))))
    return found

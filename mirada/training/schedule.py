"""The budget of a run, its warm-up and its learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sqrt

from mirada.training.config import TrainConfig

FINAL_SHARE = 0.04
"""The share of a budget in minutes that is reserved for final scoring and writing the bundle."""
WARMUP_SHARE = 0.1
"""The share of the budget that the warm-up takes at most."""


@dataclass(frozen=True)
class Budget:
    """The limits of a training run; the first one reached ends it."""

    steps: int | None
    epochs: int | None
    seconds: float | None

    @classmethod
    def of(cls, config: TrainConfig) -> Budget:
        """The budget for training itself, without the time reserved for final scoring."""
        seconds = config.minutes * 60 * (1 - FINAL_SHARE) if config.minutes else None
        return cls(config.steps, config.epochs, seconds)

    def spent(self, steps: int, epochs: float, seconds: float) -> float:
        """The share of the budget used so far, from 0 to 1; always 0 without a budget."""
        used = ((steps, self.steps), (epochs, self.epochs), (seconds, self.seconds))
        return min(1.0, max((amount / limit for amount, limit in used if limit), default=0.0))


def warmup(config: TrainConfig, step: int, spent: float) -> float:
    """The share of the warm-up that is done before a step (counted from 0), from 0 to 1.

    It lasts `train.warmup` steps, or a tenth of the budget if that is shorter.
    """
    risen = min(1.0, step / config.warmup) if config.warmup else 1.0
    return max(risen, min(1.0, spent / WARMUP_SHARE)) if config.budgeted else risen


def learning_rate(config: TrainConfig, step: int, spent: float) -> float:
    """The learning rate of a step (counted from 0): the warm-up times a decay.

    linear        1 − s                    s the share of the budget that is spent
    cosine        (1 + cos πs) / 2
    inverse_sqrt  √(warmup / step)         Vaswani et al. 2017, §5.3
    constant      1
    """
    schedule = config.schedule
    if schedule == "auto":
        schedule = "linear" if config.budgeted else "inverse_sqrt"
    if schedule == "linear":
        decay = 1 - spent
    elif schedule == "cosine":
        decay = (1 + cos(pi * spent)) / 2
    elif schedule == "inverse_sqrt":
        decay = sqrt(max(1, config.warmup) / max(1, config.warmup, step + 1))
    else:
        decay = 1.0
    return config.lr * warmup(config, step + 1, spent) * decay

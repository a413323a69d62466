"""The settings of training, and the budget that ends it."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sqrt
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from mirada.config import Section

BATCH_TOKENS = 4000
"""In a batch, where nothing says otherwise and there is enough data."""


Decay = Annotated[float, Field(ge=0, lt=1)]


class TrainConfig(Section):
    """How a model is trained; the defaults suit a CPU."""

    optimizer: Literal["muon", "adamw", "adam", "sgd"] = "muon"
    """Muon learned fastest in short trials; the others are there for comparison, and for papers' recipes."""
    lr: float = Field(8e-3, gt=0, allow_inf_nan=False)
    """The highest learning rate, reached after the warm-up."""
    betas: tuple[Decay, Decay] = (0.9, 0.98)
    """Adam's decay rates of the first and second moment."""
    momentum: float = Field(0.9, ge=0, lt=1)
    """Of SGD."""
    weight_decay: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Shrinks matrices a little at every step, apart from the loss (AdamW, Muon)."""
    penalty: float = Field(0.0, ge=0, allow_inf_nan=False)
    """λ in loss + λΣW², over all matrices: large weights cost."""
    schedule: Literal["auto", "linear", "cosine", "inverse_sqrt", "constant"] = "auto"
    """How the rate falls. `auto`: linear to zero at the end of the budget, 1/√step when there is no budget."""
    warmup: int = Field(100, ge=0)
    """Steps in which the rate rises (a tenth of the budget at most)."""
    batch_tokens: int | None = Field(BATCH_TOKENS, ge=16)
    """Tokens in a batch, both sides and padding counted. null, as when a base is taught to classify or tag: by the size
    of the data, from 500 for a few texts to 4,000, so that an epoch has some 40 steps at least."""
    accumulate: int = Field(1, ge=1)
    """Batches whose gradients are added up for one step."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    clip: float = Field(1.0, ge=0, allow_inf_nan=False)
    """The largest norm of the gradient; 0 does not clip."""
    average: float = Field(0.02, ge=0, lt=1)
    """Keep a running average of the weights over this share of the steps so far, and score and save that; 0 is off."""
    base: str | None = None
    """The bundle to go on from, if any (`--base`)."""
    minutes: float | None = Field(None, gt=0, allow_inf_nan=False)
    epochs: int | None = Field(None, ge=1)
    steps: int | None = Field(None, ge=1)
    patience: int | None = Field(None, ge=1)
    """Stop after so many validations without a better score (8 when there is no budget, else never)."""
    validate_every: int | None = Field(None, ge=1)
    """Steps between validations; unless given, a tenth of the budget, or an epoch (2,000 steps at most)."""
    validate_sentences: int = Field(400, ge=1)
    """Dev examples that a validation looks at while training; the final scores use up to 2,000."""
    checkpoint_every: int | None = Field(None, ge=1)
    """Steps between checkpoints; unless given, about a minute."""
    seed: int = Field(1, ge=0, lt=2**32)
    threads: int | None = Field(None, ge=1, le=1024)
    """Unless given, one a core."""
    device: str = "auto"

    @model_validator(mode="after")
    def _decay_needs_an_end(self) -> TrainConfig:
        if self.schedule in ("linear", "cosine") and not self.budgeted:
            raise ValueError(
                f"train.schedule={self.schedule} falls to zero at the end of a budget: "
                "give train.minutes, train.epochs or train.steps"
            )
        return self

    @property
    def budgeted(self) -> bool:
        return any(limit is not None for limit in (self.minutes, self.epochs, self.steps))


MAY_CHANGE = ("minutes", "epochs", "steps", "threads", "device", "checkpoint_every", "patience", "validate_every")
"""Of a run that is resumed; all else would make it another run."""


def fixed(config: TrainConfig, model: object) -> dict[str, Any]:
    """The settings of training and model that may not change while a run goes on, by name; `base` is copied."""
    sections = {"train": config, "model": model}
    return {
        f"{name}.{key}": value
        for name, section in sections.items()
        if isinstance(section, Section)
        for key, value in section.model_dump(mode="json").items()
        if name != "train" or key not in (*MAY_CHANGE, "base")
    }


@dataclass(frozen=True)
class Budget:
    """What a training may spend; whatever is used up first ends it."""

    steps: int | None
    epochs: int | None
    seconds: float | None

    @classmethod
    def of(cls, config: TrainConfig) -> Budget:
        return cls(config.steps, config.epochs, config.minutes * 60 if config.minutes else None)

    def spent(self, steps: int, epochs: float, seconds: float) -> float:
        """How far a training is, from 0 to 1; always 0 when it has no budget."""
        used = ((steps, self.steps), (epochs, self.epochs), (seconds, self.seconds))
        return min(1.0, max(amount / limit if limit else 0.0 for amount, limit in used))


def suggest_batch(corpus_tokens: int) -> int:
    """Tokens in a batch: small ones for small data, which would else be learned from in a handful of steps."""
    return max(500, min(BATCH_TOKENS, corpus_tokens // 40))


ASSUMED_SPEED = 4000
"""Tokens a second on a small machine: enough to guess how many epochs a budget in minutes holds."""


def suggest_dropout(config: TrainConfig, corpus_tokens: int) -> float:
    """None while the data is new to the model, more the more often it is seen again."""
    batch = config.batch_tokens or suggest_batch(corpus_tokens)
    guesses = [
        config.epochs,
        config.steps and config.steps * batch * config.accumulate / corpus_tokens,
        config.minutes and config.minutes * 60 * ASSUMED_SPEED / corpus_tokens,
    ]
    epochs = min((guess for guess in guesses if guess), default=float("inf"))
    return 0.0 if epochs <= 4 else 0.1 if epochs <= 15 else 0.2


def learning_rate(config: TrainConfig, step: int, spent: float) -> float:
    """The rate of a step (counted from 0): a rise over the warm-up, times a fall.

    linear        1 − s                    s the share of the budget that is spent
    cosine        (1 + cos πs) / 2
    inverse_sqrt  √(warmup / step)         Vaswani et al. 2017, §5.3
    """
    rise = min(1.0, (step + 1) / config.warmup) if config.warmup else 1.0
    if config.budgeted:
        rise = max(rise, min(1.0, 10 * spent))  # a short budget is not all warm-up
    schedule = config.schedule
    if schedule == "auto":
        schedule = "linear" if config.budgeted else "inverse_sqrt"
    if schedule == "linear":
        fall = 1 - spent
    elif schedule == "cosine":
        fall = (1 + cos(pi * spent)) / 2
    elif schedule == "inverse_sqrt":
        fall = sqrt(max(1, config.warmup) / max(1, config.warmup, step + 1))
    else:
        fall = 1.0
    return config.lr * rise * fall

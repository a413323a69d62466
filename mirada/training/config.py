"""The settings of training."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from mirada.config import Section
from mirada.precision import Precision

LIMITS = ("steps", "epochs", "minutes", "patience")
"""The settings that end a run; a finished run continues when one of them changes."""

Decay = Annotated[float, Field(ge=0, lt=1)]


class TrainConfig(Section):
    """How a model is trained; the defaults suit a CPU."""

    optimizer: Literal["muon", "adamw", "adam", "sgd"] = "muon"
    """The optimizer; `muon` updates hidden matrices with Muon and everything else with AdamW."""
    lr: float = Field(8e-3, gt=0, le=1e6)
    """The peak learning rate, reached after the warm-up."""
    betas: tuple[Decay, Decay] = (0.9, 0.98)
    """Decay rates of Adam's first and second moment estimates."""
    momentum: float = Field(0.9, ge=0, lt=1)
    """Momentum of SGD."""
    weight_decay: float = Field(0.0, ge=0, le=1e6)
    """Weight decay; with AdamW and Muon, decoupled from the loss and on matrices only."""
    penalty: float = Field(0.0, ge=0, le=1e6)
    """L2 penalty: λ in loss + λΣW², summed over all matrices."""
    schedule: Literal["auto", "linear", "cosine", "inverse_sqrt", "constant"] = "auto"
    """Decay of the learning rate. `auto`: linear to zero at the end of the budget, 1/√step without a budget."""
    warmup: int = Field(100, ge=0)
    """Warm-up steps, at most a tenth of the budget."""
    preset: str | None = None
    """Preset for the model size. `auto`: the largest that sees enough data within the budget."""
    batch_tokens: int | None = Field(None, ge=16)
    """Tokens per batch, including padding and both sides. Default: as many as give at least about 40 steps per epoch,
    and about 1,000 (translation: 2,000) within a budget in minutes."""
    max_batch_tokens: int = Field(4000, ge=16)
    """Maximum tokens per batch if `batch_tokens` is not set."""
    accumulate: int = Field(1, ge=1)
    """Batches per step: their gradients are accumulated."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Label smoothing: the probability spread evenly over all classes or tokens."""
    clip: float = Field(1.0, ge=0, le=1e9)
    """Gradient clipping: maximum norm of the gradient; 0 turns it off."""
    average: float = Field(0.02, ge=0, lt=1)
    """Weight averaging: validate and save a running average over this share of the steps so far; 0 turns it off."""
    base: str | None = None
    """The bundle to fine-tune (`--base`)."""
    minutes: float | None = Field(None, gt=0, le=1e7)
    """Budget in minutes for the whole command, including preparation and scoring."""
    epochs: int | None = Field(None, ge=1)
    """Budget in epochs."""
    steps: int | None = Field(None, ge=1)
    """Budget in steps."""
    patience: int | None = Field(None, ge=1)
    """Early stopping: steps without a better dev score or dev loss, counted from the end of the warm-up. Default: eight
    validations without a budget, off with one."""
    validate_every: int | None = Field(None, ge=1)
    """Steps between validations. Default: a tenth of the budget, or an epoch (100 to 2,000 steps), and none during the
    warm-up."""
    validate_sentences: int = Field(400, ge=1)
    """Maximum dev examples per validation, evenly sampled; fewer if they would take over a tenth of the time."""
    final_sentences: int | None = Field(None, ge=1)
    """Dev examples for the final scores. Default: all (up to 2,000 sentence pairs), or an even sample if a budget in
    minutes leaves no time for all."""
    checkpoint_every: int | None = Field(None, ge=1)
    """Steps between checkpoints. Default: about one checkpoint per minute."""
    seed: int = Field(1, ge=0, lt=2**32)
    """Random seed for the initial weights, the order of batches and dropout."""
    threads: int | None = Field(None, ge=1, le=1024)
    """CPU threads. Default: the number that is fastest when training starts, since other programs may be using
    cores."""
    precision: Precision = "auto"
    """Precision of matrix products: `float32`, or `bfloat16` with float32 weights; `auto` uses bfloat16 if a trial
    shows that it is faster on this machine."""
    device: str = "auto"
    """The device: `cpu`, `cuda`, `mps` or `auto`."""

    @model_validator(mode="after")
    def _decay_needs_an_end(self) -> TrainConfig:
        if self.schedule in ("linear", "cosine") and not self.budgeted:
            raise ValueError(
                f"train.schedule={self.schedule} decays to zero at the end of a budget: "
                "give train.minutes, train.epochs or train.steps"
            )
        return self

    @property
    def budgeted(self) -> bool:
        return any(limit is not None for limit in (self.minutes, self.epochs, self.steps))


MAY_CHANGE = (
    *("minutes", "epochs", "steps", "patience", "validate_every"),
    *("final_sentences", "checkpoint_every", "threads", "device"),
)
"""Settings that may change when a run is resumed."""


def fixed(config: TrainConfig, model: object) -> dict[str, Any]:
    """The settings of training and model that may not change when a run is resumed, by name."""
    sections = {"train": config, "model": model}
    return {
        f"{name}.{key}": value
        for name, section in sections.items()
        if isinstance(section, Section)
        for key, value in section.model_dump(mode="json").items()
        if name != "train" or key not in (*MAY_CHANGE, "base")
    }

"""The settings of training, and the budget that ends it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from mirada.config import Section

LIMITS = ("steps", "epochs", "minutes", "patience")
"""The settings that end a run; a finished run continues when one of them changes."""

Decay = Annotated[float, Field(ge=0, lt=1)]


class TrainConfig(Section):
    """How a model is trained; the defaults suit a CPU."""

    optimizer: Literal["muon", "adamw", "adam", "sgd"] = "muon"
    """Muon learned fastest in short trials; the others are there for comparison, and for papers' recipes."""
    lr: float = Field(8e-3, gt=0)
    """The highest learning rate, reached after the warm-up."""
    betas: tuple[Decay, Decay] = (0.9, 0.98)
    """Adam's decay rates of the first and second moment."""
    momentum: float = Field(0.9, ge=0, lt=1)
    """Of SGD."""
    weight_decay: float = Field(0.0, ge=0)
    """Shrinks matrices a little at every step, apart from the loss (AdamW, Muon)."""
    penalty: float = Field(0.0, ge=0)
    """λ in loss + λΣW², over all matrices: large weights cost."""
    schedule: Literal["auto", "linear", "cosine", "inverse_sqrt", "constant"] = "auto"
    """How the rate falls. `auto`: linear to zero at the end of the budget, 1/√step when there is no budget."""
    warmup: int = Field(100, ge=0)
    """Steps in which the rate rises (a tenth of the budget at most)."""
    preset: str | None = None
    """Where the model's sizes come from. `auto`: tiny or small, whichever learns more in the given minutes."""
    batch_tokens: int | None = Field(None, ge=16)
    """Tokens in a batch, both sides and padding counted. Unless given: small for little data, so that an epoch has some
    40 steps, and for a short budget, so that it has some 1,000."""
    max_batch_tokens: int = Field(4000, ge=16)
    """The most tokens in a batch whose size is not given."""
    accumulate: int = Field(1, ge=1)
    """Batches whose gradients are added up for one step."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    clip: float = Field(1.0, ge=0)
    """The largest norm of the gradient; 0 does not clip."""
    average: float = Field(0.02, ge=0, lt=1)
    """Keep a running average of the weights over this share of the steps so far, and score and save that; 0 is off."""
    base: str | None = None
    """The bundle to go on from, if any (`--base`)."""
    minutes: float | None = Field(None, gt=0)
    epochs: int | None = Field(None, ge=1)
    steps: int | None = Field(None, ge=1)
    patience: int | None = Field(None, ge=1)
    """Stop after so many steps without a better dev score or dev loss, counted from the end of the warm-up. Unless
    given: eight validations when there is no budget, else never."""
    validate_every: int | None = Field(None, ge=1)
    """Steps between validations. Unless given: a tenth of the budget, or an epoch (from 100 to 2,000 steps), and none
    before the warm-up has ended."""
    validate_sentences: int = Field(400, ge=1)
    """The most dev examples that a validation uses, evenly sampled; fewer where they would take over a tenth of the
    time."""
    final_sentences: int | None = Field(None, ge=1)
    """Dev examples that the final scores are computed on. Unless given: all (up to 2,000 sentence pairs), but evenly
    sampled where a budget in minutes has no time for all."""
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


MAY_CHANGE = (
    *("minutes", "epochs", "steps", "patience", "validate_every"),
    *("final_sentences", "checkpoint_every", "threads", "device"),
)
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

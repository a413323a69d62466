"""A model: the mean of the embeddings, h = 1/T Σ E[x_t]."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from mirada.config import Section, Values
from mirada.contracts import SequenceBatch, SequenceEncoder, Sizes
from mirada.models.architecture import Architecture, Variant


class MeanConfig(Section):
    """Sizes of the model."""

    name: Literal["mean"] = "mean"
    width: int = Field(32, ge=1)
    """Width of the embeddings."""
    max_length: int = Field(512, ge=4)
    """Tokens of the longest sequence."""


class Mean(SequenceEncoder):
    """The mean of the embeddings of a sequence; a vector for every step is the step's own."""

    def __init__(self, config: MeanConfig, sizes: Sizes):
        super().__init__()
        self.embedding = nn.Embedding(sizes.inputs, config.width)
        self.output = nn.Linear(config.width, sizes.outputs)
        self.name_parts()

    def encode(self, batch: SequenceBatch) -> Tensor:
        vectors: Tensor = self.embedding(batch.inputs)
        return vectors  # [B, T, D]

    def pool(self, batch: SequenceBatch) -> Tensor:
        h = self.encode(batch).masked_fill(~batch.mask[..., None], 0.0)
        return h.sum(1) / batch.lengths[:, None]  # [B, D]


PRESETS: dict[str, Values] = {"tiny": {"model": {"width": 16}}, "small": {"model": {"width": 32}}}
_VARIANT = Variant(MeanConfig, Mean, PRESETS)

ARCHITECTURES = {
    "mean": Architecture(
        2015,
        "Iyyer et al., Deep Unordered Composition Rivals Syntactic Methods",
        "softmax(W mean(E x))",
        {"classification": _VARIANT, "counting": _VARIANT},
    )
}

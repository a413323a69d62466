"""A model: the sum of the embeddings, h = Σ E[x_t]."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from mirada.config import Section, Values
from mirada.contracts import SequenceBatch, SequenceEncoder, Sizes
from mirada.models.architecture import Architecture, Variant
from mirada.parts import OutputHead


class SumConfig(Section):
    """Sizes of the model."""

    name: Literal["sum"] = "sum"
    width: int = Field(32, ge=1)
    """Width of the embeddings."""
    max_length: int = Field(512, ge=4)
    """Tokens of the longest sequence."""


class Sum(SequenceEncoder):
    """The sum of the embeddings of a sequence; the vector of a step is its own embedding."""

    def __init__(self, config: SumConfig, sizes: Sizes):
        super().__init__()
        self.embedding = nn.Embedding(sizes.inputs, config.width)
        self.output = OutputHead(config.width, sizes.outputs)
        self.name_parts()

    def encode(self, batch: SequenceBatch) -> Tensor:
        vectors: Tensor = self.embedding(batch.inputs)
        return vectors  # [B, T, D]

    def pool(self, batch: SequenceBatch) -> Tensor:
        return self.encode(batch).masked_fill(~batch.mask[..., None], 0.0).sum(1)  # [B, D]


PRESETS: dict[str, Values] = {"tiny": {"model": {"width": 16}}, "small": {"model": {"width": 32}}}
_VARIANT = Variant(SumConfig, Sum, PRESETS)

ARCHITECTURES = {
    "sum": Architecture(
        2015,
        "Iyyer et al., Deep Unordered Composition Rivals Syntactic Methods",
        "softmax(W Σ E x)",
        {"classification": _VARIANT, "counting": _VARIANT},
    )
}

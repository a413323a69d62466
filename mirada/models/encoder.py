"""A Transformer encoder for sequences: to classify them, to tag their steps, or to forecast the next.

    x ─ embed + position ─ encoder ×N ─ h_1 … h_T ─┬─ each: a label or a number at every step
                                                   └─ pooled to one vector: a class for the whole

The encoder of Vaswani et al. (2017, §3.1); where a step may not see what comes after it, with the decoder's mask.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from mirada.config import Values
from mirada.contracts import PAD, SequenceBatch, Sizes
from mirada.models.architecture import SEQUENCE_TASKS, Variant
from mirada.nn.blocks import Dropout, Headed, KeyValues, LayerConfig, Stack
from mirada.nn.context import ContextEncoder
from mirada.nn.initialisation import initialise
from mirada.nn.positions import positions
from mirada.parts import OutputHead


class EncoderConfig(Headed):
    """Sizes and choices of a Transformer encoder."""

    name: Literal["transformer"] = "transformer"
    width: int = Field(128, ge=2, le=16384)
    """D, the size of every vector that flows through the model."""
    heads: int = Field(4, ge=1)
    layers: int = Field(2, ge=1, le=256)
    feed_forward: int = Field(512, ge=1, le=131072)
    """The inner size of the feed-forward layers."""
    activation: Literal["relu", "gelu"] = "relu"
    dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout rate. Default: depends on the number of epochs, from 0 for a few to 0.2 for many."""
    norm: Literal["pre", "post"] = "pre"
    """Normalize before each sublayer (trains faster), or after it as in the paper."""
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = "sinusoidal"
    """Position encoding: fixed waves as in the paper, learned vectors, rotary (in the attention), or none."""
    pool: Literal["mean", "max", "first"] = "mean"
    """How the steps are combined into one vector: their mean, the maximum of each component, or the first step."""
    max_length: int = Field(2000, ge=1, le=65536)
    """Maximum steps per sequence."""


def _sizes(width: int, heads: int, layers: int, feed_forward: int) -> Values:
    return {"model": {"width": width, "heads": heads, "layers": layers, "feed_forward": feed_forward}}


PRESETS: dict[str, Values] = {
    "tiny": _sizes(64, 2, 2, 256),
    "small": _sizes(128, 4, 2, 512),
    "base": _sizes(256, 8, 4, 1024),
    "big": _sizes(512, 8, 6, 2048),
}


class TransformerEncoder(ContextEncoder):
    """Embeddings (or numbers) with positions, an encoder stack, and an output."""

    output: OutputHead

    def __init__(self, config: EncoderConfig, sizes: Sizes):
        super().__init__()
        c = self.config = config
        self.sizes = sizes
        if sizes.numeric_inputs:
            self.numbers = nn.Linear(sizes.inputs, c.width)
        else:
            self.embedding = nn.Embedding(sizes.inputs, c.width, PAD)
        self.positions = positions(c.positions, c.max_length + 1, c.width, c.heads)  # + 1 for BOS
        dropout = c.dropout or 0.0
        self.dropout = Dropout(dropout)
        layer = LayerConfig(c.width, c.heads, c.feed_forward, dropout, c.norm, c.activation, positions=self.positions)
        self.encoder = Stack(layer, c.layers, causal=sizes.causal)
        self.output = OutputHead(c.width, sizes.outputs)
        initialise(self)
        self.name_parts()

    @property
    def context(self) -> int:
        return self.config.max_length

    def _kept(self, context: int) -> int:
        return context - context // 4

    def encode(self, batch: SequenceBatch) -> Tensor:
        h: Tensor = self.encoder(self._embed(batch.inputs), batch.mask[:, None, None, :])
        return h

    def _extend(self, inputs: Tensor, past: Sequence[KeyValues]) -> tuple[Tensor, list[KeyValues]]:
        assert self.sizes.causal, "a step must not depend on those after it"
        return self.encoder.extend(self._embed(inputs, past[0].length if past else 0), past)

    def _embed(self, inputs: Tensor, before: int = 0) -> Tensor:
        root = math.sqrt(self.config.width)  # §3.4: embeddings are multiplied by √d_model
        x = self.numbers(inputs) if self.sizes.numeric_inputs else self.embedding(inputs) * root
        self.record("embeddings", x)
        x = self.dropout(self.positions(x, before))
        self.record("inputs", x)
        return x

    def pool(self, batch: SequenceBatch) -> Tensor:
        h = self.encode(batch)  # [B, T, D]
        pooled = self._pooled(h, batch) if h.shape[1] else h.new_zeros(batch.size, self.config.width)
        self.record("pooled", pooled)
        return pooled

    def _pooled(self, h: Tensor, batch: SequenceBatch) -> Tensor:
        if self.config.pool == "mean":
            return h.masked_fill(~batch.mask[..., None], 0.0).sum(1) / batch.lengths.clamp(min=1)[:, None]
        pooled = h[:, 0] if self.config.pool == "first" else h.masked_fill(~batch.mask[..., None], -torch.inf).amax(1)
        return pooled.masked_fill((batch.lengths == 0)[:, None], 0.0)  # [B, D]


VARIANTS = {"transformer": dict.fromkeys(SEQUENCE_TASKS, Variant(EncoderConfig, TransformerEncoder, PRESETS))}

"""A Transformer encoder that reads a sequence: to classify it, to label its steps, or to forecast the next.

    x ─ embed + position ─ encoder ×N ─ h_1 … h_T ─┬─ each: a label or a number at every step
                                                   └─ pooled to one vector: a class for the whole

The encoder of Vaswani et al. (2017, §3.1); where a step may not see what comes after it, with the decoder's mask.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from mirada.config import Values
from mirada.contracts import ALL_ON, PAD, SequenceBatch, SequenceEncoder, Sizes, Switches, Tape
from mirada.models.architecture import SEQUENCE_TASKS, Variant
from mirada.nn.blocks import Dropout, Encoder, EncoderLayer, Headed, Positions, future_mask


class EncoderConfig(Headed):
    """Sizes and choices of a Transformer that reads."""

    name: Literal["transformer"] = "transformer"
    width: int = Field(128, ge=2, le=16384)
    """D, the size of every vector that flows through the model."""
    heads: int = Field(4, ge=1)
    layers: int = Field(2, ge=1, le=256)
    feed_forward: int = Field(512, ge=1, le=131072)
    """The inner size of the two-layer perceptron."""
    activation: Literal["relu", "gelu"] = "relu"
    dropout: float | None = Field(None, ge=0, lt=1)
    """Unless given, by how often the data will be seen: none for a few epochs, up to 0.2 for many."""
    norm: Literal["pre", "post"] = "pre"
    """Normalise before each sublayer (trains faster), or after it as in the paper."""
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    pool: Literal["mean", "max", "first"] = "mean"
    """How one vector is made of all steps: their mean, the largest value of each component, or the first step's."""
    max_length: int = Field(2000, ge=1, le=65536)
    """The most steps a sequence may have."""


def _sizes(width: int, heads: int, layers: int, feed_forward: int) -> Values:
    return {"model": {"width": width, "heads": heads, "layers": layers, "feed_forward": feed_forward}}


PRESETS: dict[str, Values] = {
    "tiny": _sizes(64, 2, 2, 256),
    "small": _sizes(128, 4, 2, 512),
    "base": _sizes(256, 8, 4, 1024),
    "big": _sizes(512, 8, 6, 2048),
}


class TransformerEncoder(SequenceEncoder):
    """Embeddings (or numbers) with positions, an encoder stack, and an output."""

    output: nn.Linear

    def __init__(self, config: EncoderConfig, sizes: Sizes):
        super().__init__()
        c = self.config = config
        self.sizes = sizes
        if sizes.numeric_inputs:
            self.numbers = nn.Linear(sizes.inputs, c.width)
        else:
            self.embedding = nn.Embedding(sizes.inputs, c.width, PAD)
        self.positions = Positions(c.max_length + 1, c.width, c.positions)  # + 1 for BOS
        dropout = c.dropout or 0.0
        self.dropout = Dropout(dropout)
        layer = (c.width, c.heads, c.feed_forward, dropout, c.norm, c.activation)
        final_norm = nn.LayerNorm(c.width) if c.norm == "pre" else nn.Identity()
        self.encoder = Encoder([EncoderLayer(*layer) for _ in range(c.layers)], final_norm)
        self.output = nn.Linear(c.width, sizes.outputs)
        self._initialise()
        self.name_parts()

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
                with torch.no_grad():
                    module.weight[PAD].zero_()

    def read(self, batch: SequenceBatch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        mask = batch.mask[:, None, None, :]  # [B, 1, 1, T]
        if self.sizes.causal and switches.future_mask:
            mask = mask & future_mask(batch.inputs.shape[1], 0, mask.device)  # [B, 1, T, T]
        h: Tensor = self.encoder(self._embed(batch.inputs, switches), mask, tape, switches)
        return h

    def _embed(self, inputs: Tensor, switches: Switches) -> Tensor:
        root = math.sqrt(self.config.width)  # §3.4: embeddings are multiplied by √d_model
        x = self.numbers(inputs) if self.sizes.numeric_inputs else self.embedding(inputs) * root
        return self.dropout(self.positions(x) if switches.positions else x)

    def pool(self, batch: SequenceBatch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        h = self.read(batch, tape, switches)  # [B, T, D]
        if not h.shape[1]:  # all sequences are empty, and zeros as one among others would be
            return h.new_zeros(batch.size, self.config.width)
        if self.config.pool == "mean":
            return h.masked_fill(~batch.mask[..., None], 0.0).sum(1) / batch.lengths.clamp(min=1)[:, None]
        pooled = h[:, 0] if self.config.pool == "first" else h.masked_fill(~batch.mask[..., None], -torch.inf).amax(1)
        return pooled.masked_fill((batch.lengths == 0)[:, None], 0.0)  # [B, D]


VARIANTS = {"transformer": dict.fromkeys(SEQUENCE_TASKS, Variant(EncoderConfig, TransformerEncoder, PRESETS))}

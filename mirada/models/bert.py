"""BERT: the Transformer's encoder alone, with attention to both sides of a masked word (Devlin et al. 2019).

[CLS] tokens ─ embed + position + segment ─ norm ─ self-attention, feed-forward ×N ─┬─ a word for every gap
                                                                                   ├─ [CLS]: does B follow A?
                                                                                   └─ a task's own output

[CLS] is BOS and [SEP] is EOS here, as in all vocabularies of Mirada.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from mirada.config import Values
from mirada.contracts import BOS, PAD, SequenceBatch, SequenceEncoder, Sizes
from mirada.errors import InputError
from mirada.models.architecture import Architecture, Variant
from mirada.nn.activations import ACTIVATIONS
from mirada.nn.blocks import Dropout, Headed, LayerConfig, Stack
from mirada.nn.positions import positions
from mirada.parts import OutputHead


class BertConfig(Headed):
    """Sizes and choices of a BERT."""

    name: Literal["bert"] = "bert"
    width: int = Field(256, ge=2, le=16384)
    """D, the size of every vector that flows through the model."""
    heads: int = Field(4, ge=1)
    layers: int = Field(4, ge=1, le=256)
    feed_forward: int | None = Field(None, ge=1, le=131072)
    """The inner size of the feed-forward layers. Default: 4 D."""
    max_length: int = Field(256, ge=4, le=65536)
    """Maximum tokens per text, including [CLS] and [SEP]."""
    norm: Literal["pre", "post"] = "post"
    """post as published, or pre, which trains faster from scratch."""
    positions: Literal["learned", "sinusoidal", "rotary", "none"] = "learned"
    """Position encoding: learned as published, fixed waves, rotary (in the attention), or none."""
    activation: Literal["gelu", "gelu_tanh", "relu"] = "gelu"
    eps: float = Field(1e-12, gt=0)
    """Added to the variance in every normalization."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout rate. Default: depends on the number of epochs, from 0 for a few to 0.2 for many."""


def _sizes(width: int, heads: int, layers: int, max_length: int) -> Values:
    return {"model": {"width": width, "heads": heads, "layers": layers, "max_length": max_length}}


PRESETS: dict[str, Values] = {
    "tiny": _sizes(128, 4, 3, 256),
    "small": _sizes(256, 4, 4, 256),
    "base": _sizes(768, 12, 12, 512),
    "big": _sizes(1024, 16, 24, 512),
}


class MaskedWords(nn.Module):
    """The logits of every word at a masked position: norm(g(W h)) · Eᵀ + b        (`cls/predictions` as published)"""

    def __init__(self, config: BertConfig, embedding: nn.Embedding):
        super().__init__()
        self.dense = nn.Linear(config.width, config.width)
        self.norm = nn.LayerNorm(config.width, config.eps)
        self.g = ACTIVATIONS[config.activation]
        self.output = OutputHead(config.width, embedding.num_embeddings)
        _initialise(self)
        self.output.weight = embedding.weight

    def forward(self, h: Tensor) -> Tensor:
        scores: Tensor = self.output(self.norm(self.g(self.dense(h))))
        return scores


class Bert(SequenceEncoder):
    """Encodes a text with attention to both sides. Its inputs end with EOS ([SEP]); it puts BOS ([CLS]) before them.

    `sizes.outputs` = 0 is a model without an output: vectors alone.
    """

    def __init__(self, config: BertConfig, sizes: Sizes):
        super().__init__()
        c = self.config = config
        self.embedding = nn.Embedding(sizes.inputs, c.width, PAD)
        self.positions = positions(c.positions, c.max_length, c.width, c.heads)
        self.segments = nn.Embedding(2, c.width)
        self.norm = nn.LayerNorm(c.width, c.eps)
        self.dropout = Dropout(c.dropout or 0.0)
        inner, dropout = c.feed_forward or 4 * c.width, c.dropout or 0.0
        layer = LayerConfig(c.width, c.heads, inner, dropout, c.norm, c.activation, c.eps, positions=self.positions)
        self.encoder = Stack(layer, c.layers)
        self.pooler = nn.Linear(c.width, c.width)
        self.output: nn.Module = OutputHead(c.width, sizes.outputs) if sizes.outputs else nn.Identity()
        _initialise(self)
        with torch.no_grad():
            self.embedding.weight[PAD].zero_()
        self.name_parts()

    def states(self, batch: SequenceBatch) -> Tensor:
        """A vector for [CLS] and for every token, [B, 1+T, D]."""
        first = batch.inputs.new_full((batch.size, 1), BOS)
        tokens = torch.cat([first, batch.inputs], 1)  # [B, 1+T]
        if tokens.shape[1] > self.config.max_length:
            raise InputError(
                f"a text has {tokens.shape[1]} tokens ([CLS] and the end counted), the model takes at most "
                f"model.max_length={self.config.max_length}"
            )
        segments = torch.zeros_like(tokens)
        if batch.segments is not None:
            segments[:, 1:] = batch.segments
        x = self.embedding(tokens) + self.segments(segments)
        self.record("embeddings", x)
        x = self.dropout(self.norm(self.positions(x)))
        self.record("inputs", x)
        mask = torch.cat([torch.ones_like(first, dtype=torch.bool), batch.mask], 1)
        h: Tensor = self.encoder(x, mask[:, None, None, :])
        return h

    def encode(self, batch: SequenceBatch) -> Tensor:
        return self.states(batch)[:, 1:]

    def pool(self, batch: SequenceBatch) -> Tensor:
        return self.pooled(self.states(batch))

    def pooled(self, states: Tensor) -> Tensor:
        """tanh(W h_CLS) of `states` [B, 1+T, D], [B, D]."""
        pooled = torch.tanh(self.pooler(states[:, 0]))
        self.record("pooled", pooled)
        return pooled


class BertForPretraining(Bert):
    """BERT with the two outputs it is pre-trained with (Devlin et al. 2019, §3.1), from `states` [B, 1+T, D]:

    masked(states[masked])     [N, V]  logits of every word at a masked position; also its `output`
    follows(pooled(states))    [B, 2]  logits of: B follows A (0), B is from elsewhere (1)
    """

    def __init__(self, config: BertConfig, sizes: Sizes):
        super().__init__(config, Sizes(sizes.inputs, 0))
        del self.output  # so that its parameters go by the name of `masked`
        self.masked = MaskedWords(config, self.embedding)
        self.output = self.masked
        self.follows = OutputHead(config.width, 2)
        _initialise(self.follows)
        self.name_parts()


def _initialise(module: nn.Module) -> None:
    """N(0, 0.02), biases 0, as published."""
    for name, parameter in module.named_parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=0.02)
        elif "norm" not in name:
            nn.init.zeros_(parameter)


_ENCODER = Variant(BertConfig, Bert, PRESETS)

ARCHITECTURES = {
    "bert": Architecture(
        2019,
        "Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers",
        "p(x_t | all x but x_t)",
        {
            "masked_lm": Variant(BertConfig, BertForPretraining, PRESETS),
            "classification": _ENCODER,
            "tagging": _ENCODER,
        },
    )
}

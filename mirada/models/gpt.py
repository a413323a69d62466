"""GPT: the Transformer's decoder alone, which predicts the next token.

GPT     post-norm, 512 tokens               Radford et al. 2018, Improving Language Understanding by Generative …
GPT-2   pre-norm and a last normalisation   Radford et al. 2019, Language Models are Unsupervised Multitask Learners
GPT-3   as GPT-2, larger                    Brown et al. 2020, Language Models are Few-Shot Learners

tokens ─ embed + position ─ masked self-attention, feed-forward ×N ─ · Eᵀ ─ softmax
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from mirada.config import Values
from mirada.contracts import PAD, SequenceBatch, Sizes
from mirada.errors import InputError
from mirada.models.architecture import Architecture, Variant
from mirada.nn.blocks import Dropout, Headed, KeyValues, LayerConfig, Stack
from mirada.nn.context import ContextEncoder
from mirada.nn.positions import positions
from mirada.parts import OutputHead, is_recording


class GPTConfig(Headed):
    """Sizes and choices of a GPT."""

    name: Literal["gpt"] = "gpt"
    width: int = Field(256, ge=2, le=16384)
    """D, the size of every vector that flows through the model."""
    heads: int = Field(4, ge=1)
    layers: int = Field(4, ge=1, le=256)
    feed_forward: int | None = Field(None, ge=1, le=131072)
    """The inner size of the feed-forward layers. Default: 4 D."""
    max_length: int = Field(256, ge=2, le=65536)
    """The context length: maximum tokens that the model sees."""
    norm: Literal["pre", "post"] = "pre"
    """pre as in GPT-2 and GPT-3, post as in the GPT of 2018."""
    positions: Literal["learned", "sinusoidal", "rotary", "none"] = "learned"
    """Position encoding: learned as published, fixed waves, rotary (in the attention), or none."""
    activation: Literal["gelu_tanh", "gelu", "relu"] = "gelu_tanh"
    eps: float = Field(1e-5, gt=0)
    """Added to the variance in every normalization."""
    output_bias: bool = False
    """Whether the output layer has a bias per token; an imported model needs it to never generate PAD or BOS."""
    pool: Literal["mean", "last"] = "mean"
    """How a text is pooled for classification: the mean of its tokens' vectors, or the last one, as in the GPT of
    2018."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout rate. Default: depends on the number of epochs, from 0 for a few to 0.2 for many."""


def _sizes(width: int, heads: int, layers: int, max_length: int) -> Values:
    return {"model": {"width": width, "heads": heads, "layers": layers, "max_length": max_length}}


PRESETS: dict[str, Values] = {
    "tiny": _sizes(128, 4, 4, 128),
    "small": _sizes(256, 4, 4, 256),
    "base": _sizes(512, 8, 8, 512),
    "big": _sizes(768, 12, 12, 1024),
}


class GPT(ContextEncoder):
    """Predicts each next token of a text from those before it."""

    output: OutputHead

    def __init__(self, config: GPTConfig, sizes: Sizes):
        super().__init__()
        c = self.config = config
        self.embedding = nn.Embedding(sizes.inputs, c.width, PAD)
        self.positions = positions(c.positions, c.max_length, c.width, c.heads)
        dropout = c.dropout or 0.0
        self.dropout = Dropout(dropout)
        inner = c.feed_forward or 4 * c.width
        layer = LayerConfig(c.width, c.heads, inner, dropout, c.norm, c.activation, c.eps, positions=self.positions)
        self.decoder = Stack(layer, c.layers, causal=True)
        language_model = sizes.causal and sizes.inputs == sizes.outputs
        self.output = OutputHead(c.width, sizes.outputs, bias=c.output_bias or not language_model)
        self._initialise()
        if language_model:
            self.output.weight = self.embedding.weight
        self.name_parts()

    def _initialise(self) -> None:
        """N(0, 0.02); what is added to the residual stream is scaled by 1/√(2N)        (Radford et al. 2019, §2.3)"""
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:
                into_residual = name.endswith(("self_.output.weight", "feed_forward.outer.weight"))
                nn.init.normal_(parameter, std=0.02 / (2 * self.config.layers) ** (0.5 * into_residual))
            elif "norm" not in name:
                nn.init.zeros_(parameter)
        with torch.no_grad():
            self.embedding.weight[PAD].zero_()

    @property
    def context(self) -> int:
        return self.config.max_length

    def encode(self, batch: SequenceBatch) -> Tensor:
        return self.decoder(self._embed(batch.inputs))

    def pool(self, batch: SequenceBatch) -> Tensor:
        """The mean of all tokens; or the last, which alone has seen all of them (Radford et al. 2018, §3.2)."""
        h = self.encode(batch)
        if self.config.pool == "mean":
            pooled = (h * batch.mask.unsqueeze(-1)).sum(1) / batch.lengths.clamp(min=1).unsqueeze(1)  # [B, D]
        elif not h.shape[1]:  # all texts are empty
            pooled = h.new_zeros(batch.size, self.config.width)
        else:
            last = h[torch.arange(batch.size, device=h.device), (batch.lengths - 1).clamp(min=0)]
            pooled = last.masked_fill((batch.lengths == 0)[:, None], 0.0)
        self.record("pooled", pooled)
        return pooled

    def _extend(self, inputs: Tensor, past: Sequence[KeyValues]) -> tuple[Tensor, list[KeyValues]]:
        return self.decoder.extend(self._embed(inputs, past[0].length if past else 0), past)

    def _embed(self, tokens: Tensor, before: int = 0) -> Tensor:
        if before + tokens.shape[1] > self.config.max_length:
            raise InputError(
                f"a text has {before + tokens.shape[1]} tokens, the model takes at most "
                f"model.max_length={self.config.max_length}"
            )
        x = self.embedding(tokens)
        inputs: Tensor = self.dropout(self.positions(x, before))
        if is_recording():
            self.record("embeddings", x)
            self.record("inputs", inputs)
        return inputs


ARCHITECTURES = {
    "gpt": Architecture(
        2018,
        "Radford et al., Improving Language Understanding by Generative Pre-Training",
        "p(x_t | x_1 … x_{t−1})",
        dict.fromkeys(("language_model", "classification", "tagging"), Variant(GPTConfig, GPT, PRESETS)),
    )
}

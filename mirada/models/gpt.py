"""GPT: the Transformer's decoder alone, which says what comes next.

GPT     post-norm, 512 tokens               Radford et al. 2018, Improving Language Understanding by Generative …
GPT-2   pre-norm and a last normalisation   Radford et al. 2019, Language Models are Unsupervised Multitask Learners
GPT-3   as GPT-2, larger                    Brown et al. 2020, Language Models are Few-Shot Learners

tokens ─ embed + position ─ masked self-attention, feed-forward ×N ─ · Eᵀ ─ softmax
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from mirada.config import Values
from mirada.contracts import ALL_ON, PAD, Batch, SequenceBatch, SequenceEncoder, Sizes, State, Step, Switches, Tape
from mirada.errors import InputError
from mirada.models.architecture import Architecture, Variant
from mirada.nn.blocks import Decoder, DecoderLayer, Dropout, Headed, KeyValues, Positions


class GPTConfig(Headed):
    """Sizes and choices of a GPT."""

    name: Literal["gpt"] = "gpt"
    width: int = Field(256, ge=2, le=16384)
    """D, the size of every vector that flows through the model."""
    heads: int = Field(4, ge=1)
    layers: int = Field(4, ge=1, le=256)
    feed_forward: int | None = Field(None, ge=1, le=131072)
    """The inner size of the two-layer perceptron; 4 D unless given."""
    max_length: int = Field(256, ge=2, le=65536)
    """The context: how many tokens it sees at most."""
    norm: Literal["pre", "post"] = "pre"
    """pre as in GPT-2 and GPT-3, post as in the GPT of 2018."""
    activation: Literal["gelu_tanh", "gelu", "relu"] = "gelu_tanh"
    eps: float = Field(1e-5, gt=0)
    """Of the normalisations."""
    output_bias: bool = False
    """Whether every word has a bias beside its vector: a model from elsewhere needs it to never say PAD or BOS."""
    pool: Literal["mean", "last"] = "mean"
    """What a text is classified by: the mean of its tokens' vectors, or the last one, as in the GPT of 2018. Of 100
    film reviews a small GPT, taught with 200, had 67.2 right by the mean and 58.0 by the last."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Unless given, by how often the data will be seen: none for a few epochs, up to 0.2 for many."""


def _sizes(width: int, heads: int, layers: int, max_length: int) -> Values:
    return {"model": {"width": width, "heads": heads, "layers": layers, "max_length": max_length}}


PRESETS: dict[str, Values] = {
    "tiny": _sizes(128, 4, 4, 128),
    "small": _sizes(256, 4, 4, 256),
    "base": _sizes(512, 8, 8, 512),
    "big": _sizes(768, 12, 12, 1024),
}


@dataclass(frozen=True)
class GPTState:
    """Keys and values of the tokens in the context, for R texts; and the tokens, should it become full."""

    own: list[KeyValues]  # a layer each, [R, H, t, K]
    tokens: Tensor  # [R, t]

    def select(self, rows: Tensor) -> GPTState:
        return GPTState([kept.select(rows) for kept in self.own], self.tokens.index_select(0, rows))


class GPT(SequenceEncoder):
    """Reads a text and predicts each next token. A `Generator`; a `SequenceEncoder` that never sees what is to come."""

    output: nn.Linear

    def __init__(self, config: GPTConfig, sizes: Sizes):
        super().__init__()
        c = self.config = config
        self.embedding = nn.Embedding(sizes.inputs, c.width, PAD)
        self.positions = Positions(c.max_length, c.width, "learned")
        self.dropout = Dropout(c.dropout or 0.0)
        inner = c.feed_forward or 4 * c.width
        layers = [
            DecoderLayer(c.width, c.heads, inner, c.dropout or 0.0, c.norm, c.activation, c.eps, cross=False)
            for _ in range(c.layers)
        ]
        self.decoder = Decoder(layers, nn.LayerNorm(c.width, c.eps) if c.norm == "pre" else nn.Identity())
        speaks = sizes.causal and sizes.inputs == sizes.outputs
        self.output = nn.Linear(c.width, sizes.outputs, bias=c.output_bias or not speaks)
        self._initialise()
        if speaks:
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

    def read(self, batch: SequenceBatch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        return self._read(batch.inputs, [None] * self.config.layers, tape, switches)[0]

    def pool(self, batch: SequenceBatch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        """The mean of all tokens; or the last, which alone has seen all of them (Radford et al. 2018, §3.2)."""
        h = self.read(batch, tape, switches)
        if self.config.pool == "mean":
            return (h * batch.mask.unsqueeze(-1)).sum(1) / batch.lengths.clamp(min=1).unsqueeze(1)  # [B, D]
        if not h.shape[1]:  # all texts are empty, and zeros as one among others would be
            return h.new_zeros(batch.size, self.config.width)
        last = h[torch.arange(batch.size, device=h.device), (batch.lengths - 1).clamp(min=0)]
        return last.masked_fill((batch.lengths == 0)[:, None], 0.0)  # [B, D]

    def _read(
        self, tokens: Tensor, past: Sequence[KeyValues | None], tape: Tape | None, switches: Switches
    ) -> tuple[Tensor, list[KeyValues]]:
        before = past[0].length if past[0] else 0
        if before + tokens.shape[1] > self.config.max_length:
            raise InputError(
                f"a text has {before + tokens.shape[1]} tokens, the model takes at most "
                f"model.max_length={self.config.max_length}"
            )
        x = self.embedding(tokens)
        x = self.dropout(self.positions(x, before) if switches.positions else x)
        nothing: list[KeyValues | None] = [None] * self.config.layers
        h: tuple[Tensor, list[KeyValues]] = self.decoder(x, past, nothing, None, tape, switches)
        return h

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        """Take in BOS and the forced prefix, of one that is longer than the context its end."""
        text = batch.target[:, -self.config.max_length :]
        return self._advance(text, GPTState([], text))

    def step(self, tokens: Tensor, state: State) -> Step:
        assert isinstance(state, GPTState)
        text = torch.cat([state.tokens, tokens.unsqueeze(1)], 1)
        if state.own[0].length < self.config.max_length:
            return self._advance(tokens.unsqueeze(1), GPTState(state.own, text))
        # The context is full. Positions are absolute, so the later half is read anew, as if the text began there.
        text = text[:, -(self.config.max_length // 2) :]
        return self._advance(text, GPTState([], text))

    def _advance(self, tokens: Tensor, state: GPTState) -> Step:
        past: Sequence[KeyValues | None] = state.own or [None] * self.config.layers
        x, own = self._read(tokens, past, None, ALL_ON)
        return Step(self.output(x[:, -1]), GPTState(own, state.tokens))


ARCHITECTURES = {
    "gpt": Architecture(
        2018,
        "Radford et al., Improving Language Understanding by Generative Pre-Training",
        "p(x_t | x_1 … x_{t−1})",
        dict.fromkeys(("language_model", "classification", "tagging"), Variant(GPTConfig, GPT, PRESETS)),
    )
}

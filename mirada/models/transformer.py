"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017): an encoder–decoder made of attention.

source ─ embed + position ─ encoder ×N ──────────┐ keys, values
target ─ embed + position ─ decoder ×N (masked) ─┴─ · Eᵀ ─ softmax
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from mirada.blocks import Decoder, DecoderLayer, Dropout, Encoder, EncoderLayer, KeyValues, Positions
from mirada.config import Section, Values
from mirada.contracts import ALL_ON, PAD, Batch, Network, State, Step, Switches, Tape


class TransformerConfig(Section):
    """Sizes and choices; the defaults translate best for the time spent on a CPU."""

    name: Literal["transformer"] = "transformer"
    width: int = Field(256, ge=2, le=16384)
    """D, the size of every vector that flows through the model."""
    heads: int = Field(4, ge=1)
    encoder_layers: int = Field(4, ge=1, le=256)
    decoder_layers: int = Field(2, ge=1, le=256)
    feed_forward: int = Field(1024, ge=1, le=131072)
    """The inner size of the two-layer perceptron."""
    activation: Literal["relu", "gelu", "silu"] = "relu"
    dropout: float | None = Field(None, ge=0, lt=1)
    """Unless given, by how often the data will be seen: none for a few epochs, up to 0.2 for many."""
    norm: Literal["pre", "post"] = "pre"
    """Normalise before each sublayer (trains faster), or after it as in the paper."""
    positions: Literal["sinusoidal", "halves", "learned"] = "sinusoidal"
    """Waves as in the paper, the same waves with all sines before all cosines as Marian has them, or learned."""
    tie: Literal["all", "output", "none"] = "all"
    """Which embeddings share weights: source, target and output; target and output; or none."""
    output_bias: bool = False
    """Whether every word has a bias beside its vector, as in Marian."""
    max_length: int = Field(256, ge=4, le=65536)
    """The most tokens a sentence may have."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> TransformerConfig:
        if self.width % self.heads:
            raise ValueError(f"model.width={self.width} cannot be split into model.heads={self.heads} equal heads")
        return self


def _sizes(width: int, heads: int, encoder_layers: int, decoder_layers: int, feed_forward: int) -> Values:
    return {
        "model": {
            "width": width,
            "heads": heads,
            "encoder_layers": encoder_layers,
            "decoder_layers": decoder_layers,
            "feed_forward": feed_forward,
        }
    }


PRESETS: dict[str, Values] = {
    "tiny": _sizes(128, 4, 2, 2, 512),
    "small": _sizes(256, 4, 4, 2, 1024),
    "base": _sizes(512, 8, 6, 6, 2048),
    "big": _sizes(1024, 16, 6, 6, 4096),
    # The paper's base model with the paper's recipe (§5): post-norm, Adam, 4,000 steps of warm-up, 1/√step.
    "paper": {
        "model": {**_sizes(512, 8, 6, 6, 2048)["model"], "norm": "post", "dropout": 0.1, "activation": "relu"},
        "train": {
            "optimizer": "adam",
            "lr": 512**-0.5 * 4000**-0.5,
            "betas": [0.9, 0.98],
            "schedule": "inverse_sqrt",
            "warmup": 4000,
            "label_smoothing": 0.1,
            "weight_decay": 0.0,
            "clip": 0.0,
        },
    },
}


@dataclass(frozen=True)
class TransformerState:
    """Keys and values of the source and of the tokens so far, for R hypotheses."""

    own: list[KeyValues]  # a layer each, [R, H, t, K]
    source: list[KeyValues]  # a layer each, [R, H, S, K]
    source_mask: Tensor  # [R, 1, 1, S]
    sentence: Tensor  # [R] the sentence each row belongs to
    attention: bool

    def select(self, rows: Tensor) -> TransformerState:
        sentence = self.sentence.index_select(0, rows)
        own = [kept.select(rows) for kept in self.own]
        if torch.equal(sentence, self.sentence):  # hypotheses changed places within their sentence: its keys stay
            return TransformerState(own, self.source, self.source_mask, sentence, self.attention)
        source = [kept.select(rows) for kept in self.source]
        return TransformerState(own, source, self.source_mask.index_select(0, rows), sentence, self.attention)


class Transformer(Network):
    """Encoder and decoder stacks between tied embeddings. A `Generator`."""

    output: nn.Linear

    def __init__(self, config: TransformerConfig, source_vocabulary: int, target_vocabulary: int):
        super().__init__()
        c = self.config = config
        self.source_embedding = nn.Embedding(source_vocabulary, c.width, PAD)
        shared = c.tie == "all"
        assert not shared or source_vocabulary == target_vocabulary, "one embedding cannot serve two vocabularies"
        self.target_embedding = self.source_embedding if shared else nn.Embedding(target_vocabulary, c.width, PAD)
        kind: Literal["sinusoidal", "learned"] = "learned" if c.positions == "learned" else "sinusoidal"
        self.positions = Positions(c.max_length + 1, c.width, kind)  # + 1 for BOS
        if c.positions == "halves":
            waves = self.positions.table
            self.positions.table = torch.cat([waves[:, 0::2], waves[:, 1::2]], 1)
        dropout = c.dropout or 0.0
        self.dropout = Dropout(dropout)
        layer = (c.width, c.heads, c.feed_forward, dropout, c.norm, c.activation)
        self.encoder = Encoder([EncoderLayer(*layer) for _ in range(c.encoder_layers)], self._final_norm())
        self.decoder = Decoder([DecoderLayer(*layer) for _ in range(c.decoder_layers)], self._final_norm())
        self.output = nn.Linear(c.width, target_vocabulary, bias=c.output_bias)
        self._initialise()
        if c.tie != "none":
            self.output.weight = self.target_embedding.weight
        self.name_parts()

    def _final_norm(self) -> nn.Module:
        return nn.LayerNorm(self.config.width) if self.config.norm == "pre" else nn.Identity()

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
                with torch.no_grad():
                    module.weight[PAD].zero_()

    def _embed(self, embedding: nn.Embedding, ids: Tensor, before: int, switches: Switches) -> Tensor:
        x = embedding(ids) * math.sqrt(self.config.width)  # §3.4: embeddings are multiplied by √d_model
        return self.dropout(self.positions(x, before) if switches.positions else x)

    def encode(self, batch: Batch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        """The encoder's output [B, S, D]."""
        x = self._embed(self.source_embedding, batch.source, 0, switches)
        return self.encoder(x, _over_keys(batch.source_mask), tape, switches)

    def hidden(self, batch: Batch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        source = self.decoder.remember(self.encode(batch, tape, switches))
        x = self._embed(self.target_embedding, batch.target_input, 0, switches)
        nothing: list[KeyValues | None] = [None] * len(source)
        return self.decoder(x, nothing, source, _over_keys(batch.source_mask), tape, switches)[0]

    def forward(self, batch: Batch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        """Scores [B, T, V] for every next token of the true target."""
        return self.output(self.hidden(batch, tape, switches))

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        source = self.decoder.remember(self.encode(batch))
        rows = torch.arange(batch.size, device=batch.source.device)
        state = TransformerState([], source, _over_keys(batch.source_mask), rows, attention)
        return self._advance(batch.target, state)

    def step(self, tokens: Tensor, state: State) -> Step:
        assert isinstance(state, TransformerState)
        return self._advance(tokens.unsqueeze(1), state)

    def _advance(self, tokens: Tensor, state: TransformerState) -> Step:
        tape = Tape(["decoder.*.cross.weights"]) if state.attention else None
        past: Sequence[KeyValues | None] = state.own or [None] * len(state.source)
        before = past[0].length if past[0] else 0
        x = self._embed(self.target_embedding, tokens, before, ALL_ON)  # [R, t, D]
        x, own = self.decoder(x, past, state.source, state.source_mask, tape)
        # Only the last token's row predicts something new.
        weights = torch.stack([w[:, :, -1] for w in tape.tensors.values()], 1) if tape else None  # [R, L, H, S]
        new = TransformerState(own, state.source, state.source_mask, state.sentence, state.attention)
        return Step(self.output(x[:, -1]), new, weights)


def _over_keys(mask: Tensor) -> Tensor:
    return mask[:, None, None, :]  # [B, S] -> [B, 1, 1, S]

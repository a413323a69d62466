"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017): an encoder–decoder made of attention.

source ─ embed + position ─ encoder ×N ──────────┐ keys, values
target ─ embed + position ─ decoder ×N (masked) ─┴─ · Eᵀ ─ softmax

The source is a sentence, or an image cut into patches (Liu et al. 2021): then the encoder is a ViT's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from mirada.config import Values
from mirada.contracts import ALL_ON, PAD, Batch, GenerativeNetwork, Sizes, State, Step, Switches, Tape
from mirada.models.architecture import Architecture, Variant
from mirada.nn.blocks import (
    Decoder,
    DecoderLayer,
    Dropout,
    Encoder,
    EncoderLayer,
    Headed,
    KeyValues,
    Patches,
    Positions,
    sinusoidal,
    suggest_patch,
)


class StacksConfig(Headed):
    """Sizes and choices of two stacks; the defaults translate best for the time spent on a CPU."""

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
    output_bias: bool = False
    """Whether every word has a bias beside its vector, as in Marian."""
    max_length: int = Field(256, ge=4, le=65536)
    """The most tokens a sentence may have."""


class TransformerConfig(StacksConfig):
    """A Transformer that reads sentences."""

    name: Literal["transformer"] = "transformer"
    tie: Literal["all", "output", "none"] = "all"
    """Which embeddings share weights: source, target and output; target and output; or none."""


class CaptionerConfig(StacksConfig):
    """A Transformer that reads images."""

    name: Literal["captioner"] = "captioner"
    activation: Literal["relu", "gelu", "silu"] = "gelu"
    patch: int | None = Field(None, ge=1, le=1024)
    """The side of a patch in pixels; unless given, a quarter of the image's longer side, from 2 to 16."""
    tie: Literal["output", "none"] = "output"
    """Which embeddings share weights: target and output, or none."""

    def patch_for(self, height: int, width: int) -> int:
        """The side of a patch for images of this size."""
        return self.patch or suggest_patch(height, width)

    def grid(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """Patches in a column and in a row, of pixels [C, 1, H, W]."""
        _, _, height, width = shape
        patch = self.patch_for(height, width)
        return height // patch, width // patch


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

CAPTIONERS: dict[str, Values] = {
    "tiny": _sizes(64, 4, 2, 2, 256),
    "small": _sizes(128, 4, 3, 2, 512),
    "base": _sizes(512, 8, 6, 6, 2048),
    "big": _sizes(768, 12, 12, 6, 3072),
}


@dataclass(frozen=True)
class StacksState:
    """Keys and values of the source and of the tokens so far, for R hypotheses."""

    own: list[KeyValues]  # a layer each, [R, H, t, K]
    source: list[KeyValues]  # a layer each, [R, H, S, K]
    source_mask: Tensor | None  # [R, 1, 1, S]
    sentence: Tensor  # [R] the sentence each row belongs to
    attention: bool

    def select(self, rows: Tensor) -> StacksState:
        sentence = self.sentence.index_select(0, rows)
        own = [kept.select(rows) for kept in self.own]
        if torch.equal(sentence, self.sentence):  # hypotheses changed places within their sentence: its keys stay
            return StacksState(own, self.source, self.source_mask, sentence, self.attention)
        source = [kept.select(rows) for kept in self.source]
        mask = None if self.source_mask is None else self.source_mask.index_select(0, rows)
        return StacksState(own, source, mask, sentence, self.attention)


class EncoderDecoder(GenerativeNetwork):
    """Two stacks: whatever the first one reads, the second attends to it and writes. A `Generator`."""

    output: nn.Linear

    def __init__(self, config: TransformerConfig | CaptionerConfig, sizes: Sizes):
        super().__init__()
        c = self.config = config
        shared = self._open(sizes)
        self.target_embedding = nn.Embedding(sizes.outputs, c.width, PAD) if shared is None else shared
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
        self.output = nn.Linear(c.width, sizes.outputs, bias=c.output_bias)
        self._initialise()
        if c.tie != "none":
            self.output.weight = self.target_embedding.weight
        self.name_parts()

    def _open(self, sizes: Sizes) -> nn.Embedding | None:
        """Make what the source is read with; an embedding that the target shares, if it does."""
        raise NotImplementedError

    def _read(self, batch: Batch, switches: Switches) -> Tensor:
        """The source as vectors with their positions, [B, S, D]."""
        raise NotImplementedError

    def _mask(self, batch: Batch) -> Tensor | None:
        """Which of the source is real, [B, 1, 1, S]; None if all of it is."""
        raise NotImplementedError

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
        return self.encoder(self._read(batch, switches), self._mask(batch), tape, switches)

    def hidden(self, batch: Batch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        source = self.decoder.remember(self.encode(batch, tape, switches))
        x = self._embed(self.target_embedding, batch.target_input, 0, switches)
        nothing: list[KeyValues | None] = [None] * len(source)
        return self.decoder(x, nothing, source, self._mask(batch), tape, switches)[0]

    def forward(self, batch: Batch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        """Scores [B, T, V] for every next token of the true target."""
        return self.output(self.hidden(batch, tape, switches))

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        source = self.decoder.remember(self.encode(batch))
        rows = torch.arange(batch.size, device=batch.source.device)
        state = StacksState([], source, self._mask(batch), rows, attention)
        return self._advance(batch.target, state)

    def step(self, tokens: Tensor, state: State) -> Step:
        assert isinstance(state, StacksState)
        return self._advance(tokens.unsqueeze(1), state)

    def _advance(self, tokens: Tensor, state: StacksState) -> Step:
        tape = Tape(["decoder.*.cross.weights"]) if state.attention else None
        past: Sequence[KeyValues | None] = state.own or [None] * len(state.source)
        before = past[0].length if past[0] else 0
        x = self._embed(self.target_embedding, tokens, before, ALL_ON)  # [R, t, D]
        x, own = self.decoder(x, past, state.source, state.source_mask, tape)
        # Only the last token's row predicts something new.
        weights = torch.stack([w[:, :, -1] for w in tape.tensors.values()], 1) if tape else None  # [R, L, H, S]
        new = StacksState(own, state.source, state.source_mask, state.sentence, state.attention)
        return Step(self.output(x[:, -1]), new, weights)


class Transformer(EncoderDecoder):
    """Reads sentences and writes sentences; the embeddings of both are the same, unless told otherwise."""

    config: TransformerConfig

    def _open(self, sizes: Sizes) -> nn.Embedding | None:
        self.source_embedding = nn.Embedding(sizes.inputs, self.config.width, PAD)
        if self.config.tie != "all":
            return None
        assert sizes.inputs == sizes.outputs, "one embedding cannot serve two vocabularies"
        return self.source_embedding

    def _read(self, batch: Batch, switches: Switches) -> Tensor:
        return self._embed(self.source_embedding, batch.source, 0, switches)

    def _mask(self, batch: Batch) -> Tensor:
        return batch.source_mask[:, None, None, :]  # [B, S] -> [B, 1, 1, S]


class Captioner(EncoderDecoder):
    """Reads images, patch by patch as a ViT does, and writes what is in them: x_i = W · pixels_i + b + P_i."""

    config: CaptionerConfig

    def _open(self, sizes: Sizes) -> nn.Embedding | None:
        channels, _, height, width = sizes.shape
        rows, columns = self.config.grid(sizes.shape)
        self.patches = Patches(channels, self.config.patch_for(height, width), self.config.width)
        # A table of vectors, not a matrix: with an axis more, Muon leaves it alone.
        self.places = nn.Parameter(_places(rows, columns, self.config.width))
        return None

    def _read(self, batch: Batch, switches: Switches) -> Tensor:
        x = self.patches(batch.source)  # [B, C, 1, H, W] -> [B, N, D]
        return self.dropout(x + self.places if switches.positions else x)

    def _mask(self, batch: Batch) -> None:
        return None


def _places(rows: int, columns: int, width: int) -> Tensor:
    """Where each patch is, to begin with: waves of its row beside waves of its column, [1, N, D].

    They are learned from there on.
    """
    down, right = sinusoidal(rows, width // 2), sinusoidal(columns, width - width // 2)
    grid = (down.unsqueeze(1).expand(-1, columns, -1), right.expand(rows, -1, -1))
    return torch.cat(grid, 2).reshape(1, rows * columns, width)


ARCHITECTURES = {
    "transformer": Architecture(
        2017,
        "Vaswani et al., Attention Is All You Need",
        "softmax(Q Kᵀ / √d_k) V",
        {"translation": Variant(TransformerConfig, Transformer, PRESETS)},
    ),
    "captioner": Architecture(
        2021,
        "Liu et al., CPTR: Full Transformer Network for Image Captioning",
        "p(y_t | y_1 … y_{t−1}, patches)",
        {"captioning": Variant(CaptionerConfig, Captioner, CAPTIONERS)},
    ),
}

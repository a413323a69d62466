"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017): an encoder–decoder made of attention.

source ─ embed + position ─ encoder ×N ──────────┐ keys, values
target ─ embed + position ─ decoder ×N (masked) ─┴─ · Eᵀ ─ softmax

The source is a sentence, or an image cut into patches (Liu et al. 2021): then the encoder is a ViT's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from mirada.config import Values
from mirada.contracts import PAD, Batch, GenerativeNetwork, Sizes, State, Step
from mirada.models.architecture import Architecture, Variant
from mirada.nn.blocks import Dropout, Headed, KeyValues, LayerConfig, Stack
from mirada.nn.initialisation import initialise
from mirada.nn.patches import Patches, suggest_patch
from mirada.nn.positions import positions, sinusoidal
from mirada.parts import OutputHead, Role, active_switches, is_recording, recording


class StacksConfig(Headed):
    """Sizes and choices of an encoder–decoder; the defaults suit training on a CPU."""

    width: int = Field(256, ge=2, le=16384)
    """D, the size of every vector that flows through the model."""
    heads: int = Field(4, ge=1)
    encoder_layers: int = Field(4, ge=1, le=256)
    decoder_layers: int = Field(2, ge=1, le=256)
    feed_forward: int = Field(1024, ge=1, le=131072)
    """The inner size of the feed-forward layers."""
    activation: Literal["relu", "gelu", "silu"] = "relu"
    dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout rate. Default: depends on the number of epochs, from 0 for a few to 0.2 for many."""
    norm: Literal["pre", "post"] = "pre"
    """Normalize before each sublayer (trains faster), or after it as in the paper."""
    positions: Literal["sinusoidal", "halves", "learned", "rotary", "none"] = "sinusoidal"
    """Position encoding: fixed waves as in the paper, the same with all sines before all cosines as in Marian, learned
    vectors, rotary (in the attention), or none."""
    output_bias: bool = False
    """Whether the output layer has a bias per token, as in Marian."""
    max_length: int = Field(256, ge=4, le=65536)
    """Maximum tokens per sentence."""


class TransformerConfig(StacksConfig):
    """Sizes and choices of a Transformer for translation."""

    name: Literal["transformer"] = "transformer"
    tie: Literal["all", "output", "none"] = "all"
    """Which embeddings share weights: all (source, target and output), output (target and output), or none."""


class CaptionerConfig(StacksConfig):
    """Sizes and choices of a Transformer that captions images."""

    name: Literal["captioner"] = "captioner"
    activation: Literal["relu", "gelu", "silu"] = "gelu"
    positions: Literal["sinusoidal", "halves", "learned", "rotary", "none"] = "sinusoidal"
    """Position encoding of the caption's tokens; that of the patches is learned."""
    patch: int | None = Field(None, ge=1, le=1024)
    """The side of a patch in pixels. Default: a quarter of the image's longer side, from 2 to 16."""
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
    """The keys and values of the source and of the tokens so far, for R hypotheses."""

    own: list[KeyValues]  # a layer each, [R, H, t, K]
    source: list[KeyValues]  # a layer each, [B, H, S, K]
    source_mask: Tensor | None  # [B, 1, 1, S]
    sentence: Tensor  # [R] the sentence each row belongs to: 0 0 … 1 1 …, equally many rows each
    attention: bool

    def select(self, rows: Tensor) -> StacksState:
        own = [kept.select(rows) for kept in self.own]
        sentence = self.sentence.index_select(0, rows)
        kept, counts = sentence.unique_consecutive(return_counts=True)
        if self.attention or is_recording() or not (counts == counts[0]).all():
            kept, counts = sentence, torch.ones_like(sentence)  # each row has its own keys
        numbers = torch.arange(len(kept), device=rows.device)
        now = replace(self, own=own, sentence=numbers.repeat_interleave(counts))
        if len(kept) == len(self.source[0].k) and torch.equal(kept, numbers):
            return now  # hypotheses changed places within their sentences
        mask = None if self.source_mask is None else self.source_mask.index_select(0, kept)
        return replace(now, source=[one.select(kept) for one in self.source], source_mask=mask)


class EncoderDecoder(GenerativeNetwork):
    """An encoder stack for the source and a decoder stack that attends to it and generates tokens."""

    output: OutputHead

    def __init__(self, config: TransformerConfig | CaptionerConfig, sizes: Sizes):
        super().__init__()
        c = self.config = config
        shared = self._open(sizes)
        self.target_embedding = nn.Embedding(sizes.outputs, c.width, PAD) if shared is None else shared
        self.positions = positions(c.positions, c.max_length + 1, c.width, c.heads)  # + 1 for BOS
        dropout = c.dropout or 0.0
        self.dropout = Dropout(dropout)
        layer = LayerConfig(c.width, c.heads, c.feed_forward, dropout, c.norm, c.activation, positions=self.positions)
        self.encoder = Stack(self._encoder_layer(layer), c.encoder_layers)
        self.decoder = Stack(layer, c.decoder_layers, causal=True, cross=True)
        self.output = OutputHead(c.width, sizes.outputs, bias=c.output_bias)
        initialise(self)
        if c.tie != "none":
            self.output.weight = self.target_embedding.weight
        self.name_parts()

    def _open(self, sizes: Sizes) -> nn.Embedding | None:
        """Build the source's embedding, and return it if the target shares it."""
        raise NotImplementedError

    def _encoder_layer(self, layer: LayerConfig) -> LayerConfig:
        return layer

    def _read(self, batch: Batch) -> Tensor:
        """The embedded source with its positions, [B, S, D]."""
        raise NotImplementedError

    def _mask(self, batch: Batch) -> Tensor | None:
        """The mask of the source [B, 1, 1, S]; None if it has no padding."""
        raise NotImplementedError

    def _embed(self, side: str, embedding: nn.Embedding, ids: Tensor, before: int = 0) -> Tensor:
        x = embedding(ids) * math.sqrt(self.config.width)  # §3.4: embeddings are multiplied by √d_model
        inputs: Tensor = self.dropout(self.positions(x, before))
        if is_recording():
            self.record(f"{side}.embeddings", x)
            self.record(f"{side}.inputs", inputs)
        return inputs

    def encode(self, batch: Batch) -> Tensor:
        """The encoder's output [B, S, D]."""
        h: Tensor = self.encoder(self._read(batch), self._mask(batch))
        return h

    def hidden(self, batch: Batch) -> Tensor:
        source = self.decoder.remember(self.encode(batch))
        x = self._embed("target", self.target_embedding, batch.target_input)
        h: Tensor = self.decoder(x, None, source, self._mask(batch))
        return h

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        source = self.decoder.remember(self.encode(batch))
        rows = torch.arange(batch.size, device=batch.source.device)
        return self._continue(batch.target, StacksState([], source, self._mask(batch), rows, attention))

    def step(self, tokens: Tensor, state: State) -> Step:
        assert isinstance(state, StacksState)
        return self._continue(tokens.unsqueeze(1), state)

    def _continue(self, tokens: Tensor, state: StacksState) -> Step:
        x = self._embed("target", self.target_embedding, tokens, state.own[0].length if state.own else 0)  # [R, t, D]
        weights = None
        if state.attention:
            with recording("decoder.*.cross.weights") as recorder:
                x, own = self.decoder.extend(x, state.own, None, state.source, state.source_mask)
            layers = [w[:, :, -1] for w in recorder.tensors.values()]  # only the last token's row predicts a new token
            weights = torch.stack(layers, 1) if layers else None  # [R, L, H, S]; None: every layer is switched off
        else:
            x, own = self.decoder.extend(x, state.own, None, state.source, state.source_mask)
        return Step(self.output(x[:, -1]), replace(state, own=own), weights)


class Transformer(EncoderDecoder):
    """Translates sentences; source, target and output share their embeddings by default."""

    config: TransformerConfig

    def _open(self, sizes: Sizes) -> nn.Embedding | None:
        self.source_embedding = nn.Embedding(sizes.inputs, self.config.width, PAD)
        if self.config.tie != "all":
            return None
        assert sizes.inputs == sizes.outputs, "one embedding cannot serve two vocabularies"
        return self.source_embedding

    def _read(self, batch: Batch) -> Tensor:
        return self._embed("source", self.source_embedding, batch.source)

    def _mask(self, batch: Batch) -> Tensor | None:
        mask = batch.source_mask
        if not torch.is_grad_enabled() and mask.all():  # generation is faster without one; training need not wait
            return None
        return mask[:, None, None, :]  # [B, S] -> [B, 1, 1, S]


class Captioner(EncoderDecoder):
    """Captions images, which it reads in patches as a ViT does: x_i = W · pixels_i + b + P_i."""

    config: CaptionerConfig
    honours = frozenset({"positions"})
    roles: ClassVar[Mapping[str, Role]] = {"places": "embedding"}

    def _open(self, sizes: Sizes) -> nn.Embedding | None:
        channels, _, height, width = sizes.shape
        rows, columns = self.config.grid(sizes.shape)
        self.patches = Patches(channels, self.config.patch_for(height, width), self.config.width)
        self.places = nn.Parameter(_places(rows, columns, self.config.width))
        return None

    def _encoder_layer(self, layer: LayerConfig) -> LayerConfig:
        return replace(layer, positions=None)  # patches have their own positions

    def _read(self, batch: Batch) -> Tensor:
        x = self.patches(batch.source)  # [B, C, 1, H, W] -> [B, N, D]
        self.record("source.embeddings", x)
        x = self.dropout(x + self.places if active_switches().positions else x)
        self.record("source.inputs", x)
        return x

    def _mask(self, batch: Batch) -> None:
        return None


def _places(rows: int, columns: int, width: int) -> Tensor:
    """The initial position vectors of the patches, [1, N, D]: sinusoids of the row beside sinusoids of the column.

    Training changes them.
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

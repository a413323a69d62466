"""What attention models are built from: multi-head attention, feed-forward, positions, encoder and decoder stacks.

Letters for axes are those of `contracts`. Every part takes a tape (records tensors when given) and switches (leave
parts out). Keys and values are projected separately from queries, so that a decoder can keep them: `KeyValues`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Self, cast

import torch
import torch.nn.functional as F
from pydantic import model_validator
from torch import Tensor, nn

from mirada.config import Section
from mirada.contracts import ALL_ON, Part, Switches, Tape
from mirada.nn.activations import ACTIVATIONS
from mirada.nn.attention import fused, scaled_dot_product

FUSED_FROM = 64
"""On a CPU, many queries over fewer keys than this are quicker by the plain formula; one query never is.

Measured on two cores, plain / fused in ms, 4,000 tokens of width 256: forward and backward 57 / 70 at 16 keys, 62 / 60
at 64, 88 / 76 at 256; one query a row, as in decoding, 2.9 / 2.4 at 16, 2.2 / 1.2 at 64, 1.8 / 1.0 at 256.
"""

Norm = Literal["pre", "post"]
"""Normalise before each sublayer (trains faster), or after it as in the paper."""


class Headed(Section):
    """Settings of a model with attention: its heads share the width, D = H · K."""

    width: int
    heads: int

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"model.width={self.width} cannot be split into model.heads={self.heads} equal heads")
        return self


@dataclass(frozen=True)
class KeyValues:
    """The keys and values of one attention: of a source sentence, or of the tokens so far."""

    k: Tensor  # [R, H, S, K]
    v: Tensor  # [R, H, S, K]
    room: KeyValues | None = None  # [R, H, C, K], C ≥ S: k and v are the beginning of it

    @property
    def length(self) -> int:
        return self.k.shape[2]

    def append(self, new: KeyValues) -> KeyValues:
        """The new behind the old, written into the room that is left; where there is none, it doubles.

        So a step copies one token, not all of them. What was there is kept by nobody else: a state is used once.
        """
        length, room = self.length + new.length, self.room
        if room is None or room.length < length:
            wider = (*self.k.shape[:2], max(length, 2 * self.length), self.k.shape[3])
            room = KeyValues(self.k.new_empty(wider), self.v.new_empty(wider))
            room._put(0, self)
        room._put(self.length, new)
        return KeyValues(room.k[:, :, :length], room.v[:, :, :length], room)

    def _put(self, first: int, new: KeyValues) -> None:
        self.k[:, :, first : first + new.length] = new.k
        self.v[:, :, first : first + new.length] = new.v

    def select(self, rows: Tensor) -> KeyValues:
        return KeyValues(self.k.index_select(0, rows), self.v.index_select(0, rows))


class Dropout(nn.Module):
    """Sets a share p of the values to zero and scales the others by 1/(1−p), while training.

    On a CPU one random byte a value decides (p in steps of 1/256): several times faster than PyTorch's Bernoulli
    draws, and the scaling uses the exact share, so that the expectation is kept.
    """

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        dropped = min(255, round(self.p * 256))
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
        keep = words.view(torch.uint8)[: x.numel()].view(x.shape) >= dropped
        return x * keep.to(x.dtype).mul_(256 / (256 - dropped))


class MultiHead(Part):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O,  head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)   (§3.2.2)"""

    def __init__(self, width: int, heads: int, bias: bool = True):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=bias)
        self.key = nn.Linear(width, width, bias=bias)
        self.value = nn.Linear(width, width, bias=bias)
        self.output = nn.Linear(width, width, bias=bias)
        self.packed: Tensor | None
        self.packed_bias: Tensor | None
        self.register_buffer("packed", None, persistent=False)  # [3D, D]: W^Q, W^K and W^V in one, see `pack`
        self.register_buffer("packed_bias", None, persistent=False)

    def pack(self) -> None:
        """Store W^Q, W^K and W^V as one matrix, by columns; the three are parts of it, and no value changes.

        To write a token is to read every weight once, and one long run of memory is read faster than three short ones.
        """
        parts = (self.query, self.key, self.value)
        self.packed = torch.cat([part.weight.data for part in parts]).t().contiguous().t()
        for part, weight in zip(parts, self.packed.chunk(3), strict=True):
            part.weight.data = weight
        if self.query.bias is not None:
            self.packed_bias = torch.cat([part.bias.data for part in parts])
            for part, bias in zip(parts, self.packed_bias.chunk(3), strict=True):
                part.bias.data = bias

    def _split(self, x: Tensor) -> Tensor:
        b, t, d = x.shape
        return x.view(b, t, self.heads, d // self.heads).transpose(1, 2)  # [B, T, D] -> [B, T, H, K] -> [B, H, T, K]

    def remember(self, x: Tensor) -> KeyValues:
        """The keys and values of x [B, S, D], to attend to now or later."""
        return KeyValues(self._split(self.key(x)), self._split(self.value(x)))

    def project(self, x: Tensor) -> tuple[Tensor, KeyValues]:
        """The queries of x [B, T, D], and its keys and values: what attends to itself needs all three."""
        if self.packed is None or torch.is_grad_enabled():
            return self._split(self.query(x)), self.remember(x)
        q, k, v = (self._split(part) for part in F.linear(x, self.packed, self.packed_bias).chunk(3, -1))
        return q, KeyValues(k, v)

    def forward(
        self,
        x: Tensor,  # [B, T, D]
        memory: KeyValues,
        mask: Tensor | None = None,  # broadcasts to [B, H, T, S]
        tape: Tape | None = None,
        switches: Switches = ALL_ON,
    ) -> Tensor:
        return self.attend(self._split(self.query(x)), memory, mask, tape, switches)

    def attend(
        self,
        q: Tensor,  # [B, H, T, K]
        memory: KeyValues,
        mask: Tensor | None = None,
        tape: Tape | None = None,
        switches: Switches = ALL_ON,
    ) -> Tensor:
        """The rest of it, [B, T, D], where the queries are known."""
        if tape is None and (memory.length >= FUSED_FROM or q.shape[2] == 1 or q.device.type != "cpu"):
            heads = fused(q, memory.k, memory.v, mask, switches.scale)
        else:
            heads, weights = scaled_dot_product(q, memory.k, memory.v, mask, switches.scale)
            if tape is not None:
                for name, tensor in (
                    ("q", q),
                    ("k", memory.k),
                    ("v", memory.v),
                    ("weights", weights),
                    ("heads", heads),
                ):
                    tape.record(self, name, tensor)
        if silenced := switches.silenced(self.path):
            heads = heads.index_fill(1, torch.tensor(silenced, device=heads.device), 0.0)
        return self.output(heads.transpose(1, 2).flatten(2))  # [B, H, T, K] -> [B, T, D]


class FeedForward(Part):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2        (§3.3)"""

    def __init__(self, width: int, inner: int, activation: str = "relu"):
        super().__init__()
        self.inner = nn.Linear(width, inner)
        self.outer = nn.Linear(inner, width)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.activation(self.inner(x)))


class Residual(Part):
    """A sublayer with its residual connection and normalisation: post-norm LN(x + f(x)), pre-norm x + f(LN(x))."""

    def __init__(self, width: int, dropout: float, norm: Norm, eps: float = 1e-5):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps)
        self.dropout = Dropout(dropout)
        self.before = norm == "pre"

    def forward(
        self, x: Tensor, sublayer: Callable[[Tensor], Tensor], tape: Tape | None = None, switches: Switches = ALL_ON
    ) -> Tensor:
        added = self.dropout(sublayer(self.norm(x) if self.before else x))
        x = added if self.path in switches.residual_off else x + added
        x = x if self.before else self.norm(x)
        if tape is not None:
            tape.record(self, "output", x)
        return x


class EncoderLayer(Part):
    """Self-attention and feed-forward, each with its residual connection."""

    def __init__(
        self,
        width: int,
        heads: int,
        inner: int,
        dropout: float,
        norm: Norm,
        activation: str = "relu",
        eps: float = 1e-5,
    ):
        super().__init__()
        self.self_ = MultiHead(width, heads)
        self.add_self = Residual(width, dropout, norm, eps)
        self.feed_forward = FeedForward(width, inner, activation)
        self.add_feed_forward = Residual(width, dropout, norm, eps)

    def forward(self, x: Tensor, mask: Tensor | None, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        def attend(y: Tensor) -> Tensor:
            return self.self_.attend(*self.self_.project(y), mask, tape, switches)

        x = self.add_self(x, attend, tape, switches)
        return self.add_feed_forward(x, self.feed_forward, tape, switches)


class DecoderLayer(Part):
    """Masked self-attention, attention over the encoder's output if there is an encoder, and feed-forward."""

    def __init__(
        self,
        width: int,
        heads: int,
        inner: int,
        dropout: float,
        norm: Norm,
        activation: str = "relu",
        eps: float = 1e-5,
        cross: bool = True,
    ):
        super().__init__()
        self.self_ = MultiHead(width, heads)
        self.add_self = Residual(width, dropout, norm, eps)
        if cross:
            self.cross = MultiHead(width, heads)
            self.add_cross = Residual(width, dropout, norm, eps)
        self.feed_forward = FeedForward(width, inner, activation)
        self.add_feed_forward = Residual(width, dropout, norm, eps)

    def forward(
        self,
        x: Tensor,  # [R, T, D]
        past: KeyValues | None,  # of the tokens before x
        source: KeyValues | None,
        future_mask: Tensor | None,
        source_mask: Tensor | None,
        tape: Tape | None = None,
        switches: Switches = ALL_ON,
    ) -> tuple[Tensor, KeyValues]:
        """The layer's output, and the keys and values of all tokens so far."""
        present: KeyValues

        def attend_self(y: Tensor) -> Tensor:
            nonlocal present
            q, new = self.self_.project(y)
            present = past.append(new) if past else new
            return self.self_.attend(q, present, future_mask, tape, switches)

        x = self.add_self(x, attend_self, tape, switches)
        if source is not None:
            x = self.add_cross(x, lambda y: self.cross(y, source, source_mask, tape, switches), tape, switches)
        return self.add_feed_forward(x, self.feed_forward, tape, switches), present


class Encoder(Part):
    """N encoder layers; a pre-norm stack ends with a normalisation."""

    def __init__(self, layers: Sequence[EncoderLayer], final_norm: nn.Module):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def forward(self, x: Tensor, mask: Tensor | None, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask, tape, switches)
        return self.final_norm(x)


class Decoder(Part):
    """N decoder layers; a pre-norm stack ends with a normalisation."""

    def __init__(self, layers: Sequence[DecoderLayer], final_norm: nn.Module):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def remember(self, memory: Tensor) -> list[KeyValues]:
        """Each layer's keys and values of the encoder's output [B, S, D], projected once a sentence."""
        return [cast(DecoderLayer, layer).cross.remember(memory) for layer in self.layers]

    def forward(
        self,
        x: Tensor,  # [R, T, D]
        past: Sequence[KeyValues | None],
        source: Sequence[KeyValues | None],
        source_mask: Tensor | None,
        tape: Tape | None = None,
        switches: Switches = ALL_ON,
    ) -> tuple[Tensor, list[KeyValues]]:
        """The stack's output, and each layer's keys and values of all tokens so far."""
        before = past[0].length if past[0] else 0
        mask = future_mask(x.shape[1], before, x.device) if switches.future_mask and x.shape[1] > 1 else None
        present = []
        for layer, layer_past, layer_source in zip(self.layers, past, source, strict=True):
            x, kept = layer(x, layer_past, layer_source, mask, source_mask, tape, switches)
            present.append(kept)
        return self.final_norm(x), present


def lay_out(network: nn.Module) -> None:
    """Store weights so that tokens are written fast, one after another; no value and no shape changes.

    Each token reads every weight once, for products y = W x. Of matrices with more rows than columns, by rows and by
    columns, on one core in ms: 50,257 × 768 11.1 and 7.0, 3,072 × 768 0.72 and 0.54; of others 0.58 and 0.73. One W^QKV
    instead of three took a token of a GPT-2, all in all, from 36 to 34 ms on two.
    """
    for module in network.modules():
        if isinstance(module, DecoderLayer):
            module.self_.pack()
        if isinstance(module, nn.Linear) and module.out_features > module.in_features:
            module.weight.data = module.weight.data.t().contiguous().t()


def future_mask(length: int, before: int, device: torch.device) -> Tensor:
    """[T, before+T]: token t may attend to what came before it and to itself."""
    return torch.ones(length, before + length, dtype=torch.bool, device=device).tril(before)


def sinusoidal(length: int, width: int) -> Tensor:
    """PE(t, 2i) = sin(t / 10000^(2i/d)),  PE(t, 2i+1) = cos(t / 10000^(2i/d))        (§3.5)"""
    t = torch.arange(length, dtype=torch.float64).unsqueeze(1)  # [T, 1]
    rates = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))  # [D/2]
    table = torch.zeros(length, width, dtype=torch.float64)
    table[:, 0::2] = torch.sin(t * rates)
    table[:, 1::2] = torch.cos(t * rates[: width // 2])
    return table.to(torch.get_default_dtype())  # [T, D]


class Positions(Part):
    """Adds where a token stands to what it is: the fixed waves of the paper, or vectors that are learned."""

    table: Tensor  # [length, D]

    def __init__(self, length: int, width: int, kind: Literal["sinusoidal", "learned"]):
        super().__init__()
        if kind == "sinusoidal":
            self.register_buffer("table", sinusoidal(length, width), persistent=False)
        else:
            self.table = nn.Parameter(torch.randn(length, width) * 0.02)

    def forward(self, x: Tensor, before: int = 0) -> Tensor:
        return x + self.table[before : before + x.shape[1]]


def suggest_patch(height: int, width: int) -> int:
    """The side of a patch for images of this size: a quarter of the longer side, from 2 to 16 pixels.

    On a few thousand small images, few large patches learned faster and better than many small ones. A size that is
    rounded down to whole patches has the same.
    """
    return min(16, max(2, max(height, width) // 4))


class Patches(Part):
    """Pixels as a sequence: squares of p × p (and t frames deep, of a video), each times one matrix.

    x_i = W · pixels_i + b        (Dosovitskiy et al. 2021, §3.1: a convolution whose stride is its size)
    """

    def __init__(self, channels: int, patch: int, width: int, frames: int = 1):
        super().__init__()
        self.patch, self.frames = patch, frames
        self.linear = nn.Linear(channels * frames * patch * patch, width)

    def forward(self, pixels: Tensor) -> Tensor:
        """From [B, C, F, H, W] to [B, N, D], row by row, frame after frame; the patch must divide what is given."""
        b, c, f, h, w = pixels.shape
        t, p = self.frames, self.patch
        assert f % t == h % p == w % p == 0, "images are resized before they come here"
        cut = pixels.view(b, c, f // t, t, h // p, p, w // p, p)
        return self.linear(cut.permute(0, 2, 4, 6, 1, 3, 5, 7).reshape(b, (f // t) * (h // p) * (w // p), -1))

"""Transformer blocks: multi-head attention, feed-forward, layers, stacks of layers.

Letters for axes are those of `contracts`. A layer is built from one `LayerConfig`; the attention formula and the
positions are objects in it. Keys and values are projected separately from queries, so that a decoder can keep them:
`KeyValues`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self, cast

import torch
import torch.nn.functional as F
from pydantic import model_validator
from torch import Tensor, nn

from mirada.config import Section
from mirada.nn.activations import ACTIVATIONS
from mirada.nn.attention import Formula, ScaledDotProduct, mask_scores
from mirada.nn.positions import Positions
from mirada.parts import Part, active_switches, is_recording
from mirada.precision import rounded

FUSED_FROM = 64
"""The number of keys from which on the fused kernel is faster when training on a CPU; below, the plain formula is."""

ROOM = 16
"""The least number of further tokens that a buffer of keys and values has room for."""

Norm = Literal["pre", "post"]
"""Normalize before each sublayer (trains faster), or after it as in the paper."""


class Headed(Section):
    """Settings of a model with attention: its heads share the width, D = H · K."""

    width: int
    heads: int

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"model.width={self.width} cannot be split into model.heads={self.heads} equal heads")
        if getattr(self, "positions", None) == "rotary" and self.width // self.heads % 2:
            raise ValueError(
                f"model.positions=rotary turns pairs of numbers, and model.width={self.width} over "
                f"model.heads={self.heads} gives heads of odd width {self.width // self.heads}: make it even"
            )
        return self


@dataclass(frozen=True)
class LayerConfig:
    """The configuration of a Transformer layer."""

    width: int
    heads: int
    feed_forward: int
    """The inner size of the feed-forward layers."""
    dropout: float = 0.0
    norm: Norm = "pre"
    activation: str = "relu"
    eps: float = 1e-5
    """Added to the variance in every normalization."""
    formula: Formula = field(default_factory=ScaledDotProduct)
    positions: Positions | None = None
    """Positions that self-attention applies to its queries and keys, if they are of that kind."""


@dataclass(frozen=True)
class KeyValues:
    """The keys and values of one attention layer, for a source sentence or for the tokens so far."""

    k: Tensor  # [R, H, S, K]
    v: Tensor  # [R, H, S, K]
    room: KeyValues | None = None  # [R, H, C, K], C ≥ S: k and v are the beginning of it

    @property
    def length(self) -> int:
        return self.k.shape[2]

    def append(self, new: KeyValues) -> KeyValues:
        """These keys and values followed by new ones, in a buffer with room for more.

        So most steps copy one token, not all of them. The buffer is written in place: a state is used once.
        """
        length, room = self.length + new.length, self.room
        if room is None or room.length < length:
            wider = (*self.k.shape[:2], length + max(ROOM, length // 8), self.k.shape[3])
            room = KeyValues(self.k.new_empty(wider), self.v.new_empty(wider))
            room._put(0, self)
        room._put(self.length, new)
        return KeyValues(room.k[:, :, :length], room.v[:, :, :length], room)

    def _put(self, first: int, new: KeyValues) -> None:
        self.k[:, :, first : first + new.length] = new.k
        self.v[:, :, first : first + new.length] = new.v

    def select(self, rows: Tensor) -> KeyValues:
        if self.room is None:
            return KeyValues(self.k.index_select(0, rows), self.v.index_select(0, rows))
        room = self.room.select(rows)
        return KeyValues(room.k[:, :, : self.length], room.v[:, :, : self.length], room)


class Dropout(nn.Module):
    """Sets a share p of the values to zero and scales the others by 1/(1−p), while training.

    On a CPU one random byte a value decides (p in steps of 1/256), or two bytes in bfloat16: several times faster than
    PyTorch's Bernoulli draws, and the scaling uses the exact share, so that the expectation is kept.
    """

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        if x.dtype == torch.bfloat16:
            return x * self._mask_in_bfloat16(x.shape)
        dropped = min(255, round(self.p * 256))
        keep = _random_bytes(x.numel()).view(x.shape) >= dropped
        return x * keep.to(x.dtype).mul_(256 / (256 - dropped))

    def _mask_in_bfloat16(self, shape: torch.Size) -> Tensor:
        """0 or 1/(1−p), by integers: converting bools to bfloat16 takes longer than all of this.

        The scale is rounded to bfloat16 (1.109 for 1.111), and p follows from it.
        """
        scale = torch.tensor(1 / (1 - self.p), dtype=torch.bfloat16)
        dropped = min(32767, round(32768 * (1 - 1 / scale.item())))
        mask = _random_bytes(2 * shape.numel()).view(torch.int16).view(shape)
        mask.bitwise_right_shift_(1)  # from −16384 to 16383, so that the difference fits
        mask.sub_(dropped - 16384).bitwise_right_shift_(15).bitwise_not_()  # all bits set where it is kept
        return mask.bitwise_and_(int(scale.view(torch.int16))).view(torch.bfloat16)


def _random_bytes(count: int) -> Tensor:
    return torch.empty((count + 7) // 8, dtype=torch.int64).random_(-(2**63), None).view(torch.uint8)[:count]


class MultiHead(Part):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O,  head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)   (§3.2.2)"""

    honours = frozenset({"scale", "heads_off"})

    def __init__(self, config: LayerConfig):
        super().__init__()
        width = config.width
        self.heads, self.formula = config.heads, config.formula
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.positions = config.positions if config.positions is not None and config.positions.in_attention else None
        self.packed: Tensor | None
        self.packed_bias: Tensor | None
        self.register_buffer("packed", None, persistent=False)  # [3D, D]: W^Q, W^K and W^V in one, see `pack`
        self.register_buffer("packed_bias", None, persistent=False)

    def pack(self) -> None:
        """Store W^Q, W^K and W^V as one matrix, by columns; the three become views of it, and no value changes.

        Generating a token reads every weight once, and one matrix is read faster than three.
        """
        parts = (self.query, self.key, self.value)
        self.packed = torch.cat([part.weight.data for part in parts]).t().contiguous().t()
        self.packed_bias = torch.cat([part.bias.data for part in parts])
        for part, weight, bias in zip(parts, self.packed.chunk(3), self.packed_bias.chunk(3), strict=True):
            part.weight.data, part.bias.data = weight, bias

    def _split(self, x: Tensor) -> Tensor:
        b, t, d = x.shape
        return x.view(b, t, self.heads, d // self.heads).transpose(1, 2)  # [B, T, D] -> [B, T, H, K] -> [B, H, T, K]

    def remember(self, x: Tensor) -> KeyValues:
        """The keys and values of x [B, S, D]."""
        return KeyValues(self._split(self.key(x)), self._split(self.value(x)))

    def project(self, x: Tensor, before: int = 0) -> tuple[Tensor, KeyValues]:
        """Queries, keys and values of x [B, T, D] for self-attention; x begins after the first `before` tokens."""
        x = rounded(x)
        if self.packed is None or torch.is_grad_enabled():
            q, new = self._split(self.query(x)), self.remember(x)
        else:
            q, k, v = (self._split(part) for part in F.linear(x, self.packed, self.packed_bias).chunk(3, -1))
            new = KeyValues(k, v)
        if self.positions is not None:
            q, new = self.positions.rotate(q, before), KeyValues(self.positions.rotate(new.k, before), new.v)
        return q, new

    def forward(self, x: Tensor, memory: KeyValues, mask: Tensor | None = None) -> Tensor:
        """Attend from x [R, T, D] to the keys and values of B sentences; mask broadcasts to [B, H, T, S].

        With R = B · W, W consecutive rows are hypotheses of one sentence: they are W · T queries to its keys.
        """
        queries = self.query(x).view(len(memory.k), -1, x.shape[-1])  # [B, W·T, D]
        return self.attend(self._split(queries), memory, mask).view(x.shape)

    def attend(self, q: Tensor, memory: KeyValues, mask: Tensor | None = None) -> Tensor:
        """Attention and output projection, [B, T, D], for projected queries [B, H, T, K]."""
        switches, k, v, recorded, weights = active_switches(), memory.k, memory.v, is_recording(), None
        few = memory.length < FUSED_FROM and q.shape[2] > 1 and q.device.type == "cpu"
        if (few and torch.is_grad_enabled()) or (recorded and self.wants("weights")):
            heads, weights = self.formula.attend(q, k, v, mask, switches.scale)
        else:
            heads = self.formula.fused(q, k, v, mask, switches.scale)
        if switches.heads_off and (disabled := switches.disabled_heads(self.path)):
            heads = heads.index_fill(1, torch.tensor(disabled, device=heads.device), 0.0)
        output: Tensor = self.output(heads.transpose(1, 2).flatten(2))  # [B, H, T, K] -> [B, T, D]
        if recorded:
            for name, tensor in (("q", q), ("k", k), ("v", v), ("heads", heads), ("output", output)):
                self.record(name, tensor)
            if weights is not None:
                self.record("weights", weights)
            self._record_scores(q, k, mask)
        return output

    def _record_scores(self, q: Tensor, k: Tensor, mask: Tensor | None) -> None:
        """Record the scores [B, H, T, S]: Q Kᵀ, the same divided by √d_k, and that with the mask."""
        if not self.wants("raw_scores", "scores", "masked_scores"):
            return
        scores = self.formula.scores(q, k, active_switches().scale)
        self.record("raw_scores", self.formula.scores(q, k, scale=False))
        self.record("scores", scores)
        self.record("masked_scores", mask_scores(scores, mask))


class FeedForward(Part):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2        (§3.3)"""

    def __init__(self, width: int, inner: int, activation: str = "relu"):
        super().__init__()
        self.inner = nn.Linear(width, inner)
        self.outer = nn.Linear(inner, width)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        inner = self.inner(x)
        activated = self.activation(inner)
        outer: Tensor = self.outer(activated)
        if is_recording():
            self.record("inner", inner)
            self.record("activated", activated)
            self.record("outer", outer)
        return outer


class Residual(Part):
    """A sublayer with its residual connection and normalisation: post-norm LN(x + f(x)), pre-norm x + f(LN(x))."""

    honours = frozenset({"residual_off"})

    def __init__(self, config: LayerConfig):
        super().__init__()
        self.norm = nn.LayerNorm(config.width, config.eps)
        self.dropout = Dropout(config.dropout)
        self.before = config.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        inner = self.norm(x) if self.before else x
        added = self.dropout(sublayer(inner))
        total = added if self.path in active_switches().residual_off else x + added
        output: Tensor = total if self.before else self.norm(total)
        if is_recording():
            self.record("norm", inner if self.before else output)
            self.record("added", added)
            self.record("output", output)
        return output


class Layer(Part):
    """Self-attention, attention over an encoder's output if there is one (`cross`), and feed-forward."""

    honours = frozenset({"layers_off"})

    def __init__(self, config: LayerConfig, cross: bool = False):
        super().__init__()
        self.self_ = MultiHead(config)
        self.add_self = Residual(config)
        if cross:
            self.cross = MultiHead(replace(config, positions=None))
            self.add_cross = Residual(config)
        self.feed_forward = FeedForward(config.width, config.feed_forward, config.activation)
        self.add_feed_forward = Residual(config)

    def forward(
        self,
        x: Tensor,  # [R, T, D]
        mask: Tensor | None = None,  # broadcasts to [R, H, T, S], S the tokens so far
        past: KeyValues | None = None,  # of the tokens before x
        source: KeyValues | None = None,
        source_mask: Tensor | None = None,
    ) -> tuple[Tensor, KeyValues]:
        """The layer's output, and the keys and values of all tokens so far."""
        present: KeyValues

        def project(y: Tensor) -> Tensor:
            nonlocal present
            q, new = self.self_.project(y, past.length if past else 0)
            present = past.append(new) if past else new
            return q

        def attend(y: Tensor) -> Tensor:
            return self.self_.attend(project(y), present, mask)

        if self.path in active_switches().layers_off:
            project(x)  # for the number of tokens, from which positions are counted
            return x, present
        x = self.add_self(x, attend)
        if source is not None:
            x = self.add_cross(x, lambda y: self.cross(y, source, source_mask))
        return self.add_feed_forward(x, self.feed_forward), present


class Stack(Part):
    """A stack of layers, with a final normalisation if pre-norm; a causal one, as in a decoder, hides later tokens."""

    def __init__(self, config: LayerConfig, layers: int, causal: bool = False, cross: bool = False):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config, cross) for _ in range(layers))
        self.final_norm = nn.LayerNorm(config.width, config.eps) if config.norm == "pre" else nn.Identity()
        self.causal = causal
        self.honours = frozenset({"future_mask"}) if causal else frozenset()

    def remember(self, memory: Tensor) -> list[KeyValues]:
        """Each layer's keys and values of an encoder's output [B, S, D], projected once per sentence."""
        memory = rounded(memory)
        return [cast(Layer, layer).cross.remember(memory) for layer in self.layers]

    def forward(
        self,
        x: Tensor,  # [B, T, D]
        mask: Tensor | None = None,  # broadcasts to [B, H, T, T]
        source: Sequence[KeyValues] = (),  # a layer each, what `remember` gave
        source_mask: Tensor | None = None,  # broadcasts to [B, H, T, S]
    ) -> Tensor:
        """The output [B, T, D] for whole sequences."""
        return self.extend(x, None, mask, source, source_mask)[0]

    def extend(
        self,
        x: Tensor,  # [R, T, D]
        past: Sequence[KeyValues] | None,  # of the tokens before x, a layer each; empty at the beginning
        mask: Tensor | None = None,
        source: Sequence[KeyValues] = (),
        source_mask: Tensor | None = None,
    ) -> tuple[Tensor, list[KeyValues]]:
        """The output for the next tokens, and each layer's keys and values of all tokens; none if `past` is None."""
        if self.causal and x.shape[1] > 1 and active_switches().future_mask:
            future = future_mask(x.shape[1], past[0].length if past else 0, x.device)
            mask = future if mask is None else mask & future
        present = []
        for n, layer in enumerate(self.layers):
            x, kept = layer(x, mask, past[n] if past else None, source[n] if source else None, source_mask)
            if past is not None:
                present.append(kept)
        x = self.final_norm(x)
        if is_recording():
            self.record("output", x)
        return x, present


def lay_out(network: nn.Module) -> None:
    """Optimize the memory layout of weights for generating token by token; no value and no shape changes.

    Each token reads every weight once, for products y = W x: matrices with more rows than columns are read faster by
    columns, and one W^QKV faster than three matrices.
    """
    for module in network.modules():
        if isinstance(module, Stack) and module.causal:
            for layer in module.layers:
                cast(Layer, layer).self_.pack()
        if isinstance(module, nn.Linear) and module.out_features > module.in_features:
            module.weight.data = module.weight.data.t().contiguous().t()


def future_mask(length: int, before: int, device: torch.device) -> Tensor:
    """The causal mask [T, before+T]: a token may attend to itself and to those before it."""
    return torch.ones(length, before + length, dtype=torch.bool, device=device).tril(before)

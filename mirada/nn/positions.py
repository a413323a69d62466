"""Position encodings of a Transformer.

    none        nothing: the order is not seen
    sinusoidal  fixed waves, added to the embeddings        (Vaswani et al. 2017, §3.5)
    learned     learned vectors, added to the embeddings    (Gehring et al. 2017, §3.1)
    rotary      queries and keys are turned by an angle     (Su et al. 2021, §3.2)

A model is given one of these objects. It calls it on its embeddings; its attentions call `rotate` on their queries and
keys. `positions(…)` makes one by its name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from mirada.parts import Part, Role, active_switches, is_recording

EXACT: dict[str, Any] = {"dtype": torch.float64, "device": "cpu"}
"""Tables are computed on the CPU, whatever the default device is: some have no float64."""


def sinusoidal(length: int, width: int) -> Tensor:
    """PE(t, 2i) = sin(t / 10000^(2i/d)),  PE(t, 2i+1) = cos(t / 10000^(2i/d))        (§3.5)"""
    t = torch.arange(length, **EXACT).unsqueeze(1)  # [T, 1]
    rates = torch.exp(torch.arange(0, width, 2, **EXACT) * (-math.log(10000.0) / width))  # [D/2]
    table = torch.zeros(length, width, **EXACT)
    table[:, 0::2] = torch.sin(t * rates)
    table[:, 1::2] = torch.cos(t * rates[: width // 2])
    return table.to(torch.get_default_dtype())  # [T, D]


class Positions(Part):
    """Base class of position encodings, which has no effect itself."""

    in_attention: ClassVar[bool] = False
    """Whether `rotate` does anything."""

    def forward(self, x: Tensor, before: int = 0) -> Tensor:
        """Encode positions in embeddings x [B, T, D] of the tokens after the first `before`."""
        return x

    def rotate(self, x: Tensor, before: int = 0) -> Tensor:
        """Encode positions in queries or keys x [B, H, T, K] of the tokens after the first `before`."""
        return x


class AddedPositions(Positions):
    """x_t + P_t, where P is a table of vectors."""

    honours = frozenset({"positions"})
    table: Tensor  # [length, D]

    def forward(self, x: Tensor, before: int = 0) -> Tensor:
        if not active_switches().positions:
            return x
        vectors = self.table[before : before + x.shape[1]]
        if is_recording():
            self.record("vectors", vectors)
        return x + vectors


class Sinusoidal(AddedPositions):
    """The fixed sinusoids of the paper; `halves` puts all sines before all cosines, as Marian does."""

    def __init__(self, length: int, width: int, halves: bool = False):
        super().__init__()
        waves = sinusoidal(length, width)
        waves = torch.cat([waves[:, 0::2], waves[:, 1::2]], 1) if halves else waves
        self.register_buffer("table", waves, persistent=False)


class Learned(AddedPositions):
    """A learned vector for each position."""

    roles: ClassVar[Mapping[str, Role]] = {"table": "embedding"}

    def __init__(self, length: int, width: int):
        super().__init__()
        self.table = nn.Parameter(torch.randn(length, width) * 0.02)


class Rotary(Positions):
    """R_t x: each pair (x_i, x_{i+K/2}) is turned by the angle t / 10000^(2i/K)        (Su et al. 2021, §3.2.2)

    (R_t q)ᵀ (R_s k) = qᵀ R_{s−t} k, so a score depends on the distance alone.
    """

    in_attention = True
    honours = frozenset({"positions"})
    cos: Tensor  # [length, K]
    sin: Tensor  # [length, K]

    def __init__(self, length: int, head_width: int):
        super().__init__()
        rates = 10000.0 ** (-torch.arange(0, head_width, 2, **EXACT) / head_width)  # [K/2]
        angles = torch.arange(length, **EXACT).unsqueeze(1) * torch.cat([rates, rates])  # [length, K]
        dtype = torch.get_default_dtype()
        self.register_buffer("cos", angles.cos().to(dtype), persistent=False)
        self.register_buffer("sin", angles.sin().to(dtype), persistent=False)

    def rotate(self, x: Tensor, before: int = 0) -> Tensor:
        if not active_switches().positions:
            return x
        one, two = x.chunk(2, -1)
        here = slice(before, before + x.shape[2])
        return x * self.cos[here] + torch.cat([-two, one], -1) * self.sin[here]


def positions(kind: str, length: int, width: int, heads: int) -> Positions:
    """The position encoding of a model by its name, for up to `length` tokens."""
    if kind == "rotary":
        return Rotary(length, width // heads)
    if kind == "learned":
        return Learned(length, width)
    return Positions() if kind == "none" else Sinusoidal(length, width, halves=kind == "halves")

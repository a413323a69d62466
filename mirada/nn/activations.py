"""What makes a layer more than linear: h = g(W x + b), with every g of the lecture notes, and maxout.

A function g works element by element. Maxout is no such function: it has several W and b, and takes the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Activation = Literal["sigmoid", "tanh", "relu", "leaky_relu", "elu", "gelu", "gelu_tanh", "silu", "maxout"]
"""Everything a layer can end with."""

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,  # σ(z) = 1 / (1 + e^−z)
    "tanh": torch.tanh,  # (e^z − e^−z) / (e^z + e^−z)
    "relu": torch.relu,  # max(0, z)
    "leaky_relu": partial(F.leaky_relu, negative_slope=0.1),  # max(0.1 z, z)
    "elu": F.elu,  # z, or e^z − 1 below zero
    "gelu": F.gelu,  # z Φ(z), Φ(z) = (1 + erf(z / √2)) / 2
    "gelu_tanh": partial(F.gelu, approximate="tanh"),  # the same with tanh instead of erf, as in GPT-2
    "silu": F.silu,  # z σ(z), also called swish
}

PIECES = 2
"""How many linear pieces maxout has, unless told."""


def maxout(z: Tensor, pieces: int = PIECES) -> Tensor:
    """h = max_k z_k, of z [.., P·D] = [z_1, …, z_P] side by side; h is [.., D]        (Goodfellow et al. 2013, §3)"""
    return z.unflatten(-1, (pieces, -1)).amax(-2)


class Maxout(nn.Module):
    """h = max_k (W_k x + b_k): it learns its own g, a convex function made of straight pieces."""

    def __init__(self, inputs: int, outputs: int, pieces: int = PIECES):
        super().__init__()
        self.pieces = pieces
        self.linear = nn.Linear(inputs, pieces * outputs)

    def forward(self, x: Tensor) -> Tensor:
        return maxout(self.linear(x), self.pieces)


class Dense(nn.Module):
    """h = g(W x + b)"""

    def __init__(self, inputs: int, outputs: int, activation: Activation):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.g = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        return self.g(self.linear(x))


def layer(inputs: int, outputs: int, activation: Activation) -> nn.Module:
    """One layer of a multi-layer perceptron, from [.., inputs] to [.., outputs]."""
    return Maxout(inputs, outputs) if activation == "maxout" else Dense(inputs, outputs, activation)

"""Activation functions g of a layer h = g(W x + b), and maxout.

g works element by element. Maxout has several W and b, and takes the largest result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Activation = Literal["sigmoid", "tanh", "relu", "leaky_relu", "elu", "gelu", "gelu_tanh", "silu", "maxout"]
"""The activations that a layer can have."""

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
"""The default number of maxout's linear pieces."""


def maxout(z: Tensor, pieces: int = PIECES) -> Tensor:
    """h = max_k z_k, of z [.., P·D] = [z_1, …, z_P] side by side; h is [.., D]        (Goodfellow et al. 2013, §3)"""
    return z.unflatten(-1, (pieces, -1)).amax(-2)

"""Every activation is its formula, maxout is the largest of its pieces, and all parts take theirs from one place."""

from __future__ import annotations

import math
from typing import get_args

import pytest
import torch

from mirada.nn import recurrent
from mirada.nn.activations import ACTIVATIONS, Activation, maxout
from mirada.nn.blocks import FeedForward
from tests.tensors import close, random


def formula(name: str, z: float) -> float:
    """In plain Python, for one number."""
    return {
        "sigmoid": lambda: 1 / (1 + math.exp(-z)),
        "tanh": lambda: (math.exp(z) - math.exp(-z)) / (math.exp(z) + math.exp(-z)),
        "relu": lambda: max(0.0, z),
        "leaky_relu": lambda: max(0.1 * z, z),
        "elu": lambda: z if z > 0 else math.exp(z) - 1,
        "gelu": lambda: z * (1 + math.erf(z / math.sqrt(2))) / 2,
        "gelu_tanh": lambda: z * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))) / 2,
        "silu": lambda: z / (1 + math.exp(-z)),
    }[name]()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_is_its_formula(name: str) -> None:
    z = torch.cat([random(50) * 3, torch.zeros(1, dtype=torch.float64)])
    close(ACTIVATIONS[name](z), torch.tensor([formula(name, v) for v in z.tolist()], dtype=torch.float64))


def test_there_is_one_place_for_activations() -> None:
    assert {*ACTIVATIONS, "maxout"} == set(get_args(Activation))
    assert set(recurrent.ACTIVATIONS) == {"sigmoid", "tanh", "relu", "leaky_relu", "elu"}
    assert all(g is ACTIVATIONS[name] for name, g in recurrent.ACTIVATIONS.items())
    assert FeedForward(4, 8, "gelu_tanh").activation is ACTIVATIONS["gelu_tanh"]


@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_maxout_is_the_largest_of_its_linear_pieces(pieces: int) -> None:
    """h = max_k (W_k x + b_k)"""
    x, w, b = random(2, 3, 4), random(pieces, 5, 4, seed=1), random(pieces, 5, seed=2)
    z = torch.stack([x @ w[k].T + b[k] for k in range(pieces)])
    found = maxout(x @ w.flatten(0, 1).T + b.flatten(), pieces)
    close(found, z.max(0).values)
    assert found.shape == (2, 3, 5)


def test_maxout_with_two_pieces_can_be_relu_and_absolute_value() -> None:
    x = random(6, 4)
    close(maxout(torch.cat([0 * x, x], -1)), x.relu())
    close(maxout(torch.cat([-x, x], -1)), x.abs())

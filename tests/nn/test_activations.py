"""Every activation is its formula, maxout is the largest of its pieces, and all parts take theirs from one place."""

from __future__ import annotations

import math
from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from mirada.nn import activations, recurrent
from mirada.nn.activations import ACTIVATIONS, Activation, Dense, Maxout, layer
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
    network, x = Maxout(4, 5, pieces).double(), random(2, 3, 4)
    w, b = network.linear.weight.unflatten(0, (pieces, 5)), network.linear.bias.unflatten(0, (pieces, 5))
    z = torch.stack([x @ w[k].T + b[k] for k in range(pieces)])
    close(network(x), z.max(0).values)
    assert network(x).shape == (2, 3, 5)


def test_maxout_with_two_pieces_can_be_relu_and_absolute_value() -> None:
    x = random(6, 4)

    def pieces(*factors: float) -> Tensor:
        network = Maxout(4, 4).double()
        with torch.no_grad():
            network.linear.weight.copy_(torch.cat([factor * torch.eye(4) for factor in factors]))
            network.linear.bias.zero_()
        return network(x)

    close(pieces(0, 1), x.relu())
    close(pieces(-1, 1), x.abs())


@pytest.mark.parametrize("name", get_args(Activation))
def test_a_layer_is_linear_and_then_its_activation(name: Activation) -> None:
    network, x = layer(4, 5, name).double(), random(7, 4)
    assert isinstance(network, Maxout if name == "maxout" else Dense)
    linear = network.linear
    assert isinstance(linear, nn.Linear)
    z = x @ linear.weight.T + linear.bias
    close(network(x), torch.maximum(*z.chunk(2, -1)) if name == "maxout" else ACTIVATIONS[name](z))
    assert linear.out_features == (5 * activations.PIECES if name == "maxout" else 5)
    network(x).sum().backward()
    assert linear.weight.grad is not None
    assert linear.weight.grad.any()

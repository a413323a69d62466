"""Recurrent networks to test with, and their twins in torch.nn."""

from __future__ import annotations

from typing import TypeVar, get_args

import torch
from torch import Tensor, nn

from mirada.nn.recurrent import (
    Activation,
    Kind,
    Memory,
    Recurrent,
)
from tests.tensors import random

Module = TypeVar("Module", bound=nn.Module)

INPUTS, WIDTH, OUTPUTS = 4, 5, 3
KINDS: tuple[Kind, ...] = get_args(Kind)
BOTH_WAYS = [(kind, both) for kind in KINDS for both in (False, True) if kind != "jordan" or not both]
TWINS: list[tuple[Kind, Activation, type[nn.RNNBase], type[nn.RNNCellBase]]] = [
    ("elman", "tanh", nn.RNN, nn.RNNCell),
    ("elman", "relu", nn.RNN, nn.RNNCell),
    ("lstm", "tanh", nn.LSTM, nn.LSTMCell),
    ("gru", "tanh", nn.GRU, nn.GRUCell),
]


def shaken(module: Module) -> Module:
    """The module in float64 with every parameter random, large enough that saturation shows."""
    module.double()
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.6 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return module


def stack(kind: Kind, layers: int = 1, both: bool = False, activation: Activation = "tanh") -> Recurrent:
    outputs = OUTPUTS if kind == "jordan" else 0
    return shaken(Recurrent(kind, INPUTS, WIDTH, layers, both, 0.0, activation, outputs))


def said(kind: Kind, b: int, t: int) -> Tensor | None:
    """The true outputs before each step, for the kind that is told them."""
    return random(b, t, OUTPUTS, seed=3) if kind == "jordan" else None


def some_state(network: Recurrent, rows: int) -> Memory:
    """A state that is not zero."""
    start = network.initial(rows)
    c = None if start.c is None else random(*start.c.shape, seed=12)
    return Memory(random(*start.h.shape, seed=11), c, None if start.o is None else random(*start.o.shape, seed=13))


def state_tensors(state: Memory) -> list[Tensor]:
    return [tensor for tensor in (state.h, state.c, state.o) if tensor is not None]


def weighted(tensors: list[Tensor]) -> Tensor:
    """One number that depends on every element in its own way."""
    return torch.stack([(tensor * random(*tensor.shape, seed=5)).sum() for tensor in tensors]).sum()


def torch_twin(
    ours: Recurrent, kind: type[nn.RNNBase], activation: str
) -> tuple[nn.RNNBase, list[tuple[Tensor, Tensor]]]:
    """torch.nn's module with our weights, and the pairs of parameters."""
    more = {"nonlinearity": activation} if kind is nn.RNN else {}
    both = len(ours.directions) == 2
    theirs = kind(INPUTS, WIDTH, len(ours.layers), batch_first=True, bidirectional=both, **more).double()  # type: ignore[arg-type]
    pairs = list[tuple[Tensor, Tensor]]()
    for name, cell in ours.cells():
        layer, direction = name.split(".")
        end = f"l{layer}" + ("_reverse" if direction == "backward" else "")
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        pairs += list(
            zip((cell.U, cell.W, cell.b_U, cell.b_W), (getattr(theirs, f"{n}_{end}") for n in names), strict=True)
        )
    with torch.no_grad():
        for mine, other in pairs:
            other.copy_(mine)
    return theirs, pairs

"""Position encodings: each by its formula, rotary against its references."""

from __future__ import annotations

import math

import pytest
import torch

from mirada.nn.positions import AddedPositions, sinusoidal
from mirada.nn.positions import positions as build
from tests.tensors import close, random


@pytest.mark.parametrize("width", [2, 7, 12])
def test_sinusoidal_positions_are_their_formula(width: int) -> None:
    table = sinusoidal(300, width)
    assert table.shape == (300, width)
    assert table.dtype == torch.float32
    for t in (0, 1, 2, 17, 299):
        for i in range(width):
            angle = t / 10000 ** ((i - i % 2) / width)
            assert table[t, i].item() == pytest.approx(math.cos(angle) if i % 2 else math.sin(angle), abs=1e-7)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_positions_are_added_from_where_the_tokens_stand(kind: str) -> None:
    positions = build(kind, 10, 6, 1).double()
    assert isinstance(positions, AddedPositions)
    x = random(2, 4, 6)
    close(positions(x), x + positions.table[:4])
    close(positions(x, 5), x + positions.table[5:9])
    assert not torch.equal(positions(x), positions(x, 5))
    assert [name for name, _ in positions.named_parameters()] == (["table"] if kind == "learned" else [])
    assert list(positions.state_dict()) == (["table"] if kind == "learned" else [])  # waves are not weights
    if kind == "learned":
        positions(x, 5).sum().backward()
        assert positions.table.grad is not None
        assert (positions.table.grad[5:9] == 2).all()
        assert (positions.table.grad[:5] == 0).all()

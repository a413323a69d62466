"""Small random models of Hugging Face's, and their weights in ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from mirada.exchange.mapping import Row


def shaken(model: Any, seed: int = 3) -> Any:
    """A model of `transformers` in float64, with every parameter random: also biases and norms."""
    model.double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def copied(ours: nn.Module, theirs: Any, rows: Sequence[Row]) -> int:
    """Fill our model with theirs, words with the same numbers; how many of our parameters have got something."""
    ours.double().eval()
    state: dict[str, Tensor] = theirs.state_dict()
    parameters = dict(ours.named_parameters())
    filled = 0
    with torch.no_grad():
        for move in (move for row in rows for move in row.expanded(parameters)):
            found = state[move.theirs].T if move.transposed else state[move.theirs]
            names = move.ours.split()
            for name, part in zip(names, found.chunk(len(names)), strict=True):
                parameters[name].copy_(part)
                filled += 1
    return filled

"""A running average of the weights, which is what gets validated and saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn


class WeightAverage:
    """The average of the weights over the last steps, a window that grows with the run."""

    def __init__(self, parameters: Sequence[nn.Parameter], share: float):
        self.parameters, self.share = parameters, share
        self.tensors = [parameter.detach().clone() for parameter in parameters]

    def update(self, step: int) -> None:
        """a ← a + (w − a) / n, where n is the given share of the steps so far."""
        window = max(1.0, self.share * step)
        torch._foreach_lerp_(self.tensors, [parameter.detach() for parameter in self.parameters], 1 / window)

    def swap(self) -> None:
        """Exchange the model's weights and their average."""
        for index, parameter in enumerate(self.parameters):
            parameter.data, self.tensors[index] = self.tensors[index], parameter.data

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Give the model its averaged weights for the duration of a `with` block."""
        self.swap()
        try:
            yield
        finally:
            self.swap()

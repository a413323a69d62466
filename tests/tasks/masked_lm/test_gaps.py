"""The loss of masked modelling: hidden words, and which class means "it follows", as published."""

from __future__ import annotations

import math

import pytest
import torch

from mirada.contracts import EOS, SequenceBatch
from mirada.tasks.masked_lm.data import DOES_NOT, FOLLOWS
from mirada.training.losses import MaskedTokenLoss


class DataSummary:
    """A network that always says the same of words, and of whether a span follows."""

    def states(self, batch: SequenceBatch) -> torch.Tensor:
        return torch.zeros(batch.size, 1 + batch.inputs.shape[1], 4)

    def pooled(self, states: torch.Tensor) -> torch.Tensor:
        return states[:, 0]

    def masked(self, states: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(states), 8)

    def follows(self, pooled: torch.Tensor) -> torch.Tensor:
        return torch.tensor([math.log(9.0), 0.0]).expand(len(pooled), 2)  # class 0, "it follows", with 9 in 10


@pytest.mark.parametrize(("answer", "chance"), [(FOLLOWS, 0.9), (DOES_NOT, 0.1), (0, None)])
def test_words_and_answers_weigh_the_same(answer: int, chance: float | None) -> None:
    truth = torch.tensor([[answer, 5, 0, 6, 0]])
    batch = SequenceBatch(torch.tensor([[5, 3, 6, EOS]]), torch.tensor([4]), truth=truth)
    loss = MaskedTokenLoss()(DataSummary(), batch)
    words = 2 * math.log(8.0)
    assert loss.count == 2
    assert float(loss.total) == pytest.approx(words if chance is None else words - 2 * math.log(chance), abs=1e-5)

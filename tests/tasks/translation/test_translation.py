"""The objective against PyTorch's own, and the splitting of texts."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from mirada.data.batching import similar
from mirada.training.losses import _SmoothedCrossEntropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_smoothed_cross_entropy_equals_pytorch(smoothing: float) -> None:
    torch.manual_seed(0)
    truth = torch.randint(0, 30, (50,))
    ours = (torch.randn(50, 30, dtype=torch.float64) * 5).requires_grad_()
    theirs = ours.detach().clone().requires_grad_()
    got = _SmoothedCrossEntropy.apply(ours, truth, smoothing)
    expected = F.cross_entropy(theirs, truth, reduction="sum", label_smoothing=smoothing)
    (got * 0.37).backward()
    (expected * 0.37).backward()
    assert torch.allclose(got, expected, atol=1e-10)
    assert ours.grad is not None
    assert theirs.grad is not None
    assert torch.allclose(ours.grad, theirs.grad, atol=1e-12)


def test_groups_hold_every_text_once_and_keep_to_their_size() -> None:
    lengths = [3, 50, 7, 7, 1, 30, 2, 90]
    groups = list(similar(lengths, cells=64))
    assert sorted(number for group in groups for number in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) == 1 or len(group) * (max(lengths[i] for i in group) + 1) <= 64

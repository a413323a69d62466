"""Muon against a plain reference, one matrix at a time."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from mirada.training.muon import Muon, orthogonal
from tests.tensors import close, random
from tests.training import reference

SHAPES = [(4, 4), (4, 4), (3, 7), (7, 3), (1, 5), (6, 1)]


@pytest.mark.parametrize("weight_decay", [0.0, 0.5])
@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.95])
def test_steps_are_those_of_the_reference(momentum: float, weight_decay: float) -> None:
    """Nesterov's momentum, sized by the larger side, weight decay apart; matrices of one shape together."""
    ours = [nn.Parameter(random(*shape, seed=seed)) for seed, shape in enumerate(SHAPES)]
    theirs = [nn.Parameter(matrix.detach().clone()) for matrix in ours]
    muon = Muon(ours, lr=0.1, momentum=momentum, weight_decay=weight_decay)
    plain = reference.Muon(list(theirs), weight_decay, momentum)
    for step in range(4):
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            one.grad = random(*one.shape, seed=100 * step + place)
            other.grad = one.grad.clone()
        muon.step()
        plain.param_groups[0]["lr"] = 0.1
        plain.step()
        for one, other in zip(ours, theirs, strict=True):
            close(one, other, 1e-9)


def test_momentum_is_095_and_nothing_decays_unless_asked() -> None:
    assert Muon([nn.Parameter(torch.ones(2, 2))], lr=0.1).defaults == {"lr": 0.1, "momentum": 0.95, "weight_decay": 0.0}


def test_a_matrix_without_a_gradient_stays_as_it_is() -> None:
    still, moved = nn.Parameter(random(3, 3)), nn.Parameter(random(3, 3))
    before = still.detach().clone()
    moved.grad = random(3, 3, seed=1)
    muon = Muon([still, moved], lr=0.1, weight_decay=0.5)
    muon.step()
    close(still, before, 0.0)
    assert still not in muon.state
    assert not torch.equal(moved, before)


def test_an_update_has_the_size_of_one_of_adam() -> None:
    """Its root mean square is about 0.2 · lr, whatever the shape and the gradient's size (Liu et al. 2025, §2.2)."""
    for shape in ((64, 64), (64, 256), (256, 64)):
        for size in (1e-3, 1e3):
            matrix = nn.Parameter(torch.zeros(shape, dtype=torch.float64))
            matrix.grad = size * random(*shape)
            Muon([matrix], lr=0.01).step()
            assert 0.0015 < float(matrix.detach().square().mean().sqrt()) < 0.0025


def test_orthogonal_is_the_polynomial_of_the_singular_values() -> None:
    """Five rounds of 3.4445 σ − 4.7750 σ³ + 2.0315 σ⁵, after a division by the norm; the singular vectors stay."""
    for shape in ((5, 5), (3, 6), (6, 3)):
        u, s, v = torch.linalg.svd(random(*shape), full_matrices=False)
        values = s / (s.norm() + 1e-7)
        for _ in range(5):
            values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
        close(orthogonal((u @ s.diag() @ v)[None])[0], u @ values.diag() @ v, 1e-9)


def test_nothing_becomes_nothing() -> None:
    assert not orthogonal(torch.zeros(2, 3, 4)).any()


def test_muon_makes_updates_nearly_orthogonal() -> None:
    torch.manual_seed(0)
    for shape in ((3, 64, 64), (2, 64, 256), (2, 256, 64)):
        values = torch.linalg.svdvals(orthogonal(torch.randn(shape)))
        assert values.max() < 1.3
        assert values.median() > 0.6

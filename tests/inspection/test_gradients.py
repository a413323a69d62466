"""Gradients through time: the written-out product of Jacobians, vanishing and exploding where theory says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from mirada.errors import UsageError
from mirada.inspection.gradients import draw_gradients, fading
from mirada.nn.recurrent import GRU, LSTM, Elman


def elman(scale: float) -> Elman:
    """A linear-ish network whose W stretches every vector by `scale`."""
    cell = Elman(3, 4).double()
    with torch.no_grad():
        cell.W.copy_(scale * torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64))[0])
        for parameter in (cell.U, cell.b_U, cell.b_W):
            parameter.mul_(1e-3)
    return cell


def test_the_gradient_is_the_product_of_the_jacobians() -> None:
    torch.manual_seed(0)
    cell, x = Elman(3, 4).double(), torch.randn(6, 3, dtype=torch.float64)
    found = fading("elman", cell, x)
    h, states = torch.zeros(4, dtype=torch.float64), []
    for x_t in x:
        h = torch.tanh(cell.W @ h + cell.b_W + cell.U @ x_t + cell.b_U)
        states.append(h.detach())
    gradient, expected = states[-1], []
    for state in reversed(states):
        expected.append(float(gradient.norm()))
        gradient = cell.W.detach().T @ ((1 - state**2) * gradient)
    np.testing.assert_allclose(found.norms, expected, rtol=1e-10)


@pytest.mark.parametrize("scale", [0.5, 1.5])
def test_it_fades_or_grows_by_the_singular_value(scale: float) -> None:
    torch.manual_seed(1)
    found = fading("elman", elman(scale), torch.randn(12, 3, dtype=torch.float64))
    assert found.singular["h"] == pytest.approx(scale)
    assert found.per_step == pytest.approx(scale, rel=0.05)


@pytest.mark.parametrize("kind", [LSTM, GRU])
def test_gated_cells_have_gradients_for_every_step_and_a_value_for_every_gate(kind: type[LSTM] | type[GRU]) -> None:
    torch.manual_seed(2)
    found = fading("gated", kind(3, 5), torch.randn(9, 3))
    assert found.norms.shape == (9,)
    assert (found.norms > 0).all()
    assert set(found.singular) == set(kind.gates)
    assert (found.carried is not None) == (kind is LSTM)


def test_an_open_forget_gate_carries_the_gradient() -> None:
    torch.manual_seed(4)
    open_, closed = LSTM(3, 5), LSTM(3, 5)
    with torch.no_grad():
        for cell, bias in ((open_, 20.0), (closed, -20.0)):
            cell.b_U[5:10] = bias
    x = torch.randn(20, 3)
    kept, lost = (fading("lstm", cell, x).carried for cell in (open_, closed))
    assert kept is not None
    assert lost is not None
    assert kept[-1] / kept[0] > 0.2
    assert lost[-1] / lost[0] < 1e-6


def test_the_picture(tmp_path: Path) -> None:
    torch.manual_seed(3)
    x = torch.randn(30, 3)
    draw_gradients([fading("elman", Elman(3, 8), x), fading("lstm", LSTM(3, 8), x)], tmp_path / "fading.png")
    assert (tmp_path / "fading.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="at least two steps"):
        fading("elman", Elman(3, 8), x[:1])

"""Vanishing gradients of recurrent networks: ‖∂L/∂h_t‖ by distance, beside W's largest singular value.

    ∂L/∂h_t = (∂h_{t+1}/∂h_t)ᵀ ∂L/∂h_{t+1}        for Elman  ∂h_{t+1}/∂h_t = diag(g′) W

Each step back multiplies by Wᵀ and by g′ ≤ 1: where W stretches nothing by more than its largest singular value σ < 1,
the gradient vanishes at least as fast as σⁿ; above 1 it may explode (Pascanu et al. 2013, §2). A gate that stays open
carries it instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mirada.errors import UsageError
from mirada.inspection.figures import save
from mirada.nn.recurrent import Cell, Memory, Recurrent, largest_singular_value
from mirada.predictions import Prediction


@dataclass(frozen=True, eq=False)
class Fading(Prediction):
    """The norms of one network's gradients on one sequence, by distance from its end."""

    name: str
    norms: npt.NDArray[np.float64]  # [T]: ‖∂L/∂h‖ at distance 0, 1, 2, … from the last step
    singular: dict[str, float]  # W's largest singular value, for each gate
    carried: npt.NDArray[np.float64] | None = None  # [T]: ‖∂L/∂C‖ likewise, what an LSTM's cell state carries

    @property
    def per_step(self) -> float:
        """The factor by which the gradient changes with each step back, on average (geometric mean)."""
        known = self.norms[self.norms > 0]
        return float((known[-1] / known[0]) ** (1 / (len(known) - 1))) if len(known) > 1 else 0.0

    def values(self) -> dict[str, Any]:
        about = {"name": self.name, "per_step": self.per_step, "largest_singular_values": self.singular}
        return {**about, "norms": self.norms.tolist()}

    def as_text(self, number: int = 1) -> str:
        values = ", ".join(f"{gate} {value:.2f}" for gate, value in self.singular.items())
        shown = [0, *(2**k for k in range(16) if 2**k < len(self.norms))]
        steps = "   ".join(f"{step}: {self.norms[step] / self.norms[0]:.3g}" for step in shown)
        return f"{self.name}: ×{self.per_step:.3f} a step back; largest singular value of W: {values}\n    {steps}"


def half_square(h: Tensor) -> Tensor:
    """½‖h‖², whose gradient is h itself."""
    return h.pow(2).sum() / 2


def fading(name: str, cell: Cell, x: Tensor, loss: Callable[[Tensor], Tensor] = half_square) -> Fading:
    """Step a cell through x [T, X] and follow the gradient of loss(h_T) back through every state (BPTT)."""
    if x.dim() != 2 or len(x) < 2:
        raise UsageError(f"a gradient through time needs at least two steps of vectors, not shape {tuple(x.shape)}")
    zeros = x.new_zeros(1, cell.width)
    memory = Memory(zeros, zeros)
    steps: list[Memory] = []
    with torch.enable_grad():
        for x_t in x.detach():
            _, memory = cell.step(x_t[None], memory)
            steps.append(memory)
        value = loss(memory.h)
        cells = [step.c for step in steps if step.c is not None]
        h, c = (_norms(value, states) for states in ([step.h for step in steps], cells))
    return Fading(name, h, largest_singular_value(cell), c if cells else None)


def fading_of(name: str, network: nn.Module, ids: Sequence[int]) -> Fading:
    """`fading` for a trained network on a text: its first layer, forwards, and the gradient of ½‖h_T‖²."""
    stacks = [module for module in network.modules() if isinstance(module, Recurrent)]
    embedding = getattr(network, "source_embedding", getattr(network, "embedding", None))
    if not stacks or embedding is None or stacks[0].kind in ("memoryless", "jordan"):
        raise UsageError(f"{name}: gradients through time are those of Elman networks, LSTMs and GRUs that read text")
    _, cell = next(stacks[0].cells())
    return fading(name, cell, embedding(torch.tensor(list(ids), device=embedding.weight.device)))


def _norms(value: Tensor, states: list[Tensor]) -> npt.NDArray[np.float64]:
    """The norm of the gradient with respect to each state, the last one first."""
    if not states:
        return np.zeros(0)
    found = torch.autograd.grad(value, states, allow_unused=True, retain_graph=True)
    return np.array([0.0 if gradient is None else float(gradient.norm()) for gradient in reversed(found)])


def draw_gradients(networks: Sequence[Fading], path: str | Path) -> None:
    """Draw the gradient by distance, a line per network, on a logarithmic axis; each starts at 1."""
    if not networks:
        raise UsageError("there is no gradient to draw")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for network in networks:
        values = ", ".join(f"{gate} {value:.2f}" for gate, value in network.singular.items())
        relative = network.norms / max(network.norms[0], 1e-300)
        label = f"{network.name}: ×{network.per_step:.2f} a step; largest σ(W) {values}"
        (line,) = axes.semilogy(relative, marker=".", label=label)
        if network.carried is not None:
            carried = network.carried / max(network.carried[0], 1e-300)
            axes.semilogy(carried, linestyle="--", color=line.get_color(), label=f"{network.name}: the cell state's")
    axes.set_xlabel("steps back from the last one")
    axes.set_ylabel("‖∂L/∂h‖ relative to the last step")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    save(figure, path)

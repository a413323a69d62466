"""Muon (Jordan et al. 2024): momentum with orthogonal updates of matrices.

    m ← β m + (1 − β) g,    u = (1 − β) g + β m (Nesterov),    W ← W − η · 0.2 √max(rows, columns) · orthogonal(u)

`orthogonal` pushes every singular value of u towards 1, so that all directions learn at the same pace; the factor gives
the update the size that an AdamW update has, so that both share one learning rate (Liu et al. 2025). PyTorch's own Muon
always computes in bfloat16, which is slow on most CPUs and unsafe on some; here it is as precise as the training.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

ITERATIONS = 5
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""a, b, c of the polynomial a x + b x³ + c x⁵, which takes all of (0, 1] near 1 in five rounds."""


def orthogonal(u: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Matrices [N, rows, columns] with nearly all singular values near 1, by Newton–Schulz iteration (in `dtype`)."""
    tall = u.shape[1] > u.shape[2]
    x = u.mT if tall else u
    x = (x / (torch.linalg.matrix_norm(x, keepdim=True) + 1e-7)).to(dtype or u.dtype)
    a, b, c = COEFFICIENTS
    if x.shape[2] >= 2 * x.shape[1] and x.dtype != torch.bfloat16:
        x = _multiplier(x @ x.mT) @ x
    else:
        for _ in range(ITERATIONS):
            square = x @ x.mT
            x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return (x.mT if tall else x).to(u.dtype)


def _multiplier(square: Tensor) -> Tensor:
    """Q of orthogonal(x) = Q x for wide matrices, from S = x xᵀ [N, rows, rows]: half the work of iterating on x.

    A round x ← P x with P = a + b S + c S² turns S into P S P. bfloat16 is too coarse for it: an error in S grows with
    a² each round.
    """
    whole = p = _polynomial(square)
    for _ in range(ITERATIONS - 1):
        square = p @ square @ p
        p = _polynomial(square)
        whole = p @ whole
    return whole


def _polynomial(square: Tensor) -> Tensor:
    a, b, c = COEFFICIENTS
    p = torch.baddbmm(square, square, square, beta=b, alpha=c)
    p.diagonal(dim1=1, dim2=2).add_(a)
    return p


class Muon(Optimizer):
    """The Muon optimizer, for the matrices of hidden layers alone."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        dtype: torch.dtype | None = None,
    ):
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[nn.Parameter]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape.setdefault(parameter.shape, []).append(parameter)
            for matrices in by_shape.values():  # matrices of one shape are made orthogonal together
                self._update(matrices, group["lr"], group["momentum"], group["weight_decay"])

    def _update(self, matrices: list[nn.Parameter], lr: float, momentum: float, weight_decay: float) -> None:
        updates = []
        for matrix in matrices:
            assert matrix.grad is not None
            state = self.state[matrix]
            if not state:
                state["momentum"] = torch.zeros_like(matrix)
            state["momentum"].lerp_(matrix.grad, 1 - momentum)
            updates.append(matrix.grad.lerp(state["momentum"], momentum))
        size = 0.2 * max(matrices[0].shape) ** 0.5
        for matrix, update in zip(matrices, orthogonal(torch.stack(updates), self.dtype), strict=True):
            matrix.mul_(1 - lr * weight_decay).add_(update, alpha=-lr * size)

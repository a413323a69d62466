"""Snapshots of a model while it learns: a tensor that shows it on a fixed example, such as its attention.

They are taken before the first step and after 25, 35, 50, 71, 100, … steps: evenly on a logarithmic scale, since a
model changes most at the beginning; and whatever the budget is, so that a resumed run has those of one that was not
interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from mirada.errors import TrainingError

MOST = 24
"""Snapshots that a run keeps."""
FIRST = 25
"""The step of the first one after the beginning."""
DIGITS = 16
"""The most digits of a step in a checkpoint."""


def due(step: int) -> bool:
    """Whether a snapshot is taken after so many steps: 0, and FIRST · 2^(k/2) for k = 0, 1, 2, …"""
    k = round(2 * math.log2(step / FIRST)) if step else 0
    return step == 0 or (k >= 0 and step == round(FIRST * 2 ** (k / 2)))


class Snapshots:
    """The snapshots of a run by their steps, in float16. Checkpoints hold them, so that a resumed run has the same."""

    def __init__(self) -> None:
        self.taken: dict[int, Tensor] = {}

    def add(self, step: int, picture: Tensor) -> None:
        """Keep one more; if there are too many, drop the one whose neighbours are nearest to each other."""
        kept = {before: tensor for before, tensor in self.taken.items() if tensor.shape == picture.shape}
        self.taken = {**kept, step: picture.detach().to("cpu", torch.float16)}
        if len(self.taken) > MOST:
            steps = sorted(self.taken)
            gaps = {
                here: (after + FIRST) / (before + FIRST)
                for before, here, after in zip(steps, steps[1:], steps[2:], strict=False)
            }
            del self.taken[min(gaps, key=gaps.__getitem__)]

    def tensors(self) -> dict[str, Tensor]:
        """The snapshots as tensors of a checkpoint."""
        return {f"{step:08d}": tensor for step, tensor in self.taken.items()}

    def restore(self, tensors: Mapping[str, Tensor], step: int) -> None:
        """Continue with those of a checkpoint after so many steps."""
        plain = {name for name in tensors if name.isdecimal() and len(name) <= DIGITS}
        known = {int(name): tensors[name] for name in plain if int(name) <= step}
        forms = {(tensor.shape, tensor.dtype) for tensor in known.values()}
        half = all(dtype == torch.float16 for _, dtype in forms)
        if len(known) < len(tensors) or len(known) > MOST or len(forms) > 1 or not half:
            raise TrainingError("the checkpoint has snapshots that are not of this run")
        self.taken = dict(sorted(known.items()))

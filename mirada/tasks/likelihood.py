"""How surprised a language model is by each unit of a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mirada.contracts import SequenceBatch, SequenceEncoder

STEPS = 4096
"""Steps that are read at a time."""
CHUNK = 256
"""Of them, those whose scores [CHUNK, V] are computed at a time."""


@torch.inference_mode()
def surprise(network: SequenceEncoder, ids: Tensor, length: int) -> Tensor:
    """−log₂ p of every id but the first [n], given all before it; on the CPU, in 64 bits.

    A network that can go on (`advance`) reads the text in one row, in order, with its memory carried through all of it.
    Any other reads windows of `length` ids, many side by side, the first half of each only to know what came before.
    """
    inputs, truth = ids[:-1], ids[1:]
    found = []
    advance: Any = getattr(network, "advance", None)
    if advance is not None:
        memory = None
        for x, y in zip(inputs.split(STEPS), truth.split(STEPS), strict=True):
            h, memory = advance(x[None], memory)
            for part, said in zip(h[0].split(CHUNK), y.split(CHUNK), strict=True):
                found.append(_bits(network.output(part), said))
        return torch.cat(found)
    width = min(length, len(truth))  # all windows are full
    spans = torch.tensor(list(windows(len(truth), length)), device=ids.device)  # [N, 2]
    for some in spans.split(max(1, STEPS // width)):
        places = some[:, 1:] - width + torch.arange(width, device=ids.device)  # [B, T]
        asked = places >= some[:, :1]
        h = network.read(SequenceBatch(inputs[places], torch.full((len(some),), width, device=ids.device)))[asked]
        for part, said in zip(h.split(CHUNK), truth[places[asked]].split(CHUNK), strict=True):
            found.append(_bits(network.output(part), said))
    return torch.cat(found)


def windows(steps: int, length: int) -> Iterator[tuple[int, int]]:
    """The steps [first, end) that each window is asked about: all of the first one, of others the second half."""
    first, end = 0, min(length, steps)
    while first < steps:
        yield first, end
        first, end = end, min(end + max(1, length // 2), steps)


def _bits(logits: Tensor, truth: Tensor) -> Tensor:
    """−log₂ p(truth) for rows of logits [N, V], on the CPU: not every device has 64-bit numbers (MPS has none)."""
    return (logits.logsumexp(-1) - logits.gather(1, truth[:, None])[:, 0]).cpu().double() / np.log(2)

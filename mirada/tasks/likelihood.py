"""The negative log-likelihood of each token of a text under a language model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from mirada.contracts import SequenceBatch, State, StepwiseEncoder

STEPS = 4096
"""Steps that are read at a time."""
CHUNK = 256
"""Of them, those whose logits [CHUNK, V] are computed at a time."""


@torch.inference_mode()
def token_bits(network: StepwiseEncoder, ids: Tensor, length: int) -> Tensor:
    """−log₂ p of every id but the first [n], given all before it; on the CPU, in 64 bits.

    A network whose state holds all of the past reads the text in one row, in order. Any other reads windows of `length`
    ids, many side by side, the first half of each only as context.
    """
    inputs, truth = ids[:-1], ids[1:]
    found: list[Tensor] = []
    if network.context is None:
        state: State | None = None
        for x, y in zip(inputs.split(STEPS), truth.split(STEPS), strict=True):
            h, state = network.encode_next(_whole(x[None]), state)
            found += _chunks(network, h[0], y)
        return torch.cat(found)
    width = min(length, len(truth))  # all windows are full
    spans = torch.tensor(list(windows(len(truth), length)), device=ids.device)  # [N, 2]
    for some in spans.split(max(1, STEPS // width)):
        places = some[:, 1:] - width + torch.arange(width, device=ids.device)  # [B, T]
        asked = places >= some[:, :1]
        h = network.encode(_whole(inputs[places]))[asked]
        found += _chunks(network, h, truth[places[asked]])
    return torch.cat(found)


def _whole(inputs: Tensor) -> SequenceBatch:
    """Ids [B, T] without padding."""
    return SequenceBatch(inputs, torch.full((len(inputs),), inputs.shape[1], device=inputs.device))


def windows(steps: int, length: int) -> Iterator[tuple[int, int]]:
    """The steps [first, end) that each window predicts: all of the first one, of others the second half."""
    first, end = 0, min(length, steps)
    while first < steps:
        yield first, end
        first, end = end, min(end + max(1, length // 2), steps)


def _chunks(network: StepwiseEncoder, h: Tensor, truth: Tensor) -> Iterator[Tensor]:
    """−log₂ p(truth) for vectors [N, D], on the CPU: not every device has 64-bit numbers (MPS has none)."""
    for part, y in zip(h.split(CHUNK), truth.split(CHUNK), strict=True):
        logits = network.output(part)
        yield (logits.logsumexp(-1) - logits.gather(1, y[:, None])[:, 0]).cpu().double() / np.log(2)

"""Ensembles: several networks with one vocabulary that choose each token together, by their mean probability.

    p(y_t | y_<t, x) = 1/n Σ p_i(y_t | y_<t, x)

To decoding, an ensemble is one generator: beam search, sampling, n-best, prefixes and attention work as they do with
one network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mirada.contracts import Batch, Generator, State, Step
from mirada.engines import AttentionWeights
from mirada.engines.torch import TorchEngine
from mirada.parts import check_switches


@dataclass(frozen=True)
class States:
    """The states of all members, row by row."""

    members: tuple[State, ...]

    def select(self, rows: Tensor) -> States:
        return States(tuple(state.select(rows) for state in self.members))


class Ensemble:
    """Several generators as one; its logits are the logarithms of their mean probabilities."""

    def __init__(self, members: Sequence[Generator]):
        self.members = tuple(members)

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        for member in self.members:
            if isinstance(member, nn.Module):
                check_switches(member)
        return _together([member.start(batch, attention=attention) for member in self.members])

    def step(self, tokens: Tensor, state: State) -> Step:
        assert isinstance(state, States)
        own = zip(self.members, state.members, strict=True)
        return _together([member.step(tokens, state) for member, state in own])


def _together(steps: Sequence[Step]) -> Step:
    log_p = torch.stack([step.logits.float().log_softmax(-1) for step in steps])  # [n, R, V]
    mean = log_p.logsumexp(0) - math.log(len(steps))
    return Step(mean, States(tuple(step.state for step in steps)), _attention(steps))


def _attention(steps: Sequence[Step]) -> Tensor | None:
    """The layers of all members one after another; where they differ in heads, every head as a layer of its own."""
    given = [step.attention for step in steps if step.attention is not None]  # each [R, L, H, S]
    if len({weights.shape[2] for weights in given}) > 1:
        given = [weights.flatten(1, 2).unsqueeze(2) for weights in given]  # [R, L·H, 1, S]
    return torch.cat(given, 1) if given else None


class EnsembleEngine(TorchEngine):
    """Generates with several networks at once, in PyTorch."""

    def __init__(self, networks: Sequence[Generator], device: torch.device, precision: str = "float32"):
        super().__init__(Ensemble(networks), device, precision=precision)
        self._members = [TorchEngine(network, device, precision=precision) for network in networks]

    def score(self, sources: Sequence[Any], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        found = zip(*(member.score(sources, targets) for member in self._members), strict=True)
        log_n = math.log(len(self._members))
        # Never by the probabilities themselves: an imported model has tokens of p = e^−10,000.
        return [(np.logaddexp.reduce(rows, 0) - log_n).tolist() for rows in found]

    def attention(self, sources: Sequence[Any], targets: Sequence[Sequence[int]]) -> AttentionWeights | None:
        given = [member.attention(sources, targets) for member in self._members]
        found = [looked for looked in given if looked is not None]
        return [np.stack(weights).mean(0) for weights in zip(*found, strict=True)] if found else None

"""A generator whose probabilities are known, for decoding to be checked against."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor

from mirada.contracts import BOS, EOS, PAD, Batch, State, Step
from mirada.decoding import DecodeConfig, Hypothesis, decode

V = 7
"""PAD, BOS, EOS and four words."""
A, B, C, D = 3, 4, 5, 6
KINDS = 5
"""How many different sentences there are: a source's first id says which."""
S = 12
"""The length of every source: room for the history that a fake attention shows."""


@dataclass(frozen=True)
class History:
    """All that the fake remembers: a row's sentence, and its tokens so far."""

    kind: Tensor  # [R]
    tokens: Tensor  # [R, t]
    attention: bool

    def select(self, rows: Tensor) -> History:
        return History(self.kind[rows], self.tokens[rows], self.attention)


@dataclass(frozen=True)
class Fake:
    """A generator whose next token depends on the sentence and the last token, by a table of logits [KINDS, V, V].

    Its attention over the source is the row's history: the tokens it was given so far, and zeros.
    """

    table: Tensor

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        return self._say(History(batch.source[:, 0], batch.target, attention))

    def step(self, tokens: Tensor, state: State) -> Step:
        assert isinstance(state, History)
        return self._say(History(state.kind, torch.cat([state.tokens, tokens[:, None]], 1), state.attention))

    def _say(self, state: History) -> Step:
        attention = None
        if state.attention:
            attention = torch.zeros(len(state.tokens), 1, 1, S)
            attention[:, 0, 0, : state.tokens.shape[1]] = state.tokens.float()
        return Step(self.table[state.kind, state.tokens[:, -1]], state, attention)

    def log_p(self, kind: int, previous: int) -> list[float]:
        """The log probabilities of what may be said after a token: padding and BOS keep their share, but never are."""
        found = self.table[kind, previous].double().log_softmax(-1)
        found[[PAD, BOS]] = -math.inf
        return found.tolist()

    def replay(self, kind: int, prefix: Sequence[int], tokens: Sequence[int]) -> float:
        """log p of the tokens after a prefix, and of EOS after them."""
        sequence = [BOS, *prefix, *tokens, EOS]
        pairs = list(itertools.pairwise(sequence))[len(prefix) :]
        return sum(self.log_p(kind, previous)[token] for previous, token in pairs)


def any_fake(seed: int, sharpness: float = 1.5) -> Fake:
    return Fake(sharpness * torch.randn(KINDS, V, V, generator=torch.Generator().manual_seed(seed)))


def chain(*tokens: int, otherwise: float = -8.0) -> Fake:
    """A generator that says these tokens and ends; every other token is unlikely."""
    table = torch.full((KINDS, V, V), otherwise)
    for previous, token in itertools.pairwise([BOS, *tokens, EOS]):
        table[:, previous, token] = 0.0
    return Fake(table)


def distribution(**p: float) -> Fake:
    """A generator that always says A, B, C, D or EOS with the given probabilities."""
    logits = torch.full((V,), -math.inf)
    for name, share in p.items():
        logits[{"A": A, "B": B, "C": C, "D": D, "EOS": EOS}[name]] = math.log(share)
    return Fake(logits.expand(KINDS, V, V))


def batch_of(kinds: Sequence[int], prefix: Sequence[int] = ()) -> Batch:
    source = torch.full((len(kinds), S), A)
    source[:, 0] = torch.tensor(kinds)
    return Batch(source, torch.tensor([[BOS, *prefix]] * len(kinds)))


def run(
    fake: Fake, kinds: Sequence[int], limits: int | Sequence[int], prefix: Sequence[int] = (), **options: Any
) -> list[list[Hypothesis]]:
    attention = options.pop("attention", False)
    limits = [limits] * len(kinds) if isinstance(limits, int) else limits
    return decode(fake, batch_of(kinds, prefix), DecodeConfig(**options), limits, attention=attention)


def same(one: Sequence[Hypothesis], two: Sequence[Hypothesis]) -> None:
    assert [h.tokens for h in one] == [h.tokens for h in two]
    assert [h.complete for h in one] == [h.complete for h in two]
    assert [h.score for h in one] == pytest.approx([h.score for h in two], abs=1e-5)
    assert [h.log_probability for h in one] == pytest.approx([h.log_probability for h in two], abs=1e-5)


seeds = st.integers(0, 2**16)
quick = settings(max_examples=30, deadline=None)

"""Causal Transformers that read step by step, with cached keys and values and a limited context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mirada.contracts import SequenceBatch, State, StepwiseEncoder
from mirada.nn.blocks import KeyValues


@dataclass(frozen=True)
class ContextState:
    """The steps in the context, for R rows, and their keys and values; the steps are read again when it is full."""

    own: list[KeyValues]  # a layer each, [R, H, t, K]
    inputs: Tensor  # [R, t] ids or [R, t, C] numbers
    context: int

    def select(self, rows: Tensor) -> ContextState:
        own = [kept.select(rows) for kept in self.own]
        return ContextState(own, self.inputs.index_select(0, rows), self.context)


class ContextEncoder(StepwiseEncoder):
    """An encoder with a limited context. When it is full, its last steps are read again, as if they were the first.

    So a step costs on average the work of a few steps, and no position is beyond those that were trained.
    """

    @property
    def context(self) -> int:
        raise NotImplementedError

    def _kept(self, context: int) -> int:
        """The number of steps of a full context that are read again."""
        return context // 2

    def _extend(self, inputs: Tensor, past: Sequence[KeyValues]) -> tuple[Tensor, list[KeyValues]]:
        """The vectors [R, T, D] of the next steps, and each layer's keys and values of all steps so far."""
        raise NotImplementedError

    def encode_next(
        self, batch: SequenceBatch, state: State | None = None, context: int | None = None
    ) -> tuple[Tensor, ContextState]:
        if state is None:
            limit = min(context or self.context, self.context)
            inputs = new = batch.inputs[:, -limit:]
            past: list[KeyValues] = []
        else:
            assert isinstance(state, ContextState)
            limit, past, new = state.context, state.own, batch.inputs
            inputs = torch.cat([state.inputs, new], 1)
            if past[0].length + new.shape[1] > limit:
                kept = max(self._kept(limit), min(new.shape[1], limit))
                inputs = new = inputs[:, -kept:]
                past = []
        h, present = self._extend(new, past)
        return h[:, -batch.inputs.shape[1] :], ContextState(present, inputs, limit)

"""Losses: cross-entropy with label smoothing, squared error, Student's t. Each is `(model, batch) -> Loss`.

A loss is a sum and the number of items in it. λΣW² is added by the training loop (`train.penalty`). A model that
predicts numbers is not trained in bfloat16, which has three digits: its loss says so (`needs_float32`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from mirada.contracts import (
    PAD,
    Batch,
    GenerativeNetwork,
    Loss,
    SequenceBatch,
    SequenceEncoder,
    State,
    StatefulLoss,
    StepwiseEncoder,
)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Σ −(1−ε) log p(truth) − ε/V Σ_v log p(v) over rows of logits [N, V]; the gradient p − (1−ε) onehot − ε/V.

    The gradient is ready when the loss is: half the passes over [N, V] that autograd would make. Logits in bfloat16
    are summed in float32, and get their gradient in bfloat16.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, truth: Tensor, smoothing: float) -> Tensor:
        wide = torch.promote_types(logits.dtype, torch.float32)
        gradient = logits.softmax(-1, dtype=wide)  # [N, V]: p
        total = (
            logits.amax(-1).to(wide) - gradient.amax(-1).log()
        )  # [N]: log p = logit − total, read off at the likeliest
        chosen = logits.gather(1, truth.unsqueeze(1)).to(wide)
        loss = total.sum() - (1 - smoothing) * chosen.sum()
        if smoothing:
            loss = loss - smoothing * logits.mean(-1, dtype=wide).sum()
            gradient.sub_(smoothing / logits.shape[1])
        gradient.scatter_add_(1, truth.unsqueeze(1), torch.full_like(chosen, smoothing - 1))
        ctx.save_for_backward(gradient.to(logits.dtype))
        return loss

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(outer), None, None  # it is used once


def cross_entropy(logits: Tensor, truth: Tensor, smoothing: float = 0.0) -> Tensor:
    """−Σ log p(truth) over rows of logits [N, V], with a share of the probability spread evenly over all V (§5.4)."""
    total: Tensor = _SmoothedCrossEntropy.apply(logits, truth, smoothing)
    return total


class TargetTokenLoss:
    """−Σ log p(token) over all real tokens of a target: translation and captioning."""

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def __call__(self, model: GenerativeNetwork, batch: Batch) -> Loss:
        truth = batch.target_output  # [B, T]
        real = truth != PAD
        logits: Tensor = model.output(model.hidden(batch)[real])  # [N, V]
        return Loss(cross_entropy(logits, truth[real], self.smoothing), len(logits))


class ClassLoss:
    """−Σ log p(class), a class for each sequence or image."""

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def __call__(self, model: SequenceEncoder, batch: SequenceBatch) -> Loss:
        assert batch.truth is not None
        logits: Tensor = model.output(model.pool(batch))  # [B, K]
        return Loss(cross_entropy(logits, batch.truth, self.smoothing), len(logits))


class LabelLoss:
    """−Σ log p(label) over the steps that have a label; truth [B, T] is 1 + label, or 0."""

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def __call__(self, model: SequenceEncoder, batch: SequenceBatch) -> Loss:
        assert batch.truth is not None
        asked = batch.truth > 0  # [B, T]
        logits: Tensor = model.output(model.encode(batch)[asked])  # [N, K]
        return Loss(cross_entropy(logits, batch.truth[asked] - 1, self.smoothing), len(logits))


class SquaredErrorLoss:
    """Σ (o − y)² over the steps that have a number; truth [B, T] is y, or NaN."""

    needs_float32 = True

    def __call__(self, model: SequenceEncoder, batch: SequenceBatch) -> Loss:
        assert batch.truth is not None
        asked = ~batch.truth.isnan()  # [B, T]
        o: Tensor = model.output(model.encode(batch)[asked]).squeeze(-1)  # [N]
        return Loss((o - batch.truth[asked]).square().sum(), len(o))


DEGREES_OF_FREEDOM = 5.0
"""ν of Student's t, whose tails are heavier than a Gaussian's."""
LEAST_SPREAD = 1e-3
"""The least spread: without it, on a series without noise the likelihood would grow without bound."""


def mean_and_spread(outputs: Tensor) -> tuple[Tensor, Tensor]:
    """From outputs [.., 2C] to the predicted means and spreads (1 where the output is 0), [.., C]."""
    mean, raw = outputs.chunk(2, -1)
    return mean, LEAST_SPREAD + softplus(raw + math.log(math.e - 1))


def negative_log_likelihood(y: Tensor, mean: Tensor, spread: Tensor) -> Tensor:
    """−log p(y) of each number up to a constant, where z = (y − mean) / s has Student's t distribution.

    −log p = ln s + (ν+1)/2 · ln(1 + z²/ν) + a constant
    """
    z = (y - mean) / spread
    return spread.log() + (DEGREES_OF_FREEDOM + 1) / 2 * torch.log1p(z.square() / DEGREES_OF_FREEDOM)


class NextNumbersLoss:
    """−Σ log p(y) of the numbers of the next step, which have Student's t distribution."""

    needs_float32 = True

    def __call__(self, model: SequenceEncoder, batch: SequenceBatch) -> Loss:
        assert batch.truth is not None
        mean, spread = mean_and_spread(model.output(model.encode(batch)))  # [B, T, C]
        return Loss(negative_log_likelihood(batch.truth, mean, spread).sum(), batch.truth.numel())


class NextTokenLoss(StatefulLoss):
    """−Σ log p(x_{t+1} | x_1 … x_t) over all real steps of a stream of ids.

    A network whose state holds all of the past carries it from batch to batch, detached: gradients flow back through
    one piece, the state through all of them (truncated BPTT, Williams & Peng 1990). A row continues only if it begins
    where it last ended, and otherwise starts from zeros; nothing is carried to a batch without `rows`.
    """

    def __init__(self, smoothing: float = 0.0):
        super().__init__()
        self.smoothing = smoothing

    def __call__(self, model: StepwiseEncoder, batch: SequenceBatch) -> Loss:
        assert batch.truth is not None
        carries = batch.rows is not None and model.context is None
        h = self._encode_next(model, batch) if carries else model.encode(batch)
        logits: Tensor = model.output(h[batch.mask])  # [N, V]
        return Loss(cross_entropy(logits, batch.truth[batch.mask], self.smoothing), len(logits))

    def _encode_next(self, model: StepwiseEncoder, batch: SequenceBatch) -> Tensor:
        """The vectors [B, T, D] of the next piece of each row."""
        assert batch.rows is not None
        assert int(batch.lengths.min()) == batch.inputs.shape[1], "rows that continue have no padding"
        h, state = model.encode_next(batch, self._carried_state(model, batch.rows))
        self.carried = {name: tensor.detach() for name, tensor in model.state_tensors(state).items()}
        self.carried["next"] = batch.rows + batch.lengths.to(batch.rows.device)
        return h

    def fits(self, model: nn.Module, carried: Mapping[str, Tensor]) -> bool:
        places = carried.get("next")
        if not carried or places is None:
            return not carried
        if places.ndim != 1 or places.dtype != torch.int64 or not len(places):
            return False
        if not isinstance(model, StepwiseEncoder) or model.context is not None:
            return False
        ids = places.new_zeros(len(places), 1).to(next(model.parameters()).device)
        with torch.no_grad():
            _, state = model.encode_next(SequenceBatch(ids, torch.ones_like(places)))
        forms = {name: (t.shape, t.dtype) for name, t in model.state_tensors(state).items()}
        return forms == {name: (t.shape, t.dtype) for name, t in carried.items() if name != "next"}

    def _carried_state(self, model: StepwiseEncoder, begins: Tensor) -> State | None:
        """The state of the rows that begin at these steps [B]; zeros where a row does not continue."""
        carried = dict(self.carried)
        if not carried or len(carried["next"]) != len(begins):
            return None
        continues = carried.pop("next").to(begins.device) == begins  # [B]
        if not continues.any():
            return None
        # A value that is not finite would stay so: it is replaced by zero, too.
        return model.state_from(
            {name: torch.where(continues.to(t.device)[:, None] & t.isfinite(), t, 0.0) for name, t in carried.items()}
        )


class MaskedTokenLoss:
    """−Σ log p(word) over masked words, plus the next-sentence loss, both with the same weight.

    The truth's first column belongs to [CLS] (1 it follows, 2 it does not, 0 not asked), the others to words.
    """

    def __call__(self, model: Any, batch: SequenceBatch) -> Loss:
        assert batch.truth is not None
        states = model.states(batch)  # [B, 1+T, D]
        words = batch.truth[:, 1:]
        masked = words != 0
        logits: Tensor = model.masked(states[:, 1:][masked])  # [N, V]
        total = cross_entropy(logits, words[masked])
        asked = batch.truth[:, 0] != 0
        if asked.any():
            answers: Tensor = model.follows(model.pooled(states))[asked]  # [B', 2]
            share = len(logits) / len(answers)
            total = total + share * cross_entropy(answers, batch.truth[asked, 0] - 1)
        return Loss(total, max(1, len(logits)))

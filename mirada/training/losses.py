"""What training makes small: cross-entropy with smoothed labels, squared error. The sum and the number summed.

An objective is `(model, batch) -> Loss`. λΣW², for any of them, is the training loop's (`train.penalty`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from mirada.contracts import PAD, Batch, GenerativeNetwork, Loss, SequenceBatch, SequenceEncoder
from mirada.nn.recurrent import Memory


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Σ −(1−ε) log p(truth) − ε/V Σ_v log p(v) over rows of logits [N, V]; the gradient p − (1−ε) onehot − ε/V.

    The gradient is ready when the loss is: half the passes over [N, V] that autograd would make.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, truth: Tensor, smoothing: float) -> Tensor:
        gradient = logits.softmax(-1)  # [N, V]: p
        total = logits.amax(-1) - gradient.amax(-1).log()  # [N]: log p = logit − total, read off at the likeliest
        chosen = logits.gather(1, truth.unsqueeze(1))
        loss = total.sum() - (1 - smoothing) * chosen.sum()
        if smoothing:
            loss = loss - smoothing * logits.mean(-1).sum()
            gradient.sub_(smoothing / logits.shape[1])
        gradient.scatter_add_(1, truth.unsqueeze(1), torch.full_like(chosen, smoothing - 1))
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * outer, None, None


def cross_entropy(logits: Tensor, truth: Tensor, smoothing: float = 0.0) -> Tensor:
    """−Σ log p(truth) over rows of logits [N, V], with a share of the probability spread evenly over all V (§5.4)."""
    total: Tensor = _SmoothedCrossEntropy.apply(logits, truth, smoothing)
    return total


class CrossEntropy:
    """Of the next word: −Σ log p(token) over all real tokens of the target."""

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def __call__(self, model: GenerativeNetwork, batch: Batch) -> Loss:
        truth = batch.target_output  # [B, T]
        real = truth != PAD
        logits: Tensor = model.output(model.hidden(batch)[real])  # [N, V]
        return Loss(cross_entropy(logits, truth[real], self.smoothing), len(logits))


class ClassEntropy:
    """Of the class of a whole sequence: −Σ log p(class)."""

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def __call__(self, model: SequenceEncoder, batch: SequenceBatch) -> Loss:
        assert batch.truth is not None
        logits: Tensor = model.output(model.pool(batch))  # [B, K]
        return Loss(cross_entropy(logits, batch.truth, self.smoothing), len(logits))


FREEDOM = 5.0
"""ν of Student's t, whose large misses are more frequent than a Gaussian's. Ranges of 80% and 95% then held 84% and 95%
of CO2, 80% and 98% of the S&P 500; a Gaussian's 76% and 90%, 78% and 95% (a GRU, on inner parts of the series)."""
LEAST_SPREAD = 1e-3
"""A series without noise would let the spread shrink, and the likelihood grow, for ever."""


def mean_and_spread(outputs: Tensor) -> tuple[Tensor, Tensor]:
    """What a network says of the next numbers, [.., 2C]: their means and their spreads (1 where it says 0), [.., C]."""
    mean, raw = outputs.chunk(2, -1)
    return mean, LEAST_SPREAD + softplus(raw + math.log(math.e - 1))


class NextNumbers:
    """Of the numbers of the next step: −Σ log p(y), where (y − mean) / spread has Student's t distribution.

    −log p = ln s + (ν+1)/2 · ln(1 + z²/ν) + a constant, z = (y − mean) / s
    """

    def __call__(self, model: SequenceEncoder, batch: SequenceBatch) -> Loss:
        assert batch.truth is not None
        mean, spread = mean_and_spread(model.output(model.read(batch)))  # [B, T, C]
        return Loss(surprise(batch.truth, mean, spread).sum(), batch.truth.numel())


def surprise(y: Tensor, mean: Tensor, spread: Tensor) -> Tensor:
    """−log p(y) but for a constant, each number by itself."""
    z = (y - mean) / spread
    return spread.log() + (FREEDOM + 1) / 2 * torch.log1p(z.square() / FREEDOM)


class StepEntropy:
    """Of a label for each step: −Σ log p(label) over the steps that have one; truth [B, T] is 1 + label, or 0."""

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def __call__(self, model: SequenceEncoder, batch: SequenceBatch) -> Loss:
        assert batch.truth is not None
        asked = batch.truth > 0  # [B, T]
        logits: Tensor = model.output(model.read(batch)[asked])  # [N, K]
        return Loss(cross_entropy(logits, batch.truth[asked] - 1, self.smoothing), len(logits))


class StepError:
    """Of a number for each step: Σ (o − y)² over the steps that have one; truth [B, T] is y, or NaN."""

    def __call__(self, model: SequenceEncoder, batch: SequenceBatch) -> Loss:
        assert batch.truth is not None
        asked = ~batch.truth.isnan()  # [B, T]
        o: Tensor = model.output(model.read(batch)[asked]).squeeze(-1)  # [N]
        return Loss((o - batch.truth[asked]).square().sum(), len(o))


class NextToken:
    """Of the next id in a stream: −Σ log p(x_{t+1} | x_1 … x_t) over all real steps.

    A network that can go on (`advance`) takes its memory from batch to batch, without its history: gradients flow back
    through one piece, the state through all of them (truncated BPTT, Williams & Peng 1990). A row goes on only if it
    begins where it last ended, and else from zeros; a batch that does not say where its rows begin carries nothing.
    `carried` holds all of it as tensors, so that a checkpoint can.
    """

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing
        self.carried: dict[str, Tensor] = {}

    def __call__(self, model: SequenceEncoder, batch: SequenceBatch) -> Loss:
        assert batch.truth is not None
        placed = batch.rows is not None and hasattr(model, "advance")
        h = self._go_on(model, batch) if placed else model.read(batch)
        logits: Tensor = model.output(h[batch.mask])  # [N, V]
        return Loss(cross_entropy(logits, batch.truth[batch.mask], self.smoothing), len(logits))

    def _go_on(self, model: Any, batch: SequenceBatch) -> Tensor:
        """The states [B, T, D] of the next piece of each row."""
        assert batch.rows is not None
        assert int(batch.lengths.min()) == batch.inputs.shape[1], "rows that go on have no padding"
        h: Tensor
        h, memory = model.advance(batch.inputs, self._memory(batch.rows))
        left = {name: getattr(memory, name) for name in ("h", "c", "o")}
        self.carried = {name: tensor.detach() for name, tensor in left.items() if tensor is not None}
        self.carried["next"] = batch.rows + batch.lengths.to(batch.rows.device)
        return h

    def fits(self, model: Any, carried: Mapping[str, Tensor]) -> bool:
        """Whether a network could have carried these tensors."""
        places = carried.get("next")
        if not carried or places is None:
            return not carried
        if places.ndim != 1 or places.dtype != torch.int64 or not len(places) or not hasattr(model, "advance"):
            return False
        with torch.no_grad():
            memory = model.advance(places.new_zeros(len(places), 1).to(next(model.parameters()).device), None)[1]
        left = {name: getattr(memory, name) for name in ("h", "c", "o")}
        forms = {name: (t.shape, t.dtype) for name, t in left.items() if t is not None}
        return forms == {name: (t.shape, t.dtype) for name, t in carried.items() if name != "next"}

    def _memory(self, begins: Tensor) -> Memory | None:
        """What the rows that begin at these steps [B] have carried over; zeros where they do not go on."""
        carried = dict(self.carried)
        if not carried or len(carried["next"]) != len(begins):
            return None
        goes_on = carried.pop("next").to(begins.device) == begins  # [B]
        if not goes_on.any():
            return None
        # What is not a finite number would stay so for ever: it starts from zero too.
        return Memory(
            **{name: torch.where(goes_on.to(t.device)[:, None] & t.isfinite(), t, 0.0) for name, t in carried.items()}
        )


class GapEntropy:
    """Of hidden words, −Σ log p(word); and of whether one span follows another, so that both weigh the same.

    The truth's first column belongs to [CLS] (1 it follows, 2 it does not, 0 nothing is asked), the others to words.
    """

    def __call__(self, model: Any, batch: SequenceBatch) -> Loss:
        assert batch.truth is not None
        states = model.states(batch)  # [B, 1+T, D]
        words = batch.truth[:, 1:]
        gaps = words != 0
        logits: Tensor = model.masked(states[:, 1:][gaps])  # [N, V]
        total = cross_entropy(logits, words[gaps])
        asked = batch.truth[:, 0] != 0
        if asked.any():
            answers: Tensor = model.follows(model.pooled(states))[asked]  # [B', 2]
            share = len(logits) / len(answers)
            total = total + share * cross_entropy(answers, batch.truth[asked, 0] - 1)
        return Loss(total, max(1, len(logits)))

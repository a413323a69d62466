"""Attention formulas, which return the output and the attention weights.

    q [.., T, K] queries    k [.., S, K] keys    v [.., S, K'] values    mask [.., T, S], True = may attend

A query that may attend nothing gets zeros, never NaN.

    formulas           scaled_dot_product (and fused), dot, general, additive
    multi-head         ScaledDotProduct: the formula as an object that a layer is given
    seq2seq            DotScore, GeneralScore, AdditiveScore: modules with the parameters, keys prepared once
    teaching           hard, soft, self_attention, between: on sets of vectors, without parameters

The teaching functions go with `inspection.vectors.draw_vectors`:

    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-0.5, -0.5]])
    draw_vectors(x, self_attention(x), "self.png")                      # every vector looks at all of them
    draw_vectors(x, hard(x, torch.tensor([2, 0, -1])), "hard.png")      # each output is one input, or nothing
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mirada.parts import Part, is_recording


class Attended(NamedTuple):
    """The weighted sum of the values, and the attention weights."""

    output: Tensor  # [.., T, K']
    weights: Tensor  # [.., T, S], each row sums to 1 (or to 0 where nothing may be attended)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """softmax over the last axis, with −∞ where the mask is False; a row that is all masked becomes zeros."""
    if mask is None:
        return scores.softmax(-1)
    # The most negative finite number instead of −∞: a fully masked row is then uniform, not NaN, and is zeroed.
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1) * mask.any(-1, keepdim=True)


def mask_scores(scores: Tensor, mask: Tensor | None) -> Tensor:
    """The scores with −∞ where the mask is False, for a recorder."""
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


def scaled_dot_product(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, scale: bool = True) -> Attended:
    """Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V        (Vaswani et al. 2017, §3.2.1)

    Without `scale` this is plain dot-product attention.
    """
    if scale:
        q = q * (1 / math.sqrt(q.shape[-1]))
    weights = masked_softmax(q @ k.transpose(-2, -1), mask)  # [.., T, S]
    return Attended(weights @ v, weights)


def fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, scale: bool = True) -> Tensor:
    """The output of `scaled_dot_product`, by PyTorch's fused kernel, which does not compute the weights."""
    factor = None if scale else 1.0
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=factor)
    # The kernels disagree about rows that may attend nothing (zeros, a mean or NaN): here they are zeros.
    return output if mask is None else output.masked_fill(~mask.any(-1, keepdim=True), 0.0)


class Formula(Protocol):
    """An attention formula as an object, which multi-head attention is given."""

    def scores(self, q: Tensor, k: Tensor, scale: bool = True) -> Tensor:
        """The scores of queries and keys before the softmax, [.., T, S]."""
        ...

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: bool = True) -> Attended:
        """The output and the weights."""
        ...

    def fused(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: bool = True) -> Tensor:
        """The output alone, by a fused kernel."""
        ...


class ScaledDotProduct:
    """softmax(Q Kᵀ / √d_k) V, the Transformer's attention."""

    def scores(self, q: Tensor, k: Tensor, scale: bool = True) -> Tensor:
        return (q * (1 / math.sqrt(q.shape[-1])) if scale else q) @ k.transpose(-2, -1)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: bool = True) -> Attended:
        return scaled_dot_product(q, k, v, mask, scale)

    def fused(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: bool = True) -> Tensor:
        return fused(q, k, v, mask, scale)


def dot(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Attended:
    """score(q, k) = qᵀ k        (Luong et al. 2015, §3.1, "dot")

    Queries and keys must be equally wide.
    """
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"dot attention needs queries and keys of one width, not {q.shape[-1]} and {k.shape[-1]}: "
            "general and additive take different widths"
        )
    return scaled_dot_product(q, k, v, mask, scale=False)


def general(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, weight: Tensor) -> Attended:
    """score(q, k) = qᵀ W k        (Luong et al. 2015, §3.1, "general")

    The learned W [Q, K] lets queries and keys have different widths.
    """
    return dot(q, F.linear(k, weight), v, mask)


def additive(
    q: Tensor, projected: Tensor, v: Tensor, mask: Tensor | None, w_query: Tensor, v_score: Tensor
) -> Attended:
    """score(q, k) = v_scoreᵀ tanh(W q + U k)        (Bahdanau et al. 2015, §3.1 and A.1.2)

    `projected` [.., S, A] are the keys after U: they are the same for every query, so they are computed once for a
    sentence. `w_query` is W [A, Q], `v_score` is [A]. It equals v_scoreᵀ tanh([W U] [q; k]).
    """
    weights = masked_softmax(additive_scores(q, projected, w_query, v_score), mask)  # [.., T, S]
    return Attended(weights @ v, weights)


def additive_scores(q: Tensor, projected: Tensor, w_query: Tensor, v_score: Tensor) -> Tensor:
    """The scores of `additive`, [.., T, S]."""
    scores: Tensor = _AdditiveScores.apply(F.linear(q, w_query), projected, v_score)
    return scores


class _AdditiveScores(torch.autograd.Function):
    """vᵀ tanh(q_t + k_s) for all t and s: [.., T, S] of q [.., T, A], k [.., S, A] and v [A].

    The tanh [.., T, S, A] is large. So it is computed for a few queries at a time, which fit into the processor's
    cache, and again in the backward pass rather than kept. It is computed as 2 σ(2a) − 1, since σ is faster.
    """

    CELLS = 2**17

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(q, k, v)
        parts = [_sigma(some, k) @ (2 * v) for some in _AdditiveScores.few(q, k)]
        return torch.cat(parts, -2) - v.sum()

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # outer [.., T, S]
        q, k, v = ctx.saved_tensors
        d_q, d_k, d_v = [], torch.zeros_like(k), torch.zeros_like(v)
        at = 0
        for some in _AdditiveScores.few(q, k):
            d = outer[..., at : at + some.shape[-2], :]  # [.., t, S]
            at += some.shape[-2]
            sigma = _sigma(some, k)  # [.., t, S, A]
            d_v += 2 * (d.reshape(1, -1) @ sigma.reshape(-1, v.numel()))[0] - d.sum()
            slope = sigma.addcmul_(sigma, sigma, value=-1).mul_(d.unsqueeze(-1))  # tanh′ = 4 σ (1 − σ)
            d_q.append(slope.sum(-2))
            d_k += slope.sum(-3)
        return torch.cat(d_q, -2) * (4 * v), d_k * (4 * v), d_v

    @staticmethod
    def few(q: Tensor, k: Tensor) -> tuple[Tensor, ...]:
        return q.split(max(1, _AdditiveScores.CELLS // max(1, k.numel())), -2)


def _sigma(q: Tensor, k: Tensor) -> Tensor:
    return ((2 * q).unsqueeze(-2) + (2 * k).unsqueeze(-3)).sigmoid_()  # [.., t, S, A]


# --- scores as parts of a model ---


class Score(Part):
    """Base class of attention with a learned score of query and key.

    Computations on the keys alone are done once per sentence, by `prepare`, whose result a decoder state holds.
    """

    def __init__(self, query_width: int, key_width: int):
        super().__init__()
        self.query_width, self.key_width = query_width, key_width

    def prepare(self, keys: Tensor) -> Tensor:
        """The keys [B, S, D] in the form that `scores` takes, one tensor with the sentences on its first axis."""
        return keys

    def scores(self, query: Tensor, prepared: Tensor) -> Tensor:
        """The scores [B, T, S] of queries [B, T, Q] and prepared keys [B, S, ..]."""
        return query @ prepared.transpose(-2, -1)

    def forward(self, query: Tensor, prepared: Tensor, values: Tensor, mask: Tensor | None = None) -> Attended:
        """Attend from query [B, T, Q] to values [B, S, D]; mask [B, T or 1, S]. Records with an axis H = 1."""
        scores = self.scores(query, prepared)
        weights = masked_softmax(scores, mask)
        context = weights @ values
        if is_recording():
            self.record("scores", scores.unsqueeze(1))
            self.record("masked_scores", mask_scores(scores, mask).unsqueeze(1))
            self.record("weights", weights.unsqueeze(1))
            self.record("context", context)
        return Attended(context, weights)


class DotScore(Score):
    """`dot`: nothing is learned, so the encoder and the decoder must be equally wide."""

    def __init__(self, query_width: int, key_width: int):
        if query_width != key_width:
            raise ValueError(
                f"dot attention needs a decoder as wide as the encoder's output, not {query_width} and {key_width}: "
                "choose general or additive attention, or equal widths"
            )
        super().__init__(query_width, key_width)


class GeneralScore(Score):
    """`general`: a matrix W between query and key. Prepared keys are W k, so that each step is a dot product."""

    def __init__(self, query_width: int, key_width: int):
        super().__init__(query_width, key_width)
        self.key = nn.Linear(key_width, query_width, bias=False)

    def prepare(self, keys: Tensor) -> Tensor:
        return self.key(keys)  # [B, S, Q]


class AdditiveScore(Score):
    """`additive`: a small network, as wide as the query by default. Prepared keys are U k + b.

    The paper leaves its biases out of the formulas (A.2); one is enough, and here it costs nothing per step.
    """

    def __init__(self, query_width: int, key_width: int, width: int | None = None):
        super().__init__(query_width, key_width)
        width = query_width if width is None else width
        self.query = nn.Linear(query_width, width, bias=False)
        self.key = nn.Linear(key_width, width)
        self.score = nn.Linear(width, 1, bias=False)

    def prepare(self, keys: Tensor) -> Tensor:
        return self.key(keys)  # [B, S, A]

    def scores(self, query: Tensor, prepared: Tensor) -> Tensor:
        return additive_scores(query, prepared, self.query.weight, self.score.weight[0])


scores_by_name: dict[str, type[Score]] = {"dot": DotScore, "general": GeneralScore, "additive": AdditiveScore}
"""The scores by the names in a configuration; each is built with the query's and the key's width."""


# --- for teaching: attention on sets of vectors [n, d], without parameters ---


def hard(x: Tensor, choice: Tensor) -> Attended:
    """h_i = x_{c_i}: each output is one input, the one that choice [m] names, or 0 where it is −1 (nothing chosen)."""
    if choice.is_floating_point() or choice.dtype == torch.bool or ((choice < -1) | (choice >= len(x))).any():
        raise ValueError(f"hard attention chooses by number, 0 to {len(x) - 1} or -1, not {choice.tolist()}")
    return soft(x, (choice.unsqueeze(-1) == torch.arange(len(x), device=x.device)).to(x.dtype))  # one-hot rows


def soft(x: Tensor, weights: Tensor) -> Attended:
    """H = A X: each output mixes all inputs by the weights A [m, n] it is given; rows that sum to 1 make means."""
    return Attended(weights @ x, weights)


def self_attention(x: Tensor) -> Attended:
    """H = softmax(X Xᵀ) X: every vector attends to all of them, by their similarity to it."""
    return between(x, x)


def between(x: Tensor, y: Tensor) -> Attended:
    """H = softmax(X Yᵀ) Y: every vector of x [m, d] attends to the vectors of y [n, d]."""
    return dot(x, y, y)

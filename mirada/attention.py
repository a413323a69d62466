"""Every attention formula of the lineage. Each returns the output and the weights that made it.

    q [.., T, K] queries    k [.., S, K] keys    v [.., S, K'] values    mask [.., T, S], True = may attend

A query that may attend nothing gets zeros, never NaN.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class Attended(NamedTuple):
    """The weighted sum, and the weights that made it."""

    output: Tensor  # [.., T, K']
    weights: Tensor  # [.., T, S], each row sums to 1 (or to 0 where nothing may be attended)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """softmax over the last axis, with −∞ where the mask says no; a row with nothing left becomes zeros."""
    if mask is None:
        return scores.softmax(-1)
    # The most negative finite number instead of −∞: a fully masked row is then uniform, not NaN, and is zeroed.
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1) * mask.any(-1, keepdim=True)


def scaled_dot_product(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, scale: bool = True) -> Attended:
    """Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V        (Vaswani et al. 2017, §3.2.1)

    Without `scale` this is plain dot-product attention.
    """
    if scale:
        q = q * (1 / math.sqrt(q.shape[-1]))
    weights = masked_softmax(q @ k.transpose(-2, -1), mask)  # [.., T, S]
    return Attended(weights @ v, weights)


def fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, scale: bool = True) -> Tensor:
    """The output of `scaled_dot_product` by PyTorch's fused kernel, which never stores the weights."""
    factor = None if scale else 1.0
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=factor)
    # The kernels disagree about rows that may attend nothing (zeros, a mean or NaN): here they are zeros.
    return output if mask is None else output.masked_fill(~mask.any(-1, keepdim=True), 0.0)

"""Blocks to test with, and their twins in torch.nn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

import torch
from torch import Tensor, nn

from mirada.nn.blocks import (
    FUSED_FROM,
    Layer,
    LayerConfig,
    MultiHead,
)
from tests.tensors import close, random

Norm = Literal["pre", "post"]
Module = TypeVar("Module", bound=nn.Module)
Twins = list[tuple[Sequence[Tensor], Tensor]]
"""Our parameters, and the reference's one that holds them below each other."""

WIDTH, HEADS, INNER = 12, 3, 20
LONG = FUSED_FROM + 6
"""A length at which the fused kernel serves."""


def layer_config(norm: Norm = "pre", activation: str = "relu") -> LayerConfig:
    return LayerConfig(WIDTH, HEADS, INNER, norm=norm, activation=activation)


def shaken(module: Module) -> Module:
    """The module in float64 with every parameter random: also biases and norms, which start as 0 and 1."""
    module.double()
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return module


def linear_twins(ours: nn.Linear | nn.LayerNorm, theirs: nn.Linear | nn.LayerNorm) -> Twins:
    return [([ours.weight], theirs.weight), ([ours.bias], theirs.bias)]


def attention_twins(ours: MultiHead, theirs: nn.MultiheadAttention) -> Twins:
    parts = (ours.query, ours.key, ours.value)
    assert theirs.in_proj_weight is not None
    return [
        ([part.weight for part in parts], theirs.in_proj_weight),
        ([part.bias for part in parts], theirs.in_proj_bias),
        *linear_twins(ours.output, theirs.out_proj),
    ]


def encoder_twins(ours: Layer, theirs: nn.TransformerEncoderLayer) -> Twins:
    return [
        *attention_twins(ours.self_, theirs.self_attn),
        *linear_twins(ours.feed_forward.inner, theirs.linear1),
        *linear_twins(ours.feed_forward.outer, theirs.linear2),
        *linear_twins(ours.add_self.norm, theirs.norm1),
        *linear_twins(ours.add_feed_forward.norm, theirs.norm2),
    ]


def decoder_twins(ours: Layer, theirs: nn.TransformerDecoderLayer) -> Twins:
    return [
        *attention_twins(ours.self_, theirs.self_attn),
        *attention_twins(ours.cross, theirs.multihead_attn),
        *linear_twins(ours.feed_forward.inner, theirs.linear1),
        *linear_twins(ours.feed_forward.outer, theirs.linear2),
        *linear_twins(ours.add_self.norm, theirs.norm1),
        *linear_twins(ours.add_cross.norm, theirs.norm2),
        *linear_twins(ours.add_feed_forward.norm, theirs.norm3),
    ]


def copy_twins(twins: Twins) -> None:
    with torch.no_grad():
        for ours, theirs in twins:
            theirs.copy_(torch.cat(list(ours)))


def compare_gradients(ours: Tensor, theirs: Tensor, inputs: Sequence[Tensor], twins: Twins, tolerance: float) -> None:
    """Both outputs' gradients, of the inputs and of every parameter, are equal."""
    weights = random(*ours.shape, seed=5)
    mine = [parameter for group, _ in twins for parameter in group]
    other = [parameter for _, parameter in twins]
    found = torch.autograd.grad((ours * weights).sum(), [*inputs, *mine])
    expected = torch.autograd.grad((theirs * weights).sum(), [*inputs, *other])
    for one, two in zip(found[: len(inputs)], expected[: len(inputs)], strict=True):
        close(one, two, tolerance)
    parts = iter(found[len(inputs) :])
    for (group, _), gradient in zip(twins, expected[len(inputs) :], strict=True):
        close(torch.cat([next(parts) for _ in group]), gradient, tolerance)
        assert gradient.abs().max() > 0 or gradient.shape[0] == 3 * WIDTH  # nothing is compared that plays no part


def lengths_mask(lengths: list[int], longest: int) -> Tensor:
    """[B, S], True where a sentence has a token."""
    return torch.arange(longest) < torch.tensor(lengths)[:, None]

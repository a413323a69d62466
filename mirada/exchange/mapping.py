"""Map a checkpoint's tensors to a network's parameters and back: one table per architecture, used for both.

Each row maps one tensor or one layer (weight and bias). Tensors that are missing, left over or of another shape are
refused by name, before memory for the weights is allocated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TypeVar

import torch
from torch import Tensor, nn

from mirada.errors import DataError
from mirada.exchange.checkpoint import Checkpoint
from mirada.tensors import outline

N = TypeVar("N", bound=nn.Module)

NEW = -1
"""The entry in a token order for a token that the checkpoint has no row for; its row is zero."""
NEVER = -1e4
"""A bias that keeps a token from being generated. (With −∞, label smoothing would make the loss infinite.)"""


@dataclass(frozen=True)
class Row:
    """Maps one of the checkpoint's tensors; `{}` in a name is the number of the layer."""

    theirs: str
    ours: str
    """One name, or several separated by spaces if their tensor is a concatenation of ours."""
    transposed: bool = False
    """The matrix is stored as [in, out]."""
    vocabulary: bool = False
    """The tensor has one row per token of the vocabulary."""
    reshaped: bool = False
    """The tensor has the same numbers in the same order, with other axes."""

    def below(self, prefix: str) -> Row:
        """This row with a prefix before the checkpoint's name."""
        return replace(self, theirs=prefix + self.theirs)

    def expanded(self, parameters: Mapping[str, Tensor]) -> Iterable[Row]:
        """One row per layer, and per weight and bias unless the names are those of single tensors."""
        for number in itertools.count() if "{}" in self.ours else [0]:
            theirs, *ours = (name.replace("{}", str(number)) for name in (self.theirs, *self.ours.split()))
            ends = [end for end in ("", ".weight", ".bias") if ours[0] + end in parameters]
            if not ends:
                return
            for end in ends:
                yield replace(
                    self,
                    theirs=theirs + end,
                    ours=" ".join(name + end for name in ours),
                    transposed=self.transposed and end == ".weight",
                    reshaped=self.reshaped and end != ".bias",
                )


def layer_rows(theirs: str, ours: str, parts: Mapping[str, str]) -> list[Row]:
    """The rows of a stack of equal layers, from the names inside a layer."""
    return [Row(f"{theirs}.{{}}.{name}", f"{ours}.{{}}.{own}") for name, own in parts.items()]


@dataclass(frozen=True)
class WeightMap:
    """The map between a checkpoint's tensors and a network's parameters, in both directions."""

    rows: Sequence[Row]
    tied: Mapping[str, str] = field(default_factory=dict)
    """Further copies of a tensor: if present, they must be equal to it."""
    ignored: Sequence[str] = ()
    """Patterns of names that hold nothing learned: masks, position numbers."""
    order: Tensor | None = None
    """The checkpoint's row of each of our tokens, or NEW [V]; in an export, our row of each of its tokens."""
    untrained: Sequence[str] = ()
    """Patterns of our parameters that the checkpoint does not have."""

    def expanded(self, parameters: Mapping[str, Tensor], buffers: Mapping[str, Tensor] | None = None) -> list[Row]:
        """One row per tensor; every parameter must be in one of them, a buffer may be."""
        rows = [row for table_row in self.rows for row in table_row.expanded({**parameters, **(buffers or {})})]
        mapped = {name for row in rows for name in row.ours.split()}
        left = [name for name in parameters if name not in mapped and not _matches(name, self.untrained)]
        assert not left, f"no row maps {left}"
        return rows


def check_vocabulary_size(checkpoint: Checkpoint, name: str) -> None:
    """Refuse a vocab_size that does not match the embedding `name`, before a list of that size is built."""
    size, config = checkpoint.config.integer("vocab_size"), checkpoint.config.path.name
    if name not in checkpoint.names:
        raise DataError(f"{checkpoint.weights}: has no {name}, which {config} requires")
    if checkpoint.shape(name)[:1] != (size,):
        raise DataError(
            f"{checkpoint.weights}: {name} has the shape {list(checkpoint.shape(name))}, {config} has vocab_size={size}"
        )


def load_weights(build: Callable[[], N], checkpoint: Checkpoint, weights: WeightMap) -> N:
    """Build a network and fill it with the checkpoint's weights."""
    with outline():  # shapes without memory: a wrong config.json must not allocate any
        parameters = dict(build().named_parameters())
    rows = weights.expanded(parameters)
    _check(checkpoint, weights, rows, parameters)
    network = build()
    own = dict(network.named_parameters())
    with torch.no_grad():
        for row in rows:
            names, found = row.ours.split(), checkpoint.tensor(row.theirs)
            if not found.isfinite().all():
                raise DataError(f"{checkpoint.weights}: {row.theirs} has values that are not finite")
            for name, part in zip(names, _converted(found, row, weights).chunk(len(names)), strict=True):
                own[name].copy_(part.view_as(own[name]))
    return network


def store_weights(network: nn.Module, weights: WeightMap) -> dict[str, Tensor]:
    """A network's weights as the tensors of a checkpoint; the reverse of `load_weights`.

    Tensors of rows that are `reshaped` keep our shape.
    """
    parameters, buffers = dict(network.named_parameters()), dict(network.named_buffers())
    own, stored = {**parameters, **buffers}, {}
    for row in weights.expanded(parameters, buffers):
        found = torch.cat([own[name].detach().cpu() for name in row.ours.split()])
        found = found[weights.order] if row.vocabulary and weights.order is not None else found
        stored[row.theirs] = (found.T if row.transposed else found).contiguous()
    return stored


def _converted(found: Tensor, row: Row, weights: WeightMap) -> Tensor:
    found = found.T if row.transposed else found
    if not row.vocabulary:
        return found
    assert weights.order is not None
    found = found.flatten() if row.reshaped else found
    return torch.cat([found, torch.zeros_like(found[:1])])[weights.order]  # the last row, −1, is NEW


def _check(
    checkpoint: Checkpoint, weights: WeightMap, rows: Sequence[Row], parameters: Mapping[str, nn.Parameter]
) -> None:
    where, config = checkpoint.weights, checkpoint.config.path.name
    expected = {row.theirs: _expected_shape(row, weights, parameters) for row in rows}
    if missing := [name for name in expected if name not in checkpoint.names]:
        raise DataError(f"{where}: has no {missing[0]}, which {config} requires ({len(missing)} missing)")
    known = [*expected, *weights.tied]
    unknown = [name for name in sorted(checkpoint.names) if name not in known and not _matches(name, weights.ignored)]
    if unknown:
        raise DataError(
            f"{where}: has {unknown[0]}, which does not belong to the model that {config} describes "
            f"({len(unknown)} such)"
        )
    for row in rows:
        shape, wanted = torch.Size(checkpoint.shape(row.theirs)), expected[row.theirs]
        if not (shape.numel() == wanted.numel() if row.reshaped else shape == wanted):
            raise DataError(f"{where}: {row.theirs} has the shape {list(shape)}, {config} requires {list(wanted)}")
    for copy, name in weights.tied.items():
        if copy in checkpoint.names and not torch.equal(checkpoint.tensor(copy), checkpoint.tensor(name)):
            raise DataError(f"{where}: {copy} differs from {name}; models with untied embeddings are not supported")


def _expected_shape(row: Row, weights: WeightMap, parameters: Mapping[str, nn.Parameter]) -> torch.Size:
    """The shape that the checkpoint's tensor must have."""
    parts = [parameters[name].shape for name in row.ours.split()]
    length = sum(part[0] for part in parts)
    if row.vocabulary:
        assert weights.order is not None
        length = int(weights.order.max()) + 1
    shape = torch.Size([length, *parts[0][1:]])
    return torch.Size(reversed(shape)) if row.transposed else shape


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)

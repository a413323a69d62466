"""From a checkpoint's names to ours: one table an architecture, every tensor accounted for.

Each row of a table moves one tensor or one layer (weight and bias). What is missing, left over or of another shape is
refused by name, before any memory is taken for the weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TypeVar

import torch
from torch import Tensor, nn

from mirada.errors import DataError
from mirada.exchange.checkpoint import Checkpoint

N = TypeVar("N", bound=nn.Module)

NEW = -1
"""In the order of the words: a row that the checkpoint does not have, and that is zero."""
NEVER = -1e4
"""A score that no softmax notices. (−∞ would make the mean over all words infinite when labels are smoothed.)"""


@dataclass(frozen=True)
class Row:
    """Where one of the checkpoint's tensors goes; `{}` in a name is the layer's number."""

    theirs: str
    ours: str
    """One name, or several with spaces between: theirs holds these below each other."""
    turned: bool = False
    """The matrix is stored as [in, out]."""
    words: bool = False
    """There is a row for every word of the vocabulary."""
    flat: bool = False
    """The same numbers in the same order, with other axes."""

    def below(self, prefix: str) -> Row:
        """The same, where their tensors have names below another."""
        return replace(self, theirs=prefix + self.theirs)

    def expanded(self, parameters: Mapping[str, nn.Parameter]) -> Iterable[Row]:
        """A row for each layer of ours, and for weight and bias where the names are not those of single tensors."""
        for number in itertools.count() if "{}" in self.ours else [0]:
            theirs, *ours = (name.replace("{}", str(number)) for name in (self.theirs, *self.ours.split()))
            ends = [end for end in ("", ".weight", ".bias") if ours[0] + end in parameters]
            if not ends:
                return
            for end in ends:
                names = " ".join(name + end for name in ours)
                yield Row(
                    theirs + end, names, self.turned and end == ".weight", self.words, self.flat and end != ".bias"
                )


@dataclass(frozen=True)
class Table:
    """How a checkpoint's tensors become a network's."""

    rows: Sequence[Row]
    ties: Mapping[str, str]
    """Their second names of one tensor: these, if present, must be equal to those."""
    harmless: Sequence[str]
    """Patterns of names that hold nothing learned: masks, numbers of positions."""
    order: Tensor | None = None  # [V] which of their words each of ours is, or NEW
    untrained: Sequence[str] = ()
    """Patterns of our parameters that the checkpoint does not have."""


def check_words(source: Checkpoint, name: str) -> None:
    """Refuse a vocab_size that is not that of the table of words `name`: before a list of so many words is made."""
    size, config = source.settings.integer("vocab_size"), source.settings.path.name
    if name not in source.names:
        raise DataError(f"{source.where}: has no {name}, which {config} asks for")
    if source.shape(name)[:1] != (size,):
        raise DataError(
            f"{source.where}: {name} has the shape {list(source.shape(name))}, {config} has vocab_size={size}"
        )


def fill(build: Callable[[], N], source: Checkpoint, table: Table) -> N:
    """The network that `build` makes, with the checkpoint's weights."""
    with torch.device("meta"):  # shapes without memory: a wrong config.json must not cost any
        parameters = dict(build().named_parameters())
    moves = [move for row in table.rows for move in row.expanded(parameters)]
    covered = {name for move in moves for name in move.ours.split()}
    left = [name for name in parameters if name not in covered and not _matches(name, table.untrained)]
    assert not left, f"the table says nothing of {left}"
    _check(source, table, moves, parameters)
    network = build()
    own = dict(network.named_parameters())
    with torch.no_grad():
        for move in moves:
            names, found = move.ours.split(), source.tensor(move.theirs)
            if not found.isfinite().all():
                raise DataError(f"{source.where}: {move.theirs} has numbers that are not finite: it cannot be used")
            for name, part in zip(names, _moved(found, move, table).chunk(len(names)), strict=True):
                own[name].copy_(part.view_as(own[name]))
    return network


def _moved(found: Tensor, move: Row, table: Table) -> Tensor:
    found = found.T if move.turned else found
    if not move.words:
        return found
    assert table.order is not None
    found = found.flatten() if move.flat else found
    return torch.cat([found, torch.zeros_like(found[:1])])[table.order]  # the last row, −1, is NEW


def _check(source: Checkpoint, table: Table, moves: Sequence[Row], parameters: Mapping[str, nn.Parameter]) -> None:
    wanted = {move.theirs: _shape(move, table, parameters) for move in moves}
    config = source.settings.path.name
    if missing := [name for name in wanted if name not in source.names]:
        raise DataError(f"{source.where}: has no {missing[0]}, which {config} asks for ({len(missing)} missing)")
    known = [*wanted, *table.ties]
    strange = [name for name in sorted(source.names) if name not in known and not _matches(name, table.harmless)]
    if strange:
        raise DataError(
            f"{source.where}: has {strange[0]}, which has no place in the model that {config} describes "
            f"({len(strange)} such)"
        )
    for move in moves:
        shape = source.shape(move.theirs)
        same = torch.Size(shape).numel() == wanted[move.theirs].numel() if move.flat else shape == wanted[move.theirs]
        if not same:
            raise DataError(
                f"{source.where}: {move.theirs} has the shape {list(shape)}, {config} asks for "
                f"{list(wanted[move.theirs])}"
            )
    for copy, name in table.ties.items():
        if copy in source.names and not torch.equal(source.tensor(copy), source.tensor(name)):
            raise DataError(f"{source.where}: {copy} is not equal to {name}; a model with two tables is not known here")


def _shape(move: Row, table: Table, parameters: Mapping[str, nn.Parameter]) -> torch.Size:
    """What the checkpoint's tensor must look like."""
    parts = [parameters[name].shape for name in move.ours.split()]
    rows = sum(part[0] for part in parts)
    if move.words:
        assert table.order is not None
        rows = int(table.order.max()) + 1
    shape = torch.Size([rows, *parts[0][1:]])
    return torch.Size(reversed(shape)) if move.turned else shape


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)

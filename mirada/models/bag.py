"""Bag of words or n-grams: which of them occur in a text, whatever their order. A baseline for other models.

    f(d) [k]    the k most frequent n-grams of the training texts: 1 where one occurs in d, or its relative frequency,
                the count divided by the number of n-grams in d
    h = g(W f(d) + b),  scores = V h + c;    without a hidden layer  scores = W f(d) + b

f(d) is sparse and never built: the columns of W for d's n-grams are added up.

An n-gram is one number, its key: in base V, behind the keys of all shorter n-grams,

    key(w_1) = w_1    key(w_1 w_2) = V + w_1 V + w_2    key(w_1 w_2 w_3) = V + V² + w_1 V² + w_2 V + w_3

so that the chosen n-grams are one sorted table, and those of a text are found by binary search.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from mirada.config import Section, Values
from mirada.contracts import PAD, SequenceBatch, SequenceEncoder, Sizes
from mirada.errors import ConfigError, UsageError
from mirada.models.architecture import Architecture, Variant
from mirada.nn import activations
from mirada.nn.blocks import Dropout
from mirada.parts import OutputHead

FIRST_WORD = 4
"""The least id of a word; smaller ids (padding, start, end, unknown) are part of no n-gram."""

UNKNOWN = 3
"""The id of words outside of the vocabulary, which are part of no n-gram but count in the length of a text."""

NOTHING = 2**63 - 1
"""A number larger than any key, which fills the table after its last key."""

CHUNK = 2_000_000
"""The number of ids that are counted at once."""

Counts = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Sorted keys, and the number of times that each occurs."""


class BagConfig(Section):
    """Sizes and choices of a bag of words."""

    name: Literal["bag"] = "bag"
    features: int = Field(10_000, ge=1, le=2_000_000)
    """k: the number of most frequent n-grams to use."""
    ngrams: int = Field(1, ge=1, le=3)
    """The longest n-grams: 1 for single words, 2 also for pairs of adjacent words, 3 also for triples."""
    weighting: Literal["presence", "frequency"] = "presence"
    """The value of an n-gram: 1 if it occurs (presence), or its count relative to the length of the text (frequency;
    see `share_of`)."""
    share_of: Literal["all", "known"] = "known"
    """The divisor of a frequency: all n-grams of the text, as in every preset, or only the known ones, as in old
    bundles."""
    hidden: int = Field(0, ge=0, le=16384)
    """The size of a hidden layer. 0 means none: every n-gram has a weight for each class."""
    activation: Literal["sigmoid", "tanh", "relu", "leaky_relu", "maxout", "elu"] = "relu"
    """g, the activation function of the hidden layer."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout rate of n-grams and hidden values. Default: depends on the number of epochs, from 0 for a few to 0.2 for
    many."""
    max_length: int = Field(20_000, ge=1, le=10_000_000)
    """Maximum words per text."""


def _preset(features: int, ngrams: int) -> Values:
    # Measured for `presence` without a hidden layer. `frequency` has small values, so it wants a rate ten times higher.
    recipe = {"max_batch_tokens": 20_000, "optimizer": "adam", "lr": 0.002, "label_smoothing": 0.0}
    return {"model": {"features": features, "ngrams": ngrams, "share_of": "all"}, "train": recipe}


PRESETS: dict[str, Values] = {
    "tiny": _preset(10_000, 1),
    "small": _preset(10_000, 1),
    "base": _preset(50_000, 2),
    "big": _preset(200_000, 2),
}


class Bag(SequenceEncoder):
    """The sum of the weights of a text's n-grams, with an optional hidden layer; `fit` chooses the n-grams."""

    table: Tensor  # [k] the keys of the chosen n-grams, in order

    def __init__(self, config: BagConfig, sizes: Sizes):
        super().__init__()
        c = self.config = config
        if sizes.numeric_inputs:
            raise ConfigError("model.name=bag counts words, and these inputs are numbers: choose model.name=lstm")
        self.vocabulary = sizes.inputs
        self.first = [sum(sizes.inputs**m for m in range(1, n)) for n in range(1, c.ngrams + 2)]  # each n's least key
        if self.first[-1] >= NOTHING:
            raise ConfigError(
                f"model.ngrams={c.ngrams}: a vocabulary of {sizes.inputs:,} words has more {c.ngrams}-grams than can "
                f"be numbered: set model.ngrams={c.ngrams - 1}, or make the vocabulary smaller"
            )
        self.register_buffer("table", torch.full((c.features,), NOTHING))
        pieces = activations.PIECES if c.hidden and c.activation == "maxout" else 1
        width = pieces * c.hidden or sizes.outputs
        # W by its columns, one for each n-gram: an embedding, also to the optimizers (a rare one must not fade away).
        self.columns = nn.Embedding(c.features, width)
        self.bias = nn.Parameter(torch.zeros(width))
        self.dropout = Dropout(c.dropout or 0.0)
        self.output: nn.Module = nn.Identity()
        nn.init.zeros_(self.columns.weight)
        if c.hidden:
            nn.init.normal_(self.columns.weight, std=c.hidden**-0.5)
            self.g = activations.maxout if c.activation == "maxout" else activations.ACTIVATIONS[c.activation]
            self.output = OutputHead(c.hidden, sizes.outputs)
        self.name_parts()

    # ── n-grams ───────────────────────────────────────────────────────────────────────────────────────────────────

    def fit(self, ids: NDArray[np.integer], offsets: NDArray[np.int64]) -> None:
        """Choose the k most frequent n-grams of these texts; text i is ids[offsets[i]:offsets[i+1]].

        Among equally frequent n-grams, those with smaller keys are preferred: shorter ones, then those of smaller ids.
        """
        counted: list[Counts] = []
        for stream in _chunks(ids, offsets):
            for _, found in self._ngrams(torch.from_numpy(stream)):
                counted.append(np.unique(found.numpy(), return_counts=True))
                # Counts of similar size are merged: each is moved a few times only, however many chunks there are.
                while len(counted) > 1 and 2 * len(counted[-1][0]) > len(counted[-2][0]):
                    counted.append(_merge(counted.pop(), counted.pop()))
        keys, counts = reduce(_merge, reversed(counted), (np.empty(0, np.int64), np.empty(0, np.int64)))
        k = self.config.features
        if len(keys) > k:
            least = np.partition(counts, -k)[-k]  # the k-th largest
            more, equal = np.flatnonzero(counts > least), np.flatnonzero(counts == least)
            keys = np.sort(keys[np.concatenate([more, equal[: k - len(more)]])])
        self.table.fill_(NOTHING)
        self.table[: len(keys)] = torch.from_numpy(keys)
        with torch.no_grad():  # unused columns must not count in λΣW²
            self.columns.weight[len(keys) :] = 0.0

    def _ngrams(self, stream: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """For each n, the positions in a stream of ids [M] where n-grams begin, and their keys; PAD separates texts."""
        word = stream >= FIRST_WORD
        whole, number = word, stream
        for n in range(1, self.config.ngrams + 1):
            if n > 1:
                whole, number = whole[:-1] & word[n - 1 :], number[:-1] * self.vocabulary + stream[n - 1 :]
            at = whole.nonzero().squeeze(1)
            yield at, number[at] + self.first[n - 1]

    def features(self, batch: SequenceBatch) -> tuple[Tensor, Tensor, Tensor]:
        """The nonzero entries of f(d) for a batch: the text, the n-gram's row in the table, and the value, [N] each."""
        k, length = self.config.features, batch.inputs.shape[1] + 1
        stream = nn.functional.pad(batch.inputs.long().masked_fill(~batch.mask, PAD), (0, 1), value=PAD).flatten()
        at, keys = (torch.cat(parts) for parts in zip(*self._ngrams(stream), strict=True))
        place = torch.searchsorted(self.table, keys).clamp_(max=k - 1)
        known = self.table[place] == keys
        pairs, times = torch.unique(at[known] // length * k + place[known], return_counts=True)
        rows, found = pairs // k, pairs % k
        if self.config.weighting == "presence":
            return rows, found, self.bias.new_ones(len(found))
        if self.config.share_of == "known":
            total = torch.zeros(batch.size, dtype=times.dtype, device=times.device).index_add_(0, rows, times)
        else:
            total = self._size(batch)
        return rows, found, times.to(self.bias.dtype) / total[rows]

    def _size(self, batch: SequenceBatch) -> Tensor:
        """The number of n-grams in each text [B], known or not."""
        word = batch.mask & (batch.inputs >= UNKNOWN)  # [B, T]
        whole, total = word, word.sum(1)
        for n in range(2, self.config.ngrams + 1):
            whole = whole[:, :-1] & word[:, n - 1 :]
            total = total + whole.sum(1)
        return total

    # ── outputs ───────────────────────────────────────────────────────────────────────────────────────────────────

    def pool(self, batch: SequenceBatch) -> Tensor:
        """The hidden vector [B, hidden]; without a hidden layer the logits themselves [B, O]."""
        rows, found, values = self.features(batch)
        ends = torch.bincount(rows, minlength=batch.size).cumsum(0)  # the rows are in order
        begins = nn.functional.pad(ends, (1, -1))
        z = self.bias + nn.functional.embedding_bag(
            found, self.columns.weight, begins, mode="sum", per_sample_weights=self.dropout(values)
        )
        self.record("features.found", found)
        self.record("features.values", values)
        if not self.config.hidden:
            self.record("output.logits", z)
            return z
        self.record("sum", z)
        h = self.dropout(self.g(z))
        self.record("pooled", h)
        return h

    def encode(self, batch: SequenceBatch) -> Tensor:
        raise UsageError("model.name=bag has no order, so it has no vector for each step: choose model.name=lstm")

    def why(self, ids: Tensor) -> list[tuple[tuple[int, ...], Tensor]]:
        """Each n-gram's contribution to the class scores [O] of a text [T]; with the bias, they sum to the scores."""
        if self.config.hidden:
            raise UsageError(
                f"model.hidden={self.config.hidden}: a hidden layer mixes the n-grams, so none has a share of its own "
                "in the scores: train with model.hidden=0 to see them"
            )
        ids = ids.to(self.table.device)
        _, found, values = self.features(SequenceBatch(ids[None], torch.tensor([len(ids)], device=ids.device)))
        added = self.columns.weight.detach()[found] * values[:, None]  # [N, O]
        return [(self.words(key), share) for key, share in zip(self.table[found].tolist(), added, strict=True)]

    def words(self, key: int) -> tuple[int, ...]:
        """The ids of the n-gram with this key."""
        n = sum(key >= first for first in self.first)
        digits = key - self.first[n - 1]
        return tuple(digits // self.vocabulary**place % self.vocabulary for place in reversed(range(n)))


def _chunks(ids: NDArray[np.integer], offsets: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """All texts, about CHUNK ids at a time, with PAD between them, so that no n-gram spans two texts."""
    text, last = 0, len(offsets) - 1
    while text < last:
        # up to the last text that ends within the chunk, but one text at least
        until = max(text + 1, int(np.searchsorted(offsets, offsets[text] + CHUNK, side="right")) - 1)
        begin, borders = offsets[text], offsets[text + 1 : until]
        yield np.insert(ids[begin : offsets[until]].astype(np.int64), borders - begin, PAD)
        text = until


def _merge(one: Counts, other: Counts) -> Counts:
    """Merge counts: every key once, in order, with the sum of its counts."""
    keys, counts = (np.concatenate(parts) for parts in zip(one, other, strict=True))
    order = np.argsort(keys, kind="stable")  # of two sorted halves: one pass
    keys, counts = keys[order], counts[order]
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[begins], np.add.reduceat(counts, begins) if len(begins) else counts


ARCHITECTURES = {
    "bag": Architecture(
        1954,
        "Harris, Distributional Structure",
        "softmax(W x), x_i = 1 if word i occurs",
        {"classification": Variant(BagConfig, Bag, PRESETS)},
    )
}

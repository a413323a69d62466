"""Batches of similar length within a token budget: shuffled by seed and epoch, resumable at any position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic

import numpy as np
import numpy.typing as npt
import torch

from mirada.contracts import BOS, EOS, PAD, AnyBatch, Batch, Rows
from mirada.data.corpus import Corpus


def by_length(source: npt.NDArray[np.int32], target: npt.NDArray[np.int32], order: Rows) -> Rows:
    """Sort the rows `order` by target length, then by source length; equal lengths keep their order.

    Source lengths go up for even target lengths and down for odd ones, so that neighbours stay alike where the target
    length changes.
    """
    s, t = source[order], target[order]
    return order[np.lexsort((np.where(t % 2, -s, s), t))]


def cut(source: npt.NDArray[np.int32], target: npt.NDArray[np.int32], order: Rows, budget: int) -> list[Rows]:
    """Consecutive runs of `order` whose padded size rows × (longest source + longest target) fits the budget.

    A pair that is larger than the budget gets a batch of its own.
    """
    runs: list[Rows] = []
    begin = longest_s = longest_t = 0
    pairs = zip(source[order].tolist(), target[order].tolist(), strict=True)
    for position, (s, t) in enumerate(pairs):
        grown_s, grown_t = max(longest_s, s), max(longest_t, t)
        if position > begin and (position - begin + 1) * (grown_s + grown_t) > budget:
            runs.append(order[begin:position])
            begin, grown_s, grown_t = position, s, t
        longest_s, longest_t = grown_s, grown_t
    if begin < len(order):
        runs.append(order[begin:])
    return runs


@dataclass
class Groups(Generic[AnyBatch]):
    """A corpus in batches of similar length. Epoch e is the same list of batches whenever it is asked for."""

    corpus: Corpus
    budget: int
    """The most tokens in a batch, padding and both sides counted."""
    seed: int
    mark: str = field(default="", kw_only=True)
    """The fingerprint of the data, if there is more to it than the corpus."""

    @property
    def fingerprint(self) -> str:
        return self.mark or self.corpus.fingerprint

    @property
    def tokens(self) -> int:
        return self.corpus.tokens

    def __post_init__(self) -> None:
        self._source = self.corpus.source.lengths + 1  # EOS
        self._target = self.corpus.target.lengths + 1
        self._planned: tuple[int, list[Rows]] | None = None  # an epoch and its batches

    def epoch(self, epoch: int) -> list[Rows]:
        """The rows of every batch of an epoch, in the order they are trained on; the last one asked for is kept."""
        if self._planned is None or self._planned[0] != epoch:
            self._planned = epoch, self._plan(epoch)
        return self._planned[1]

    def _plan(self, epoch: int) -> list[Rows]:
        random = np.random.default_rng([self.seed, epoch])
        shuffled = random.permutation(len(self.corpus))
        runs = cut(self._source, self._target, by_length(self._source, self._target, shuffled), self.budget)
        return [runs[i] for i in random.permutation(len(runs))]

    def load(self, rows: Rows) -> AnyBatch:
        """The batch of the given rows."""
        raise NotImplementedError

    def padding(self, epoch: int = 0) -> float:
        """The share of an epoch's cells that are padding."""
        real = int(self._source.sum() + self._target.sum())
        runs = self.epoch(epoch)
        cells = sum(len(rows) * int(self._source[rows].max() + self._target[rows].max()) for rows in runs)
        return 1 - real / cells


class Batches(Groups[Batch]):
    """Sentence pairs: source … EOS, BOS target … EOS."""

    def load(self, rows: Rows) -> Batch:
        return Batch(
            source=torch.from_numpy(self.corpus.source.padded(rows, None, EOS, PAD)),
            target=torch.from_numpy(self.corpus.target.padded(rows, BOS, EOS, PAD)),
            rows=torch.from_numpy(rows),
        )


def collate(sources: Sequence[Sequence[int]], prefixes: Sequence[Sequence[int]] | None = None) -> Batch:
    """A batch to generate from: the sources' ids, and forced prefixes of one common length."""
    longest = max(map(len, sources))
    source = torch.tensor([[*ids, EOS, *[PAD] * (longest - len(ids))] for ids in sources])
    prefixes = prefixes or [()] * len(sources)
    return Batch(source, torch.tensor([[BOS, *prefix] for prefix in prefixes]))


def collate_pairs(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Batch:
    """A batch of whole pairs: source … EOS, BOS target … EOS."""
    longest = max(map(len, targets))
    target = torch.tensor([[BOS, *ids, EOS, *[PAD] * (longest - len(ids))] for ids in targets])
    return Batch(collate(sources).source, target)


def similar(lengths: Sequence[int], cells: int) -> Iterator[list[int]]:
    """Numbers of texts of similar length in groups of at most `cells` tokens, the longest first."""
    group: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if group and (len(group) + 1) * (lengths[group[0]] + 1) > cells:
            yield group
            group = []
        group.append(number)
    if group:
        yield group

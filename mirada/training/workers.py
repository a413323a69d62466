"""The processes that train one model together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from torch import nn

T = TypeVar("T")
Item = TypeVar("Item")


class Workers:
    """The workers of a run, seen from one of them. This class is a run in a single process.

    All workers hold the same weights. In each step every worker computes the gradients of its share of the batches; the
    gradients are summed and every worker applies the same update. The first worker keeps the time, validates and
    writes files. A subclass for several processes overrides `rank`, `count` and the four methods that communicate;
    every worker calls these in the same order.
    """

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this worker validates and writes files."""
        return self.rank == 0

    def share(self, batches: Sequence[Item]) -> Sequence[Item]:
        """This worker's share of the batches of a step; possibly none in the last step of an epoch."""
        return batches[self.rank :: self.count]

    def sum_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """Replace each parameter's gradient by its sum over all workers."""

    def sum(self, *values: float) -> tuple[float, ...]:
        """Each value, summed over all workers."""
        return values

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on any worker."""
        return flag

    def from_first(self, compute: Callable[[], T]) -> T:
        """Compute a value on the first worker and return it on all; an exception is raised on all, too."""
        return compute()

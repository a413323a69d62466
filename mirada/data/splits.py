"""Splits of labelled examples by fingerprint: which repeat or contradict others, which to hold out.

`hashes` [N] are fingerprints, equal for equal things; `numbers` [N] the class of each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator


def _different(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise ValueError("a label comes twice")
    return names


LabelNames = Annotated[list[str], AfterValidator(_different)]
"""What classes or tags are called, as it is kept in files."""

Hashes = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def first_of(hashes: Hashes) -> Mask:
    """Mark the first occurrence of each."""
    order = np.argsort(hashes, kind="stable")
    found = np.ones(len(hashes), dtype=bool)
    ranked = hashes[order]
    found[order[1:]] = ranked[1:] != ranked[:-1]
    return found


def contradicting(hashes: Hashes, numbers: Numbers) -> Mask:
    """Mark those that occur with different classes."""
    different, group = np.unique(hashes, return_inverse=True)
    least, most = np.full(len(different), numbers.max(initial=0)), np.zeros(len(different), dtype=np.int64)
    np.minimum.at(least, group, numbers)
    np.maximum.at(most, group, numbers)
    return np.asarray((least != most)[group])


def repeated(hashes: Hashes, numbers: Numbers | None = None) -> Mask:
    """Mark those that have occurred before, with the same class if there are classes."""
    numbers = np.zeros(len(hashes), np.int64) if numbers is None else numbers
    order = np.lexsort((numbers, hashes))  # stable: of equal ones, the earliest is first
    found = np.zeros(len(hashes), dtype=bool)
    found[order[1:]] = (np.diff(hashes[order]) == 0) & (np.diff(numbers[order]) == 0)
    return found


def hold_out(hashes: Hashes, numbers: Numbers, share: float, single: Callable[[int], Exception]) -> Mask:
    """A share of the distinct examples of every class, those with the smallest fingerprints, but never all of them.

    Nothing is on both sides: what occurs with several classes is held out of all of them. `single` makes the error for
    a class that has one thing only.
    """
    chosen = []
    for number in np.unique(numbers):
        different = np.unique(hashes[numbers == number])
        if len(different) < 2:
            raise single(int(number))
        chosen.append(different[: min(len(different) - 1, max(1, round(share * len(different))))])
    held = np.isin(hashes, np.concatenate(chosen))
    for number in np.unique(numbers):
        own = hashes[numbers == number]
        if held[numbers == number].all():  # others have chosen what was left of it
            held &= hashes != own.max()
    return held

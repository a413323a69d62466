"""Repeats, contradictions and a part that is held out, of things that are known by fingerprint."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.data.splits import contradicting, hold_out, repeated

Things = list[tuple[int, int]]
"""The fingerprint and the class of each."""


def arrays(things: Things) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    hashes, numbers = zip(*things, strict=True)
    return np.array(hashes, dtype=np.uint64), np.array(numbers, dtype=np.int64)


def single(number: int) -> Exception:
    return LookupError(str(number))


def test_what_repeats_and_what_contradicts() -> None:
    found = arrays([(7, 0), (7, 1), (7, 1), (5, 2), (5, 2), (9, 0)])
    assert contradicting(*found).tolist() == [True, True, True, False, False, False]
    assert repeated(*found).tolist() == [False, False, True, False, True, False]


@given(st.lists(st.tuples(st.integers(2**63, 2**63 + 5), st.integers(0, 2)), min_size=1, max_size=40))
def test_as_counted_one_by_one(things: Things) -> None:
    classes: dict[int, set[int]] = {}
    for thing, number in things:
        classes.setdefault(thing, set()).add(number)
    assert contradicting(*arrays(things)).tolist() == [len(classes[thing]) > 1 for thing, _ in things]
    assert repeated(*arrays(things)).tolist() == [pair in things[:place] for place, pair in enumerate(things)]


def test_every_class_has_some_held_out_and_nothing_is_on_both_sides() -> None:
    things = [(100 + n, n % 3) for n in range(300)] + [(100, 1), (101, 2), (100, 0)]
    hashes, numbers = arrays(things)
    held = hold_out(hashes, numbers, 0.1, single)
    assert not set(hashes[held].tolist()) & set(hashes[~held].tolist())
    for number in range(3):
        assert 10 <= int((held & (numbers == number)).sum()) <= 13
    assert hold_out(*arrays([(1, 0), (2, 0), (3, 1), (4, 1)]), 0.9, single).tolist() == [True, False, True, False]


def test_no_class_is_held_out_wholly_by_what_it_shares() -> None:
    hashes, numbers = arrays([(5, 0), (6, 0), (6, 1), (7, 1)])
    held = hold_out(hashes, numbers, 0.1, single)
    assert held.tolist() == [True, False, False, False]


def test_a_class_with_one_thing_is_refused() -> None:
    with pytest.raises(LookupError, match="1"):
        hold_out(*arrays([(1, 0), (2, 0), (3, 1), (3, 1)]), 0.1, single)

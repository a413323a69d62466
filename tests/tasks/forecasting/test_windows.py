"""How a model sees a series: differences of all kinds, what the naive forecast misses, windows whose truth is next."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.contracts import Plan, SequenceBatch
from mirada.errors import BundleError, DataError
from mirada.tasks.forecasting.data import ForecastingPreprocessor
from mirada.tasks.forecasting.windows import RECENT, Frame, Windows, features, naive_next

# --- one scale ---


def test_scaling_and_back() -> None:
    values = np.random.default_rng(0).normal([5, -1e6, 0.001], [2, 1e5, 1e-4], (50, 3))
    frame = Frame.fit(values, None)
    scaled = frame.scale(values)
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(0, unbiased=False), 1, rtol=1e-6)
    np.testing.assert_allclose(frame.unscale(scaled), values, rtol=1e-6)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e9 + 0.1])
def test_what_never_changes_is_not_blown_up(constant: float) -> None:
    frame = Frame.fit(np.full((7, 1), constant), None)
    assert frame.std.tolist() == [1.0]
    assert abs(frame.scale(np.array([[constant]]))[0, 0]) < 1e-6


def walk(n: int, columns: int = 1, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.default_rng(seed).normal(size=(n, columns)).cumsum(axis=0)


@pytest.mark.parametrize("period", [None, 7])
def test_a_frame_is_kept_whole(period: int | None) -> None:
    values = walk(100, 2)
    frame = Frame.fit(values, period)
    again = ForecastingPreprocessor.read(ForecastingPreprocessor(("a", "b"), frame, 100).files(), Path()).frame
    assert again.period == period
    assert torch.equal(again.features(again.scale(values)), frame.features(frame.scale(values)))
    assert torch.equal(again.misses(again.scale(values)), frame.misses(frame.scale(values)))


SOUND: dict[str, Any] = {"names": ["a"], "training": 9, "mean": [1.0], "std": [1.0], "miss": [0.1], "period": None}


@pytest.mark.parametrize(
    "change",
    [
        {"mean": "x"},
        {"std": [0.0]},
        {"std": [1.0, 2.0]},
        {"miss": [float("nan")]},
        {"miss": []},
        {"mean": 1.0},
        {"mean": [float("inf")]},
        {"period": 1},
        {"period": "7"},
    ],
)
def test_a_damaged_scale_is_refused(change: dict[str, Any]) -> None:
    def read(about: dict[str, Any]) -> None:
        ForecastingPreprocessor.read({"series.json": json.dumps(about).encode()}, Path())

    read(SOUND)
    with pytest.raises(BundleError, match=r"series\.json"):
        read({**SOUND, **change})
    with pytest.raises(BundleError, match=r"series\.json"):
        read({name: value for name, value in SOUND.items() if name not in change})


# --- features, and what the naive forecast misses ---


def test_features_by_hand() -> None:
    x = torch.tensor([[1.0], [3.0], [6.0], [10.0], [15.0]])
    K = math.sqrt(3)
    by_hand = [
        [0, 0, 0, 0],
        [1 / K, 2, 0, 0],
        [(6 - 10 / 3) / K, 3, (1 - 6) / K, 0],  # the next value's sibling x_{t+1−3} is the first, and has no past
        [(10 - 19 / 3) / K, 4, (3 - 10) / K, 2],
        [(15 - 31 / 3) / K, 5, (6 - 15) / K, 3],
    ]
    torch.testing.assert_close(features(x, torch.ones(1), 3), torch.tensor(by_hand))
    torch.testing.assert_close(features(x, torch.tensor([0.5]), 3), 2 * torch.tensor(by_hand))
    assert features(x, torch.ones(1))[:, 1].tolist() == [0, 2, 3, 4, 5]
    assert naive_next(x).tolist() == x.tolist()
    assert naive_next(x, 3)[:, 0].tolist() == [1, 3, 6, 10 + 2, 15 + 3]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 80), st.integers(1, 3), st.none() | st.integers(2, 12), st.integers(0, 99), st.floats(-50, 50))
def test_the_last_steps_are_enough_and_the_level_is_not_seen(
    t: int, columns: int, period: int | None, seed: int, level: float
) -> None:
    values = walk(t, columns, seed)
    frame = Frame(np.zeros(columns), np.ones(columns), np.full(columns, 0.7), period)
    x = frame.scale(values)
    every = frame.features(x)
    assert every.shape == (t, frame.width)
    torch.testing.assert_close(frame.features(x[-frame.look_back :])[-1], every[-1], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(frame.features(x + level), every, atol=1e-4, rtol=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 80), st.none() | st.integers(2, 12), st.integers(0, 99))
def test_misses_and_values_say_the_same(t: int, period: int | None, seed: int) -> None:
    values = walk(t, 2, seed)
    frame = Frame.fit(values, period)
    x = frame.scale(values)
    y = frame.misses(x)
    assert (y[0] == 0).all()
    torch.testing.assert_close(frame.next(x[None, :-1], y[-1:]), x[None, -1], atol=1e-5, rtol=1e-5)
    assert y[1:].square().mean(0).sqrt().max() <= 1.001  # its usual size is 1


def test_a_series_without_noise_has_a_scale_too() -> None:
    exact = np.tile(np.arange(6.0), 20)[:, None] + 0.1 * np.arange(120)[:, None]
    frame = Frame.fit(exact, 6)
    assert frame.misses(frame.scale(exact))[7:].abs().max() < 0.1
    assert (frame.miss > 0).all()


# --- windows ---


def windows_of(
    values: np.ndarray[Any, Any], length: int, stride: int = 1, batch: int = 4, seed: int = 0, period: int | None = None
) -> Windows:
    return Windows(values, Frame.fit(values, period), length, stride, batch, seed)


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 60), st.integers(1, 20), st.integers(1, 30), st.integers(1, 5), st.integers(0, 9))
def test_windows_hold_the_next_misses_and_nothing_beyond(
    n: int, length: int, stride: int, batch: int, epoch: int
) -> None:
    values = walk(n, 2)
    if n <= length:
        with pytest.raises(DataError, match=r"too few for windows of .* --set data.window="):
            windows_of(values, length)
        return
    windows = windows_of(values, length, stride, batch, 1, 4)
    x = windows.frame.scale(values)
    seen, misses = windows.frame.features(x), windows.frame.misses(x)
    plan = windows.epoch(epoch)
    starts = np.sort(np.concatenate(plan))
    assert starts.dtype == np.int64
    assert 0 <= starts[0] < stride
    assert starts[-1] + length <= n - 1  # the last truth is the last training value at most
    assert starts[-1] + stride + length > n - 1
    assert set(np.diff(starts)) <= {stride}
    assert max(map(len, plan)) <= batch
    for rows in plan:
        reading = windows.load(rows)
        steps = rows[:, None] + np.arange(length)
        assert reading.truth is not None
        assert reading.before is not None
        assert torch.equal(reading.truth, misses[steps + 1])
        assert torch.equal(reading.before[..., :2], misses[steps])
        assert (reading.before[..., 2:] == 0).all()
        assert torch.equal(reading.inputs, seen[steps])
        assert reading.inputs.shape == (len(rows), length, 8)
        assert (reading.lengths == length).all()


def test_windows_see_the_season_before_they_begin() -> None:
    values = np.arange(20.0)[:, None] ** 2
    windows = windows_of(values, 3, period=5)
    x = windows.frame.scale(values)
    assert torch.equal(windows.load(np.array([10])).inputs[0], windows.frame.features(x)[10:13])
    assert (windows.load(np.array([10])).inputs[0, 0] != 0).all()


def test_epochs_differ_and_repeat() -> None:
    values = walk(500)
    windows, again = (windows_of(values, 20, 10, 8, 3) for _ in range(2))
    grids = {int(np.concatenate(windows.epoch(e)).min()) for e in range(20)}
    assert len(grids) > 4
    assert not np.array_equal(np.concatenate(windows.epoch(0)), np.sort(np.concatenate(windows.epoch(0))))
    for e in (4, 2):
        assert all(np.array_equal(a, b) for a, b in zip(windows.epoch(e), again.epoch(e), strict=True))
    assert not np.array_equal(windows.epoch(0)[0], windows_of(values, 20, 10, 8, 4).epoch(0)[0])


def test_what_the_loop_asks_for() -> None:
    values = walk(100, 2)
    windows: Plan[SequenceBatch] = windows_of(values, 10, 5, 4, 3)  # mypy says whether it is one
    assert windows.tokens == sum(windows.load(rows).tokens for rows in windows.epoch(0))
    assert windows.padding(0) == 0.0
    assert windows.fingerprint == windows_of(values.copy(), 10, 5, 4, 9).fingerprint
    assert windows.fingerprint != windows_of(values + 1, 10, 5, 4, 3).fingerprint


def test_a_long_series_is_summed_without_loss() -> None:
    n = 400_000
    x = torch.full((n, 1), 3.0) + torch.tensor([[1.0], [-1.0]]).repeat(n // 2, 1)
    assert features(x, torch.ones(1))[-1, 0].item() == pytest.approx(-1 / math.sqrt(RECENT), abs=1e-4)

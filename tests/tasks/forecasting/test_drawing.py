"""Images of forecasts: drawn for dates, counts and many columns, and not without something to draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from mirada.tasks.forecasting.drawing import draw_forecast, shown_number
from mirada.tasks.forecasting.model import Forecast


def near(pixels: np.ndarray, colour: str) -> int:
    """How many pixels have (almost) this colour."""
    wanted = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return int((np.abs(pixels[..., :3] - wanted).max(axis=-1) < 0.02).sum())


def draw(path: Path, columns: int = 1, dates: bool = True, ranges: bool = True) -> np.ndarray:
    history = np.random.default_rng(0).normal(size=(30, columns)).cumsum(axis=0)
    f = np.repeat(history[-1:], 6, axis=0)
    times = [f"2024-01-{day:02}" for day in range(1, 31)] if dates else None
    labels = ["2024-01-31", *(f"2024-02-0{day}" for day in range(1, 6))] if dates else [f"+{h}" for h in range(1, 7)]
    names = tuple(f"price in $ of $x_{c}$" for c in range(columns))
    intervals = {95: (f - 2, f + 2), 80: (f - 1, f + 1)} if ranges else {}
    draw_forecast(path, Forecast(names, labels, f, intervals, history, times))
    pixels: np.ndarray = imread(path)
    return pixels


def test_ranges_and_forecast_are_to_be_seen(tmp_path: Path) -> None:
    plain, full = draw(tmp_path / "a.png", ranges=False), draw(tmp_path / "b.png")
    blue, inner, outer = "#1f6fb4", "#a5c6e2", "#d9e6f2"
    assert near(plain, blue) > 100
    assert [near(plain, colour) for colour in (inner, outer)] == [0, 0]
    assert near(full, inner) > 2000
    assert near(full, outer) > 2000


def test_a_panel_a_column_six_at_most(tmp_path: Path) -> None:
    two, seven = draw(tmp_path / "a.png", 2, dates=False), draw(tmp_path / "b.png", 7)
    assert len(seven) - len(two) == 4 * 276  # pixels


def test_labels_that_are_no_dates_after_dates_are_drawn(tmp_path: Path) -> None:
    history = np.arange(5.0)[:, None]
    times = [f"2024-01-0{d}" for d in (1, 2, 4, 7, 9)]
    draw_forecast(tmp_path / "a.png", Forecast(("x",), ["+1"], history[:1], {}, history, times))
    assert (tmp_path / "a.png").stat().st_size > 1000


SHOWN = {
    0: "0",
    -2.5: "−2.5",
    2800: "2,800",
    250000: "250,000",
    4.5e6: "4.5 M",
    -4e9: "−4 bn",
    3e15: "3e+15",
    1e-7: "1e-07",
}


@pytest.mark.parametrize(("value", "text"), SHOWN.items())
def test_numbers_beside_an_axis(value: float, text: str) -> None:
    assert shown_number(value) == text

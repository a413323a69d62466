"""Draw forecasts: recent history, the forecast and its prediction intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from mirada.tasks.forecasting.times import dates_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mirada.tasks.forecasting.model import Forecast

Numbers = npt.NDArray[np.float64]

MAX_PANELS = 6
SHOWN = 4
"""The length of history to draw, in multiples of the horizon."""
MIN_SHOWN = 60
TICKS = 7

_KNOWN, _FORECAST, _FAINT = "#33383d", "#1f6fb4", "#d9dce0"
_SHADES = ("#a5c6e2", "#d9e6f2", "#edf3f9")  # of prediction intervals, the narrowest first
_UNITS = {1e9: " bn", 1e6: " M"}
_STYLE: Any = {
    "text.parse_math": False,  # dollar signs in names are not math
    "font.size": 10,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _KNOWN,
    "text.color": _KNOWN,
    "xtick.color": _KNOWN,
    "ytick.color": _KNOWN,
    "grid.color": _FAINT,
}


def draw_forecast(path: str | Path | BinaryIO, made: Forecast) -> None:
    """Draw the end of the history and a forecast with its intervals, one panel per column."""
    n, names = len(made.history), made.names
    shown = min(n, max(SHOWN * len(made.mean), MIN_SHOWN))
    times = made.history_times
    labels = [*(times[-shown:] if times else map(str, range(1 - shown, 1))), *made.times]
    x: Sequence[Any] = dates_of(labels) or range(len(labels))
    import matplotlib
    from matplotlib.figure import Figure

    panels = min(len(names), MAX_PANELS)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(10, 1.3 + (3.2 if panels == 1 else 2.3) * panels), layout="constrained")
        grid = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
        for c, axes in enumerate(grid):
            _panel(axes, x, made, c, made.history[-shown:, c])
            axes.set_title(names[c], loc="left", fontweight="bold", fontsize=11)
        _ticks(grid[-1], x, labels)
        handles, texts = grid[0].get_legend_handles_labels()
        figure.legend(handles, texts, loc="outside upper right", ncols=len(texts), frameon=False, fontsize=9)
        if len(names) > panels:
            figure.supxlabel(f"the first {panels} of {len(names)} columns", fontsize=9)
        figure.savefig(path, dpi=120)


def _panel(axes: Axes, x: Sequence[Any], made: Forecast, c: int, history: Numbers) -> None:
    """Draw column c. The forecast and its intervals start at the last known value."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    n, last = len(history), history[-1:]
    ahead = x[n - 1 :]
    axes.plot(x[:n], history, color=_KNOWN, linewidth=1.3, label="known")
    axes.plot(ahead, np.concatenate([last, made.mean[:, c]]), color=_FORECAST, linewidth=1.9, label="forecast")
    for number, (percent, bounds) in enumerate(sorted(made.intervals.items())):
        lower, upper = (np.concatenate([last, bound[:, c]]) for bound in bounds)
        shade = _SHADES[min(number, len(_SHADES) - 1)]
        # below the grid, and each below the narrower ones
        zorder = 0.4 - 0.01 * number
        axes.fill_between(ahead, lower, upper, color=shade, linewidth=0, zorder=zorder, label=f"{percent}% interval")
    axes.axvline(x[n - 1], color=_KNOWN, linewidth=0.8, linestyle=(0, (2, 3)))
    axes.grid(axis="y", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.margins(x=0.01)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: shown_number(value)))


def shown_number(value: float) -> str:
    """Format a number for an axis: 2,800 or 4.5 M or 1.2e-07."""
    size, unit = next(((size, unit) for size, unit in _UNITS.items() if size <= abs(value) < 1000 * size), (1, ""))
    text = f"{value:,.0f}" if 1e5 <= abs(value) < 1e6 else f"{value / size:,.6g}"
    return text.replace("-", "−", 1 if text.startswith("-") else 0) + unit


def _ticks(axes: Axes, x: Sequence[Any], labels: Sequence[str]) -> None:
    """Label the axis with a few dates, or with a few of the labels if they are not dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    if not isinstance(x, range):
        locator = AutoDateLocator(minticks=4, maxticks=TICKS + 2)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        return
    places = np.unique(np.linspace(0, len(x) - 1, TICKS).round().astype(int))
    axes.set_xticks(places, [labels[place] for place in places])

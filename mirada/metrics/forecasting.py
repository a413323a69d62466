"""Forecasting metrics: MAE, RMSE and MASE from rolling origins beside simple baselines, by horizon, and coverage.

    MASE = MAE / mean |x_t − x_{t−m}| over the training set        (Hyndman & Koehler 2006)

m is the period of the season, 1 without one. At 1, a forecast errs as much as the (seasonal) naive forecast did on the
training set m steps ahead; further ahead the naive forecast itself has more, so it stands beside the model's. MASE has
no unit: columns can be averaged and series compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from mirada.data.text import shown_text
from mirada.errors import DataError, UsageError
from mirada.metrics.score import Evaluation, Score, decimals, shown

Numbers = npt.NDArray[np.float64]
Intervals = Mapping[int, tuple[Numbers, Numbers]]
"""Lower and upper bounds by percent, of the same shape as the forecasts."""

MODEL, NAIVE, SEASONAL, DRIFT = "model", "naive", "seasonal naive", "drift"
_MEANING = {NAIVE: "the last value", SEASONAL: "the value one season before", DRIFT: "on from first to last value"}


@dataclass(frozen=True)
class Errors:
    """The errors of one method on one column."""

    method: str
    column: str
    mae: float
    rmse: float
    mase: float


@dataclass(frozen=True)
class HorizonRow:
    """Mean absolute errors on one column at one step of the horizon."""

    column: str
    step: int
    model: float
    naive: float


@dataclass(frozen=True)
class Coverage:
    """The share of true values inside the prediction intervals that should hold `percent` of them."""

    column: str
    percent: int
    inside: float


@dataclass(frozen=True)
class ForecastScores(Evaluation):
    """The evaluation of a model's forecasts; `size` counts their origins."""

    horizon: int
    season: int
    """MASE's m."""
    errors: tuple[Errors, ...]
    by_horizon: tuple[HorizonRow, ...]
    coverage: tuple[Coverage, ...]

    unit = "forecasts"

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(row.column for row in self.errors))

    def mase(self, method: str = MODEL) -> float:
        """The mean over the columns."""
        return float(np.mean([row.mase for row in self.errors if row.method == method]))

    def as_text(self) -> str:
        parts = [[f"forecasts: {self.size:,}, of {self.horizon:,} steps each"]]
        several = len(self.columns) > 1
        for column in self.columns:
            rows = [row for row in self.errors if row.column == column]
            n = decimals(max(row.mae for row in rows) / 10)
            cells = {row.method: [f"{row.mae:,.{n}f}", f"{row.rmse:,.{n}f}", f"{row.mase:.3f}"] for row in rows}
            parts.append(_table(shown(column, 15) if several else "", ["MAE", "RMSE", "MASE"], cells, remarks=True))
            steps = [row for row in self.by_horizon if row.column == column]
            n = decimals(max(max(row.model, row.naive) for row in steps) / 10)
            cells = {f"{row.step:,}": [f"{row.model:,.{n}f}", f"{row.naive:,.{n}f}"] for row in steps}
            parts.append(_table("MAE steps ahead", [MODEL, NAIVE], cells))
        if several:
            methods = dict.fromkeys(row.method for row in self.errors)
            parts.append(_table("all columns", ["MASE"], {name: [f"{self.mase(name):.3f}"] for name in methods}))
        if self.coverage:
            percents = dict.fromkeys(f"{row.percent}% range" for row in self.coverage)
            shares: dict[str, list[str]] = {}
            for one in self.coverage:
                shares.setdefault(shown(one.column, 15) if several else MODEL, []).append(f"{one.inside:.1%}")
            parts.append(_table("true values in", [*percents], shares))
        change = "1 step" if self.season == 1 else f"{self.season:,} steps"
        parts.append([f"lower is better; MASE is MAE divided by the mean change over {change} in the training set"])
        return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _table(title: str, headings: Sequence[str], rows: Mapping[str, Sequence[str]], remarks: bool = False) -> list[str]:
    """A table with aligned columns, and optional remarks on the simple forecasts."""
    width = max(8, *(len(cell) for cells in (headings, *rows.values()) for cell in cells)) + 2
    lines = []
    for name, cells in {title: headings, **rows}.items():
        remark = f"  {_MEANING[name]}" if remarks and name in _MEANING else ""
        lines.append(f"{name:<16}" + "".join(f"{cell:>{width}}" for cell in cells) + remark)
    return lines


def evaluate_forecasts(
    values: Numbers,
    origins: Sequence[int] | npt.NDArray[np.int64],
    forecasts: Numbers,
    training: int,
    period: int | None,
    names: Sequence[str],
    intervals: Intervals | None = None,
) -> ForecastScores:
    """Score forecasts [O, H, C] of a series [N, C] whose first `training` steps were trained on.

    An origin is the last step that was known: `forecasts[i, h]` is about `values[origins[i] + 1 + h]`.
    """
    starts = np.asarray(origins, np.int64)  # [O]
    if not all(np.isfinite(array).all() for array in (forecasts, *chain(*(intervals or {}).values()))):
        raise UsageError("some forecasts are not finite numbers: they cannot be scored")
    horizon = forecasts.shape[1]
    truth = values[starts[:, None] + 1 + np.arange(horizon)]  # [O, H, C]
    ways = {MODEL: forecasts, NAIVE: naive(values, starts, horizon)}
    if period:
        ways[SEASONAL] = seasonal_naive(values, starts, horizon, period)
    ways[DRIFT] = drift(values, starts, horizon)
    scale = naive_scale(values[:training], period, names)  # [C]
    errors = {method: np.abs(forecast - truth) for method, forecast in ways.items()}  # [O, H, C]
    rows = tuple(
        Errors(method, name, mae, math.sqrt(float(np.square(error[..., c]).mean())), mae / float(scale[c]))
        for c, name in enumerate(names)
        for method, error in errors.items()
        for mae in [float(error[..., c].mean())]
    )
    by_step = {method: error.mean(axis=0) for method, error in errors.items()}  # [H, C]
    return ForecastScores(
        size=len(starts),
        scores=_scores([row for row in rows if row.method == MODEL], training, period, horizon),
        horizon=horizon,
        season=period or 1,
        errors=rows,
        by_horizon=tuple(
            HorizonRow(name, step, float(by_step[MODEL][step - 1, c]), float(by_step[NAIVE][step - 1, c]))
            for c, name in enumerate(names)
            for step in steps_shown(horizon)
        ),
        coverage=tuple(
            Coverage(name, percent, float(((lower <= truth) & (truth <= upper))[..., c].mean()))
            for c, name in enumerate(names)
            for percent, (lower, upper) in sorted((intervals or {}).items())
        ),
    )


def _scores(model: Sequence[Errors], training: int, period: int | None, horizon: int) -> tuple[Score, ...]:
    """MASE, the mean over the columns; MAE and RMSE of a single column, since a mean of unlike units says nothing."""
    signature = f"m:{period or 1}|training:{training}|horizon:{horizon}"
    if len(model) > 1:
        mase = float(np.mean([row.mase for row in model]))
        return (Score("MASE", mase, f"{signature}|columns:{len(model)}", lower_is_better=True, digits=2),)
    row = model[0]
    return (
        Score("MASE", row.mase, signature, lower_is_better=True, digits=2),
        Score("MAE", row.mae, f"horizon:{horizon}", lower_is_better=True, digits=decimals(row.mae)),
        Score("RMSE", row.rmse, f"horizon:{horizon}", lower_is_better=True, digits=decimals(row.rmse)),
    )


def steps_shown(horizon: int) -> list[int]:
    """The steps of the horizon that are reported: 1, 2, 5, 10, 20, 30, … and the last; about a dozen."""
    unit = 10
    while horizon > 10 * unit:
        unit *= 10
    few = [first * ten for ten in (10**power for power in range(len(str(unit)) - 1)) for first in (1, 2, 5)]
    return sorted({step for step in (*few, *range(unit, horizon, unit)) if step < horizon} | {horizon})


# --- simple forecasts -----------------------------------------------------------------------------------------------


def naive(values: Numbers, origins: npt.NDArray[np.int64], horizon: int) -> Numbers:
    """x̂_{t+h} = x_t"""
    return np.repeat(values[origins][:, None], horizon, axis=1)  # [O, H, C]


def seasonal_naive(values: Numbers, origins: npt.NDArray[np.int64], horizon: int, period: int) -> Numbers:
    """x̂_{t+h} = x_{t+h−km}, k = ⌈h/m⌉: the last known season, repeated."""
    ahead = np.arange(horizon) % period + 1 - period  # 1 − m … 0
    found: Numbers = values[origins[:, None] + ahead]  # [O, H, C]
    return found


def drift(values: Numbers, origins: npt.NDArray[np.int64], horizon: int) -> Numbers:
    """x̂_{t+h} = x_t + h (x_t − x_0) / t: the line through the first and the last value."""
    last = values[origins]  # [O, C]
    slope = (last - values[0]) / np.maximum(origins, 1)[:, None]
    found: Numbers = last[:, None] + np.arange(1, horizon + 1)[:, None] * slope[:, None]  # [O, H, C]
    return found


def naive_scale(training: Numbers, period: int | None, names: Sequence[str]) -> Numbers:
    """The denominator of MASE for each column, mean |x_t − x_{t−m}|; DataError if it is 0 or undefined."""
    m = period or 1
    if len(training) <= m:
        raise DataError(f"the training set has {len(training):,} steps: too few for a season of {m:,}")
    scale: Numbers = np.abs(training[m:] - training[:-m]).mean(axis=0)  # [C]
    for name, size in zip(names, scale, strict=True):
        if not size > 0:
            what = f"repeats itself exactly every {m:,} steps" if period else "never changes"
            raise DataError(f"the column {shown_text(name)} {what} in the training set: it has no MASE; leave it out")
    return scale

"""The forecasting model: predicts the next values of a time series, with prediction intervals."""

from __future__ import annotations

import csv
import io
import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

from mirada.contracts import StepwiseEncoder, Validation
from mirada.data.text import shown_text
from mirada.errors import DataError, UsageError
from mirada.inspection.trace import Pass
from mirada.inspection.words import Tokens
from mirada.metrics.forecasting import ForecastScores, Intervals, evaluate_forecasts
from mirada.predictions import Drawable, Prediction
from mirada.tasks.forecasting.data import PERCENTS, ForecastingPreprocessor, SeriesConfig, Timeline, header
from mirada.tasks.forecasting.drawing import draw_forecast
from mirada.tasks.forecasting.simulation import Forecaster, draw_noise
from mirada.tasks.forecasting.table import Numbers, Series
from mirada.tasks.forecasting.times import continue_times
from mirada.tasks.inputs import check_count
from mirada.tasks.model import Model

Table = str | Path | Numbers | Sequence[float]
"""A series: a file, or an array of steps × columns."""
MAX_STEPS = 10_000
MAX_NUMBERS = 50_000_000
"""The most numbers in all paths of a forecast together."""

ORIGINS, SCORE_SAMPLES = 50, 100
"""The number of steps of the dev set that final scores forecast from, and of simulated paths from each."""


@dataclass(frozen=True, eq=False)
class Forecast(Drawable, Prediction):
    """The predicted next steps of a series."""

    names: tuple[str, ...]
    times: list[str]
    """The times of the steps; +1, +2, … if the table has none."""
    mean: Numbers = field(repr=False)  # [H, C] over all simulated paths
    intervals: Intervals = field(repr=False)
    """Lower and upper bounds [H, C] by the percentage of paths between them at each step."""
    history: Numbers = field(repr=False)  # [N, C]
    history_times: list[str] | None = field(repr=False)

    def values(self) -> dict[str, Any]:
        names = header(self.names)
        return {"steps": [dict(zip(names, row, strict=True)) for row in self.rows()]}

    def as_text(self, number: int = 1) -> str:
        return self.as_csv().removesuffix("\n")

    def __str__(self) -> str:
        return self.as_text()

    @cached_property
    def digits(self) -> list[int]:
        """The decimals of each column: as many as its intervals make meaningful."""
        lower, upper = (bound.mean(axis=0).tolist() for bound in self.intervals[PERCENTS[0]])
        return [_digits(above - below) for below, above in zip(lower, upper, strict=True)]

    def rows(self) -> list[list[Any]]:
        """A row for each step, with the columns of `header`, its numbers rounded to `digits`."""
        bounds = [bound for pair in self.intervals.values() for bound in pair]
        numbers = np.stack([self.mean, *bounds], axis=2)  # [H, C, 1 + bounds]
        rounded = np.stack([numbers[:, c].round(digits) for c, digits in enumerate(self.digits)], axis=1)
        return [[time, *row] for time, row in zip(self.times, rounded.reshape(len(numbers), -1).tolist(), strict=True)]

    def as_csv(self) -> str:
        """The rows as CSV, with a header."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(header(self.names))
        digits = [count for count in self.digits for _ in range(1 + 2 * len(self.intervals))]
        for time, *numbers in self.rows():
            writer.writerow([time, *(f"{x:.{count}f}" for x, count in zip(numbers, digits, strict=True))])
        return text.getvalue()

    def draw(self, path: str | Path | BinaryIO) -> None:
        """Draw the end of the history, the forecast and its intervals."""
        try:
            draw_forecast(path, self)
        except OSError as error:
            raise UsageError(f"{path}: cannot be written ({error.strerror})") from None
        except ValueError as error:  # the ending of the name is not that of an image format
            raise UsageError(f"{path}: cannot be drawn ({error})") from None


def _digits(width: float) -> int:
    """The decimals that are meaningful for numbers in an interval of this width."""
    return min(12, max(0, 2 - math.floor(math.log10(width)))) if width > 0 else 6


class ForecastingModel(Model):
    """A trained forecaster, opened from its bundle."""

    network: StepwiseEncoder
    preprocessor: ForecastingPreprocessor

    @property
    def try_it(self) -> str:
        return f"mirada forecast {self.path} {shlex.quote(self._data.files[0])} --steps {self._data.horizon}"

    @cached_property
    def _data(self) -> SeriesConfig:
        return SeriesConfig.model_validate(self.config["data"])

    @cached_property
    def _forecaster(self) -> Forecaster:
        return Forecaster(self.network, self.preprocessor.frame, self._data.window, self.device)

    def forecast(
        self,
        table: Table,
        steps: int = 30,
        samples: int = 500,
        seed: int = 0,
        columns: Sequence[str] = (),
    ) -> Forecast:
        """Forecast the steps after the last row: the mean of simulated paths, and the intervals that hold most of them.

        A table needs the columns the model was trained on; `columns` names them if they are called something else.
        """
        C = len(self.preprocessor.names)
        check_count(steps, "--steps", 1, MAX_STEPS)
        check_count(samples, "--samples", 2, MAX_NUMBERS // (steps * C))
        check_count(seed, "--seed", 0)
        series = self._series(table, columns)
        noise = draw_noise(samples, steps, C, seed)
        paths = self._forecaster.paths(series.values, [len(series.values) - 1], noise)
        if not np.isfinite(paths).all():
            raise self._too_far(table, series)
        mean, intervals = _summary(paths)
        bounds = {percent: (lower[0], upper[0]) for percent, (lower, upper) in intervals.items()}
        times = continue_times(series.times, steps)
        names, notes = self.preprocessor.names, tuple(series.notes)
        return Forecast(names, times, mean[0], bounds, series.values, series.times, notes=notes)

    def passes(
        self, table: Table, /, target: str | None = None, *, columns: Sequence[str] = (), **options: Any
    ) -> list[Pass]:
        """The pass that reads the end of a series: at each step it says what comes next."""
        self._reads_only(target, options)
        series, network = self._series(table, columns), self.network
        batch, steps = self._forecaster.history(series.values)
        named = series.times or [str(step) for step in range(1, len(series.values) + 1)]
        rows = {"source": Tokens(tuple(str(named[step]) for step in steps))}
        where = str(table) if isinstance(table, (str, Path)) else ""
        return [
            Pass(
                network,
                lambda: network.output(network.encode(batch)),
                where,
                rows,
                ("source", "value"),
                self.facts,
                notes=tuple(series.notes),
            )
        ]

    def _series(self, table: Table, columns: Sequence[str]) -> Series:
        """A table with the model's columns."""
        C = len(self.preprocessor.names)
        if isinstance(table, (str, Path)):
            where = str(table)
            series = self._data.read(table, tuple(columns) or self._data.columns or _asked(self.preprocessor.names))
        else:
            where = "the array"
            try:
                values = np.asarray(table, np.float64)
            except (TypeError, ValueError):
                raise UsageError(f"a series is a file, or an array of numbers, not {table!r:.40}") from None
            values = values[:, None] if values.ndim == 1 else values
            if values.ndim != 2 or not np.isfinite(values).all():
                raise DataError(f"an array of shape {values.shape} is not a table of finite numbers, steps × columns")
            series = Series(self.preprocessor.names, values, None, np.arange(1, len(values) + 1), [])
        if series.values.shape[1] != C:
            found, needed = series.values.shape[1], ", ".join(self.preprocessor.names)
            raise DataError(f"{where}: has {found} columns where the model {self.path} needs {C}: {needed}")
        season = self.preprocessor.frame.period or 1
        if len(series.values) <= season:
            needs = f"a model with a season of {season} steps" if season > 1 else "a model"
            raise DataError(f"{where}: has {len(series.values)} rows; {needs} needs at least {season + 1}")
        return series

    def _too_far(self, table: Table, series: Series) -> DataError:
        """The error for a series whose forecasts are not finite numbers."""
        frame = self.preprocessor.frame
        far = np.abs((series.values - frame.mean) / frame.std)  # [N, C]
        row, column = divmod(int(far.argmax()), far.shape[1])
        where = f"{table}, line {series.lines[row]}" if isinstance(table, (str, Path)) else f"row {row + 1}"
        return DataError(
            f"{where}, column {shown_text(series.names[column])}: {series.values[row, column]:g} is too far from what "
            f"the model learned from, {frame.mean[column]:g} ± {frame.std[column]:g}, to forecast from it; correct it, "
            "or train a model on such numbers"
        )

    def evaluate(self, table: Table, *, columns: Sequence[str] = (), **other: Any) -> ForecastScores:
        """Forecast a test set from many of its steps and score that; its first window is only used as context.

        MASE is scaled by that first window, too, since a table need not follow the training data.
        """
        series = self._series(table, columns)
        context = max(self._data.window, (self.preprocessor.frame.period or 1) + 1)
        needed, where = context + self._data.horizon, table if isinstance(table, (str, Path)) else "the table"
        if len(series.values) < needed:
            raise DataError(
                f"{where}: has {len(series.values):,} rows; to score forecasts of {self._data.horizon:,} steps after "
                f"{context:,} known ones, it needs {needed:,}"
            )
        dev = Timeline(self.preprocessor.names, series.values, series.times, context)
        return self.score(dev, lambda: self._too_far(table, series))

    def score(self, dev: Timeline, fault: Callable[[], DataError] | None = None) -> ForecastScores:
        """Forecast a series from many of its steps and score that; `fault` is the error if that gives no numbers."""
        horizon, period = min(self._data.horizon, len(dev)), self.preprocessor.frame.period
        origins = dev.origins(horizon, ORIGINS)
        noise = draw_noise(SCORE_SAMPLES, horizon, len(dev.names), seed=0)
        paths = self._forecaster.paths(dev.values, origins, noise)
        if fault is not None and not np.isfinite(paths).all():
            raise fault()
        mean, intervals = _summary(paths)
        return evaluate_forecasts(dev.values, origins, mean, dev.training, period, dev.names, intervals)

    def sample(self, dev: Timeline, size: int) -> Timeline:
        """The whole series: each step needs those before it, and scoring uses a limited number of origins."""
        return dev

    def validate(self, dev: Timeline, size: int) -> Validation:
        """The negative log-likelihood of the dev set, one step ahead, up to a constant."""
        loss = self._forecaster.negative_log_likelihood(dev.values, dev.training, size)
        origin, horizon = dev.training - 1, min(self._data.horizon, len(dev))
        quiet = torch.zeros(1, horizon, len(dev.names))
        found = self._forecaster.paths(dev.values, [origin], quiet)[0, 0, -1, 0]
        known, true = dev.values[origin, 0], dev.values[origin + horizon, 0]
        begin = dev.times[origin] if dev.times else f"step {origin + 1:,}"
        example = (f"{dev.names[0]} {known:,.6g} at {begin}, {horizon} steps on", f"{found:,.6g}", f"{true:,.6g}")
        return Validation(-loss, "log loss", lower_is_better=True, figures={"loss": loss}, example=example)


def _summary(paths: Numbers) -> tuple[Numbers, dict[int, tuple[Numbers, Numbers]]]:
    """The mean of paths [O, S, H, C], and the bounds of the intervals that hold 80 and 95% of them, [O, H, C]."""
    intervals = {}
    for percent in PERCENTS:
        lower, upper = np.quantile(paths, [0.5 - percent / 200, 0.5 + percent / 200], axis=1)
        intervals[percent] = lower, upper
    return paths.mean(axis=1), intervals


def _asked(names: Sequence[str]) -> tuple[str, ...]:
    """Names to find columns by; without a header they are called "column 2", and found by their number."""
    return tuple(name.removeprefix("column ") for name in names)

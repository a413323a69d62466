"""Forecasting: how a series of numbers goes on, with ranges that say how sure that is."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel, Field, FiniteFloat
from torch import nn

from mirada.bundle import need
from mirada.contracts import Loss, Reader, Sizes, Validation
from mirada.data.doctor import Notify
from mirada.data.series.table import Numbers, Series
from mirada.data.series.timeline import Report, SeriesConfig, Timeline, prepare
from mirada.data.series.times import continue_times
from mirada.data.series.windows import Frame, Windows
from mirada.data.text import shown_text
from mirada.errors import BundleError, ConfigError, DataError, UsageError
from mirada.evaluation.forecasts import ForecastScores, Intervals, evaluate_forecasts, naive_scale
from mirada.inspection.forecasts import draw_forecast
from mirada.parsing import load_json
from mirada.tasks.forecaster import Forecaster, draw_noise
from mirada.tasks.objectives import NextNumbers
from mirada.tasks.task import Model, Task, Told

PERCENTS = (80, 95)
MOST_STEPS = 10_000
MOST_NUMBERS = 50_000_000
"""In all paths of a forecast together."""
ORIGINS, SCORE_SAMPLES = 50, 100
"""From how many steps of the dev part the final scores forecast, and along how many paths."""
WINDOWS = 4096
"""In an epoch, about: they overlap as much as this needs."""


@dataclass(frozen=True)
class Forecast:
    """How a series goes on."""

    names: tuple[str, ...]
    times: list[str]
    """Of the steps ahead; +1, +2, … where the table has none."""
    mean: Numbers  # [H, C] over all simulated paths
    intervals: Intervals
    """By percent: lower and upper bounds [H, C] that hold so many of the paths at each step."""
    history: Numbers  # [N, C]
    history_times: list[str] | None
    notes: list[str]
    """What was done to the table's rows."""

    @cached_property
    def digits(self) -> list[int]:
        """Behind the point, for each column: as many as its ranges leave to be known."""
        lower, upper = (bound.mean(axis=0).tolist() for bound in self.intervals[PERCENTS[0]])
        return [_digits(above - below) for below, above in zip(lower, upper, strict=True)]

    def rows(self) -> list[list[Any]]:
        """What stands below the `header`: a step each, its numbers rounded to `digits`."""
        bounds = [bound for pair in self.intervals.values() for bound in pair]
        numbers = np.stack([self.mean, *bounds], axis=2)  # [H, C, 1 + bounds]
        rounded = np.stack([numbers[:, c].round(digits) for c, digits in enumerate(self.digits)], axis=1)
        return [[time, *row] for time, row in zip(self.times, rounded.reshape(len(numbers), -1).tolist(), strict=True)]

    def as_csv(self) -> str:
        """The rows below a header."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(header(self.names))
        digits = [count for count in self.digits for _ in range(1 + 2 * len(self.intervals))]
        for time, *numbers in self.rows():
            writer.writerow([time, *(f"{x:.{count}f}" for x, count in zip(numbers, digits, strict=True))])
        return text.getvalue()

    def as_json(self) -> str:
        """The same, a line a step."""
        names = header(self.names)
        return "".join(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n" for row in self.rows())

    def draw(self, path: str | Path) -> None:
        """The end of the history, the forecast and its ranges, as a picture."""
        try:
            draw_forecast(path, self.history_times, self.history, self.mean, self.intervals, self.names, self.times)
        except OSError as error:
            raise UsageError(f"{path}: cannot be written ({error.strerror})") from None
        except ValueError as error:  # a name that ends like no picture does
            raise UsageError(f"{path}: cannot be drawn ({error})") from None


def header(names: Sequence[str]) -> list[str]:
    """What stands above a forecast as a table."""
    ends = ["", *(f"_{side}{percent}" for percent in PERCENTS for side in ("lower", "upper"))]
    return ["time", *(name + end for name in names for end in ends)]


def _digits(width: float) -> int:
    """Behind the point, for numbers that are known to lie in a range of this width."""
    return min(12, max(0, 2 - math.floor(math.log10(width)))) if width > 0 else 6


@dataclass(frozen=True)
class Seen:
    """What forecasting needs besides weights: the columns' names, and how the network sees their numbers."""

    names: tuple[str, ...]
    frame: Frame
    training: int
    """Steps that were learned from."""

    @property
    def sizes(self) -> Sizes:
        C = len(self.names)
        return Sizes(self.frame.width, 2 * C, numeric_inputs=True, numeric_outputs=True, causal=True)

    def files(self) -> dict[str, bytes]:
        about = {"names": self.names, "training": self.training, **self.frame.as_dict()}
        return {"series.json": json.dumps(about, ensure_ascii=False, indent=2).encode("utf-8")}


@dataclass(frozen=True)
class Steps:
    """A series, ready to train on."""

    dev: Timeline
    kit: Seen
    window: int
    about: Report

    def batches(self, tokens: int, seed: int) -> Windows:
        training = self.dev.values[: self.dev.training]
        stride = min(max(1, self.window // 2), max(1, len(training) // WINDOWS))
        return Windows(training, self.kit.frame, self.window, stride, max(1, tokens // self.window), seed)

    def report(self) -> dict[str, Any]:
        return asdict(self.about)

    def told(self) -> Told:
        r = self.about
        span = f" from {r.begin} to {r.end}, {r.step} apart" if r.begin else ""
        since = f" (the last, since {r.split})" if r.split else " (the last)"
        held = f"{r.dev:,} rows {'held out' if r.held_out else 'of the dev table'}{since}"
        return Told(f"{r.rows:,} rows of {', '.join(r.columns)}{span}; {r.training:,} to learn from, {held}", r.notes)

    def dev_file(self) -> str:
        return self.dev.dump()


class ForecastingModel(Model):
    """A trained forecaster, opened from its bundle."""

    network: Reader
    kit: Seen

    @property
    def try_it(self) -> str:
        return f"mirada forecast {self.path} {shlex.quote(self._data.files[0])} --steps {self._data.horizon}"

    @cached_property
    def _data(self) -> SeriesConfig:
        return SeriesConfig.model_validate(self.config["data"])

    @cached_property
    def _forecaster(self) -> Forecaster:
        return Forecaster(self.network, self.kit.frame, self._data.window, self.device)

    def forecast(
        self,
        table: str | Path | Series | Numbers | Sequence[float],
        steps: int = 30,
        samples: int = 500,
        seed: int = 0,
        columns: Sequence[str] = (),
    ) -> Forecast:
        """How a series goes on after its last row: the mean of simulated paths, and the ranges that hold most of them.

        A table needs the columns the model was trained on; `columns` says which they are if their names differ.
        """
        C = len(self.kit.names)
        if not 1 <= steps <= MOST_STEPS:
            raise UsageError(f"--steps {steps}: a forecast goes from 1 to {MOST_STEPS:,} steps ahead")
        if samples < 2 or samples * steps * C > MOST_NUMBERS:
            most = MOST_NUMBERS // (steps * C)
            raise UsageError(f"--samples {samples}: ranges over {steps:,} steps need 2 to {most:,} paths")
        if seed < 0:
            raise UsageError(f"--seed {seed}: must not be negative")
        series = self._series(table, columns)
        noise = draw_noise(samples, steps, C, seed)
        paths = self._forecaster.paths(series.values, [len(series.values) - 1], noise)
        mean, intervals = _summary(paths)
        bounds = {percent: (lower[0], upper[0]) for percent, (lower, upper) in intervals.items()}
        times = continue_times(series.times, steps)
        return Forecast(self.kit.names, times, mean[0], bounds, series.values, series.times, series.notes)

    def _series(self, table: str | Path | Series | Numbers | Sequence[float], columns: Sequence[str]) -> Series:
        """A table with the model's columns."""
        C = len(self.kit.names)
        if isinstance(table, (str, Path)):
            where = str(table)
            series = self._data.read(table, tuple(columns) or self._data.columns or _asked(self.kit.names))
        elif isinstance(table, Series):
            where, series = "the series", table
        else:
            where, values = "the array", np.asarray(table, np.float64)
            values = values[:, None] if values.ndim == 1 else values
            if values.ndim != 2 or not np.isfinite(values).all():
                raise DataError(f"an array of shape {values.shape} is no table of finite numbers, steps × columns")
            series = Series(self.kit.names, values, None, np.arange(1, len(values) + 1), [])
        if len(series.names) != C:
            found = ", ".join(map(shown_text, series.names))
            raise DataError(f"{where}: has {found} where the model {self.path} needs {C}: {', '.join(self.kit.names)}")
        season = self.kit.frame.period or 1
        if len(series.values) <= season:
            needs = f"a model with a season of {season} steps" if season > 1 else "a model"
            raise DataError(f"{where}: has {len(series.values)} rows; to go on, {needs} needs at least {season + 1}")
        return series

    def evaluate(
        self, table: str | Path | Series | Numbers, *, columns: Sequence[str] = (), **other: Any
    ) -> ForecastScores:
        """Forecast all of a table from many of its steps, and score that; its first window is only looked at.

        MASE's scale is of that first window too, since a table need not go on from what the model was trained on.
        """
        series = self._series(table, columns)
        context = max(self._data.window, (self.kit.frame.period or 1) + 1)
        needed, where = context + self._data.horizon, table if isinstance(table, (str, Path)) else "the table"
        if len(series.values) < needed:
            raise DataError(
                f"{where}: has {len(series.values):,} rows; to score forecasts of {self._data.horizon:,} steps behind "
                f"{context:,} known ones, it needs {needed:,}"
            )
        return self.score(Timeline(self.kit.names, series.values, series.times, context))

    def score(self, dev: Timeline) -> ForecastScores:
        horizon, period = min(self._data.horizon, len(dev)), self.kit.frame.period
        origins = dev.origins(horizon, ORIGINS)
        noise = draw_noise(SCORE_SAMPLES, horizon, len(dev.names), seed=0)
        mean, intervals = _summary(self._forecaster.paths(dev.values, origins, noise))
        return evaluate_forecasts(dev.values, origins, mean, dev.training, period, dev.names, intervals)

    def sample(self, dev: Timeline, size: int) -> Timeline:
        """All of it: each step needs those before it, and scoring looks at a limited number of origins."""
        return dev

    def validate(self, dev: Timeline, size: int) -> Validation:
        """How likely the model finds the values of the dev part, each a step ahead: −log p but for a constant.

        On the S&P 500 it chose weights whose 95% ranges held 94% of the values; MASE chose some whose ranges held 86%.
        """
        loss = self._forecaster.surprise(dev.values, dev.training, size)
        origin, horizon = dev.training - 1, min(self._data.horizon, len(dev))
        quiet = torch.zeros(1, horizon, len(dev.names))
        found = self._forecaster.paths(dev.values, [origin], quiet)[0, 0, -1, 0]
        known, true = dev.values[origin, 0], dev.values[origin + horizon, 0]
        begin = dev.times[origin] if dev.times else f"step {origin + 1:,}"
        example = (f"{dev.names[0]} {known:,.6g} at {begin}, {horizon} steps on", f"{found:,.6g}", f"{true:,.6g}")
        return Validation(-loss, "log loss", lower_is_better=True, figures={"loss": loss}, example=example)


def _summary(paths: Numbers) -> tuple[Numbers, dict[int, tuple[Numbers, Numbers]]]:
    """The mean of paths [O, S, H, C], and the ranges that hold so many percent of them: [O, H, C] each."""
    intervals = {}
    for percent in PERCENTS:
        lower, upper = np.quantile(paths, [0.5 - percent / 200, 0.5 + percent / 200], axis=1)
        intervals[percent] = lower, upper
    return paths.mean(axis=1), intervals


def _asked(names: Sequence[str]) -> tuple[str, ...]:
    """Names to find columns by; without a header they are called "column 2", and found by their number."""
    return tuple(name.removeprefix("column ") for name in names)


class _Series(BaseModel):
    """What series.json says: `Frame` as numbers, and which columns it is of."""

    names: tuple[str, ...]
    training: int = Field(ge=0)
    mean: list[FiniteFloat]
    std: list[FiniteFloat]
    miss: list[FiniteFloat]
    period: int | None = Field(ge=2, le=100_000)


class ForecastingTask(Task):
    """How a series of numbers goes on."""

    name = "forecasting"
    verb = "forecast"
    model = ForecastingModel
    default_model = "gru"
    sections = {"data": SeriesConfig}
    defaults = {
        "model": {"dropout": 0.0},
        "train": {
            "optimizer": "adam",
            "lr": 3e-3,
            "label_smoothing": 0.0,
            "max_batch_tokens": 4096,
            "validate_every": 25,
        },
    }
    used = ("data",)
    inherited = ("columns", "period", "horizon", "window")

    def check(self, built: Mapping[str, Any]) -> None:
        window, longest = built["data"].window, built["model"].max_length
        if window > longest:
            raise ConfigError(
                f"data.window={window} is above model.max_length={longest}: raise it, or lower the window"
            )
        if built["train"].label_smoothing and not built["train"].base:
            smoothing = built["train"].label_smoothing
            raise ConfigError(f"train.label_smoothing={smoothing:g}: numbers are forecast, there is no label to smooth")

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        data = card["data"]
        span = f", {data['begin']} to {data['end']}, {data['step']} apart" if data["begin"] else ""
        return [
            ("columns", ", ".join(data["columns"])),
            ("data", f"{data['rows']:,} rows{span}; {data['training']:,} learned from"),
            ("dev", f"{data['dev']:,} rows" + (", the last, held out of the data" if data["held_out"] else "")),
            ("season", f"{data['period']:,} steps" if data["period"] else "none"),
        ]

    def prepare(self, built: Mapping[str, Any], folder: Path, notify: Notify, kit: Seen | None = None) -> Steps:
        data: SeriesConfig = built["data"]
        if kit and kit.frame.period != data.period:
            raise DataError(f"data.period={data.period}: the base {built['train'].base} has {kit.frame.period}")
        notify("reading", 0, 0)
        timeline, report = prepare(data, folder, kit.names if kit else ())
        above = header(timeline.names)
        if len(set(above)) < len(above):
            raise DataError(
                f"{data.files[0]}: forecasts of {', '.join(timeline.names)} need names that differ; rename one"
            )
        training = timeline.values[: timeline.training]
        naive_scale(training, data.period, timeline.names)  # MASE needs it at the end: better to know now
        frame = kit.frame if kit else Frame.fit(training, data.period)
        return Steps(timeline, Seen(timeline.names, frame, timeline.training), data.window, report)

    def open(self, files: Mapping[str, bytes], where: Path) -> Seen:
        need(files, where, "series.json")
        about: _Series = load_json(files["series.json"], _Series, where / "series.json", BundleError)
        try:
            frame = Frame.from_dict(about.model_dump())
        except BundleError as fault:
            raise BundleError(f"{where / 'series.json'}: {fault}") from None
        if len(about.names) != frame.columns:
            raise BundleError(f"{where / 'series.json'}: has {len(about.names)} names for {frame.columns} columns")
        return Seen(about.names, frame, about.training)

    def read_dev(self, text: str) -> Timeline:
        return Timeline.load(text)

    def network(self, settings: Any, kit: Any) -> nn.Module:
        """With an output of zeros: until it has learned something, it is the naive forecast."""
        network = super().network(settings, kit)
        assert isinstance(network, Reader)
        assert isinstance(network.output, nn.Linear)
        nn.init.zeros_(network.output.weight)
        nn.init.zeros_(network.output.bias)
        return network

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return NextNumbers()

    report = Report

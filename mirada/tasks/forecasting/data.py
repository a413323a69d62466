"""A series of numbers over time: how it is checked and split by time, the first part to learn from. Nothing is random.

<folder>/series.jsonl   the whole series: a line that says what it is, then a line for each step
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
from pydantic import BaseModel, Field, FiniteFloat, model_validator

from mirada.contracts import Sizes
from mirada.data import report as reports
from mirada.data.folder import LARGE_FILE, finish
from mirada.data.preparation import Preparation, Prepared
from mirada.data.quality import REFUSES, Finding, Notify, QualityReport
from mirada.data.sources import DataSection
from mirada.data.text import StrPath, shown_text
from mirada.errors import BundleError, DataError
from mirada.files import read_bytes, write_text
from mirada.metrics.forecasting import naive_scale
from mirada.parsing import Malformed, check, load_json, load_json_lines
from mirada.tasks.forecasting.table import Missing, Numbers, Series, read_table
from mirada.tasks.forecasting.times import is_later, step_between
from mirada.tasks.forecasting.windows import Frame, Windows

PERCENTS = (80, 95)
"""The prediction intervals of a forecast."""
WINDOWS = 4096
"""The approximate number of windows in an epoch; they overlap as much as this needs."""


class SeriesConfig(DataSection):
    """Which series to learn from."""

    needs = "a table of numbers (mirada train prices.csv)"

    files: tuple[str, ...] = ()
    """A table (CSV or TSV, plain or gzipped) with one row per step, oldest or newest first."""
    dev: tuple[str, ...] = ()
    """A table of the later rows, for evaluation. By default, the last rows are held out."""
    columns: tuple[str, ...] = ()
    """The columns to forecast, by name or by number from 1; optional if only one has numbers."""
    time: str | None = Field(None, coerce_numbers_to_str=True)
    """The column with the times. Default: the first one with dates."""
    missing: Missing = "refuse"
    """What to do about missing values: refuse the file, interpolate linearly, or drop the rows."""
    hold_out: float = Field(0.2, gt=0, lt=1)
    """The share of the rows, from the end, to hold out if there is no dev set."""
    horizon: int = Field(30, ge=1, le=10_000)
    """Forecast horizon of the scores, in steps."""
    window: int = Field(128, ge=2, le=100_000)
    """Steps per training window."""
    period: int | None = Field(None, ge=2, le=100_000)
    """Steps per season, if there is one: 52 for weekly data with a yearly pattern."""

    @model_validator(mode="after")
    def _one_table(self) -> SeriesConfig:
        for name, files in (("files", self.files), ("dev", self.dev)):
            if len(files) > 1:
                raise ValueError(f"data.{name} has {len(files)} tables ({', '.join(files)}): forecasting takes one")
        return self

    def read(self, path: StrPath, names: tuple[str, ...] = ()) -> Series:
        """A table like the one to learn from."""
        return read_table(path, names or self.columns, self.time, self.missing)


@dataclass(frozen=True)
class Timeline:
    """A series whose first `training` steps were learned from, and whose others are for evaluation."""

    names: tuple[str, ...]
    values: Numbers  # [N, C]
    times: list[str] | None
    training: int

    def __len__(self) -> int:
        """The steps for evaluation."""
        return len(self.values) - self.training

    def origins(self, horizon: int, most: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Last known steps, evenly spaced, to forecast from."""
        first, last = self.training - 1, len(self.values) - 1 - horizon
        return np.unique(np.linspace(first, last, min(most, last - first + 1)).round().astype(np.int64))

    def dump(self) -> str:
        """A line of JSON for the whole, then one for each step."""
        head = {"names": self.names, "training": self.training}
        times: list[str] | list[None] = self.times or [None] * len(self.values)
        rows = ([time, *row] for time, row in zip(times, self.values.tolist(), strict=True))
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (head, *rows))

    @classmethod
    def load(cls, text: str, where: str | Path = "dev.jsonl") -> Timeline:
        lines = load_json_lines(text, dict[str, Any] | list[str | float | None], where, DataError)
        rows: Any = lines[1:]
        try:
            head: _Head = check(_Head, lines[0] if lines else None)
            times = check(list[str] | list[None], [row[0] if row and isinstance(row, list) else 0 for row in rows])
            values = np.array(check(list[list[FiniteFloat]], [row[1:] for row in rows]), np.float64)
        except (Malformed, ValueError) as fault:
            raise DataError(f"{where}: is damaged ({str(fault)[:200]})") from None
        if values.shape != (len(rows), len(head.names)) or not 2 <= head.training < len(rows):
            raise DataError(f"{where}: is damaged (its rows do not fit its first line)")
        return cls(head.names, values, None if None in times else times, head.training)


class _Head(BaseModel):
    """The first line of a series: what its columns are, and how many rows were learned from."""

    names: Annotated[tuple[str, ...], Field(min_length=1)]
    training: int


@dataclass
class Report(reports.Report):
    """What was read of a series, and how it is split."""

    rows: int = 0
    columns: list[str] = field(default_factory=list)
    begin: str | None = None
    end: str | None = None
    split: str | None = None
    """The first time of the dev set."""
    step: str = ""
    period: int | None = None
    horizon: int = 0


@dataclass(frozen=True)
class ForecastingPreprocessor:
    """What forecasting needs besides weights: the columns' names, and how the network sees their numbers."""

    required = ("series.json",)
    names: tuple[str, ...]
    frame: Frame
    training: int
    """Steps that were learned from."""

    @property
    def sizes(self) -> Sizes:
        C = len(self.names)
        return Sizes(self.frame.width, 2 * C, numeric_inputs=True, numeric_outputs=True, causal=True)

    def files(self) -> dict[str, bytes]:
        f = self.frame
        scale = {"mean": f.mean.tolist(), "std": f.std.tolist(), "miss": f.miss.tolist(), "period": f.period}
        about = {"names": self.names, "training": self.training, **scale}
        return {"series.json": json.dumps(about, ensure_ascii=False, indent=2).encode("utf-8")}

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> ForecastingPreprocessor:
        path = where / "series.json"
        about: _About = load_json(files["series.json"], _About, path, BundleError)
        mean, std, miss = (np.array(numbers, np.float64) for numbers in (about.mean, about.std, about.miss))
        if not len(about.names) == len(mean) == len(std) == len(miss):
            sizes = f"{len(mean)}, {len(std)}, {len(miss)}"
            raise BundleError(f"{path}: has {len(about.names)} names for {sizes} numbers in mean, std, miss")
        return cls(about.names, Frame(mean, std, miss, about.period), about.training)


Size = Annotated[FiniteFloat, Field(gt=0)]


class _About(BaseModel):
    """What series.json says: the columns, and `Frame` as numbers."""

    names: Annotated[tuple[str, ...], Field(min_length=1)]
    training: int = Field(ge=0)
    mean: list[FiniteFloat]
    std: list[Size]
    miss: list[Size]
    period: int | None = Field(ge=2, le=100_000, strict=True)


def header(names: Sequence[str]) -> list[str]:
    """The column names of a forecast."""
    ends = ["", *(f"_{side}{percent}" for percent in PERCENTS for side in ("lower", "upper"))]
    return ["time", *(name + end for name in names for end in ends)]


def split(config: SeriesConfig, names: tuple[str, ...] = ()) -> tuple[Timeline, Report]:
    """Read the table, and the later one if there is one; `names` are the columns that a base has."""
    file = config.files[0]
    series = config.read(file, () if config.columns else names)
    if names and tuple(map(str.casefold, names)) != tuple(map(str.casefold, series.names)):
        raise DataError(f"{file}: the base forecasts {', '.join(names)}, not {', '.join(series.names)}")
    notes = [f"{Path(file).name}: {note}" for note in series.notes]
    values, times, training = series.values, series.times, len(series.values)
    if config.dev:
        later = config.read(config.dev[0])
        _check_later(file, series, config.dev[0], later)
        values = np.concatenate([values, later.values])
        times = None if times is None or later.times is None else [*times, *later.times]
        notes += [f"{Path(config.dev[0]).name}: {note}" for note in later.notes]
    else:
        training -= round(config.hold_out * len(values))
    held = len(values) - training
    if held < config.horizon or training < 2:
        share = (
            f"data.hold_out={config.hold_out:g} of {len(values):,} rows leaves" if not config.dev else "data.dev has"
        )
        raise DataError(
            f"{file if not config.dev else config.dev[0]}: {share} {held:,} rows to evaluate with and {training:,} to "
            f"learn from; forecasts of data.horizon={config.horizon:,} steps need at least {config.horizon:,}: "
            f"--set data.horizon={max(1, min(held, len(values) // 5))}, or bring more rows"
        )
    report = Report(
        read=len(values),
        rows=len(values),
        columns=list(series.names),
        training=training,
        dev=held,
        held_out=not config.dev,
        begin=times[0] if times else None,
        end=times[-1] if times else None,
        split=times[training] if times else None,
        step=step_between(times) if times else "1 step",
        period=config.period,
        horizon=config.horizon,
        fingerprint=series.fingerprint,
        notes=notes,
    )
    return Timeline(series.names, values, times, training), report


def _check_later(file: str, series: Series, dev: str, later: Series) -> None:
    if len(later.names) != len(series.names):
        raise DataError(f"{dev}: has {len(later.names)} columns to forecast where {file} has {len(series.names)}")
    if series.times and later.times and not is_later(series.times[-1], later.times[0]):
        raise DataError(
            f"{dev}: begins at {shown_text(later.times[0])}, but {file} ends at {shown_text(series.times[-1])}; "
            "what a model is evaluated with must be later than what it learned from, and written alike"
        )


class ForecastingData(Preparation[Timeline]):
    """A table of numbers, with a row for each step; it is small enough to be read as a whole."""

    noun = "row"
    report_type = Report
    preprocessor_type = ForecastingPreprocessor
    data: SeriesConfig

    def read(self) -> tuple[Timeline, Report]:
        """The series, split by time; refused if nothing can be learned from it."""
        data, base = self.data, self.base
        if base and base.frame.period != data.period:
            raise DataError(f"data.period={data.period}: the base {self.built['train'].base} has {base.frame.period}")
        timeline, report = split(data, base.names if base else ())
        above = header(timeline.names)
        if len(set(above)) < len(above):
            raise DataError(f"{data.files[0]}: {', '.join(timeline.names)} need names that differ; rename one")
        naive_scale(timeline.values[: timeline.training], data.period, timeline.names)  # MASE needs it at the end
        return timeline, report

    def build(self, folder: Path, notify: Notify) -> None:
        notify("reading", 0, 0)
        timeline, report = self.read()
        write_text(folder / "series.jsonl", timeline.dump())
        finish(folder, report)

    def examine(self, notify: Notify, excluded: TextIO | None, test: Any = ()) -> QualityReport:
        found = QualityReport(self.nouns)
        try:
            _, report = self.read()
        except DataError as fault:
            found.findings.append(Finding("refused", str(fault), REFUSES, count=1))
            return found
        found.read, found.notes = report.rows, report.notes
        found.files = [(file, "a table of numbers", report.rows) for file in self.data.files]
        found.figures = {"columns": report.columns, "begin": report.begin, "end": report.end, "step": report.step}
        span = f" from {report.begin} to {report.end}, {report.step} apart" if report.begin else ""
        found.lines.append(f"columns {', '.join(report.columns)}{span}; {report.dev:,} rows for evaluation")
        return found

    def read_preprocessor(self, folder: Path) -> ForecastingPreprocessor:
        path = folder / "series.jsonl"
        self._timeline = Timeline.load(read_bytes(path, DataError, LARGE_FILE).decode("utf-8", "replace"), path)
        training = self._timeline.values[: self._timeline.training]
        frame = self.base.frame if self.base else Frame.fit(training, self.data.period)
        return ForecastingPreprocessor(self._timeline.names, frame, self._timeline.training)

    def read_dev(self, folder: Path, preprocessor: ForecastingPreprocessor) -> Timeline:
        return self._timeline

    def open_store(self, folder: Path, preprocessor: ForecastingPreprocessor) -> Any:
        return self._timeline.values[: self._timeline.training]

    @staticmethod
    def dump(dev: Timeline) -> str:
        return dev.dump()

    @classmethod
    def load(cls, text: str) -> Timeline:
        return Timeline.load(text)

    def batches(self, prepared: Prepared, tokens: int, seed: int) -> Windows:
        training, window = prepared.store, self.data.window
        stride = min(max(1, window // 2), max(1, len(training) // WINDOWS))
        return Windows(training, prepared.preprocessor.frame, window, stride, max(1, tokens // window), seed)

    @classmethod
    def describe(cls, data: Mapping[str, Any], nouns: str = "") -> list[tuple[str, str]]:
        span = f", {data['begin']} to {data['end']}, {data['step']} apart" if data["begin"] else ""
        return [
            ("columns", ", ".join(data["columns"])),
            ("data", f"{data['rows']:,} rows{span}; {data['training']:,} learned from"),
            ("dev", f"{data['dev']:,} rows" + (", the last, held out of the data" if data["held_out"] else "")),
            ("season", f"{data['period']:,} steps" if data["period"] else "none"),
        ]

"""A series split by time: the first part to learn from, the last for evaluation. Nothing is random."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, FiniteFloat, model_validator

from mirada.data import report as reports
from mirada.data.sources import DataSection
from mirada.data.text import StrPath, shown_text
from mirada.errors import DataError
from mirada.parsing import Malformed, check, load_json_lines
from mirada.tasks.forecasting.table import Missing, Numbers, Series, read_table
from mirada.tasks.forecasting.times import is_later, step_between


class SeriesConfig(DataSection):
    """Which series to learn from."""

    needs = "a table of numbers (mirada train prices.csv)"

    files: tuple[str, ...] = ()
    """A table (CSV or TSV, plain or gzipped): a row a step, oldest or newest first."""
    dev: tuple[str, ...] = ()
    """A table of the later part, for evaluation. Held out of the data when not given."""
    columns: tuple[str, ...] = ()
    """The columns to forecast, by name or by number from 1; may be left out when only one has numbers."""
    time: str | None = Field(None, coerce_numbers_to_str=True)
    """The column with the times; unless given, the first that has dates."""
    missing: Missing = "refuse"
    """What to do about missing values: refuse the file, draw a straight line between neighbours, or drop the rows."""
    hold_out: float = Field(0.2, gt=0, lt=1)
    """The share of the rows to hold out when there is no dev file: the last ones."""
    horizon: int = Field(30, ge=1, le=10_000)
    """Steps ahead that the scores are about."""
    window: int = Field(128, ge=2, le=100_000)
    """Steps in a training window."""
    period: int | None = Field(None, ge=2, le=100_000)
    """Steps in a season, if there is one: 52 for weekly data that follow the year."""

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

    def __getitem__(self, part: slice) -> Timeline:
        """With only the first of the steps for evaluation: `timeline[:500]`."""
        assert part.start is None, "only the first steps can be taken"
        end = self.training + part.stop
        return replace(self, values=self.values[:end], times=self.times[:end] if self.times else None)

    def origins(self, horizon: int, most: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Last known steps, evenly spaced, to forecast the steps behind them from."""
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

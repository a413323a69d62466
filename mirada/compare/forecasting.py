"""Forecasters compared: their errors beside those of simple forecasts, by steps ahead, and one forecast to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mirada.compare.results import Baseline, Comparison, Course, ModelResult, Outlook
from mirada.compare.sequence_tasks import ReadingSubject
from mirada.compare.task_reports import Column
from mirada.contracts import SequenceBatch
from mirada.metrics.forecasting import MODEL, drift, naive, seasonal_naive, steps_shown
from mirada.tasks.forecasting.model import ORIGINS, ForecastingModel
from mirada.tasks.forecasting.table import Numbers
from mirada.tasks.forecasting.timeline import Timeline
from mirada.tasks.forecasting.windows import Windows
from mirada.tasks.task import Model, Prepared

TIMED_FORECASTS = 5
"""One is made after another, so that a few say enough."""
SHOWN, LEAST_SHOWN = 3, 60
"""Times the horizon, and at least so many steps: how much of what was known is drawn before a forecast."""


class ForecastingSubject(ReadingSubject):
    """How a series of numbers goes on."""

    task = "forecasting"
    models = ("elman", "lstm", "gru")
    lengths = (16, 32, 64, 128, 256)
    did = "forecast"
    sequence = "window"
    within = "within a window"
    word = "step"
    token = "step"
    used = "forecasts"
    timed = "forecasts from the dev set, with their ranges, one after another"
    best = "Best forecasts"
    quality = "Error on the dev set, lower is better; the lines are simple forecasts, which learn nothing"
    drawn = "steps of the series"

    def asks(self, prepared: Prepared, most: int) -> list[Numbers]:
        dev, horizon = _dev(prepared)
        return [dev.values[: origin + 1] for origin in dev.origins(horizon, min(most, TIMED_FORECASTS))]

    def use(self, model: ForecastingModel, asked: Sequence[Numbers]) -> object:
        return [model.forecast(history, int(model.config["data"]["horizon"])) for history in asked]

    def batch(self, model: Model, prepared: Prepared, length: int, tokens: int) -> SequenceBatch:
        """Windows of the series itself, which is repeated where it is too short."""
        rows = max(1, tokens // length)
        windows = prepared.batches(tokens, 0)
        assert isinstance(windows, Windows)
        repeated = np.resize(windows.values, (length + rows + 1, len(model.preprocessor.names)))
        return replace(windows, values=repeated, length=length, stride=1).load(np.arange(rows))

    def by_horizon(self, model: Model) -> dict[int, float]:
        rows = model.card["scores"]["by_horizon"]
        return {row["step"]: row["model"] for row in rows if row["column"] == rows[0]["column"]}

    def baselines(self, models: Sequence[Model], prepared: Prepared) -> list[Baseline]:
        """The simple forecasts of the cards: their scores on all columns, their errors by horizon on the first."""
        dev, horizon = _dev(prepared)
        period: int | None = prepared.report()["period"]
        origins = dev.origins(horizon, ORIGINS)
        truth = dev.values[origins[:, None] + 1 + np.arange(horizon), 0]  # [O, H]
        ways = {"naive": naive(dev.values, origins, horizon), "drift": drift(dev.values, origins, horizon)}
        if period:
            ways["seasonal naive"] = seasonal_naive(dev.values, origins, horizon, period)
        errors = models[0].card["scores"]["errors"]
        found = []
        for method in dict.fromkeys(row["method"] for row in errors if row["method"] != MODEL):
            by_step = np.abs(ways[method][..., 0] - truth).mean(axis=0)  # [H]
            by_horizon = {step: float(by_step[step - 1]) for step in steps_shown(horizon)}
            found.append(Baseline(method, _scores(errors, method), by_horizon))
        return found

    def outlook(self, prepared: Prepared) -> Outlook:
        dev, horizon = _dev(prepared)
        origin = _origin(dev, horizon)
        begin = max(0, origin + 1 - max(SHOWN * horizon, LEAST_SHOWN))
        end = origin + 1 + horizon
        steps = [f"{step - origin:+d}" if step != origin else "0" for step in range(begin, end)]
        return Outlook(
            column=dev.names[0],
            history=dev.values[begin : origin + 1, 0].tolist(),
            truth=dev.values[origin + 1 : end, 0].tolist(),
            labels=dev.times[begin:end] if dev.times else steps,
        )

    def forecast(self, model: ForecastingModel, prepared: Prepared) -> Course:
        dev, horizon = _dev(prepared)
        found = model.forecast(dev.values[: _origin(dev, horizon) + 1], horizon)
        ranges = {
            percent: (low[:, 0].tolist(), high[:, 0].tolist()) for percent, (low, high) in found.intervals.items()
        }
        return Course(found.mean[:, 0].tolist(), ranges)

    # ── in words ──────────────────────────────────────────────────────────────────────────────────────────────────

    def columns(self, c: Comparison) -> list[Column]:
        """The scores, and how many true values lie in the ranges that should hold so many percent of them."""
        percents = dict.fromkeys(row["percent"] for row in c.entrants[0].scores["coverage"])

        def inside(percent: int) -> Callable[[ModelResult], float]:
            return lambda x: float(
                np.mean([row["inside"] for row in x.scores["coverage"] if row["percent"] == percent])
            )

        ranges: list[Column] = [(f"in the {p}% range", inside(p), lambda v: f"{v:.0%}", None) for p in percents]
        return [*super().columns(c), *ranges]

    def learned(self, c: Comparison, same: str) -> str:
        return f"{same}{c.data['training']:,} rows of {_listed(c)}"

    def tested(self, c: Comparison) -> str:
        scores = c.entrants[0].scores
        held = "held out at the end" if c.data["held_out"] else "of a later table"
        return f"forecast {scores['horizon']:,} steps from {scores['size']:,} places in {c.data['dev']:,} rows {held}"

    def notes(self, c: Comparison) -> list[str]:
        m = c.entrants[0].scores["season"]
        change = "from one step to the next" if m == 1 else f"over a season of {m:,} steps"
        several = " It is the mean over all columns." if len(c.data["columns"]) > 1 else ""
        return [
            f"MASE is the mean absolute error divided by how much the training set changed {change}: below 1 a "
            f"forecast errs less than that.{several} MAE and RMSE are in the series' own unit. Lower is better.",
            "Of the true values, as many should lie in a range as its name says: fewer, and the model is too sure of "
            "itself; more, and it knows less than it could.",
        ]

    def facts(self, c: Comparison) -> list[tuple[str, str]]:
        data = c.data
        span = f", {data['begin']} to {data['end']}, {data['step']} apart" if data["begin"] else ""
        dev = (
            f"the last {data['dev']:,} rows, held out" if data["held_out"] else f"{data['dev']:,} rows of a later table"
        )
        return [
            ("data", f"{data['rows']:,} rows of {_listed(c)}{span}; data id {data['fingerprint'][:16]}"),
            ("training set", f"the first {data['training']:,} rows"),
            ("dev set", dev),
            ("season", f"{data['period']:,} steps" if data["period"] else "none"),
        ]


def _dev(prepared: Prepared) -> tuple[Timeline, int]:
    """The series, and how many steps its forecasts go ahead."""
    dev: Timeline = prepared.dev
    return dev, min(int(prepared.report()["horizon"]), len(dev))


def _origin(dev: Timeline, horizon: int) -> int:
    """The last step that is known to the forecast which is shown: one from the middle of the dev set."""
    origins = dev.origins(horizon, ORIGINS)
    return int(origins[len(origins) // 2])


def _scores(errors: Sequence[dict[str, Any]], method: str) -> dict[str, float]:
    """As a model has them: MASE, the mean over the columns; MAE and RMSE of a single one."""
    rows = [row for row in errors if row["method"] == method]
    mase = {"MASE": float(np.mean([row["mase"] for row in rows]))}
    return mase if len(rows) > 1 else {**mase, "MAE": rows[0]["mae"], "RMSE": rows[0]["rmse"]}


def _listed(c: Comparison) -> str:
    names = c.data["columns"]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")

"""The comparison of forecasters: errors beside simple forecasts and by steps ahead, and one forecast in detail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from mirada.compare import charts
from mirada.compare.charts import Line
from mirada.compare.page import Column, Figure, Grid, Section, figures, named
from mirada.compare.results import Baseline, Comparison, ModelResult, Prediction, Sample
from mirada.compare.task_report import CardScores, SequenceReport
from mirada.contracts import SequenceBatch
from mirada.metrics.forecasting import MODEL, Coverage, Errors, HorizonRow, drift, naive, seasonal_naive, steps_shown
from mirada.tasks.forecasting.data import Timeline
from mirada.tasks.forecasting.model import ORIGINS, ForecastingModel
from mirada.tasks.forecasting.task import TASK
from mirada.tasks.forecasting.windows import Windows
from mirada.tasks.task import Model, Prepared

TIMED_FORECASTS = 5
"""Forecasts that are timed: one is made after another, so a few are enough."""
HISTORY, SHORTEST_HISTORY = 3, 60
"""How much of the past is drawn before a forecast: in horizons, and in steps at least."""

BY_STEP = "error_by_step"


@dataclass(frozen=True)
class ForecastExample:
    """One forecast of one column, with the past before it and the true values."""

    column: str
    labels: list[str]
    """The times of the past and of the true values, or the steps from the last known one."""
    past: list[float]
    truth: list[float]  # [H]
    mean: list[float]  # [H]
    intervals: dict[int, tuple[list[float], list[float]]]
    """Lower and upper bounds by percent."""

    @property
    def values(self) -> list[float]:
        """All values that are drawn."""
        bounds = [bound for sides in self.intervals.values() for side in sides for bound in side]
        return [*self.past, *self.truth, *self.mean, *bounds]


class _CardScores(CardScores):
    errors: list[Errors]
    by_horizon: Annotated[list[HorizonRow], Field(min_length=1)]
    coverage: list[Coverage]


class ForecastingReport(SequenceReport):
    """The next values of a series of numbers."""

    card_scores = _CardScores

    line_up = ("elman", "lstm", "gru")
    lengths = (16, 32, 64, 128, 256)
    verb = "forecast"
    sequence = "window"
    word = token = "step"
    unit = "forecasts"
    timed = "from the dev set with their intervals, one after another"
    score_notes = (
        "MASE is the mean absolute error divided by the mean change of the training set over one season (one step "
        "without a season), averaged over the columns: below 1, a forecast errs less than that. MAE and RMSE are in "
        "the series' own unit. Lower is better.",
        "An interval should contain as many of the true values as its name says: with fewer the model is too sure, "
        "with more it is too cautious.",
    )

    def infer(self, model: ForecastingModel, prepared: Prepared, most: int) -> int:
        dev, horizon = _dev(prepared)
        origins = dev.origins(horizon, min(most, TIMED_FORECASTS))
        return len([model.forecast(dev.values[: origin + 1], horizon) for origin in origins])

    def batch(self, model: Model, prepared: Prepared, length: int, tokens: int) -> SequenceBatch:
        """Windows of the series itself, repeated where it is too short."""
        rows = max(1, tokens // length)
        windows = prepared.batches(tokens, 0)
        assert isinstance(windows, Windows)
        repeated = np.resize(windows.values, (length + rows + 1, len(model.preprocessor.names)))
        return replace(windows, values=repeated, length=length, stride=1).load(np.arange(rows))

    def samples(self, model: ForecastingModel, prepared: Prepared) -> list[tuple[Sample, Prediction]]:
        return []  # the section on forecasts shows one

    def baselines(self, models: Sequence[Model], prepared: Prepared) -> list[Baseline]:
        """The simple forecasts of the cards: their scores on all columns, their errors by step on the first."""
        dev, horizon = _dev(prepared)
        period: int | None = prepared.report()["period"]
        origins = dev.origins(horizon, ORIGINS)
        truth = dev.values[origins[:, None] + 1 + np.arange(horizon), 0]  # [O, H]
        forecasts = {"naive": naive(dev.values, origins, horizon), "drift": drift(dev.values, origins, horizon)}
        if period:
            forecasts["seasonal naive"] = seasonal_naive(dev.values, origins, horizon, period)
        errors = models[0].card["scores"]["errors"]
        found = []
        for method in dict.fromkeys(row["method"] for row in errors if row["method"] != MODEL):
            by_step = np.abs(forecasts[method][..., 0] - truth).mean(axis=0)  # [H]
            by_horizon = {step: float(by_step[step - 1]) for step in steps_shown(horizon)}
            found.append(Baseline(method, _scores(errors, method), {BY_STEP: by_horizon}))
        return found

    def details(self, model: ForecastingModel, prepared: Prepared) -> dict[str, Any]:
        rows = model.card["scores"]["by_horizon"]
        errors = {row["step"]: row["model"] for row in rows if row["column"] == rows[0]["column"]}
        return {BY_STEP: errors, "forecast": _example(model, prepared)}

    # ── the page ──────────────────────────────────────────────────────────────────────────────────────────────────

    def columns(self, c: Comparison) -> list[Column]:
        """The share of true values inside the intervals."""

        def inside(percent: int) -> Callable[[ModelResult], float]:
            return lambda x: float(
                np.mean([row["inside"] for row in x.scores["coverage"] if row["percent"] == percent])
            )

        percents = dict.fromkeys(row["percent"] for row in c.models[0].scores["coverage"])
        return [Column(f"in the {percent}% interval", inside(percent), ".0%", None) for percent in percents]

    def sections(self, c: Comparison) -> list[Section]:
        return [self._by_step(c), self._forecasts(c)]

    def _by_step(self, c: Comparison) -> Section:
        def error(step: int) -> Callable[[ModelResult | Baseline], float]:
            return lambda one: float(one.details[BY_STEP][step])

        steps, column = [*c.models[0].details[BY_STEP]], c.models[0].details["forecast"].column
        columns = [Column(f"{step:,}", error(step), ",.3g", True, error(step)) for step in steps]
        lines = [Line(x.name, [*x.details[BY_STEP].items()], number) for number, x in enumerate(c.models)]
        lines += [Line(baseline.name, [*baseline.details[BY_STEP].items()]) for baseline in c.baselines]
        chart = charts.line_chart("horizon", lines, "steps ahead", "mean absolute error")
        caption = f"Mean absolute error of {column} by steps ahead"
        note = (
            "The further ahead, the less certain. A model that has learned the dynamics of the series stays below the "
            "simple forecasts; one that has not ends where they do, or above."
        )
        pair = Grid([Figure(chart, f"{caption}; lower is better"), figures(caption, c.models, columns, c.baselines)])
        return Section("horizon", "Error by steps ahead", [note, pair])

    def _forecasts(self, c: Comparison) -> Section:
        examples: list[ForecastExample] = [x.details["forecast"] for x in c.models]
        values = [value for example in examples for value in example.values]
        margin = 0.04 * (max(values) - min(values) or 1.0)
        limits = min(values) - margin, max(values) + margin  # all charts have one scale
        drawn = [
            Figure(_chart(x.details["forecast"], x.name, number, limits), "", name)
            for number, (name, x) in enumerate(named(c.models))
        ]
        first = examples[0]
        note = (
            f"{first.column} after {first.labels[len(first.past) - 1]}: the past, each model's forecast with its "
            "intervals, and the true values (dashed). One forecast of many, from the middle of the dev set."
        )
        return Section("forecasts", "The same forecast, side by side", [note, Grid(drawn, "narrow")])


def _chart(example: ForecastExample, name: str, number: int, limits: tuple[float, float]) -> str:
    """The past, the forecast with its intervals, and the true values."""
    known, last = len(example.past), example.past[-1]
    x = range(known - 1, known + len(example.truth))  # from the last known value on, so that the lines start there
    with charts.canvas(4.6, 2.9) as (figure, axes):
        for place, percent in enumerate(sorted(example.intervals, reverse=True)):
            low, high = example.intervals[percent]
            shade = 0.14 + 0.14 * place
            axes.fill_between(x, [last, *low], [last, *high], color=charts.colour(number), alpha=shade, lw=0)
        axes.plot(range(known), example.past, color=charts.INK, lw=1.1)
        axes.plot(x, [last, *example.truth], color=charts.INK, lw=1.1, ls="--")
        axes.plot(x, [last, *example.mean], color=charts.colour(number), lw=2)
        axes.axvline(known - 1, color=charts.FAINT, lw=0.8, zorder=0)
        ticks = [0, known - 1] if known > 1 else [0]
        axes.set_xticks(ticks, [charts.printable(example.labels[tick]) for tick in ticks])
        axes.get_xticklabels()[0].set_horizontalalignment("left")
        axes.set_ylim(*limits)
        charts.open_frame(axes, "y")
        percents = " and ".join(f"{percent}%" for percent in sorted(example.intervals))
        alt = f"Forecast of {name}: the past, the forecast with its {percents} intervals, the true values (dashed)"
        return charts.svg(figure, f"forecast-{number}", alt)


def _dev(prepared: Prepared) -> tuple[Timeline, int]:
    """The series, and how many steps ahead its forecasts go."""
    dev: Timeline = prepared.dev
    return dev, min(int(prepared.report()["horizon"]), len(dev))


def _example(model: ForecastingModel, prepared: Prepared) -> ForecastExample:
    """A forecast of the first column from the middle of the dev set."""
    dev, horizon = _dev(prepared)
    origins = dev.origins(horizon, ORIGINS)
    origin = int(origins[len(origins) // 2])
    begin, end = max(0, origin + 1 - max(HISTORY * horizon, SHORTEST_HISTORY)), origin + 1 + horizon
    steps = [f"{step - origin:+d}" if step != origin else "0" for step in range(begin, end)]
    found = model.forecast(dev.values[: origin + 1], horizon)
    return ForecastExample(
        column=dev.names[0],
        labels=dev.times[begin:end] if dev.times else steps,
        past=dev.values[begin : origin + 1, 0].tolist(),
        truth=dev.values[origin + 1 : end, 0].tolist(),
        mean=found.mean[:, 0].tolist(),
        intervals={p: (low[:, 0].tolist(), high[:, 0].tolist()) for p, (low, high) in found.intervals.items()},
    )


def _scores(errors: Sequence[dict[str, Any]], method: str) -> dict[str, float]:
    """The scores as a model has them: MASE, the mean over the columns; MAE and RMSE of a single one."""
    rows = [row for row in errors if row["method"] == method]
    mase = {"MASE": float(np.mean([row["mase"] for row in rows]))}
    return mase if len(rows) > 1 else {**mase, "MAE": rows[0]["mae"], "RMSE": rows[0]["rmse"]}


REPORT = ForecastingReport(TASK)

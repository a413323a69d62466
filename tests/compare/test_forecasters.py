"""Forecasters compared: beside simple forecasts, by steps ahead, and one forecast side by side."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mirada
from mirada.compare import Comparison, ModelResult, compare, report
from tests.compare.conftest import HOSTILE
from tests.compare.page_parts import Page, check_alone, check_order

SECTIONS = ["models", "curves", "time", "paths", "horizon", "forecasts", "method"]
NAMES = ["memoryless", "gru"]
PERIOD, HORIZON = 6, 8


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory, quick: None) -> Comparison:
    folder = tmp_path_factory.mktemp("forecasters")
    chance = np.random.default_rng(0)
    rows = [(t, 5 + math.sin(2 * math.pi * t / PERIOD) + 0.2 * chance.normal()) for t in range(150)]
    table = folder / "sales.csv"
    table.write_text("day;sales\n" + "".join(f"{2000 + t // 12}-{t % 12 + 1:02};{value:.4f}\n" for t, value in rows))
    settings = {
        "data": {"period": PERIOD, "horizon": HORIZON, "window": 24},
        "model": {"width": 8},
        "train": {"batch_tokens": 240, "validate_every": 100},
    }
    options = {"task": "forecasting", "models": NAMES, "steps": 3, "settings": settings, "threads": 1}
    return compare(table, out=folder / "report", **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def html(comparison: Comparison) -> str:
    return comparison.html.read_text(encoding="utf-8")


def test_the_figures_are_what_the_bundles_say(comparison: Comparison) -> None:
    written = json.loads(comparison.json.read_text(encoding="utf-8"))
    assert written == comparison.as_dict()
    for result in comparison.models:
        model = mirada.load(comparison.out / result.bundle, threads=1)
        assert result.scores == model.card["scores"]
        assert [*result.details["error_by_step"]] == [1, 2, 5, HORIZON]
        assert np.mean([result.score("MAE")]) == pytest.approx(result.scores["errors"][0]["mae"])
        shown = result.details["forecast"]
        assert len(shown.mean) == len(shown.truth) == HORIZON
        assert [*shown.intervals] == [80, 95]
        low, high = (np.array(side) for side in shown.intervals[95])
        assert (low < high).all()
        assert min(result.speed_by_length.values()) > 0
        assert result.inference_speed > 0
    lines = (comparison.out.parent / "sales.csv").read_text().splitlines()[1:]
    series = dict(line.split(";") for line in lines)
    assert shown.labels[0] in series
    known = [float(series[label]) for label in shown.labels]
    assert known == pytest.approx([*shown.past, *shown.truth])


def test_simple_forecasts_stand_beside_the_models(comparison: Comparison) -> None:
    scores = comparison.models[0].scores
    assert [baseline.name for baseline in comparison.baselines] == ["naive", "seasonal naive", "drift"]
    for baseline in comparison.baselines:
        row = next(row for row in scores["errors"] if row["method"] == baseline.name)
        assert baseline.scores == {"MASE": row["mase"], "MAE": row["mae"], "RMSE": row["rmse"]}
    naive = comparison.baselines[0].details["error_by_step"]  # computed here; the cards have it too
    assert naive == pytest.approx({row["step"]: row["naive"] for row in scores["by_horizon"]})
    # A season is known to one and not to the other.
    assert comparison.baselines[1].scores["MAE"] < comparison.baselines[0].scores["MAE"]


def test_lower_is_better(comparison: Comparison) -> None:
    best, last = comparison.ranking
    assert best.score() <= last.score()
    one, other = comparison.models
    assert _scored(comparison, 0.9, 0.5).verdict == f"{other.name} forecast best: 0.50 MASE, 0.40 less than {one.name}."
    assert _scored(comparison, 0.5, 0.501).verdict == (
        f"{one.name} and {other.name} forecast best, both with 0.50 MASE."
    )


def _scored(comparison: Comparison, *values: float) -> Comparison:
    results = []
    for result, value in zip(comparison.models, values, strict=True):
        scores = [{**result.scores["scores"][0], "value": value}]
        results.append(replace(result, scores={**result.scores, "scores": scores}))
    return replace(comparison, models=results)


def test_every_section_has_every_model(html: str, comparison: Comparison) -> None:
    page = Page(html)
    assert [*page.text] == ["", *SECTIONS]
    for section in SECTIONS:
        for name in NAMES:
            assert name in page.text[section], section
    assert comparison.verdict in page.text[""]
    for baseline in comparison.baselines:
        assert baseline.name in page.text["models"]
        assert f"{baseline.scores['MASE']:.2f}" in page.text["models"]
        assert f"{baseline.details['error_by_step'][HORIZON]:.3g}" in page.text["horizon"]
    for result in comparison.models:
        assert f"{result.score():.2f}" in page.text["models"]
        assert f"{result.scores['coverage'][0]['inside']:.0%}" in page.text["models"]
        assert f"{result.details['error_by_step'][1]:.3g}" in page.text["horizon"]
    check_alone(html)
    check_order(html, images=5 + len(NAMES))


def test_hostile_names_are_text(comparison: Comparison, tmp_path: Path) -> None:
    def hostile(result: ModelResult) -> ModelResult:
        shown = result.details["forecast"]
        shown = replace(shown, column=HOSTILE, labels=[f"{HOSTILE}\x00"] * len(shown.labels))
        return replace(result, details={**result.details, "forecast": shown})

    poisoned = replace(
        comparison,
        facts=[(HOSTILE, HOSTILE)],
        models=[hostile(result) for result in comparison.models],
        baselines=[replace(baseline, name=f"{HOSTILE} -->") for baseline in comparison.baselines],
    )
    rendered = report.render(poisoned)
    assert "<script" not in rendered
    Page(rendered)
    rendered.encode("utf-8")

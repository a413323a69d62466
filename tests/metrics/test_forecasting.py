"""Forecast scores: MASE by hand, its fixed points, the simple forecasts, coverage, and what does not fit."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.errors import DataError, UsageError
from mirada.metrics.forecasting import (
    ForecastScores,
    Numbers,
    drift,
    evaluate_forecasts,
    naive,
    naive_scale,
    seasonal_naive,
    steps_shown,
)

SERIES = np.array([2.0, 4.0, 3.0, 7.0, 8.0, 6.0, 9.0, 5.0])[:, None]  # [8, 1]


def column(*numbers: float) -> Numbers:
    return np.array(numbers, np.float64)[None, :, None]  # [1, H, 1]


def row(found: ForecastScores, method: str, name: str = "x") -> tuple[float, float, float]:
    return next((r.mae, r.rmse, r.mase) for r in found.errors if (r.method, r.column) == (method, name))


def test_scores_by_hand() -> None:
    # changes in the training set 2 4 3 7: 2, 1, 4, so the scale is 7/3; the truth after step 4 is 6 9 5
    found = evaluate_forecasts(SERIES, [4], column(7, 7, 9), 4, None, ["x"])
    mae, rmse = (1 + 2 + 4) / 3, math.sqrt((1 + 4 + 16) / 3)
    assert row(found, "model") == pytest.approx((mae, rmse, mae / (7 / 3)))
    assert row(found, "naive") == pytest.approx((2, math.sqrt((4 + 1 + 9) / 3), 2 / (7 / 3)))  # 8 8 8
    slope = (8 - 2) / 4  # 9.5 11 12.5
    assert row(found, "drift")[0] == pytest.approx((8 + slope - 6 + 8 + 2 * slope - 9 + 8 + 3 * slope - 5) / 3)
    assert [score.name for score in found.scores] == ["MASE", "MAE", "RMSE"]
    assert found.score("MASE") == pytest.approx(1.0)
    assert {r.method for r in found.errors} == {"model", "naive", "drift"}
    assert [(r.step, r.model, r.naive) for r in found.by_horizon] == [(1, 1, 2), (2, 2, 1), (3, 4, 3)]


def test_a_season_scales_by_its_own_changes() -> None:
    # changes over two steps in 2 4 3 7 8: 1, 3, 5, so the scale is 3
    found = evaluate_forecasts(SERIES, [4], column(6, 9, 8), 5, 2, ["x"])
    assert row(found, "model") == pytest.approx((1, math.sqrt(3), 1 / 3))
    assert row(found, "seasonal naive")[0] == pytest.approx((1 + 1 + 2) / 3)  # 7 8 7
    assert "m:2|training:5|horizon:3" in found.scores[0].signature


def test_simple_forecasts_by_hand() -> None:
    origins = np.array([3, 5])
    assert naive(SERIES, origins, 2)[..., 0].tolist() == [[7, 7], [6, 6]]
    assert seasonal_naive(SERIES, origins, 5, 3)[..., 0].tolist() == [[4, 3, 7, 4, 3], [7, 8, 6, 7, 8]]
    assert drift(SERIES, np.array([4, 0]), 2)[..., 0].tolist() == [[9.5, 11], [2, 2]]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 999), columns=st.integers(1, 3), horizon=st.integers(1, 12), period=st.sampled_from([None, 4])
)
def test_a_perfect_forecast_scores_zero(seed: int, columns: int, horizon: int, period: int | None) -> None:
    values = np.random.default_rng(seed).normal(size=(60, columns)).cumsum(axis=0)
    origins = np.arange(29, 60 - horizon, 3)
    truth = np.stack([values[o + 1 : o + 1 + horizon] for o in origins])
    names = [f"c{c}" for c in range(columns)]
    found = evaluate_forecasts(values, origins, truth, 30, period, names, {80: (truth, truth)})
    assert found.score("MASE") == 0
    assert all(r.mae == r.rmse == r.mase == 0 for r in found.errors if r.method == "model")
    assert all(r.model == 0 for r in found.by_horizon)
    assert [c.inside for c in found.coverage] == [1.0] * columns
    assert all(r.mae > 0 for r in found.errors if r.method == "naive")


@pytest.mark.parametrize("period", [None, 7])
def test_the_naive_forecast_on_its_own_scale_is_one(period: int | None) -> None:
    values = np.random.default_rng(5).normal(size=(200, 1)).cumsum(axis=0)
    m = period or 1
    origins = np.arange(m - 1, 200 - m, m)  # every step from m on is forecast once, m steps at a time
    own = seasonal_naive(values, origins, m, m)
    end = int(origins[-1]) + m + 1
    found = evaluate_forecasts(values, origins, own, end, period, ["x"])
    assert found.score("MASE") == pytest.approx(1.0)
    assert row(found, "seasonal naive" if period else "naive")[2] == pytest.approx(1.0)


def test_units_do_not_change_mase() -> None:
    rng = np.random.default_rng(1)
    values, forecasts = rng.normal(size=(50, 1)).cumsum(axis=0), rng.normal(size=(4, 6, 1))
    one, other = (
        evaluate_forecasts(values * unit, [30, 33, 36, 40], forecasts * unit, 30, 5, ["x"]) for unit in (1, 1e6)
    )
    assert one.score("MASE") == pytest.approx(other.score("MASE"))
    assert one.score("MAE") * 1e6 == pytest.approx(other.score("MAE"))
    assert one.scores[1].digits > other.scores[1].digits == 0


def test_several_columns_stand_apart_and_mase_is_their_mean() -> None:
    values = np.concatenate([SERIES, 1000 * SERIES], axis=1)
    forecast = np.concatenate([column(7, 7, 9), 1000 * column(6, 9, 5)], axis=2)
    found = evaluate_forecasts(values, [4], forecast, 4, None, ["small", "large"])
    assert row(found, "model", "small")[2] == pytest.approx(1.0)
    assert row(found, "model", "large") == (0, 0, 0)
    assert found.score("MASE") == pytest.approx(0.5)
    assert [score.name for score in found.scores] == ["MASE"]
    assert found.mase("naive") == pytest.approx(2 / (7 / 3))
    text = found.as_text()
    assert text.index("small") < text.index("large") < text.index("all columns")


def test_coverage_counts_what_lies_inside() -> None:
    f = column(7, 7, 9)  # truth 6 9 5
    wide, tight = (column(6, 7, 6), column(8, 9, 10)), (column(6.5, 7, 6), column(7, 8.9, 8))
    found = evaluate_forecasts(SERIES, [4], f, 4, None, ["x"], {95: wide, 80: tight})
    assert [(c.percent, c.inside) for c in found.coverage] == [(80, 0), (95, pytest.approx(2 / 3))]
    assert "66.7%" in found.as_text()


def test_the_text_is_a_table() -> None:
    found = evaluate_forecasts(SERIES, [4], column(6, 9, 8), 5, 2, ["x"])
    lines = found.as_text().splitlines()
    assert lines[0] == "forecasts: 1, of 3 steps each"
    assert lines[2].split() == ["MAE", "RMSE", "MASE"]
    assert lines[3].split() == ["model", "1.000", "1.732", "0.333"]
    assert [line.split("  ")[0] for line in lines[3:7]] == ["model", "naive", "seasonal naive", "drift"]
    assert "mean change over 2 steps" in lines[-1]
    assert found.summary == "MASE 0.33, MAE 1.00, RMSE 1.73 on 1 forecasts"
    assert json.loads(json.dumps(found.as_dict()))["errors"][0]["method"] == "model"


@pytest.mark.parametrize(
    ("horizon", "steps"),
    [
        (1, [1]),
        (4, [1, 2, 4]),
        (10, [1, 2, 5, 10]),
        (34, [1, 2, 5, 10, 20, 30, 34]),
        (100, [1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]),
        (101, [1, 2, 5, 10, 20, 50, 100, 101]),
        (365, [1, 2, 5, 10, 20, 50, 100, 200, 300, 365]),
    ],
)
def test_steps_of_the_horizon(horizon: int, steps: list[int]) -> None:
    assert steps_shown(horizon) == steps


F = column(1, 2)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"forecasts": F * np.nan}, "not finite"),
        ({"intervals": {95: (F, F * np.inf)}}, "not finite"),
    ],
)
def test_what_is_not_finite_is_refused(changed: dict[str, Any], message: str) -> None:
    fitting: dict[str, Any] = {"values": SERIES, "origins": [4], "forecasts": F, "training": 4}
    fitting |= {"period": None, "names": ["x"]}
    evaluate_forecasts(**fitting)
    with pytest.raises(UsageError, match=message):
        evaluate_forecasts(**fitting | changed)


def test_a_scale_that_does_not_exist() -> None:
    values = np.stack([np.arange(12.0), np.arange(12) % 3.0, np.ones(12)], axis=1)
    names = ["up", "season", "flat"]
    with pytest.raises(DataError, match="'flat' never changes in the training set"):
        naive_scale(values, None, names)
    with pytest.raises(DataError, match="'season' repeats itself exactly every 3 steps"):
        naive_scale(values, 3, names)
    with pytest.raises(DataError, match="12 steps: too few for a season of 12"):
        naive_scale(values, 12, names)
    assert naive_scale(values[:, :1], 5, names[:1]).tolist() == [5]


TWO = np.array([[3, 1000], [5, 2000], [4, 2500], [6, 1200], [5, 1500], [6, 2000], [9, 3000], [5, 2500]], np.float64)
SAID = np.array([[[6.5, 2100.0], [9, 2900], [8, 2000]]])


def test_the_text_of_several_columns() -> None:
    intervals = {80: (SAID - 1, SAID + 1), 95: (SAID - 150, SAID + 150)}
    found = evaluate_forecasts(TWO, [4], SAID, 5, 2, ["price", "a name that is far too long"], intervals)
    assert (
        found.as_text()
        == """\
forecasts: 1, of 3 steps each

price                  MAE      RMSE      MASE
model                1.167     1.756     1.167
naive                1.667     2.380     1.667  the last value
seasonal naive       1.667     2.380     1.667  the value one season before
drift                1.667     1.958     1.667  on from first to last value

MAE steps ahead      model     naive
1                    0.500     1.000
2                    0.000     4.000
3                    3.000     0.000

a name that is…        MAE      RMSE      MASE
model                  233       300     0.212
naive                1,000     1,080     0.909  the last value
seasonal naive       1,200     1,236     1.091  the value one season before
drift                  750       835     0.682  on from first to last value

MAE steps ahead      model     naive
1                      100       500
2                      100     1,500
3                      500     1,000

all columns           MASE
model                0.689
naive                1.288
seasonal naive       1.379
drift                1.174

true values in    80% range  95% range
price                 66.7%     100.0%
a name that is…        0.0%      66.7%

lower is better; MASE is MAE divided by the mean change over 2 steps in the training set
"""
    )


def test_the_text_of_one_column_widens_with_its_numbers() -> None:
    values, said = 1e4 * TWO[:, 1:], 1e4 * SAID[..., 1:]
    found = evaluate_forecasts(values, [4], said, 5, None, ["price"], {80: (said, said)})
    assert (
        found.as_text()
        == """\
forecasts: 1, of 3 steps each

                         MAE        RMSE        MASE
model              2,333,333   3,000,000       0.301
naive             10,000,000  10,801,234       1.290  the last value
drift              7,500,000   8,354,141       0.968  on from first to last value

MAE steps ahead        model       naive
1                  1,000,000   5,000,000
2                  1,000,000  15,000,000
3                  5,000,000  10,000,000

true values in    80% range
model                  0.0%

lower is better; MASE is MAE divided by the mean change over 1 step in the training set
"""
    )


def test_every_score_says_that_lower_is_better() -> None:
    one = evaluate_forecasts(SERIES, [4], column(7, 7, 9), 4, None, ["x"])
    two = evaluate_forecasts(TWO, [4], SAID, 4, None, ["x", "y"])
    assert all(score.lower_is_better for score in (*one.scores, *two.scores))
    assert [(score.signature, score.digits) for score in one.scores] == [
        ("m:1|training:4|horizon:3", 2), ("horizon:3", 2), ("horizon:3", 2)
    ]  # fmt: skip
    assert [(score.signature, score.digits) for score in two.scores] == [("m:1|training:4|horizon:3|columns:2", 2)]


def test_drift_from_the_first_value_is_flat() -> None:
    assert drift(SERIES, np.array([0]), 2).tolist() == [[[2.0], [2.0]]]

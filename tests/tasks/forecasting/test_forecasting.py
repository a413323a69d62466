"""Forecasting: splits by time, the objective, simulated paths, and what an untrained network is."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mirada import config as configuration
from mirada import models
from mirada.contracts import SequenceBatch
from mirada.errors import BundleError, ConfigError, DataError
from mirada.tasks.forecasting.data import ForecastingPreprocessor, SeriesConfig, Timeline, split
from mirada.tasks.forecasting.model import Forecast
from mirada.tasks.forecasting.simulation import Forecaster, draw_noise
from mirada.tasks.forecasting.task import ForecastingTask
from mirada.tasks.forecasting.windows import Frame
from mirada.training.losses import DEGREES_OF_FREEDOM, mean_and_spread, negative_log_likelihood

Numbers = np.ndarray[Any, np.dtype[np.float64]]
MODELS = [name for name, entry in models.architectures().items() if "forecasting" in entry.variants]
CPU = torch.device("cpu")


def walk(n: int, columns: int = 1, seed: int = 0) -> Numbers:
    return np.random.default_rng(seed).normal(size=(n, columns)).cumsum(axis=0) + 50


def network(kind: str, frame: Frame, learned: bool = True) -> Any:
    """A small network; `learned` gives it an output that says something."""
    torch.manual_seed(0)
    config = models.find(kind, "forecasting").config.model_validate({"name": kind, "width": 8, "dropout": 0.0})
    found: Any = ForecastingTask().network(config, ForecastingPreprocessor(("x",) * frame.columns, frame, 10))
    if learned:
        torch.nn.init.normal_(found.output.weight, std=0.3)
    return found.eval()


def forecaster(kind: str, values: Numbers, period: int | None = None, learned: bool = True) -> Forecaster:
    frame = Frame.fit(values, period)
    return Forecaster(network(kind, frame, learned), frame, 16, CPU)


# --- the split ---


def table(path: Path, values: Numbers, first: str = "2020-01-01", names: str = "x") -> Path:
    days = np.datetime64(first) + np.arange(len(values))
    lines = (f"{day},{','.join(map(repr, row))}" for day, row in zip(days, values.tolist(), strict=True))
    path.write_text("\n".join([f"date,{names}", *lines]) + "\n", encoding="utf-8")
    return path


def test_the_last_rows_are_held_out_and_nothing_of_them_is_learned(tmp_path: Path) -> None:
    values = walk(200)
    poisoned = values.copy()
    poisoned[160:] = 1e9
    found = []
    for name, numbers in (("sound", values), ("poisoned", poisoned)):
        config = SeriesConfig(files=(str(table(tmp_path / f"{name}.csv", numbers)),), period=7, window=20)
        built = {"data": config, "train": None}
        found.append(ForecastingTask().prepare(built, tmp_path / name, lambda *_: None))
    sound, other = found
    assert (sound.dev.training, len(sound.dev)) == (160, 40)
    assert sound.dev.times is not None
    assert sound.about.split == sound.dev.times[160]
    assert sound.preprocessor.files() == other.preprocessor.files()
    windows, others = sound.batches(200, 1), other.batches(200, 1)
    assert windows.fingerprint == others.fingerprint
    assert (np.concatenate(windows.epoch(0)) + windows.length < 160).all()
    again = ForecastingTask().prepare(built, tmp_path / "poisoned", lambda *_: None)  # only opened
    assert (again.dev.values == poisoned).all()


def test_a_later_table_is_measured_with(tmp_path: Path) -> None:
    values = walk(100)
    before, after = table(tmp_path / "a.csv", values[:60]), table(tmp_path / "b.csv", values[60:], "2020-03-01")
    timeline, report = split(SeriesConfig(files=(str(before),), dev=(str(after),)))
    assert (timeline.training, len(timeline), report.held_out) == (60, 40, False)
    assert (timeline.values == values).all()
    with pytest.raises(DataError, match=r"a.csv: begins at '2020-01-01', but .*b.csv ends at .* must be later"):
        split(SeriesConfig(files=(str(after),), dev=(str(before),)))


def test_what_is_too_short_is_refused_with_the_counts(tmp_path: Path) -> None:
    path = str(table(tmp_path / "short.csv", walk(50)))
    with pytest.raises(DataError, match=r"data.hold_out=0.2 of 50 rows leaves 10 .* data.horizon=30 .*horizon=10"):
        split(SeriesConfig(files=(path,)))
    with pytest.raises(ConfigError, match=r"data.files has 2 tables .*: forecasting takes one"):
        configuration.build({"data": SeriesConfig}, {"data": {"files": (path, path)}})


def test_a_timeline_is_text_and_back() -> None:
    whole = Timeline(("a", "ñ"), walk(20, 2), [f"2020-01-{day:02}" for day in range(1, 21)], 12)
    again = Timeline.load(whole.dump())
    assert (again.names, again.times, again.training) == (whole.names, whole.times, 12)
    assert (again.values == whole.values).all()
    assert Timeline.load(Timeline(("a",), walk(3), None, 2).dump()).times is None


def test_origins_cover_the_held_out_part() -> None:
    timeline = Timeline(("x",), walk(1000), None, 800)
    origins = timeline.origins(30, 50)
    assert (origins[0], origins[-1], len(origins)) == (799, 969, 50)
    assert timeline.origins(200, 50).tolist() == [799]


# --- the objective ---


@pytest.mark.parametrize(("mean", "spread"), [(0.0, 1.0), (2.0, 0.3), (-1.0, 4.0)])
def test_the_objective_is_the_likelihood_of_a_student_t(mean: float, spread: float) -> None:
    y = torch.linspace(-400, 400, 400_001, dtype=torch.float64)
    found = negative_log_likelihood(y, torch.tensor(mean), torch.tensor(spread).double())
    constant = (
        math.lgamma(DEGREES_OF_FREEDOM / 2)
        - math.lgamma((DEGREES_OF_FREEDOM + 1) / 2)
        + math.log(DEGREES_OF_FREEDOM * math.pi) / 2
    )
    density = torch.exp(-found - constant)
    assert torch.trapezoid(density, y).item() == pytest.approx(1, abs=1e-5)
    variance = torch.trapezoid(density * (y - mean) ** 2, y).item()
    assert variance == pytest.approx(spread**2 * DEGREES_OF_FREEDOM / (DEGREES_OF_FREEDOM - 2), rel=1e-2)


def test_a_network_that_says_nothing_has_the_usual_spread() -> None:
    mean, spread = mean_and_spread(torch.zeros(1, 4))
    assert mean.tolist() == [[0, 0]]
    assert spread.tolist() == [[pytest.approx(1, abs=0.002)] * 2]
    assert mean_and_spread(torch.full((1, 2), -1e4))[1].item() > 0


# --- paths ---


@pytest.mark.parametrize("kind", MODELS)
def test_an_untrained_network_is_the_naive_forecast(kind: str) -> None:
    values = walk(90, 2)
    for period in (None, 7):
        quiet = torch.zeros(1, 10, 2)
        found = forecaster(kind, values, period, learned=False).paths(values, [60, 80], quiet)[:, 0]  # [O, H, C]
        ahead = np.arange(1, 11)
        for row, origin in enumerate((60, 80)):
            expected = np.repeat(values[origin][None], 10, 0)
            if period:  # the last season again, moved to the last value
                expected = values[origin] + values[origin - 7 + (ahead - 1) % 7 + 1] - values[origin - 7]
                expected += (ahead - 1)[:, None] // 7 * (values[origin] - values[origin - 7])
            np.testing.assert_allclose(found[row], expected, rtol=1e-5)


@pytest.mark.parametrize("kind", MODELS)
def test_alone_equals_among_others(kind: str) -> None:
    values = walk(200)
    maker = forecaster(kind, values, 7)
    noise = draw_noise(6, 5, 1, seed=3)
    origins = [199, 20, 150, 3, 198]
    together = maker.paths(values, origins, noise)
    for place, origin in enumerate(origins):
        alone = maker.paths(values[: origin + 1], [origin], noise)[0]
        np.testing.assert_allclose(together[place], alone, rtol=1e-5)
    assert not np.allclose(together[0], together[4])


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("period", [None, 5])
def test_paths_are_what_the_network_says_when_it_reads_them(kind: str, period: int | None) -> None:
    values = walk(40)
    frame = Frame.fit(values, period)
    maker = Forecaster(network(kind, frame), frame, 64, CPU)  # 40 known steps and 8 more have room in a window
    noise = draw_noise(4, 8, 1, seed=0)
    path = maker.paths(values, [39], noise)[0]  # [S, H, C]
    whole = np.concatenate([np.repeat(values[None], 4, 0), path], axis=1)
    for row, epsilon in zip(whole, noise, strict=True):
        x = frame.scale(row)
        y = frame.misses(x)
        batch = SequenceBatch(
            frame.features(x)[None], torch.tensor([48]), before=torch.cat([y, torch.zeros_like(y)], -1)[None]
        )
        mean, spread = mean_and_spread(maker.network.output(maker.network.encode(batch))[0, 39:47].detach())
        torch.testing.assert_close(y[40:], mean + spread * epsilon, atol=2e-4, rtol=1e-4)


def test_a_transformer_goes_on_when_its_window_is_full() -> None:
    values = walk(100)
    maker = forecaster("transformer", values)  # windows of 16: 12 are read, 4 fit behind them
    noise = draw_noise(3, 30, 1, seed=0)
    path = maker.paths(values, [99], noise)[0]
    for sample, begin in ((0, 0), (1, 5), (2, 25)):  # where it has just read again
        known = np.concatenate([values, path[sample, :begin]])
        x = maker.frame.scale(known)
        batch = SequenceBatch(maker.frame.features(x)[None, -12:], torch.tensor([12]))
        said = maker.network.output(maker.network.encode(batch))[0, -1]
        mean, spread = mean_and_spread(said.detach())
        following = maker.frame.next(x[None], (mean + spread * noise[sample, begin])[None])
        expected = maker.frame.unscale(following)
        np.testing.assert_allclose(path[sample, begin], expected[0], rtol=1e-4)


def test_a_jordan_network_hears_what_came_true() -> None:
    values = walk(60)
    maker = forecaster("jordan", values)
    before = maker.paths(values, [59], torch.zeros(1, 2, 1))
    first: Any = maker.network.recurrent
    torch.nn.init.zeros_(first.layers[0]["forward_"].W)
    assert not np.allclose(before, maker.paths(values, [59], torch.zeros(1, 2, 1)))


def test_ranges_widen_like_those_of_a_random_walk() -> None:
    values = walk(300)
    found = forecaster("gru", values, learned=False).paths(values, [299], draw_noise(2000, 64, 1, 0))[0]
    width = found.std(axis=0)[:, 0]  # [H]
    np.testing.assert_allclose(width[[3, 15, 63]] / width[0], [2, 4, 8], rtol=0.1)
    assert abs(found.mean(axis=0)[-1, 0] - values[-1, 0]) < 1e-3  # each path has its mirror image


def test_noise_is_by_seed_and_leaves_other_chance_alone() -> None:
    torch.manual_seed(5)
    np.random.seed(5)
    expected = torch.rand(1), np.random.rand()
    torch.manual_seed(5)
    np.random.seed(5)
    noise = draw_noise(7, 3, 2, seed=1)
    assert (torch.rand(1), np.random.rand()) == expected
    assert noise.shape == (7, 3, 2)
    assert torch.equal(noise, draw_noise(7, 3, 2, seed=1))
    assert not torch.equal(noise, draw_noise(7, 3, 2, seed=2))
    assert torch.equal(noise, draw_noise(7, 30, 2, seed=1)[:, :3])


@pytest.mark.parametrize("held", [3, 8, 30, 100])
def test_surprise_is_the_mean_over_every_value_of_the_part(held: int) -> None:
    values = walk(300)
    maker = forecaster("gru", values, learned=False)
    y = maker.frame.misses(maker.frame.scale(values))
    expected = negative_log_likelihood(y, *mean_and_spread(torch.zeros(300, 2)))[300 - held :].mean().item()
    assert maker.negative_log_likelihood(values, 300 - held, 1000) == pytest.approx(expected, rel=1e-5)
    if held > 16:
        assert maker.negative_log_likelihood(values, 300 - held, 2) != pytest.approx(
            expected, rel=1e-5
        )  # two groups only


# --- what is handed out ---


def test_a_forecast_as_csv_with_the_digits_that_can_be_known() -> None:
    mean = np.array([[1234.56789, 0.0123456], [1240.0, 0.013]])
    half, most = np.array([20, 0.001]), np.array([30, 0.002])
    bounds = {80: (mean - half, mean + half), 95: (mean - most, mean + most)}
    found = Forecast(("close", 'a "b", c'), ["+1", "+2"], mean, bounds, mean, None)
    rows = list(csv.reader(io.StringIO(found.as_csv())))
    assert rows[0] == ["time", *(name + end for name in found.names for end in
                                 ("", "_lower80", "_upper80", "_lower95", "_upper95"))]  # fmt: skip
    assert rows[1] == ["+1", "1234.6", "1214.6", "1254.6", "1204.6", "1264.6",
                       "0.01235", "0.01135", "0.01335", "0.01035", "0.01435"]  # fmt: skip
    assert len(rows) == 3


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"names": ["a", "b"]}', '{"names": 3, "training": 1}'])
def test_a_damaged_kit_is_refused(content: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="series"):
        ForecastingTask().open({"series.json": content.encode()}, tmp_path)


def test_names_must_fit_the_scale(tmp_path: Path) -> None:
    about = json.loads(ForecastingPreprocessor(("a",), Frame.fit(walk(20), None), 20).files()["series.json"])
    assert ForecastingTask().open({"series.json": json.dumps(about).encode()}, tmp_path).names == ("a",)
    about["names"] = ["a", "b"]
    with pytest.raises(BundleError, match="2 names for 1"):
        ForecastingTask().open({"series.json": json.dumps(about).encode()}, tmp_path)

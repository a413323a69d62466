"""Forecasting as a person uses it: a table in, a forecast out; and what is refused, with one line."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirada
from mirada import cli, models
from mirada.errors import DataError, Interrupted
from mirada.tasks.forecasting.model import ForecastingModel
from mirada.training.loop import Event
from tests.command import refused

MODELS = [name for name, entry in models.architectures().items() if "forecasting" in entry.variants]
TINY: dict[str, Any] = {
    "data": {"window": 40, "horizon": 24},
    "model": {"width": 16},
    "train": {"batch_tokens": 640, "lr": 1e-2, "warmup": 10, "threads": 1},
}


def write(path: Path, columns: dict[str, Any]) -> Path:
    """A table of daily values."""
    length = len(next(iter(columns.values())))
    days = np.datetime64("2020-01-01") + np.arange(length)
    rows = (
        ",".join([str(day), *map(str, row)]) for day, row in zip(days, zip(*columns.values(), strict=True), strict=True)
    )
    path.write_text("\n".join([",".join(["date", *columns]), *rows]) + "\n", encoding="utf-8")
    return path


def wave(n: int, noise: float = 0.05, seed: int = 0) -> Any:
    """A sine with a trend."""
    t = np.arange(n)
    return np.sin(2 * np.pi * t / 24) + 0.02 * t + np.random.default_rng(seed).normal(size=n) * noise


def train(table: Path, out: Path, steps: int, **more: Any) -> ForecastingModel:
    found: ForecastingModel = mirada.train(
        table, task="forecasting", out=out, steps=steps, settings=more.pop("settings", TINY), **more
    )
    return found


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("series") / "wave.csv", {"close": wave(400)})


@pytest.fixture(scope="module")
def trained(table: Path) -> ForecastingModel:
    return train(table, table.parent / "bundle", 100)


def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: object) -> str:
    """What `mirada …` prints: its real entry, in this process, which has PyTorch loaded already."""
    monkeypatch.setattr(sys, "argv", ["mirada", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    assert ended.value.code == 0, said.err
    return said.out


def refusal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: object) -> str:
    """The one line it refuses with."""
    monkeypatch.setattr(sys, "argv", ["mirada", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("mirada: ")]
    assert ended.value.code in (1, 2)
    assert len(lines) == 1
    return lines[0]


def test_a_wave_with_a_trend_is_forecast_far_better_than_by_naive_ways(trained: ForecastingModel) -> None:
    scores = trained.score(trained_dev(trained))
    assert scores.as_dict() == trained.card["scores"]  # the bundle carries what it was measured on
    assert scores.mase("model") < 0.35 * scores.mase("naive")
    assert scores.mase("model") < 0.35 * scores.mase("drift")
    for coverage in scores.coverage:
        assert coverage.inside > coverage.percent / 100 - 0.15


def trained_dev(model: ForecastingModel) -> Any:
    from mirada import tasks

    return tasks.find("forecasting").read_dev((model.path / "data" / "dev.jsonl").read_text(encoding="utf-8"))


def test_ranges_hold_their_share_of_a_random_walk_and_widen(tmp_path: Path) -> None:
    steps = np.random.default_rng(3).normal(size=1000)
    found = train(write(tmp_path / "walk.csv", {"x": steps.cumsum()}), tmp_path / "b", 40)
    inside = {row["percent"]: row["inside"] for row in found.card["scores"]["coverage"]}
    assert 0.68 < inside[80] < 0.92
    assert 0.86 < inside[95] <= 1
    ahead = found.forecast(steps.cumsum(), 24)
    width = ahead.intervals[80][1] - ahead.intervals[80][0]
    assert 3 < width[-1, 0] / width[0, 0] < 8  # √24 is 4.9
    assert (ahead.intervals[95][0] < ahead.intervals[80][0]).all()


def test_the_verb(
    trained: ForecastingModel,
    table: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    image = tmp_path / "ahead.png"
    text = command(capsys, monkeypatch, "forecast", trained.path, table, "--steps", 5, "--picture", image)
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["time", "close", "close_lower80", "close_upper80", "close_lower95", "close_upper95"]
    assert [row[0] for row in rows[1:]] == [str(np.datetime64("2020-01-01") + 400 + h) for h in range(5)]
    for _, *cells in rows[1:]:
        middle, lower80, upper80, lower95, upper95 = map(float, cells)
        assert lower95 < lower80 < middle < upper80 < upper95
    assert image.read_bytes().startswith(b"\x89PNG")
    expected = wave(405, noise=0)[400:]
    np.testing.assert_allclose([float(row[1]) for row in rows[1:]], expected, atol=0.4)

    again = tmp_path / "ahead.csv"
    assert command(capsys, monkeypatch, "forecast", trained.path, table, "--steps", 5, "--out", again) == ""
    assert again.read_text(encoding="utf-8") == text
    other = command(capsys, monkeypatch, "forecast", trained.path, table, "--steps", 5, "--json", "--seed", 1)
    found = json.loads(other)["steps"]
    assert list(found[0]) == rows[0]
    assert str(found[0]["close_lower95"]) != rows[1][4]  # other paths

    bare = tmp_path / "bare.csv"  # no header, another order: columns by number
    bare.write_text("".join(f"{x},{day}\n" for day, x in csv.reader(table.open()) if day != "date"), encoding="utf-8")
    by_number = command(capsys, monkeypatch, "forecast", trained.path, bare, "--steps", 5, "--column", 1)
    assert by_number == text
    assert "season      none" in command(capsys, monkeypatch, "info", trained.path)


def test_evaluate_scores_a_whole_table(trained: ForecastingModel, tmp_path: Path) -> None:
    later = write(tmp_path / "later.csv", {"close": wave(150, seed=9) + 100})  # a level it has never seen
    scores = trained.evaluate(later)
    assert scores.size == min(50, 150 - 40 - 24 + 1)
    assert scores.mase("model") < 0.5 * scores.mase("naive")


def test_tables_and_arrays_are_the_same(trained: ForecastingModel, table: Path) -> None:
    from_file, from_array = trained.forecast(table, 3), trained.forecast(wave(400), 3)
    np.testing.assert_allclose(from_file.mean, from_array.mean)
    assert from_array.times == ["+1", "+2", "+3"]
    assert (trained.forecast(table, 3).mean == from_file.mean).all()
    with pytest.raises(DataError, match="the array: has 3 columns where the model"):
        trained.forecast(np.zeros((400, 3)))


def test_several_columns_and_a_season(tmp_path: Path) -> None:
    columns = {"a": wave(300), "b": -5 * wave(300, seed=1), "note": ["x"] * 300}
    settings = {**TINY, "data": {**TINY["data"], "period": 24}}
    found = train(
        write(tmp_path / "two.csv", columns), tmp_path / "b", 30, settings=settings, columns=["b", "a"], model="lstm"
    )
    assert found.preprocessor.names == ("b", "a")
    ahead = found.forecast(tmp_path / "two.csv", 24)
    assert ahead.mean.shape == (24, 2)
    truth = np.stack([-5 * wave(324, noise=0), wave(324, noise=0)], axis=1)[300:]
    assert (np.abs(ahead.mean - truth).mean(axis=0) < [1.5, 0.3]).all()
    assert len(found.card["scores"]["scores"]) == 1  # MASE: a mean of unlike units says nothing


@pytest.mark.parametrize("name", MODELS)
def test_every_model_trains_and_forecasts(name: str, table: Path, tmp_path: Path) -> None:
    settings = {**TINY, "data": {"window": 16, "horizon": 3}}
    found = train(table, tmp_path / "b", 2, settings=settings, model=name)
    assert found.card["training"]["steps"] == 2
    ahead = mirada.load(tmp_path / "b").forecast(table, 4, samples=20)
    assert np.isfinite(ahead.mean).all()


def test_a_stop_changes_nothing(table: Path, tmp_path: Path) -> None:
    def interrupt(event: Event) -> None:
        if event.kind == "step" and event.figures["step"] == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    settings = {**TINY, "data": {"window": 16, "horizon": 3}, "model": {"width": 8, "dropout": 0.1}}
    own = write(tmp_path / "own.csv", {"close": wave(400)})
    whole = train(own, tmp_path / "whole", 12, settings=settings)
    with pytest.raises(Interrupted):
        train(own, tmp_path / "stopped", 12, settings=settings, listen=interrupt)
    own.unlink()  # the bundle has what it needs
    mirada.train(resume=tmp_path / "stopped")
    assert (tmp_path / "stopped/model.safetensors").read_bytes() == (whole.path / "model.safetensors").read_bytes()


def test_a_base_goes_on(trained: ForecastingModel, tmp_path: Path) -> None:
    new = write(tmp_path / "new.csv", {"close": wave(300, seed=5)})
    found: ForecastingModel = mirada.train(new, base=trained.path, out=tmp_path / "b", steps=2, threads=1)
    assert repr(found.preprocessor.frame) == repr(trained.preprocessor.frame)
    assert found.card["base"]["after"]["new"]["MASE"] < 2 * found.card["base"]["before"]["new"]["MASE"]


def test_bad_tables_get_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(text: str, *more: object) -> str:
        (tmp_path / "t.csv").write_text(text, encoding="utf-8")
        options = ("--task", "forecasting", "--out", tmp_path / "b", "--steps", 1, *more)
        return refusal(capsys, monkeypatch, "train", tmp_path / "t.csv", *options, "--overwrite")

    def rows(n: int) -> str:
        return "date,close,open\n" + "".join(f"{1000 + i},{(i * 7) % 13}.5,{i}\n" for i in range(n))

    column = ("--column", "close")
    assert "--set data.missing=interpolate" in said(rows(300).replace("1007,10.5", "1007,NA"), *column)
    assert "has no column 'clsoe' (is 'close' meant?)" in said(rows(300), "--column", "clsoe")
    assert not (tmp_path / "b").exists()
    assert "which column?" in said(rows(300), "--set", "data.time=date")
    assert "line 9, column 'close': 'ten' is not a number" in said(rows(300).replace("1007,10.5", "1007,ten"), *column)
    assert "data.horizon=30 steps need at least 30" in said(rows(60), *column)
    assert "--set data.window=80" in said(rows(200), *column, "--set", "data.window=160")
    assert "never changes" in said("date,x\n" + "".join(f"2{i:03},5\n" for i in range(300)))
    assert "too few for a season of 365" in said(rows(300), *column, "--set", "data.period=365")
    assert "data.period=1:" in said(rows(300), *column, "--set", "data.period=1")
    assert "there is no label to smooth" in said(rows(300), *column, "--set", "train.label_smoothing=0.1")
    assert "model.max_length" in said(rows(300), *column, "--set", "model.max_length=50")
    assert "need names that differ" in said(rows(300).replace("open", "close"), "--columns", "2,3")
    assert "need names that differ" in said(
        rows(300).replace("open", "time"), "--columns", "time", "--set", "data.time=1"
    )
    assert "is not for forecasting" in said(rows(300), *column, "--model", "bag")


def test_bad_forecasts_get_one_line(
    trained: ForecastingModel,
    table: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def said(*arguments: object) -> str:
        return refusal(capsys, monkeypatch, "forecast", trained.path, *arguments)

    assert "--steps 0: must be from 1 to 10,000" in said(table, "--steps", 0)
    assert "--steps 10001" in said(table, "--steps", 10_001)
    assert "--samples 1:" in said(table, "--samples", 1)
    assert "--samples 1000000: must be from 2 to 500,000" in said(table, "--samples", 10**6, "--steps", 100)
    assert "--seed -1" in said(table, "--seed", -1)
    assert "no such file" in said(tmp_path / "nothing.csv")
    assert "has no column 'close'" in said(write(tmp_path / "open.csv", {"open": wave(50)}))
    assert "has 1 rows; a model needs at least 2" in said(write(tmp_path / "one.csv", {"close": [1.5]}))
    far = write(tmp_path / "far.csv", {"close": [*wave(50)[:-1], 1e90]})
    assert "far.csv, line 51, column 'close': 1e+90 is too far from what the model learned from" in said(far)
    two = write(tmp_path / "two.csv", {"close": wave(50), "open": wave(50)})
    assert "needs 1: close" in said(two, "--columns", "close,open")
    assert "cannot be written" in said(table, "--picture", tmp_path / "nowhere" / "a.png")
    assert "cannot be drawn" in said(table, "--picture", tmp_path / "a.text")
    short = write(tmp_path / "short.csv", {"close": wave(60)})
    assert "has 60 rows; to score forecasts of 24 steps after 40" in refusal(
        capsys, monkeypatch, "evaluate", trained.path, short
    )
    far = write(tmp_path / "far.csv", {"close": [*wave(100), 1e90, *wave(99)]})
    wrong = refusal(capsys, monkeypatch, "evaluate", trained.path, far)
    assert "far.csv, line 102, column 'close': 1e+90 is too far from what the model learned from" in wrong


def test_in_a_process_of_its_own(trained: ForecastingModel, table: Path) -> None:
    assert "--steps 0" in refused("forecast", trained.path, table, "--steps", 0, code=2)

"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from mirada.bundle import need
from mirada.contracts import Loss, StepwiseEncoder
from mirada.errors import BundleError, ConfigError
from mirada.parsing import load_json
from mirada.tasks.forecasting.data import ForecastingData
from mirada.tasks.forecasting.model import ForecastingModel
from mirada.tasks.forecasting.preprocessor import ForecastingPreprocessor, _Series
from mirada.tasks.forecasting.timeline import SeriesConfig
from mirada.tasks.forecasting.windows import Frame
from mirada.tasks.task import Task
from mirada.training.losses import NextNumbersLoss


class ForecastingTask(Task):
    """Forecasting a series of numbers."""

    name = "forecasting"
    verb = "forecast"
    model = ForecastingModel
    default_model = "gru"
    preparation = ForecastingData
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

    def open(self, files: Mapping[str, bytes], where: Path) -> ForecastingPreprocessor:
        need(files, where, "series.json")
        about: _Series = load_json(files["series.json"], _Series, where / "series.json", BundleError)
        try:
            frame = Frame.from_dict(about.model_dump())
        except BundleError as fault:
            raise BundleError(f"{where / 'series.json'}: {fault}") from None
        if len(about.names) != frame.columns:
            raise BundleError(f"{where / 'series.json'}: has {len(about.names)} names for {frame.columns} columns")
        return ForecastingPreprocessor(about.names, frame, about.training)

    def network(self, settings: Any, preprocessor: Any) -> nn.Module:
        """With an output of zeros: until it has learned something, it is the naive forecast."""
        network = super().network(settings, preprocessor)
        assert isinstance(network, StepwiseEncoder)
        assert isinstance(network.output, nn.Linear)
        nn.init.zeros_(network.output.weight)
        nn.init.zeros_(network.output.bias)
        return network

    def loss(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return NextNumbersLoss()


TASK = ForecastingTask()

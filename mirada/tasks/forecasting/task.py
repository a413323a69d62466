"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from mirada.contracts import StepwiseEncoder
from mirada.errors import ConfigError
from mirada.tasks.forecasting.data import ForecastingData, SeriesConfig
from mirada.tasks.forecasting.model import ForecastingModel
from mirada.tasks.task import Task
from mirada.training.losses import NextNumbersLoss


class ForecastingTask(Task):
    """Forecasting a series of numbers."""

    name = "forecasting"
    verb = "forecast"
    model = ForecastingModel
    default_model = "gru"
    preparation = ForecastingData
    loss = staticmethod(lambda smoothing: NextNumbersLoss())
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
    length = ("window", 0)
    inherited = ("columns", "period", "horizon", "window")

    def check(self, built: Mapping[str, Any]) -> None:
        super().check(built)
        if built["train"].label_smoothing and not built["train"].base:
            smoothing = built["train"].label_smoothing
            raise ConfigError(f"train.label_smoothing={smoothing:g}: numbers are forecast, there is no label to smooth")

    def network(self, settings: Any, preprocessor: Any) -> nn.Module:
        """The network, with an output of zeros: untrained, it is the naive forecast."""
        network = super().network(settings, preprocessor)
        assert isinstance(network, StepwiseEncoder)
        assert isinstance(network.output, nn.Linear)
        nn.init.zeros_(network.output.weight)
        nn.init.zeros_(network.output.bias)
        return network


TASK = ForecastingTask()

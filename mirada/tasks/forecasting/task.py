"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import nn

from mirada.bundle import need
from mirada.contracts import Loss, StepwiseEncoder
from mirada.data.quality import Notify
from mirada.errors import BundleError, ConfigError, DataError
from mirada.metrics.forecasting import naive_scale
from mirada.parsing import load_json
from mirada.tasks.forecasting.model import WINDOWS, ForecastingModel, header
from mirada.tasks.forecasting.preprocessor import Seen, _Series
from mirada.tasks.forecasting.timeline import Report, SeriesConfig, Timeline, prepare
from mirada.tasks.forecasting.windows import Frame, Windows
from mirada.tasks.task import DataSummary, Task
from mirada.training.losses import NextNumbersLoss


@dataclass(frozen=True)
class Steps:
    """A series, ready to train on."""

    dev: Timeline
    preprocessor: Seen
    window: int
    about: Report

    def batches(self, tokens: int, seed: int) -> Windows:
        training = self.dev.values[: self.dev.training]
        stride = min(max(1, self.window // 2), max(1, len(training) // WINDOWS))
        return Windows(training, self.preprocessor.frame, self.window, stride, max(1, tokens // self.window), seed)

    def report(self) -> dict[str, Any]:
        return asdict(self.about)

    def summary(self) -> DataSummary:
        r = self.about
        span = f" from {r.begin} to {r.end}, {r.step} apart" if r.begin else ""
        since = f" (the last, since {r.split})" if r.split else " (the last)"
        held = f"{r.dev:,} rows {'held out' if r.held_out else 'of the dev table'}{since}"
        return DataSummary(
            f"{r.rows:,} rows of {', '.join(r.columns)}{span}; {r.training:,} to learn from, {held}", r.notes
        )

    def dev_file(self) -> str:
        return self.dev.dump()


class ForecastingTask(Task):
    """How a series of numbers goes on."""

    name = "forecasting"
    verb = "forecast"
    model = ForecastingModel
    default_model = "gru"
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

    def prepare(
        self, built: Mapping[str, Any], folder: Path, notify: Notify, preprocessor: Seen | None = None
    ) -> Steps:
        data: SeriesConfig = built["data"]
        if preprocessor and preprocessor.frame.period != data.period:
            raise DataError(
                f"data.period={data.period}: the base {built['train'].base} has {preprocessor.frame.period}"
            )
        notify("reading", 0, 0)
        timeline, report = prepare(data, folder, preprocessor.names if preprocessor else ())
        above = header(timeline.names)
        if len(set(above)) < len(above):
            raise DataError(
                f"{data.files[0]}: forecasts of {', '.join(timeline.names)} need names that differ; rename one"
            )
        training = timeline.values[: timeline.training]
        naive_scale(training, data.period, timeline.names)  # MASE needs it at the end: better to know now
        frame = preprocessor.frame if preprocessor else Frame.fit(training, data.period)
        return Steps(timeline, Seen(timeline.names, frame, timeline.training), data.window, report)

    def open(self, files: Mapping[str, bytes], where: Path) -> Seen:
        need(files, where, "series.json")
        about: _Series = load_json(files["series.json"], _Series, where / "series.json", BundleError)
        try:
            frame = Frame.from_dict(about.model_dump())
        except BundleError as fault:
            raise BundleError(f"{where / 'series.json'}: {fault}") from None
        if len(about.names) != frame.columns:
            raise BundleError(f"{where / 'series.json'}: has {len(about.names)} names for {frame.columns} columns")
        return Seen(about.names, frame, about.training)

    def read_dev(self, text: str) -> Timeline:
        return Timeline.load(text)

    def network(self, settings: Any, preprocessor: Any) -> nn.Module:
        """With an output of zeros: until it has learned something, it is the naive forecast."""
        network = super().network(settings, preprocessor)
        assert isinstance(network, StepwiseEncoder)
        assert isinstance(network.output, nn.Linear)
        nn.init.zeros_(network.output.weight)
        nn.init.zeros_(network.output.bias)
        return network

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return NextNumbersLoss()

    report = Report


TASK = ForecastingTask()

"""A series of numbers over time: how it is prepared and checked.

<folder>/series.jsonl   the whole series: a line that says what it is, then a line a step
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TextIO

from mirada.data.folder import LARGE_FILE, finish
from mirada.data.preparation import Preparation, Prepared
from mirada.data.quality import REFUSES, Finding, Notify, QualityReport
from mirada.errors import DataError
from mirada.files import read_bytes, write_text
from mirada.metrics.forecasting import naive_scale
from mirada.tasks.forecasting.model import WINDOWS, header
from mirada.tasks.forecasting.preprocessor import ForecastingPreprocessor
from mirada.tasks.forecasting.timeline import Report, SeriesConfig, Timeline, split
from mirada.tasks.forecasting.windows import Frame, Windows


class ForecastingData(Preparation[Timeline]):
    """A table of numbers, a row a step; it is small enough to be read as a whole."""

    noun = "row"
    report_type = Report
    data: SeriesConfig

    def read(self) -> tuple[Timeline, Report]:
        """The series, split by time; refused if nothing can be learned from it."""
        data, base = self.data, self.base
        if base and base.frame.period != data.period:
            raise DataError(f"data.period={data.period}: the base {self.built['train'].base} has {base.frame.period}")
        timeline, report = split(data, base.names if base else ())
        above = header(timeline.names)
        if len(set(above)) < len(above):
            raise DataError(
                f"{data.files[0]}: forecasts of {', '.join(timeline.names)} need names that differ; rename one"
            )
        naive_scale(timeline.values[: timeline.training], data.period, timeline.names)  # MASE needs it at the end
        return timeline, report

    def build(self, folder: Path, notify: Notify) -> None:
        notify("reading", 0, 0)
        timeline, report = self.read()
        write_text(folder / "series.jsonl", timeline.dump())
        finish(folder, report)

    def examine(self, notify: Notify, excluded: TextIO | None, test: Any = ()) -> QualityReport:
        found = QualityReport(self.nouns)
        try:
            _, report = self.read()
        except DataError as fault:
            found.findings.append(Finding("refused", str(fault), REFUSES, count=1))
            return found
        found.read, found.notes = report.rows, report.notes
        found.files = [(file, "a table of numbers", report.rows) for file in self.data.files]
        found.figures = {"columns": report.columns, "begin": report.begin, "end": report.end, "step": report.step}
        span = f" from {report.begin} to {report.end}, {report.step} apart" if report.begin else ""
        found.lines.append(f"columns {', '.join(report.columns)}{span}; {report.dev:,} rows for evaluation")
        return found

    def read_preprocessor(self, folder: Path) -> Any:
        path = folder / "series.jsonl"
        self._timeline = Timeline.load(read_bytes(path, DataError, LARGE_FILE).decode("utf-8", "replace"), path)
        training = self._timeline.values[: self._timeline.training]
        frame = self.base.frame if self.base else Frame.fit(training, self.data.period)
        return ForecastingPreprocessor(self._timeline.names, frame, self._timeline.training)

    def read_dev(self, folder: Path, preprocessor: ForecastingPreprocessor) -> Timeline:
        return self._timeline

    def open_store(self, folder: Path, preprocessor: ForecastingPreprocessor) -> Any:
        return self._timeline.values[: self._timeline.training]

    @staticmethod
    def dump(dev: Timeline) -> str:
        return dev.dump()

    @classmethod
    def load(cls, text: str) -> Timeline:
        return Timeline.load(text)

    def batches(self, prepared: Prepared, tokens: int, seed: int) -> Windows:
        training, window = prepared.store, self.data.window
        stride = min(max(1, window // 2), max(1, len(training) // WINDOWS))
        return Windows(training, prepared.preprocessor.frame, window, stride, max(1, tokens // window), seed)

    def summary(self, prepared: Prepared) -> str:
        r = prepared.about
        span = f" from {r.begin} to {r.end}, {r.step} apart" if r.begin else ""
        since = f" (the last, since {r.split})" if r.split else " (the last)"
        held = f"{r.dev:,} rows {'held out' if r.held_out else 'of the dev table'}{since}"
        return f"{r.rows:,} rows of {', '.join(r.columns)}{span}; {r.training:,} to learn from, {held}"

"""The log of a run as JSONL, and its training curves as an image."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mirada.errors import TrainingError
from mirada.files import check_writable, read_bytes
from mirada.parsing import Malformed, check, parse_json
from mirada.training.loop import Event

LOG_SECONDS = 2.0
"""The shortest time between two logged steps."""


class Log:
    """Appends events to a JSONL file; a resumed run continues the same file."""

    def __init__(self, path: Path):
        check_writable(path, TrainingError)
        self.path = path
        self._next = 0.0
        self._tokens = self._steps = 0
        self._loss = 0.0

    def __call__(self, event: Event) -> None:
        figures = dict(event.figures)
        if event.kind == "step":
            self._tokens += figures["tokens"]
            self._loss += figures["loss"]
            self._steps += 1
            if figures["seconds"] < self._next:
                return
            figures |= {"tokens": self._tokens, "loss": self._loss / self._steps}
            self._tokens = self._steps = 0
            self._loss = 0.0
            self._next = figures["seconds"] + LOG_SECONDS
        line = json.dumps({"kind": event.kind, **figures}, ensure_ascii=False)
        with open(self.path, "a", encoding="utf-8") as out:
            out.write(line + "\n")


def read_log(path: Path) -> list[dict[str, Any]]:
    """The events of a log; invalid lines, such as a last one cut short by a kill, are ignored."""
    events = []
    for line in read_bytes(path, TrainingError, LARGEST_LOG).decode("utf-8", "replace").split("\n"):
        try:
            event: dict[str, Any] = check(dict[str, Any], parse_json(line))
            check(_SHAPES.get(str(event.get("kind")), _Event), event)
            events.append(event)
        except Malformed:
            continue
    return events


class _Event(BaseModel):
    kind: str


class _Step(_Event):
    step: int
    loss: float
    rate: float
    tokens: int
    seconds: float


class _Validation(_Event):
    step: int
    score: float
    best: bool
    measure: str


_SHAPES: dict[str, type[_Event]] = {"step": _Step, "validation": _Validation}
LARGEST_LOG = 512 * 2**20


def draw_curves(events: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw loss, learning rate and dev scores by step and by time, as a PNG."""
    from matplotlib.figure import Figure

    steps = _with_numbers(events, "step", "step", "seconds", "loss", "rate")
    validations = _with_numbers(events, "validation", "step", "seconds", "score")
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_loss(left, steps, validations)
    _draw_scores(right, validations, [event for event in events if event["kind"] == "end"])
    for axes in (left, right):
        axes.set_xlabel("step")
        axes.spines[["top", "right"]].set_visible(False)
        for event in _with_numbers(events, "resumed", "step"):
            axes.axvline(event["step"], color="0.6", lw=0.8, ls=":")
            axes.annotate("resumed", (event["step"], 1), xycoords=("data", "axes fraction"), fontsize=7, color="0.4")
        _add_time(axes, steps)
    figure.savefig(path, dpi=110)


def _with_numbers(events: Sequence[dict[str, Any]], kind: str, *names: str) -> list[dict[str, Any]]:
    """The events of a kind whose named figures are finite numbers, since a log may be damaged."""
    return [
        event
        for event in events
        if event["kind"] == kind
        and all(isinstance(event.get(name), (int, float)) and math.isfinite(event[name]) for name in names)
    ]


def _draw_loss(axes: Any, steps: Sequence[dict[str, Any]], validations: Sequence[dict[str, Any]]) -> None:
    x, losses = [event["step"] for event in steps], [event["loss"] for event in steps]
    axes.plot(x, losses, color="tab:blue", lw=0.6, alpha=0.3)
    axes.plot(x, _smoothed(losses), color="tab:blue", lw=1.5, label="training (smoothed)")
    measured = _with_numbers(validations, "validation", "loss")
    if measured:
        axes.plot(*_points(measured, "loss"), "o-", color="tab:orange", ms=3, lw=1, label="dev")
    axes.set(ylabel="loss per token", title="Loss")
    rate = axes.twinx()
    rate.plot(*_points(steps, "rate"), color="0.75", lw=1)
    rate.set_ylabel("learning rate (grey)", color="0.5")
    rate.yaxis.set_major_formatter("{x:g}")
    rate.spines[["top"]].set_visible(False)
    axes.legend(loc="upper right", frameon=False)


def _draw_scores(axes: Any, validations: Sequence[dict[str, Any]], ends: Sequence[dict[str, Any]]) -> None:
    measure = validations[-1].get("measure", "score") if validations else "score"
    axes.plot(*_points(validations, "score"), "o-", color="tab:green", ms=3, lw=1)
    title = f"{measure} on a sample of the dev set while training"
    best = [event for event in validations if event.get("best")]
    if best:
        x, y = best[-1]["step"], best[-1]["score"]
        axes.plot([x], [y], "o", ms=9, mfc="none", mec="tab:green")
        title += f"\nbest at step {x:,} (circled): {y:.4g}; the bundle has these weights"
    if ends and isinstance(ends[-1].get("summary"), str):
        title += f"\nfinal: {ends[-1]['summary']}"
    axes.set_ylabel(str(measure))
    axes.set_title(title, fontsize=9)


def _points(events: Sequence[dict[str, Any]], name: str) -> tuple[list[float], list[float]]:
    return [event["step"] for event in events], [event[name] for event in events]


def _smoothed(values: Sequence[float]) -> list[float]:
    """A moving average over a fiftieth of the values to each side."""
    reach = max(1, len(values) // 50)
    windows = (values[max(0, number - reach) : number + reach + 1] for number in range(len(values)))
    return [sum(window) / len(window) for window in windows]


def _add_time(axes: Any, steps: Sequence[dict[str, Any]]) -> None:
    """Add an axis in minutes at the top."""
    import numpy as np

    x = np.maximum.accumulate([0.0, *(event["step"] for event in steps)])
    minutes = np.maximum.accumulate([0.0, *(event["seconds"] / 60 for event in steps)])
    if minutes[-1] <= 0:
        return
    # Beyond what was measured, at the mean pace: an axis needs a mapping that never stands still.
    far = 1e3
    x, minutes = (np.concatenate([[-far * v[-1]], v, [far * v[-1]]]) for v in (x, minutes))
    top = axes.secondary_xaxis(
        "top", functions=(lambda s: np.interp(s, x, minutes), lambda m: np.interp(m, minutes, x))
    )
    top.set_xlabel("minutes", fontsize=8)
    top.tick_params(labelsize=7)

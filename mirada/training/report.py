"""What a run leaves to read: a JSONL log, and its curves as a picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mirada.errors import TrainingError
from mirada.files import check_writable, read_bytes
from mirada.parsing import Malformed, check, parse_json
from mirada.training.loop import Event

LOG_SECONDS = 2.0
"""Steps are logged at most this often."""


class Log:
    """Appends events to a JSONL file; a run that is resumed goes on in the same file."""

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
    """The events of a log; lines that are none, such as a last one that a kill cut short, are passed over."""
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
    """Loss and rate by step, and the dev scores, as a PNG."""
    from matplotlib.figure import Figure

    steps = [event for event in events if event["kind"] == "step"]
    validations = [event for event in events if event["kind"] == "validation"]
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    loss, score = figure.subplots(1, 2)
    loss.plot([e["step"] for e in steps], [e["loss"] for e in steps], color="tab:blue", lw=1, label="training loss")
    if validations and "loss" in validations[0]:
        x = [e["step"] for e in validations]
        loss.plot(x, [e["loss"] for e in validations], "o-", color="tab:orange", ms=3, label="dev loss")
    loss.set(xlabel="step", ylabel="loss a token", title="Loss")
    loss.legend(loc="upper right", frameon=False)
    rate = loss.twinx()
    rate.plot([e["step"] for e in steps], [e["rate"] for e in steps], color="0.8", lw=1)
    rate.set(ylabel="learning rate (grey)")
    rate.ticklabel_format(axis="y", style="sci", scilimits=(-3, -3))
    score.plot([e["step"] for e in validations], [e["score"] for e in validations], "o-", color="tab:green", ms=3)
    best = [e for e in validations if e["best"]]
    if best:
        score.annotate(f"{best[-1]['score']:.4g}", (best[-1]["step"], best[-1]["score"]), ha="right", va="bottom")
    measure = validations[-1]["measure"] if validations else "score"
    score.set(xlabel="step", ylabel=measure, title="Score on the dev part")
    for axes in (loss, score):
        axes.spines[["top", "right"]].set_visible(False)
    rate.spines[["top"]].set_visible(False)
    figure.savefig(path, dpi=110)

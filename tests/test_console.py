"""What a person sees without a terminal: plain lines."""

from __future__ import annotations

import io

from mirada.console import Console, duration
from mirada.training.loop import Event


def test_durations() -> None:
    assert [duration(s) for s in (3.4, 62, 3599, 7500)] == ["3 s", "1 min 02 s", "59 min 59 s", "2 h 05 min"]


def test_plain_lines() -> None:
    out = io.StringIO()
    figures = {"step": 3, "epoch": 0.5, "loss": 2.0, "rate": 0.1, "norm": 1.0, "tokens": 100, "seconds": 10.0}
    figures["afterwards"] = 5.0
    with Console(out) as console:
        console(Event("note", {"text": "[red]not markup[/red]"}))
        console(Event("step", {**figures, "spent": 0.25}))
        console(Event("step", {**figures, "spent": 0.50, "seconds": 20.0}))
        console._next_line = 0
        console(Event("step", {**figures, "spent": 0.75, "seconds": 30.0}))
    lines = out.getvalue().splitlines()
    assert lines[0] == "[red]not markup[/red]"
    assert "75%, 15 s left" in lines[-1]
    assert "\x1b" not in out.getvalue()

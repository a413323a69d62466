"""Prints the progress of a training: a live line on a terminal, plain lines elsewhere and in notebooks."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from mirada.training.loop import Event, Listener

PLAIN_SECONDS = 15.0
"""Seconds between lines of progress where there is no terminal."""


def default_listener() -> Listener:
    """The listener of a run that is given none: a console in a notebook, elsewhere one that ignores all events."""
    return Console(sys.stdout) if "ipykernel" in sys.modules else lambda event: None


def duration(seconds: float) -> str:
    """Seconds as 42 s, 3 min 20 s, 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def figure(value: float) -> str:
    """A score with a sensible number of decimals: 42.1, 0.873."""
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


class Console:
    """A listener that prints events. As a context manager it shows a live line on a terminal."""

    def __init__(self, out: TextIO | None = None, verbosity: int = 0):
        self.out = out or sys.stderr
        self.verbosity = verbosity  # below 0 only the result is printed
        self._live: Any = None
        self._next_line = 0.0
        self._began: tuple[float, float] | None = None  # seconds and share of the budget at the first step seen
        self._recent: list[tuple[float, int, float]] = []  # seconds, tokens and loss of the last steps

    def __enter__(self) -> Console:
        if self.out.isatty():
            from rich.console import Console as RichConsole
            from rich.live import Live

            self._live = Live(console=RichConsole(file=self.out), refresh_per_second=4, transient=True)
            self._live.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.__exit__(*error)
            self._live = None

    def line(self, text: str) -> None:
        """Print a line."""
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=self.out, flush=True)

    def passing(self, text: str) -> None:
        """Show a line that the next one replaces; without a terminal, print some of them."""
        if self._live is not None:
            self._live.update(text)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + PLAIN_SECONDS
            print(text, file=self.out, flush=True)

    def __call__(self, event: Event) -> None:
        if self.verbosity >= 0 or event.kind == "end":
            getattr(self, f"_{event.kind}")(event.figures)

    def _preparing(self, f: dict[str, Any]) -> None:
        self.preparing(f["what"], f["done"], f["total"])

    def preparing(self, what: str, done: int, total: int) -> None:
        """Show the progress of preparing the data."""
        if self.verbosity < 0:
            return
        share = f" {done:,} of {total:,}" if total else f" {done:,}" if done else ""
        self.passing(f"{what}{share} …")

    def _data(self, f: dict[str, Any]) -> None:
        summary = f["summary"]
        self.line(summary["summary"])
        for note in summary["notes"]:
            self.line(f"    {note}")
        command = summary["command"]
        headings = {
            "excluded": "left out (listed in excluded.tsv"
            + f"; `{command}` shows how to change this" * bool(command)
            + "):",
            "doubts": "kept, but worth a look" + f" (`{command}` shows where)" * bool(command) + ":",
        }
        for kind, heading in headings.items():
            if summary[kind]:
                self.line(heading)
                for reason, count in summary[kind].items():
                    self.line(f"{count:>9,}  {reason}")

    def _estimate(self, f: dict[str, Any]) -> None:
        self._recent, self._began = [], None  # another training begins
        self.line(
            f"estimate: {f['parameters'] / 1e6:.1f} M parameters, {f['tokens_per_second']:,.0f} tokens/s, "
            f"{duration(f['epoch_seconds'])} per epoch ({f['steps_per_epoch']:,} steps), "
            f"{f['memory'] / 2**30:.1f} GiB of memory, {f['padding']:.1%} padding"
        )

    def _step(self, f: dict[str, Any]) -> None:
        self._recent = [*self._recent[-49:], (f["seconds"], f["tokens"], f["loss"])]
        if self._began is None:
            self._began = f["seconds"], f["spent"]
        span = f["seconds"] - self._recent[0][0]
        speed = sum(tokens for _, tokens, _ in self._recent[1:]) / span if span > 0 else 0.0
        loss = sum(loss for _, _, loss in self._recent) / len(self._recent)
        left = ""
        done = f["spent"] - self._began[1]
        if done > 0:
            remaining = (f["seconds"] - self._began[0]) / done * (1 - f["spent"]) + f["afterwards"]
            left = f"{f['spent']:4.0%}, {duration(remaining)} left | "
        self.passing(f"{left}step {f['step']:,} epoch {f['epoch']:.2f} | loss {loss:.3f} | {speed:,.0f} tokens/s")

    def _validation(self, f: dict[str, Any]) -> None:
        figures = {f["measure"]: f["score"], **{name: f[name] for name in ("BLEU", "loss") if name in f}}
        shown = ", ".join(f"{name} {figure(value)}" for name, value in figures.items())
        remark = " (best so far)" if f["best"] else ""
        if f["patience"] and f["waited"]:
            remark = f" (no improvement for {f['waited']:,} steps; stops after {f['patience']:,})"
        self.line(f"{duration(f['seconds'])}, step {f['step']:,}: dev {shown}{remark}")
        if f["example"]:
            source, output, reference = f["example"]
            self.line(f"    {source}\n    → {output}\n    = {reference}")

    def _resumed(self, f: dict[str, Any]) -> None:
        self.line(f"resumed at step {f['step']:,}, after {duration(f['seconds'])}")

    def _timing(self, f: dict[str, Any]) -> None:
        """Print how long a phase took, if --verbose."""
        if self.verbosity > 0:
            self.line(f"{f['seconds']:>9,.1f} s  {f['phase']}")

    def _note(self, f: dict[str, Any]) -> None:
        self.line(f["text"])

    def _end(self, f: dict[str, Any]) -> None:
        self.line(f"done in {duration(f['seconds'])}: {f['summary']} of the dev set")
        for note in f["scores"]["notes"]:
            self.line(f"    {note}")
        if f.get("base"):
            before, after = f["base"]["before"], f["base"]["after"]
            name = next(iter(after["new"]))
            self.line(f"{name:<15} before after")
            for part, title in (("new", "new dev set"), ("old", "base's dev set")):
                if part in before:
                    self.line(f"{title:<15}{before[part][name]:>7.1f}{after[part][name]:>6.1f}")

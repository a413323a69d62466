"""The charts of a report as inline SVG, in the page's own fonts and colours, light or dark.

matplotlib writes fixed colours, so each is drawn in a stand-in that is then replaced by the page's (`var(--ink)`).
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = 8
"""Model colours that the page defines: --s0, --s1, …; a ninth model reuses the first, with another marker."""
MARKERS = "os^Dv*Xph"
DASHES = ("--", ":", "-.")
"""The lines of baselines."""
MAX_LABEL = 14
"""The most characters of a token beside a heat map."""
HEAT = (0.17, 0.52, 0.80)
"""A blue that shows on white and on black."""

INK, FAINT, PAPER = "#0a0b0c", "#0d0e0f", "#0f0e0d"
STAND_INS = {INK: "var(--ink)", FAINT: "var(--line)", PAPER: "var(--paper)"}
STAND_INS |= {f"#a1b2{number:02x}": f"var(--s{number})" for number in range(COLOURS)}
_STYLE: Any = {
    "svg.hashsalt": "mirada",  # the same chart has the same ids
    "text.parse_math": False,  # a dollar sign is a dollar sign
    "svg.fonttype": "none",  # text stays text: the reader's fonts, also for scripts that ours lack
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
}
_LEGEND: Any = {"loc": "outside lower center", "frameon": False, "fontsize": 9.5}


@dataclass(frozen=True)
class Line:
    """One line of a chart: a model's, or a baseline's if it has no number."""

    name: str
    points: Sequence[tuple[float, float]]
    number: int | None = None
    hollow: frozenset[float] = frozenset()
    """The values of x whose markers are hollow."""


def colour(number: int) -> str:
    """The colour to draw a model in."""
    return f"#a1b2{number % COLOURS:02x}"


def bars(
    names: Sequence[str], values: Sequence[float], written: Sequence[str], across: Mapping[str, float], label: str
) -> str:
    """A bar per model, and dashed lines across them for the baselines."""
    with canvas(5.2, 0.55 + 0.36 * len(names) + (0.25 if across else 0.0)) as (figure, axes):
        drawn = axes.barh(range(len(names)), values, color=[colour(i) for i in range(len(names))], height=0.62)
        axes.bar_label(drawn, written, padding=4)
        for (name, value), dashes in zip(across.items(), cycle(DASHES), strict=False):
            axes.axvline(value, color=INK, lw=1.2, ls=dashes, label=printable(name))
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.12 * (max(*values, *across.values(), 0.0) or 1.0))
        axes.set_xlabel(label)
        axes.tick_params(axis="y", length=0)
        open_frame(axes, "x")
        if across:
            figure.legend(**_LEGEND, ncols=3)
        listed = ", ".join(f"{name} {value}" for name, value in zip(names, written, strict=True))
        return svg(figure, "scores", f"Bar chart of {label} by model: {listed}")


def line_chart(
    id: str,
    lines: Sequence[Line],
    x: str,
    y: str,
    *,
    ticks: Mapping[float, str] | None = None,
    log: bool = False,
    zero: bool = True,
    markers: bool = True,
) -> str:
    """A line per model over `x`, dashed ones for baselines. `ticks` label places of x; `zero` starts y there."""
    with canvas(5.2, 3.4 + 0.13 * len(lines)) as (figure, axes):
        baselines = cycle(DASHES)
        for line in lines:
            places, values = zip(*line.points, strict=True)
            number, label = line.number, printable(line.name)
            if number is None:
                axes.plot(places, values, color=INK, lw=1.2, ls=next(baselines), label=label)
                continue
            look: dict[str, Any] = {"color": colour(number), "ms": 6}
            look |= {"marker": MARKERS[(number + number // COLOURS) % len(MARKERS)]} if markers else {}
            axes.plot(places, values, lw=1.8, label=label, **look)
            for point in line.points:
                if point[0] in line.hollow:
                    axes.plot(*point, **look, mfc=PAPER)
        if log:
            axes.set_xscale("log")
        if ticks:
            axes.set_xticks([*ticks], [*ticks.values()])
            axes.set_xticks([], minor=True)
            axes.margins(x=0.06)
        if zero:
            axes.set_ylim(bottom=0)
        axes.set(xlabel=x, ylabel=y)
        axes.yaxis.set_major_formatter(
            lambda value, position: f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
        )
        open_frame(axes, "y")
        figure.legend(**_LEGEND, ncols=2)
        return svg(figure, id, f"Line chart of {y} by {x}: {', '.join(line.name for line in lines)}")


def heat_map(id: str, rows: Sequence[str], columns: Sequence[str], weights: Sequence[Sequence[float]], alt: str) -> str:
    """A cell per weight, bluer for more; the strongest blue is the largest weight."""
    values = np.asarray(weights)
    with canvas(max(2.6, 0.25 * len(columns) + 1.2), max(2.2, 0.25 * len(rows) + 1.1)) as (figure, axes):
        image = np.empty((*values.shape, 4))
        image[..., :3], image[..., 3] = HEAT, values / max(values.max(), 1e-9)
        axes.imshow(image, interpolation="nearest", aspect="auto")
        axes.set_xticks(range(len(columns)), [_token(text) for text in columns], rotation=90, fontsize=9)
        axes.set_yticks(range(len(rows)), [_token(text) for text in rows], fontsize=9)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_color(FAINT)
        return svg(figure, id, alt)


def _token(text: str) -> str:
    """A token as a label: its leading space visible, and not too long."""
    label = printable(text).replace(" ", "▁")
    return label if len(label) <= MAX_LABEL else label[: MAX_LABEL - 1] + "…"


def printable(text: str) -> str:
    """The text without what no page may hold: control characters and halves of surrogate pairs."""
    return re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)


# ── how they are drawn ────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def canvas(width: float, height: float) -> Iterator[tuple[Figure, Axes]]:
    """An empty chart of that size in inches, to draw on and end with `svg`."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots()


def open_frame(axes: Axes, grid: Literal["x", "y"]) -> None:
    """Grid lines across one axis instead of a frame."""
    axes.spines[["top", "right", "left" if grid == "y" else "bottom"]].set_visible(False)
    axes.grid(axis=grid, lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis=grid, length=0)


def svg(figure: Figure, id: str, alt: str) -> str:
    """The chart as an element of the page: no fixed size, no outside addresses, ids of its own, a text for all."""
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's machine draws the text, and may have it
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    drawn = out.getvalue()
    drawn = drawn[drawn.index("<svg") :].strip()
    drawn = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", drawn, flags=re.DOTALL)
    box = re.search(r'viewBox="([^"]*)"', drawn)
    assert box is not None, "matplotlib gives every image a viewBox"
    width = round(float(box[1].split()[2]) * 4 / 3)
    label = escape(printable(alt))
    head = f'<svg class="chart" style="max-width: {width}px" viewBox="{box[1]}" role="img" aria-label="{label}">'
    drawn = head + drawn[drawn.index(">") + 1 :]
    drawn = re.sub(r'\bid="([^"]*)"', rf'id="{id}-\1"', drawn)
    drawn = re.sub(r'(?:xlink:)?href="#([^"]*)"', rf'href="#{id}-\1"', drawn).replace("xlink:href=", "href=")
    drawn = re.sub(r"url\(#([^)]*)\)", rf"url(#{id}-\1)", drawn)
    for stand_in, own in STAND_INS.items():
        drawn = drawn.replace(stand_in, own)
    return drawn

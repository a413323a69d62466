"""The report's charts, as SVG to stand inside the page: its fonts and colours, light or dark, come from there.

matplotlib writes fixed colours, so each is drawn in a stand-in that is then replaced by the page's own (`var(--ink)`).
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mirada.compare.results import Baseline, Course, Look, ModelResult, Outlook

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = 8
"""Series colours that the page defines: --s0, --s1, …; a ninth model begins again, with another mark."""
MARKS = "os^Dv*Xph"
DASHES = ("--", ":", "-.")
"""Of the lines of what needs no learning."""
FEW = 10
"""Examples below which a score is more chance than finding: shown hollow."""
LONGEST_LABEL = 14
"""Characters of a token beside an image of attention."""
HEAT = (0.17, 0.52, 0.80)
"""Of attention: a blue that shows on white and on black."""

_INK, _FAINT, _PAPER = "#0a0b0c", "#0d0e0f", "#0f0e0d"
_STAND_INS = {_INK: "var(--ink)", _FAINT: "var(--line)", _PAPER: "var(--paper)"}
_STAND_INS |= {f"#a1b2{number:02x}": f"var(--s{number})" for number in range(COLOURS)}
_STYLE: Any = {
    "svg.hashsalt": "mirada",  # the same image has the same ids
    "text.parse_math": False,  # a dollar sign is a dollar sign
    "svg.fonttype": "none",  # text stays text: the reader's fonts, also for scripts that ours have not
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _FAINT,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
}


def colour(number: int) -> str:
    """The page's colour of the model with that number."""
    return f"var(--s{number % COLOURS})"


def _stand_in(number: int) -> str:
    return f"#a1b2{number % COLOURS:02x}"


def quality(entrants: Sequence[ModelResult], baselines: Sequence[Baseline] = ()) -> str:
    """The score that matters most of every model, as bars; of what needs no learning, as lines across them."""
    headline = entrants[0].headline
    with _style():
        simple = {b.name: b.scores[headline.name] for b in baselines if headline.name in b.scores}
        figure = _figure(5.2, 0.55 + 0.36 * len(entrants) + (0.25 if simple else 0.0))
        axes: Axes = figure.subplots()
        scores = [entrant.score() for entrant in entrants]
        written = [f"{score:,.{headline.digits}f}" for score in scores]
        bars = axes.barh(range(len(entrants)), scores, color=[_stand_in(i) for i in range(len(entrants))], height=0.62)
        axes.bar_label(bars, written, padding=4)
        for number, value in enumerate(simple.values()):
            axes.axvline(value, color=_INK, lw=1.2, ls=DASHES[number % len(DASHES)])
        axes.set_yticks(range(len(entrants)), [entrant.name for entrant in entrants])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.12 * (max(*scores, *simple.values(), 0.0) or 1.0))
        axes.set_xlabel(f"{headline.name} on the dev set")
        axes.tick_params(axis="y", length=0)
        _plain(axes, "x")
        if simple:
            _legend(figure, [], list(simple), columns=3)
        named = [entrant.name for entrant in entrants] + list(simple)
        values = written + [f"{value:,.{headline.digits}f}" for value in simple.values()]
        listed = ", ".join(f"{name} {value}" for name, value in zip(named, values, strict=True))
        return _svg(figure, "quality", f"Bar chart of {headline.name} by model: {listed}")


def quality_by_length(entrants: Sequence[ModelResult], read: str, counted: str) -> str:
    """The score that matters most of every model by the length of what it read, and what that is counted in."""
    rows, name = entrants[0].by_length, entrants[0].headline.name
    with _style():
        figure = _figure(5.2, 3.5 + 0.13 * len(entrants))
        axes: Axes = figure.subplots()
        for number, entrant in enumerate(entrants):
            axes.plot([row.value for row in entrant.by_length], color=_stand_in(number), lw=1.8)
            for x, row in enumerate(entrant.by_length):
                axes.plot(x, row.value, **_mark(number, hollow=row.count < FEW))
        axes.set_xticks(range(len(rows)), [f"{row.name}\n({row.count:,})" for row in rows])
        axes.set_xlim(-0.3, len(rows) - 0.7)
        axes.set_ylim(bottom=0)
        axes.set(xlabel=counted, ylabel=name)
        _plain(axes, "y")
        _legend(figure, entrants)
        alt = f"Line chart of {name} by {read} length, a line a model; the table has its figures"
        return _svg(figure, "by-length", alt)


def speed_by_length(entrants: Sequence[ModelResult], token: str, sequence: str) -> str:
    """Tokens a second of every model by the length of the sequences."""
    with _style():
        figure = _figure(5.2, 3.4 + 0.13 * len(entrants))
        axes: Axes = figure.subplots()
        for number, entrant in enumerate(entrants):
            speeds = entrant.speed_by_length
            axes.plot([*speeds], [*speeds.values()], color=_stand_in(number), lw=1.8, **_mark(number))
        lengths = sorted({length for entrant in entrants for length in entrant.speed_by_length})
        axes.set_xscale("log")
        axes.set_xticks(lengths, [str(length) for length in lengths])
        axes.set_xticks([], minor=True)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(lambda value, position: f"{value:,.0f}")
        axes.set(xlabel=f"{token}s in each {sequence}", ylabel=f"{token}s a second")
        _plain(axes, "y")
        _legend(figure, entrants)
        alt = f"Line chart of {token}s a second by {sequence} length, a line a model; the table has its figures"
        return _svg(figure, "speed", alt)


def by_horizon(entrants: Sequence[ModelResult], baselines: Sequence[Baseline]) -> str:
    """The mean absolute error of every model and of every simple forecast, by steps ahead."""
    with _style():
        figure = _figure(5.2, 3.5 + 0.13 * (len(entrants) + len(baselines)))
        axes: Axes = figure.subplots()
        for number, entrant in enumerate(entrants):
            errors = entrant.by_horizon
            axes.plot([*errors], [*errors.values()], color=_stand_in(number), lw=1.8, **_mark(number))
        simple = [baseline for baseline in baselines if baseline.by_horizon]
        for number, baseline in enumerate(simple):
            dashes = DASHES[number % len(DASHES)]
            axes.plot([*baseline.by_horizon], [*baseline.by_horizon.values()], color=_INK, lw=1.2, ls=dashes)
        axes.set_ylim(bottom=0)
        axes.set(xlabel="steps ahead", ylabel="mean absolute error")
        axes.locator_params(axis="x", integer=True)
        _plain(axes, "y")
        _legend(figure, entrants, [baseline.name for baseline in simple])
        alt = "Line chart of the mean absolute error by steps ahead, a line a model and a dashed one a simple forecast"
        return _svg(figure, "horizon", f"{alt}; the table has its figures")


def span(entrants: Sequence[ModelResult], outlook: Outlook) -> tuple[float, float]:
    """The lowest and the highest value of all forecasts, so that their images have one scale."""
    courses = [entrant.forecast for entrant in entrants if entrant.forecast is not None]
    values = [*outlook.history, *outlook.truth, *(value for course in courses for value in course.values)]
    values += [bound for course in courses for range_ in course.ranges.values() for side in range_ for bound in side]
    margin = 0.04 * (max(values) - min(values) or 1.0)
    return min(values) - margin, max(values) + margin


def forecast(course: Course, outlook: Outlook, name: str, number: int, limits: tuple[float, float]) -> str:
    """What was known, what a model expected and in which ranges, and what came."""
    known, ahead = len(outlook.history), len(outlook.truth)
    x = range(known - 1, known + ahead)  # from the last known value on, so that the lines begin there
    last = outlook.history[-1]
    with _style():
        figure = _figure(4.6, 2.9)
        axes: Axes = figure.subplots()
        for place, (low, high) in enumerate(course.ranges[percent] for percent in sorted(course.ranges, reverse=True)):
            axes.fill_between(x, [last, *low], [last, *high], color=_stand_in(number), alpha=0.14 + 0.14 * place, lw=0)
        axes.plot(range(known), outlook.history, color=_INK, lw=1.1)
        axes.plot(x, [last, *outlook.truth], color=_INK, lw=1.1, ls="--")
        axes.plot(x, [last, *course.values], color=_stand_in(number), lw=2)
        axes.axvline(known - 1, color=_FAINT, lw=0.8, zorder=0)
        ticks = [0, known - 1] if known > 1 else [0]
        axes.set_xticks(ticks, [printable(outlook.labels[tick]) for tick in ticks])
        axes.get_xticklabels()[0].set_horizontalalignment("left")
        axes.set_ylim(*limits)
        _plain(axes, "y")
        percents = " and ".join(f"{percent}%" for percent in sorted(course.ranges))
        alt = f"Forecast of {name}: history, expected values with ranges of {percents}, and what came (dashed)"
        return _svg(figure, f"forecast-{number}", alt)


def attention(look: Look, name: str, number: int) -> str:
    """Where each target token looked: a row a target token, a column a source token, bluer is more."""
    weights = np.asarray(look.weights)
    rows, columns = weights.shape
    with _style():
        figure = _figure(max(2.6, 0.25 * columns + 1.2), max(2.2, 0.25 * rows + 1.1))
        axes: Axes = figure.subplots()
        image = np.empty((rows, columns, 4))
        image[..., :3], image[..., 3] = HEAT, weights / max(weights.max(), 1e-9)
        axes.imshow(image, interpolation="nearest", aspect="auto")
        axes.set_xticks(range(columns), [_token(t) for t in look.source], rotation=90, fontsize=9)
        axes.set_yticks(range(rows), [_token(t) for t in look.target], fontsize=9)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_color(_FAINT)
        strongest = ", ".join(
            f"{look.target[row].strip()}: {look.source[int(weights[row].argmax())].strip()}" for row in range(rows)
        )
        alt = f"Attention of {name}, the source token that each target token looked at most: {strongest}"
        return _svg(figure, f"attention-{number}", alt)


def _token(text: str) -> str:
    """A token as a label: its leading space as a low line, and not too long."""
    label = printable(text).replace(" ", "▁")
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"


def printable(text: str) -> str:
    """The text without what no page may hold: control characters and halves of surrogate pairs."""
    return re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)


# ── how they are drawn ────────────────────────────────────────────────────────────────────────────────────────────────


def _style() -> Any:
    from matplotlib import rc_context

    return rc_context(_STYLE)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _plain(axes: Axes, grid: Literal["x", "y"]) -> None:
    axes.spines[["top", "right", "left" if grid == "y" else "bottom"]].set_visible(False)
    axes.grid(axis=grid, lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis=grid, length=0)


def _mark(number: int, hollow: bool = False) -> dict[str, Any]:
    mark = MARKS[(number + number // COLOURS) % len(MARKS)]
    return {"marker": mark, "ms": 6, "mec": _stand_in(number), "mfc": _PAPER if hollow else _stand_in(number)}


def _legend(figure: Figure, entrants: Sequence[ModelResult], simple: Sequence[str] = (), columns: int = 2) -> None:
    from matplotlib.lines import Line2D

    lines = [
        Line2D([], [], color=_stand_in(number), lw=1.8, label=entrant.name, **_mark(number))
        for number, entrant in enumerate(entrants)
    ]
    lines += [
        Line2D([], [], color=_INK, lw=1.2, ls=DASHES[number % len(DASHES)], label=printable(name))
        for number, name in enumerate(simple)
    ]
    figure.legend(handles=lines, loc="outside lower center", ncols=columns, frameon=False, fontsize=9.5)


def _svg(figure: Figure, name: str, alt: str) -> str:
    """The image as an element of the page: no fixed size, no outside addresses, ids of its own, a text beside it."""
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's machine draws the text, and may have it
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    box = re.search(r'viewBox="([^"]*)"', svg)
    assert box is not None, "matplotlib gives every image a viewBox"
    width = round(float(box[1].split()[2]) * 4 / 3)
    label = escape(printable(alt))
    head = f'<svg class="chart" style="max-width: {width}px" viewBox="{box[1]}" role="img" aria-label="{label}">'
    svg = head + svg[svg.index(">") + 1 :]
    svg = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'(?:xlink:)?href="#([^"]*)"', rf'href="#{name}-\1"', svg).replace("xlink:href=", "href=")
    svg = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", svg)
    for stand_in, own in _STAND_INS.items():
        svg = svg.replace(stand_in, own)
    return svg

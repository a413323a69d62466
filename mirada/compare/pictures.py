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

from mirada.compare.results import Entrant, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = 8
"""Series colours that the page defines: --s0, --s1, …; a ninth model begins again, with another mark."""
MARKS = "os^Dv*Xph"
FEW = 10
"""Sentences below which a score is more chance than finding: shown hollow."""
LONGEST_LABEL = 14
"""Characters of a token beside a picture of attention."""
HEAT = (0.17, 0.52, 0.80)
"""Of attention: a blue that shows on white and on black."""

_INK, _FAINT, _PAPER = "#0a0b0c", "#0d0e0f", "#0f0e0d"
_STAND_INS = {_INK: "var(--ink)", _FAINT: "var(--line)", _PAPER: "var(--paper)"}
_STAND_INS |= {f"#a1b2{number:02x}": f"var(--s{number})" for number in range(COLOURS)}
_STYLE: Any = {
    "svg.hashsalt": "mirada",  # the same picture has the same ids
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


def quality(entrants: Sequence[Entrant]) -> str:
    """BLEU of every model, as bars."""
    with _style():
        figure = _figure(5.2, 0.55 + 0.36 * len(entrants))
        axes: Axes = figure.subplots()
        scores = [entrant.score() for entrant in entrants]
        bars = axes.barh(range(len(entrants)), scores, color=[_stand_in(i) for i in range(len(entrants))], height=0.62)
        axes.bar_label(bars, [f"{score:.1f}" for score in scores], padding=4)
        axes.set_yticks(range(len(entrants)), [entrant.name for entrant in entrants])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.12 * max([*scores, 1.0]))
        axes.set_xlabel("BLEU on the dev part")
        axes.tick_params(axis="y", length=0)
        _plain(axes, "x")
        listed = ", ".join(f"{entrant.name} {score:.1f}" for entrant, score in zip(entrants, scores, strict=True))
        return _svg(figure, "quality", f"Bar chart of BLEU by model: {listed}")


def quality_by_length(entrants: Sequence[Entrant]) -> str:
    """BLEU of every model by the length of the source."""
    rows = entrants[0].scores["by_length"]
    with _style():
        figure = _figure(5.2, 3.5 + 0.13 * len(entrants))
        axes: Axes = figure.subplots()
        for number, entrant in enumerate(entrants):
            scores = [row["bleu"] for row in entrant.scores["by_length"]]
            axes.plot(scores, color=_stand_in(number), lw=1.8, label=entrant.name)
            for x, (row, score) in enumerate(zip(rows, scores, strict=True)):
                axes.plot(x, score, **_mark(number, hollow=row["sentences"] < FEW))
        axes.set_xticks(range(len(rows)), [f"{class_of(row)}\n({row['sentences']:,})" for row in rows])
        axes.set_xlim(-0.3, len(rows) - 0.7)
        axes.set_ylim(bottom=0)
        axes.set(xlabel="source words (sentences)", ylabel="BLEU")
        _plain(axes, "y")
        _legend(figure, entrants)
        return _svg(
            figure, "by-length", "Line chart of BLEU by source length, a line a model; the table has its figures"
        )


def speed_by_length(entrants: Sequence[Entrant]) -> str:
    """Tokens a second of every model by the length of the sentences."""
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
        axes.set(xlabel="tokens in each sentence", ylabel="tokens a second")
        _plain(axes, "y")
        _legend(figure, entrants)
        return _svg(
            figure,
            "speed",
            "Line chart of tokens a second by sentence length, a line a model; the table has its figures",
        )


def attention(look: Look, name: str, number: int) -> str:
    """Where each target token looked: a row a target token, a column a source token, bluer is more."""
    weights = np.asarray(look.weights)
    rows, columns = weights.shape
    with _style():
        figure = _figure(max(2.6, 0.25 * columns + 1.2), max(2.2, 0.25 * rows + 1.1))
        axes: Axes = figure.subplots()
        picture = np.empty((rows, columns, 4))
        picture[..., :3], picture[..., 3] = HEAT, weights / max(weights.max(), 1e-9)
        axes.imshow(picture, interpolation="nearest", aspect="auto")
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


def class_of(row: dict[str, Any]) -> str:
    """A class of source lengths, as a person writes it."""
    return f"{row['shortest']}–{row['longest']}" if row["shortest"] < row["longest"] else f"{row['shortest']}"


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


def _legend(figure: Figure, entrants: Sequence[Entrant]) -> None:
    from matplotlib.lines import Line2D

    lines = [
        Line2D([], [], color=_stand_in(number), lw=1.8, label=entrant.name, **_mark(number))
        for number, entrant in enumerate(entrants)
    ]
    figure.legend(handles=lines, loc="outside lower center", ncols=2, frameon=False, fontsize=9.5)


def _svg(figure: Figure, name: str, alt: str) -> str:
    """The picture as an element of the page: no fixed size, no outside addresses, ids of its own, a text beside it."""
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's machine draws the text, and may have it
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    box = re.search(r'viewBox="([^"]*)"', svg)
    assert box is not None, "matplotlib gives every picture a viewBox"
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

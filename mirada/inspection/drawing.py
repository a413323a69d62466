"""Pictures of attention: a heat map for every head, their average, lines between words, light on an image.

    heads     a row for each layer, a column for each head; means of them where all would be too large
    matrix    the average over layers and heads, with its values where there is room
    lines     queries on the left, keys on the right; a line is as dark as its weight

A picture is built inside `fonts.styled`, which chooses fonts for its texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

from mirada.errors import UsageError
from mirada.inspection.figures import CELL, MAX_CELLS, is_svg, save
from mirada.inspection.fonts import END, FIRST_STRONG, is_right_to_left, shapes_text, styled
from mirada.inspection.words import Weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mirada.inspection.attention import Attention, AttentionMap

KINDS = ("heads", "matrix", "lines")
COLOURS = "Blues"
"""From white to dark blue, which can be distinguished without colour vision, and on paper."""
LONGEST = 24
"""Characters of a token beside a picture; longer ones are cut."""
VALUES = 16
"""The most rows and columns of a matrix whose values are written into it."""
LOOKS_AT = "looks at →"
SPACES = str.maketrans({" ": "▁", "\n": "↵", "\t": "⇥"})
"""Visible characters for white space."""

Shown = Callable[[str], str]


def picture(attention: Attention, kind: str = "heads", keeps_text: bool = False) -> Figure:
    """The picture of an attention, not yet in a file."""
    return _drawn(attention, kind, keeps_text, lambda figure: figure)


def draw(attention: Attention, path: str | Path | BinaryIO, kind: str = "heads") -> None:
    """Write the picture of an attention to a file."""

    def write(figure: Figure) -> Figure:
        save(figure, path)
        return figure

    _drawn(attention, kind, is_svg(path), write)


def _drawn(attention: Attention, kind: str, keeps_text: bool, use: Callable[[Figure], Figure]) -> Figure:
    """Build a picture, and use it while its fonts are chosen."""
    check_kind(kind)
    with styled(_texts(attention), keeps_text) as shown:
        return use(_figure(attention, kind, shown))


def check_kind(kind: str) -> None:
    """Refuse an unknown kind of picture."""
    if kind not in KINDS:
        raise UsageError(f"--kind {kind!s:.40}: there are {', '.join(KINDS)}")


def _texts(attention: Attention) -> Iterable[str]:
    yield from (attention.text, attention.output or "", LOOKS_AT)
    for part in attention.parts.values():
        yield from (*part.queries.pieces, *part.keys.pieces)


def _figure(attention: Attention, kind: str, shown: Shown) -> Figure:
    part = attention.main
    heading = Heading(attention.text, attention.output, attention.without)
    if part.image is not None:
        from mirada.inspection.patches import draw_patches

        return draw_patches(part, heading, shown)
    if kind == "lines":
        return draw_lines(part, heading, shown)
    return draw_heads(part, heading, shown, averaged=kind == "matrix")


# ── heat maps ─────────────────────────────────────────────────────────────────────────────────────────────────────


def boxes(part: AttentionMap, averaged: bool = False) -> tuple[Weights, str]:
    """The weights to draw, [L, H, Q, K], and their description: every head, or means where these are too many."""
    layers, heads, rows, columns = part.weights.shape
    if layers * heads * rows * columns <= MAX_CELLS and not averaged:
        return part.weights, "every head"
    means = part.weights.mean(axis=1, keepdims=True)
    if layers * rows * columns <= MAX_CELLS and not averaged:
        return means, f"the mean of the {heads} heads of each layer"
    which = mean_of(layers * heads) if layers * heads > 1 else "every head"
    return means.mean(axis=0, keepdims=True), which


def draw_heads(part: AttentionMap, heading: Heading, shown: Shown, averaged: bool = False) -> Figure:
    """Heat maps in a row per layer and a column per head, with a colour scale; the sentence is the title."""
    from matplotlib.figure import Figure

    weights, which = boxes(part, averaged)
    layers, heads, rows, columns = weights.shape
    keys, queries = ([shown(label(piece)) for piece in side.pieces] for side in (part.keys, part.queries))
    most = 1.0 if which == "every head" else float(weights.max())
    single = layers * heads == 1
    cell = 0.36 if single and max(rows, columns) <= VALUES else CELL
    width, height = max(1.6, columns * cell), max(1.6, rows * cell)
    beside, below = (0.085 * max(map(len, side), default=0) + 0.3 for side in (queries, keys))
    across = max(3.2, heads * (width + 0.15) + beside + 1.2)
    title = headed(heading, across, shown)
    down = layers * (height + 0.35) + below + 0.9 + 0.2 * (title.count("\n") + 1)
    figure = Figure(figsize=(across, down), layout="constrained")
    axes = figure.subplots(layers, heads, sharex=True, sharey=True, squeeze=False)
    for layer in range(layers):
        for head in range(heads):
            box = axes[layer][head]
            image = box.imshow(weights[layer, head], cmap=COLOURS, vmin=0, vmax=most, aspect="auto")
            if part.weights.shape[0] * part.weights.shape[1] > 1 and not (single and which != "every head"):
                named = f"layer {part.layers[layer]}" + (f", head {part.heads[head]}" if which == "every head" else "")
                box.set_title(named, fontsize=8)
            box.set_xticks(range(columns), keys, rotation=90, fontsize=7)
            box.set_yticks(range(rows), queries, fontsize=7)
            box.tick_params(length=0)
    if single and max(rows, columns) <= VALUES:
        _write_values(axes[0][0], weights[0, 0], most)
    scale = figure.colorbar(image, ax=axes, fraction=0.3 / across, pad=0.1 / across, aspect=30)
    scale.set_label(f"{_weight(part, which)}; a row sums to 1", fontsize=8)
    scale.ax.tick_params(labelsize=7)
    figure.suptitle(title, fontsize=10)
    figure.supxlabel(shown(LOOKS_AT), fontsize=9)
    figure.supylabel(role(part), fontsize=9)
    return figure


def mean_of(heads: int) -> str:
    """Which mean it is."""
    return "the mean of both heads" if heads == 2 else f"the mean of all {heads} heads"


def role(part: AttentionMap) -> str:
    """The label of a part's rows: tokens that are chosen, or that are read where queries and keys are the same."""
    own = part.name.endswith("self") and part.queries.pieces == part.keys.pieces
    return "token read" if own else "token being chosen"


def _weight(part: AttentionMap, which: str) -> str:
    """The meaning of a colour or a line: the part, layers and heads that the weights are from."""
    one = part.weights.shape[:2] == (1, 1)
    of = f"layer {part.layers[0]}, head {part.heads[0]}" if one else which
    return f"attention weight, {of}" if part.name == "attention" else f"attention weight in {part.name}, {of}"


def _write_values(box: Axes, weights: Weights, most: float) -> None:
    """Each weight in its cell: .31 is 31 %."""
    for (row, column), weight in np.ndenumerate(weights):
        if weight >= 0.005:
            ink = "white" if weight > 0.6 * most else "black"
            box.text(column, row, f"{weight:.2f}".removeprefix("0"), ha="center", va="center", fontsize=6.5, color=ink)


class Heading(NamedTuple):
    """The title of a picture: the text that was read, the output, and the parts that were switched off."""

    text: str
    output: str | None = None
    without: tuple[str, ...] = ()


def headed(heading: Heading, inches: float, shown: Shown) -> str:
    """A title in lines that fit an image of that width."""
    fits = max(20, round(inches * 12))
    lines = wrap(heading.text, fits)
    lines += _after_arrow(wrap(f"→ {heading.output}", fits)) if heading.output is not None else []
    lines += wrap(f"without {', '.join(heading.without)}", fits) if heading.without else []
    return "\n".join(map(shown, lines))


def _after_arrow(lines: list[str]) -> list[str]:
    """Lines of which the first begins with an arrow, which stays at the left of text that is read from the right."""
    text = lines[0].removeprefix("→ ")
    if not (shapes_text() and is_right_to_left(text)):
        return lines
    return [f"→ {FIRST_STRONG}{text}{END}", *lines[1:]]


def label(piece: str) -> str:
    """A token beside a picture: its leading space as a low line, the end of a line as ↵, and not too long."""
    text = piece.translate(SPACES) or "∅"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def name_words(box: Axes, rows: Sequence[str], columns: Sequence[str], shown: Shown) -> None:
    """Write the words beside and below a heat map."""
    box.set_xticks(range(len(columns)), [shown(label(word)) for word in columns], rotation=90, fontsize=8)
    box.set_yticks(range(len(rows)), [shown(label(word)) for word in rows], fontsize=8)
    box.tick_params(length=0)


# ── lines ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def draw_lines(part: AttentionMap, heading: Heading, shown: Shown) -> Figure:
    """Lines from each query to the keys, as dark and wide as the average weight."""
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    weights, count = part.mean(), part.weights.shape[0] * part.weights.shape[1]
    keys, queries = ([shown(label(piece)) for piece in side.pieces] for side in (part.keys, part.queries))
    tall = max(len(keys), len(queries))
    if weights.size > MAX_CELLS:
        raise UsageError(f"{weights.size:,} lines are too many to see; draw heads or the matrix, or a shorter text")
    beside = [0.085 * max(map(len, side), default=0) + 0.2 for side in (queries, keys)]
    across = max(4.0, sum(beside) + 2.6)
    title = headed(heading, across, shown)
    figure = Figure(figsize=(across, 0.24 * tall + 1.2 + 0.2 * (title.count("\n") + 1)), layout="constrained")
    box = figure.subplots()
    left, right = (np.linspace(0, tall - 1, count) if count > 1 else [0.0] for count in (len(queries), len(keys)))
    ends = [((0, left[q]), (1, right[k])) for q in range(len(queries)) for k in range(len(keys))]
    dark = np.clip(weights.ravel(), 0, 1)
    lines = LineCollection(ends, linewidths=0.2 + 3 * dark, colors=[(0.0, 0.27, 0.55, float(a)) for a in dark])
    box.add_collection(lines)
    for places, texts, x, side in ((left, queries, -0.03, "right"), (right, keys, 1.03, "left")):
        for place, text in zip(places, texts, strict=True):
            box.text(x, place, text, ha=side, va="center", fontsize=8)
    box.set(xlim=(-beside[0] / 2.6, 1 + beside[1] / 2.6), ylim=(tall - 0.3, -1.2))
    box.text(-0.03, -1, role(part), ha="right", va="center", fontsize=7, color="#555555")
    box.text(1.03, -1, shown(LOOKS_AT).removesuffix("→").strip(), ha="left", va="center", fontsize=7, color="#555555")
    box.axis("off")
    figure.suptitle(title, fontsize=10)
    figure.supxlabel("\n".join(wrap(_weight(part, mean_of(count)), round(across * 14))), fontsize=8)
    return figure

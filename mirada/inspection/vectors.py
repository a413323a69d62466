"""Draw attention over a few vectors as arrows: the weighted contributions and their sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from mirada.errors import UsageError
from mirada.inspection.figures import save
from mirada.nn.attention import Attended

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

MAX_VECTORS = 8
"""The most vectors, or outputs, of an image that can still be read."""

DPI = 100
COLUMNS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 3, 6: 3, 7: 4, 8: 4}
"""How many panels stand side by side, by the number of outputs."""
PANEL = {1: 800, 2: 560, 3: 450, 4: 400}
"""The width of a panel in pixels, by how many stand side by side."""

GREY, GREEN, RED, BLUE = "#8c8c8c", "#009e73", "#d55e00", "#0072b2"  # also apart for the colour-blind
DARK_GREEN, DARK_GREY = "#00734f", "#707070"  # for text
DASHES = (0, (2, 2))


@dataclass(frozen=True)
class VectorPicture:
    """The arrows of an image, before anything is drawn: a panel for each of m outputs, mixed from n vectors."""

    vectors: Floats  # [n, 2]
    weights: Floats  # [m, n]
    names: list[str]  # of the vectors
    queries: Floats | None  # [m, 2] the vectors that look, when they are a set of their own
    query_names: list[str]  # of the queries, or of the outputs
    title: str
    projected: bool  # whether the vectors had more than two dimensions

    @property
    def contributions(self) -> Floats:
        """[m, n, 2]: weight × vector."""
        return np.asarray(self.weights[:, :, None] * self.vectors)

    @property
    def steps(self) -> Floats:
        """[m, n+1, 2]: the contributions head to tail, from the origin to the output."""
        start = np.zeros((len(self.weights), 1, 2))
        return np.concatenate([start, self.contributions.cumsum(1)], 1)

    @property
    def outputs(self) -> Floats:
        """[m, 2]: the sum of the contributions."""
        return np.asarray(self.contributions.sum(1))

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """The lower left and upper right corner of every panel: all arrows, and room for their labels."""
        ends = [np.zeros((1, 2)), self.vectors, self.steps.reshape(-1, 2)]
        points = np.concatenate(ends if self.queries is None else [*ends, self.queries])
        low, high = points.min(0), points.max(0)
        longest = float((high - low).max()) or 1.0
        width, height = (high - low) / 2 + np.array([0.22, 0.12]) * longest
        half = np.array([max(width, height), max(height, 0.6 * width)])  # neither tall nor flat
        return (low + high) / 2 - half, (low + high) / 2 + half

    def figure(self) -> Figure:
        """The image, not yet in a file."""
        from matplotlib.figure import Figure

        panels = len(self.weights)
        columns = COLUMNS[panels]
        rows = math.ceil(panels / columns)
        low, high = self.limits
        width = columns * PANEL[columns]
        ratio = (high - low)[1] / (high - low)[0]
        height = rows * ((PANEL[columns] - 45) * ratio + 60) + 25 * (self.title.count("\n") + 1) + 60  # with all text
        figure = Figure(figsize=(width / DPI, round(height) / DPI), dpi=DPI, layout="constrained")
        boxes = figure.subplots(rows, columns, squeeze=False).flatten()
        for row, box in enumerate(boxes):
            if row < panels:
                box.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
                draw_panel(box, self, row)
            else:
                box.set_axis_off()
        figure.suptitle(self.title, fontsize=12, parse_math=False)
        lines = legend(self)
        beside = min(len(lines), width // 210)
        figure.legend(handles=lines, loc="outside lower center", ncols=beside, fontsize=10, frameon=False)
        figure.draw_without_rendering()  # gives the panels their places: labels avoid arrows in pixels
        figure.set_layout_engine("none")
        for row, box in enumerate(boxes[:panels]):
            write_labels(box, self, row)
        return figure


def draw_vectors(
    inputs: Tensor,
    attended: Attended,
    path: str | Path | None = None,
    *,
    queries: Tensor | None = None,
    names: Sequence[str] | None = None,
    query_names: Sequence[str] | None = None,
    title: str | None = None,
) -> VectorPicture:
    """Draw each output as a weighted sum of vectors: a panel per output, an arrow per vector.

        draw_vectors(x, self_attention(x), "self.png")
        draw_vectors(y, between(x, y), "between.png", queries=x)

    `inputs` [n, d] are the vectors that are summed, `queries` [m, d] those that attend to them, if they are another
    set. More than two dimensions are projected on the two axes that keep most of the vectors' lengths. Returns the
    picture's data, also if no file is written.
    """
    vectors, weights = table(inputs, "inputs"), table(attended.weights, "weights")
    output, looking = table(attended.output, "output"), None if queries is None else table(queries, "queries")
    check_sums(vectors, weights, output, looking)
    n, m, width = len(vectors), len(output), vectors.shape[1]
    if title is None:
        title = "Attention on a set of vectors" if looking is None else "Attention between two sets of vectors"
    if width > 2:
        axes, kept = main_axes(vectors if looking is None else np.concatenate([vectors, looking]))
        vectors, looking = vectors @ axes, None if looking is None else looking @ axes
        title += f"\n{width} dimensions on two principal axes (PCA): {kept:.0%} of the squared lengths"
    letter, prefix = ("x", "output ") if looking is None else ("y", "x")
    picture = VectorPicture(
        vectors=vectors,
        weights=weights,
        names=labels(names, letter, n, "vectors"),
        queries=looking,
        query_names=labels(query_names, prefix, m, "outputs"),
        title=title,
        projected=width > 2,
    )
    if path is not None:
        save(picture.figure(), path, DPI)
    return picture


def check_sums(vectors: Floats, weights: Floats, output: Floats, queries: Floats | None) -> None:
    """Refuse tables too large for an image, or whose sizes do not fit, or whose output is not weights × vectors."""
    n, m, width = len(vectors), len(output), vectors.shape[1]
    if width < 2:
        raise UsageError("the inputs have one dimension: arrows need at least two")
    if max(n, m) > MAX_VECTORS:
        raise UsageError(f"{n} vectors and {m} outputs are too many for an image: at most {MAX_VECTORS} of each")
    if weights.shape != (m, n):
        raise UsageError(f"the weights are {shape(weights)}, but {m} outputs of {n} vectors need {m} × {n}")
    if output.shape[1] != width:
        raise UsageError(f"the inputs are {width} wide, but the output is {output.shape[1]} wide")
    if not np.allclose(weights @ vectors, output, rtol=1e-2, atol=1e-2 * float(np.abs(vectors).max())):
        raise UsageError("the output is not the weights × the inputs: the inputs must be the vectors that were mixed")
    if queries is not None and queries.shape != (m, width):
        raise UsageError(f"the queries are {shape(queries)}, but {m} outputs of width {width} need {m} × {width}")


def table(tensor: Tensor, name: str) -> Floats:
    """A tensor [rows, columns] of finite numbers, as NumPy has it."""
    if tensor.dim() != 2 or 0 in tensor.shape:
        raise UsageError(f"the {name} must be a table, a row for each vector, not of shape {list(tensor.shape)}")
    values = np.asarray(tensor.detach().cpu().double().numpy())
    if not np.isfinite(values).all():
        raise UsageError(f"the {name} hold numbers that are not finite")
    return values


def labels(given: Sequence[str] | None, prefix: str, count: int, things: str) -> list[str]:
    if given is not None and len(given) != count:
        raise UsageError(f"there are {len(given)} names for {count} {things}: give one for each")
    return [f"{prefix}{number + 1}" for number in range(count)] if given is None else list(given)


def shape(values: Floats) -> str:
    return " × ".join(map(str, values.shape))


def main_axes(vectors: Floats) -> tuple[Floats, float]:
    """The two directions [d, 2] that keep most of the squared lengths of vectors [n, d], and the share they keep.

    Principal axes about the origin, not about the mean: arrows start at the origin, and only so do they still add up.
    """
    padded = np.concatenate([vectors, np.zeros_like(vectors)])  # a single vector has two axes, too
    _, lengths, directions = np.linalg.svd(padded, full_matrices=False)
    axes = directions[:2]  # either sign is right: the largest coordinate decides, so that images repeat
    largest = axes[[0, 1], np.abs(axes).argmax(1)]
    squares = lengths**2
    return (axes * np.sign(largest)[:, None]).T, float(squares[:2].sum() / squares.sum()) if squares.sum() else 1.0


# --- drawing ---


def draw_panel(box: Axes, image: VectorPicture, row: int) -> None:
    """The arrows of one output; every arrow starts at the origin."""
    low, high = image.limits
    x, y = np.where(np.abs(image.outputs[row]) < 1e-6 * (high - low), 0.0, image.outputs[row])
    where = "" if image.projected else f" = ({x:.3g}, {y:.3g})".replace("-", "−")
    name = image.query_names[row] if image.queries is None else f"output for {image.query_names[row]}"
    box.set_title(f"{name}{where}", fontsize=11, parse_math=False)
    box.grid(color="#eeeeee")
    box.axhline(0, color="#cccccc", linewidth=0.8)
    box.axvline(0, color="#cccccc", linewidth=0.8)
    box.set_axisbelow(True)
    box.tick_params(labelsize=8, length=0)
    for side in box.spines.values():
        side.set_color("#cccccc")
    if image.queries is not None:
        others = np.delete(image.queries, row, 0)
        draw_arrows(box, others, "other queries", BLUE, 1.6, alpha=0.35)
        draw_arrows(box, image.queries[[row]], "query", BLUE, 2.6)
    few = len(image.vectors) <= 4
    draw_arrows(box, image.outputs[[row]], "output", RED, 6.0 if few else 4.8)
    draw_arrows(box, image.vectors, "vectors", GREY, 1.8)
    box.plot(*image.steps[row].T, color=GREEN, linestyle=DASHES, linewidth=1.2)
    draw_arrows(box, image.contributions[row], "contributions", GREEN, 3.0 if few else 2.4)


def draw_arrows(box: Axes, ends: Floats, name: str, colour: str, width: float, alpha: float = 1.0) -> None:
    """Arrows from the origin, `width` pixels thick; a vector that is nearly 0 is a dot."""
    zeros = np.zeros(len(ends))
    heads = {"headwidth": 3.6, "headlength": 4.4, "headaxislength": 4.0, "minlength": 1.5}
    look: dict[str, Any] = {"color": colour, "alpha": alpha, "units": "dots", "width": width, "zorder": 3, **heads}
    box.quiver(zeros, zeros, *ends.T, angles="xy", scale_units="xy", scale=1, label=name, **look)


def write_labels(box: Axes, image: VectorPicture, row: int) -> None:
    """Each vector's weight and name at its head, and the query's name, where they hide least."""
    notes = [
        (vector, f"{digits(weight)} · {name}", DARK_GREEN if abs(weight) >= 0.005 else DARK_GREY)
        for vector, weight, name in zip(image.vectors, image.weights[row], image.names, strict=True)
    ]
    if image.queries is not None:
        notes.append((image.queries[row], image.query_names[row], BLUE))
    to_pixels, frame, ink = box.transData, np.array([box.bbox.min, box.bbox.max]), inked(box, image, row)
    taken: list[Floats] = []
    for end, text, colour in notes:
        label = box.text(0, 0, text, color=colour, fontsize=10, zorder=9, va="bottom", parse_math=False)
        extent = label.get_window_extent()
        head, origin = to_pixels.transform([end, (0, 0)])
        place = free_place(head, head - origin, np.array([extent.width, extent.height]), ink, taken, frame)
        taken.append(place)
        x, y = to_pixels.inverted().transform(place[0])
        label.set(x=x, y=y)
        near = np.clip(head, *place)
        if np.hypot(*(near - head)) > 12:  # far enough to wonder whose it is
            box.plot(*to_pixels.inverted().transform([head, near]).T, color=colour, linewidth=0.8)


def inked(box: Axes, image: VectorPicture, row: int) -> Floats:
    """Points [.., 2] in pixels, close together along everything that a panel shows."""
    looking = np.empty((0, 2)) if image.queries is None else image.queries
    ends = np.concatenate([image.vectors, looking, image.outputs[[row]], image.steps[row, 1:]])
    starts = np.zeros_like(ends)
    starts[-len(image.vectors) :] = image.steps[row, :-1]
    points = []
    for start, end in zip(box.transData.transform(starts), box.transData.transform(ends), strict=True):
        along = np.linspace(0, 1, 2 + int(np.hypot(*(end - start)) / 4))[:, None]
        points.append(start + along * (end - start))
    bold = points[len(image.vectors) + len(looking)]
    return np.concatenate([*points, *(bold + np.array(shift) for shift in [(0, 7), (0, -7), (7, 0), (-7, 0)])])


def free_place(head: Floats, along: Floats, size: Floats, ink: Floats, taken: list[Floats], frame: Floats) -> Floats:
    """Corners [2, 2] of the box for a label near an arrow's head, in pixels: the one that hides least."""
    straight = math.atan2(along[1], along[0])
    best, least = frame, math.inf
    for distance in (6, 16, 28, 42):
        for turn in np.linspace(-math.pi, math.pi, 24, endpoint=False):
            outward = np.array([math.cos(straight + turn), math.sin(straight + turn)])
            middle = head + outward * ((size / 2 + distance) / np.maximum(np.abs(outward), 1e-9)).min()
            place = np.array([middle - size / 2, middle + size / 2])
            hidden = ((ink > place[0] - 2) & (ink < place[1] + 2)).all(1).sum()
            crowded = sum(((place[0] < other[1] + 2) & (place[1] > other[0] - 2)).all() for other in taken)
            outside = ((place[0] < frame[0] + 2) | (place[1] > frame[1] - 2)).any()
            cost = 5 * hidden + 100 * crowded + 300 * outside + distance / 2 + 3 * abs(turn)
            if cost < least:
                best, least = place, cost
    return best


def legend(image: VectorPicture) -> list[Any]:
    from matplotlib.lines import Line2D

    lines: list[tuple[str, float, Any, str]] = [
        (GREY, 1.8, "-", "vector" if image.queries is None else "vector of the set looked at"),
        (GREEN, 3.0, "-", "weight × vector"),
        (GREEN, 1.2, DASHES, "these, added one by one"),
        (RED, 5.0, "-", "output: their sum"),
    ]
    if image.queries is not None:
        lines.insert(0, (BLUE, 2.6, "-", "vector that looks"))
    return [Line2D([], [], color=c, linewidth=w, linestyle=style, label=text) for c, w, style, text in lines]


def digits(value: float) -> str:
    """A weight to two decimals, with a true minus, and none before a zero."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")

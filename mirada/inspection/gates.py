"""The gates and states of recurrent cells over time, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import numpy.typing as npt

from mirada.errors import UsageError
from mirada.inspection.drawing import Heading, headed, label
from mirada.inspection.figures import is_svg, save
from mirada.inspection.fonts import styled
from mirada.inspection.trace import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SYMBOLS = {
    "i": "i  input gate: how much of the new to let in",
    "f": "f  forget gate: how much of the old to keep",
    "o": "o  output gate: how much to show",
    "r": "r  reset gate: how much of the old the candidate sees",
    "z": "z  update gate: how much of the old to keep",
    "candidate": "the candidate for the new state",
    "c": "C  cell state",
    "h": "h  hidden state",
}
"""The values that cells compute, with their descriptions; gates are between 0 and 1."""
GATES = frozenset("iforz")
UNITS = 64
"""The most units that are drawn; in wider cells these are evenly spaced."""


def cells_of(trace: Trace) -> list[str]:
    """The paths of the recurrent cells of a trace, as `encoder.0.forward`."""
    ends = (".forward.h", ".backward.h")
    return [path.removesuffix(".h") for path in trace if path.endswith(ends)]


def draw_gates(trace: Trace, path: str | Path | BinaryIO, cell: str | None = None) -> None:
    """Draw what a cell computed at each token to a file; the first cell unless named.

    A column is a token, a row a unit of the cell; the line above is the average over all units.
    """
    cells = cells_of(trace)
    if not cells:
        raise UsageError(f"--gates: the trace of {trace.model.get('architecture', 'this model')} has no recurrent cell")
    if cell is not None and cell not in cells:
        raise UsageError(f"--cell {cell!s:.60}: the trace has {', '.join(cells)}")
    name = cell or cells[0]
    found = {symbol: trace[f"{name}.{symbol}"] for symbol in SYMBOLS if f"{name}.{symbol}" in trace}
    side = trace.axes[f"{name}.h"][0]
    tokens = trace.tokens["input" if side == "target" else side].pieces
    texts = (*tokens, trace.text, trace.output or "")
    with styled(texts, is_svg(path)) as shown:
        figure = _figure(name, found, [shown(label(piece)) for piece in tokens])
        heading = Heading(trace.text, trace.output, trace.without)
        figure.suptitle(f"{name}\n{headed(heading, figure.get_figwidth(), shown)}", fontsize=10)
        save(figure, path)


def _figure(name: str, found: Mapping[str, npt.NDArray[np.float32]], tokens: list[str]) -> Figure:
    from matplotlib.figure import Figure

    units = next(iter(found.values())).shape[1]
    chosen = np.linspace(0, units - 1, min(units, UNITS)).round().astype(int)
    below = 0.085 * max(map(len, tokens)) + 0.4
    figure = Figure(figsize=(max(5.0, 0.24 * len(tokens) + 2.6), 1.75 * len(found) + below + 0.9), layout="constrained")
    axes = figure.subplots(2 * len(found), 1, sharex=True, squeeze=False, height_ratios=[1, 3.2] * len(found))
    for number, (symbol, values) in enumerate(found.items()):
        line, box = axes[2 * number][0], axes[2 * number + 1][0]
        gate = symbol in GATES
        most = 1.0 if gate else float(np.abs(values).max()) or 1.0
        image = box.imshow(
            values[:, chosen].T,
            aspect="auto",
            interpolation="nearest",
            cmap="Blues" if gate else "PuOr_r",
            vmin=0 if gate else -most,
            vmax=most,
        )
        line.plot(values.mean(1), color="#0072b2", marker="o", markersize=2.5, linewidth=1)
        line.set_ylim((0, 1) if gate else (-most, most))
        line.set_title(SYMBOLS[symbol], fontsize=8, loc="left")
        line.tick_params(labelsize=6, length=2)
        box.set_yticks([])
        box.set_ylabel(f"{len(chosen)} of {units} units" if len(chosen) < units else f"{units} units", fontsize=7)
        figure.colorbar(image, ax=[line, box], fraction=0.04, pad=0.01).ax.tick_params(labelsize=6)
    axes[-1][0].set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=7)
    return figure

"""The gates of recurrent cells over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirada.errors import UsageError
from mirada.inspection.gates import _figure, cells_of, draw_gates
from tests.traced import MODELS, first_pass


@pytest.mark.parametrize(
    ("kind", "cells", "panels"),
    [
        ("lstm, classes", ["recurrent.0.forward", "recurrent.0.backward"], 6),
        ("gru, numbers", ["recurrent.0.forward", "recurrent.0.backward"], 4),
        ("seq2seq, before", ["encoder.0.forward", "encoder.0.backward", "decoder.0.forward"], 6),
    ],
)
def test_each_gate_is_drawn_over_the_tokens(kind: str, cells: list[str], panels: int, tmp_path: Path) -> None:
    trace = first_pass(kind).record()
    assert sorted(cells_of(trace)) == sorted(cells)
    symbols = [path.split(".")[-1] for path in trace if path.startswith(f"{cells[0]}.")]
    assert len(symbols) == panels
    tokens = list(trace.tokens["source"].pieces)
    figure = _figure(cells[0], {symbol: trace[f"{cells[0]}.{symbol}"] for symbol in symbols}, tokens)
    images = [axes.images[0] for axes in figure.axes if axes.images]
    assert len(images) == panels
    for image, symbol in zip(images, symbols, strict=True):
        np.testing.assert_allclose(np.asarray(image.get_array()), trace[f"{cells[0]}.{symbol}"].T)  # [units, tokens]
        assert image.get_clim()[0] == (0 if symbol in "ifrzo" else -image.get_clim()[1])
    for ending in ("png", "svg"):
        draw_gates(trace, tmp_path / f"gates.{ending}", cells[-1])
        assert (tmp_path / f"gates.{ending}").stat().st_size > 5000


def test_what_has_no_such_cell_is_refused(tmp_path: Path) -> None:
    trace = first_pass("transformer").record("*.weights")
    with pytest.raises(UsageError, match="--gates: the trace of transformer has no recurrent cell"):
        draw_gates(trace, tmp_path / "gates.png")
    trace = first_pass("lstm, classes").record()
    with pytest.raises(
        UsageError, match=r"--cell encoder\.0: the trace has recurrent\.0\.forward, recurrent\.0\.backward"
    ):
        draw_gates(trace, tmp_path / "gates.png", "encoder.0")
    with pytest.raises(UsageError, match="cannot be written"):
        draw_gates(trace, tmp_path / "none" / "gates.png")
    build, text = MODELS["lstm, classes"]
    assert build().trace(text, paths=("recurrent.0.forward.*",)).tokens["source"].pieces[-1] == "</s>"

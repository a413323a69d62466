"""The cross-attention of one translation: every layer, every head, every token."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class CrossAttention:
    """Where each target token looked in the source while it was chosen."""

    source: list[str]  # S tokens, the last is </s>
    target: list[str]  # T tokens, the last is </s>
    text: str
    """The translation."""
    weights: npt.NDArray[np.float32]  # [L, H, T, S], each row sums to 1

    @property
    def mean(self) -> npt.NDArray[np.float32]:
        """[T, S]: the average over the heads of all layers."""
        return np.asarray(self.weights.mean(axis=(0, 1)))

    def draw(self, path: str | Path) -> None:
        """A picture of every head: a row a layer, a column a head; darker is more."""
        from matplotlib.figure import Figure

        layers, heads, rows, columns = self.weights.shape
        cell = 0.2
        width, height = max(1.6, columns * cell), max(1.6, rows * cell)
        figure = Figure(figsize=(heads * width + 1.6, layers * height + 1.6), layout="constrained")
        axes = figure.subplots(layers, heads, sharex=True, sharey=True, squeeze=False)
        for layer in range(layers):
            for head in range(heads):
                box = axes[layer][head]
                box.imshow(self.weights[layer, head], cmap="Blues", vmin=0, vmax=1, aspect="auto")
                box.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=8)
                box.set_xticks(range(columns), [shown(token) for token in self.source], rotation=90, fontsize=7)
                box.set_yticks(range(rows), [shown(token) for token in self.target], fontsize=7)
                box.tick_params(length=0)
        figure.supxlabel("source token looked at", fontsize=9)
        figure.supylabel("target token being chosen", fontsize=9)
        figure.savefig(path, dpi=120)


def shown(token: str) -> str:
    """A token as a label: its leading space as a low line, no dollar signs that start a formula, nothing unseen."""
    seen = "".join(letter if letter.isprintable() else "\ufffd" for letter in token)
    return seen.replace(" ", "▁").replace("$", r"\$") or "∅"

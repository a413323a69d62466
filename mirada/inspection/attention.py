"""The cross-attention of one translation: every layer, every head, every token."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from mirada.errors import UsageError
from mirada.predictions import Drawable

CELL = 0.2
"""Inches of an image for each weight, so that the tokens beside them can be read."""

MOST_CELLS = 40_000
"""Weights in an image; more make it larger than programs that show images like."""


@dataclass(frozen=True, eq=False, repr=False)
class CrossAttention(Drawable):
    """Where each target token looked in the source while it was chosen."""

    source: list[str]  # S tokens, the last is </s>
    target: list[str]  # T tokens, the last is </s>
    text: str
    """The translation."""
    weights: npt.NDArray[np.float32]  # [L, H, T, S], each row sums to 1
    sentence: str = ""
    """What was translated."""

    def as_dict(self) -> dict[str, Any]:
        """The tokens, the translation and the weights as plain lists."""
        tokens = {"source": self.source, "target": self.target, "translation": self.text}
        return {**tokens, "weights": self.weights.tolist()}

    def __repr__(self) -> str:
        return f"<CrossAttention {self.sentence!r} → {self.text!r}: weights {self.weights.shape} [L, H, T, S]>"

    @property
    def mean(self) -> npt.NDArray[np.float32]:
        """[T, S]: the average over the heads of all layers."""
        return np.asarray(self.weights.mean(axis=(0, 1)))

    def boxes(self) -> tuple[npt.NDArray[np.float32], str]:
        """[L, H, T, S]: every head, or where that would be too large an image the mean of each layer; and which."""
        layers, heads, rows, columns = self.weights.shape
        if layers * heads * rows * columns <= MOST_CELLS:
            return self.weights, "every head"
        means = self.weights.mean(axis=1, keepdims=True)
        if layers * rows * columns <= MOST_CELLS:
            return means, f"the mean of the {heads} heads of each layer"
        return means.mean(axis=0, keepdims=True), f"the mean of all {layers * heads} heads"

    def draw(self, path: str | Path | BinaryIO) -> None:
        """An image: a row a layer, a column a head, darker is more, with its scale; the sentence is the title.

        Of a long sentence, whose heads would not fit on a page, the mean of each layer is drawn.
        """
        from matplotlib.figure import Figure

        weights, which = self.boxes()
        layers, heads, rows, columns = weights.shape
        most = 1.0 if which == "every head" else float(weights.max())
        width, height = max(1.6, columns * CELL), max(1.6, rows * CELL)
        across = heads * width + 2.6
        title = titled(self.sentence or "".join(self.source[:-1]).strip(), self.text, across)
        lines = title.count("\n") + 2
        figure = Figure(
            figsize=(across, layers * (height + (0.3 if which == "every head" else 1.0)) + 1.4 + 0.2 * lines),
            layout="constrained",
        )
        axes = figure.subplots(layers, heads, sharex=which == "every head", sharey=True, squeeze=False)
        for layer in range(layers):
            for head in range(heads):
                box = axes[layer][head]
                image = box.imshow(weights[layer, head], cmap="Blues", vmin=0, vmax=most, aspect="auto")
                if which == "every head":
                    box.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=8)
                elif layers > 1:
                    box.set_title(f"layer {layer + 1}", fontsize=8)
                box.set_xticks(range(columns), [shown(token) for token in self.source], rotation=90, fontsize=7)
                box.set_yticks(range(rows), [shown(token) for token in self.target], fontsize=7)
                box.tick_params(length=0)
        scale = figure.colorbar(image, ax=axes, fraction=0.3 / across, pad=0.1 / across, aspect=30)
        scale.set_label(f"attention weight, {which}; a row sums to 1", fontsize=8)
        scale.ax.tick_params(labelsize=7)
        figure.suptitle(title, fontsize=10)
        figure.supxlabel("source token looked at", fontsize=9)
        figure.supylabel("target token being chosen", fontsize=9)
        try:
            figure.savefig(path, dpi=120)
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: the image cannot be written ({error})") from None


def titled(source: str, text: str, inches: float) -> str:
    """A sentence and what became of it, in lines that fit an image of that width."""
    lines = [*wrap(source, round(inches * 13)), *wrap(f"→ {text}", round(inches * 13))]
    return "\n".join(shown(line, space=" ") for line in lines)


def shown(token: str, space: str = "▁") -> str:
    """A token as a label: its leading space as a low line, no dollar signs that start a formula, nothing unseen."""
    seen = "".join(letter if letter.isprintable() else "\ufffd" for letter in token)
    return seen.replace(" ", space).replace("$", r"\$") or "∅"

"""Where a captioner looks in an image: every layer, every head, every token."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from mirada.inspection.attention import shown
from mirada.predictions import Drawable


@dataclass(frozen=True, eq=False, repr=False)
class ImageAttention(Drawable):
    """Where in the image each token looked while it was chosen."""

    image: npt.NDArray[np.uint8]  # [H, W, C]
    tokens: list[str]  # T, the last is </s>
    text: str
    """The caption."""
    weights: npt.NDArray[np.float32]  # [L, H, T, rows, columns], of each token they sum to 1

    def as_dict(self) -> dict[str, Any]:
        """The tokens, the caption and the weights as plain lists."""
        return {"tokens": self.tokens, "caption": self.text, "weights": self.weights.tolist()}

    def __repr__(self) -> str:
        return f"<ImageAttention {self.text!r}: weights {self.weights.shape} [L, H, T, rows, columns]>"

    @property
    def mean(self) -> npt.NDArray[np.float32]:
        """[T, rows, columns]: the average over the heads of all layers."""
        return np.asarray(self.weights.mean(axis=(0, 1)))

    def draw(self, path: str | Path | BinaryIO) -> None:
        """A row a token: the average of all heads, then every head; what is looked at is light, the rest is dark."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize
        from matplotlib.figure import Figure

        layers, heads, rows = self.weights.shape[:3]
        titles = ["all heads", *(f"{layer + 1}.{head + 1}" for layer in range(layers) for head in range(heads))]
        maps = np.concatenate([self.mean[None], self.weights.reshape(layers * heads, *self.weights.shape[2:])])
        cell = 0.75
        across = len(titles) * cell + 2.4
        heading = "\n".join(shown(line, space=" ") for line in wrap(self.text, round(across * 13)))
        figure = Figure(figsize=(across, rows * cell + 0.9 + 0.2 * (heading.count("\n") + 1)), layout="constrained")
        axes = figure.subplots(rows, len(titles), squeeze=False)
        for row, token in enumerate(self.tokens):
            for column, title in enumerate(titles):
                box = axes[row][column]
                box.imshow(self._lit(maps[column, row]))
                box.set_xticks([])
                box.set_yticks([])
                if row == 0:
                    box.set_title(title, fontsize=8)
            axes[row][0].set_ylabel(shown(token), rotation=0, ha="right", va="center", fontsize=8)
        scale = figure.colorbar(ScalarMappable(Normalize(0, 1), "gray"), ax=axes, fraction=0.2 / across, aspect=30)
        scale.set_ticks([0, 1], labels=["0", "largest"], fontsize=7)
        scale.set_label("attention weight, beside the largest of the box", fontsize=8)
        figure.suptitle(heading, fontsize=10)
        figure.supxlabel("layer.head", fontsize=8)
        figure.savefig(path, dpi=120)

    def _lit(self, weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """The image, each patch as light as its weight beside the largest."""
        height, width, channels = self.image.shape
        rows, columns = weights.shape
        light = np.kron(weights / weights.max(), np.ones((height // rows, width // columns)))[:, :, None]
        colours = np.repeat(self.image, 3, axis=2) if channels == 1 else self.image
        return np.asarray(colours / 255 * (0.15 + 0.85 * light))

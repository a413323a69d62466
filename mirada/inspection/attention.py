"""What a model looks at while it generates a text: every layer, every head, every token, as data and as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from mirada.errors import UsageError
from mirada.predictions import Drawable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Weights = npt.NDArray[np.float32]

CELL = 0.2
"""Inches of an image for each weight, so that the tokens beside them can be read."""

MAX_CELLS = 40_000
"""The most weights in an image; more make it larger than programs that show images like."""


class AttentionWeights(Drawable):
    """Attention weights [L, H, T, …] of a generated text."""

    weights: Weights

    @property
    def mean(self) -> Weights:
        """[T, …]: the average over the heads of all layers."""
        return np.asarray(self.weights.mean(axis=(0, 1)))

    def figure(self) -> Figure:
        """The picture, not yet in a file."""
        raise NotImplementedError

    def draw(self, path: str | Path | BinaryIO) -> None:
        """Write the picture to a file."""
        save(self.figure(), path)


@dataclass(frozen=True, eq=False, repr=False)
class CrossAttention(AttentionWeights):
    """Where each target token looked in the source while it was chosen."""

    source: list[str]  # S tokens, the last is </s>
    target: list[str]  # T tokens, the last is </s>
    text: str
    """The translation."""
    weights: Weights  # [L, H, T, S], each row sums to 1
    sentence: str = ""
    """What was translated."""

    def as_dict(self) -> dict[str, Any]:
        """The tokens, the translation and the weights as plain lists."""
        tokens = {"source": self.source, "target": self.target, "translation": self.text}
        return {**tokens, "weights": self.weights.tolist()}

    def __repr__(self) -> str:
        return f"<CrossAttention {self.sentence!r} → {self.text!r}: weights {self.weights.shape} [L, H, T, S]>"

    def boxes(self) -> tuple[Weights, str]:
        """[L, H, T, S]: every head, or where that would be too large an image the mean of each layer; and which."""
        layers, heads, rows, columns = self.weights.shape
        if layers * heads * rows * columns <= MAX_CELLS:
            return self.weights, "every head"
        means = self.weights.mean(axis=1, keepdims=True)
        if layers * rows * columns <= MAX_CELLS:
            return means, f"the mean of the {heads} heads of each layer"
        return means.mean(axis=0, keepdims=True), f"the mean of all {layers * heads} heads"

    def figure(self) -> Figure:
        """A row per layer and a column per head, darker is more, with its scale; the sentence is the title.

        For a long sentence, whose heads would not fit on a page, the mean of each layer is drawn.
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
        return figure


@dataclass(frozen=True, eq=False, repr=False)
class ImageAttention(AttentionWeights):
    """Where in the image each token looked while it was chosen."""

    image: npt.NDArray[np.uint8]  # [H, W, C]
    tokens: list[str]  # T, the last is </s>
    text: str
    """The caption."""
    weights: Weights  # [L, H, T, rows, columns], those of a token sum to 1

    def as_dict(self) -> dict[str, Any]:
        """The tokens, the caption and the weights as plain lists."""
        return {"tokens": self.tokens, "caption": self.text, "weights": self.weights.tolist()}

    def __repr__(self) -> str:
        return f"<ImageAttention {self.text!r}: weights {self.weights.shape} [L, H, T, rows, columns]>"

    def figure(self) -> Figure:
        """A row per token: the average of all heads, then every head; what is looked at is light, the rest is dark."""
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
        return figure

    def _lit(self, weights: Weights) -> npt.NDArray[np.float64]:
        """The image, each patch as light as its weight beside the largest."""
        height, width, channels = self.image.shape
        rows, columns = weights.shape
        light = np.kron(weights / weights.max(), np.ones((height // rows, width // columns)))[:, :, None]
        colours = np.repeat(self.image, 3, axis=2) if channels == 1 else self.image
        return np.asarray(colours / 255 * (0.15 + 0.85 * light))


def titled(source: str, text: str, inches: float) -> str:
    """A sentence and what became of it, in lines that fit an image of that width."""
    lines = [*wrap(source, round(inches * 13)), *wrap(f"→ {text}", round(inches * 13))]
    return "\n".join(shown(line, space=" ") for line in lines)


def shown(token: str, space: str = "▁") -> str:
    """A token as a label: its leading space as a low line, no dollar signs that start a formula, nothing unseen."""
    seen = "".join(letter if letter.isprintable() else "\ufffd" for letter in token)
    return seen.replace(" ", space).replace("$", r"\$") or "∅"


def save(figure: Figure, path: str | Path | BinaryIO, dpi: int = 120) -> None:
    """Write a picture, as PNG unless the file's name says otherwise (.svg, .pdf)."""
    kind = Path(path).suffix[1:] if isinstance(path, str | Path) else ""
    try:
        figure.savefig(path, format=kind or "png", dpi=dpi)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from None
    except ValueError:
        raise UsageError(f"{path}: .{kind} is not a kind of image; use .png, .svg or .pdf") from None

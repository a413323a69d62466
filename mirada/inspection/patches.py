"""Pictures of attention on images: each patch as light as its weight."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mirada.inspection.figures import MAX_CELLS
from mirada.inspection.trace import Image
from mirada.inspection.words import Weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mirada.inspection.attention import AttentionMap
    from mirada.inspection.drawing import Heading

DARKEST = 0.15
"""The brightness of a patch with weight 0."""
SIDE = 0.75
"""Inches of a small image."""


def draw_patches(part: AttentionMap, heading: Heading, shown: Callable[[str], str]) -> Figure:
    """Draw images whose patches are as light as their weights: a row per query, the average of all heads, then each.

    For a model that only reads images, these are the weights of the class token, a row per layer.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    assert part.image is not None
    names, titles, maps = _rows(part)  # [R, C, patches]
    across, cell = len(titles) * SIDE * _wide(part.image) + 2.4, SIDE
    title = shown(heading.output if heading.output is not None else Path(heading.text).name)
    title += f"\nwithout {', '.join(heading.without)}" if heading.without else ""
    lines = title.count("\n") + 1
    figure = Figure(figsize=(across, len(names) * cell + 0.9 + 0.2 * lines), layout="constrained")
    axes = figure.subplots(len(names), len(titles), squeeze=False)
    for row, name in enumerate(names):
        for column, above in enumerate(titles):
            box = axes[row][column]
            box.imshow(lit(part.image, maps[row, column]))
            box.set_xticks([])
            box.set_yticks([])
            if row == 0:
                box.set_title(above, fontsize=8)
        axes[row][0].set_ylabel(shown(name), rotation=0, ha="right", va="center", fontsize=8)
    scale = figure.colorbar(ScalarMappable(Normalize(0, 1), "gray"), ax=axes, fraction=0.2 / across, aspect=30)
    scale.set_ticks([0, 1], labels=["0", "largest"], fontsize=7)
    about = wrap("attention weight, beside the largest of the box", round(12 * len(names) * cell))
    scale.set_label("\n".join(about), fontsize=8)
    figure.suptitle(title, fontsize=10)
    return figure


def _rows(part: AttentionMap) -> tuple[list[str], list[str], Weights]:
    """The labels of the rows and columns of the picture, and the weights on the patches in each image."""
    assert part.image is not None
    first = part.image.first
    weights = part.weights[..., first:]  # [L, H, Q, N]
    layers, heads = weights.shape[:2]
    if part.name == "encoder.self":  # of a reader, what its class token looks at; of others, the mean of all patches
        looking = weights[:, :, 0] if first else weights.mean(2)  # [L, H, N]
        maps = np.concatenate([looking.mean(1, keepdims=True), looking], 1)
        titles = ["all heads", *(f"head {head}" for head in part.heads)]
        return [f"layer {layer}" for layer in part.layers], titles, maps
    columns = [weights.mean((0, 1))]
    titles = ["all heads"]
    if weights.size <= MAX_CELLS:
        columns += list(weights.reshape(layers * heads, *weights.shape[2:]))
        titles += [f"{layer}.{head}" for layer in part.layers for head in part.heads]
    return list(part.queries.pieces), titles, np.stack(columns, 1)  # [Q, C, N]


def _wide(image: Image) -> float:
    _, height, width, _ = image.pixels.shape
    return max(1.0, image.grid[0] * width / height)


def lit(image: Image, weights: Weights) -> npt.NDArray[np.float64]:
    """The image, each patch as light as its weight beside the largest; the frames of a video side by side."""
    frames, rows, columns = image.grid
    count, height, width, channels = image.pixels.shape
    shares = weights.reshape(frames, rows, columns) / max(float(weights.max()), 1e-12)
    colours = np.repeat(image.pixels, 3, axis=3) if channels == 1 else image.pixels[..., :3]
    shown = []
    for frame in range(frames):
        light = np.kron(shares[frame], np.ones((height // rows, width // columns)))[:, :, None]
        shown.append(colours[frame * (count // frames)] / 255 * (DARKEST + (1 - DARKEST) * light))
    return np.concatenate(shown, 1)

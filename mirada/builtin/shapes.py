"""A built-in set of small videos: a square, a circle or a triangle that moves, or stays, in noise.

Which way it moves cannot be told from any single frame: a model has to look along time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MOVES = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0), "still": (0, 0)}
"""What a video is labelled with, and the step of each frame, down and to the right."""
SHAPES = ("square", "circle", "triangle")
NOISE = 24.0
"""The standard deviation of the noise on every pixel; shapes are 150 to 255 bright on a ground of 30."""


def moving_shapes(
    count: int, seed: int, frames: int = 8, size: int = 16
) -> tuple[npt.NDArray[np.uint8], list[str]]:  # [N, F, H, W]
    """Videos, and the way the shape in each moves. It wraps around the edges, so that every place is as likely."""
    random = np.random.default_rng(seed)
    moves = random.integers(len(MOVES), size=count)
    kinds = random.integers(len(SHAPES), size=count)
    radius = random.uniform(0.15, 0.25, size=count) * size
    begin = random.uniform(0, size, size=(count, 2))
    speed = random.uniform(0.6, 1.4, size=count)
    brightness = random.uniform(120, 225, size=count)
    steps = np.array(list(MOVES.values()), dtype=float)[moves] * speed[:, None]  # [N, 2]
    time = np.arange(frames)[:, None]
    videos = np.empty((count, frames, size, size), dtype=np.uint8)
    grid = np.arange(size)
    for i in range(count):
        centre = begin[i] + time * steps[i]  # [F, 2]
        # The distance to the centre, the short way around the edges: from −size/2 to size/2.
        down, right = ((grid - centre[:, axis, None] + size / 2) % size - size / 2 for axis in (0, 1))  # [F, size]
        inside = _inside(SHAPES[kinds[i]], down[:, :, None], right[:, None, :], radius[i])  # [F, H, W]
        noise = random.normal(30, NOISE, size=inside.shape)
        videos[i] = np.clip(noise + brightness[i] * inside, 0, 255)
    names = list(MOVES)
    return videos, [names[move] for move in moves]


def _inside(
    shape: str, down: npt.NDArray[np.float64], right: npt.NDArray[np.float64], radius: float
) -> npt.NDArray[np.bool_]:
    """Which pixels belong to the shape, by their distance to its centre."""
    if shape == "square":
        return (abs(down) <= radius) & (abs(right) <= radius)
    if shape == "circle":
        return down**2 + right**2 <= radius**2
    return (abs(down) <= radius) & (2 * abs(right) <= down + radius)

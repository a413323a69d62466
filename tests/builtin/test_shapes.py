"""The built-in videos: as many as asked for, the same every time, and what the label says can be seen in them."""

from __future__ import annotations

import numpy as np

from mirada.builtin.shapes import MOVES, moving_shapes


def test_a_seed_gives_the_same_videos_every_time() -> None:
    videos, labels = moving_shapes(30, seed=1, frames=5, size=12)
    again, labels_again = moving_shapes(30, seed=1, frames=5, size=12)
    other, _ = moving_shapes(30, seed=2, frames=5, size=12)
    assert videos.dtype == np.uint8
    assert videos.shape == (30, 5, 12, 12)
    assert (videos == again).all()
    assert labels == labels_again
    assert (videos != other).any()
    assert set(moving_shapes(200, seed=0)[1]) == set(MOVES)


def test_the_shape_moves_the_way_the_label_says() -> None:
    videos, labels = moving_shapes(200, seed=3)
    right = 0
    for video, label in zip(videos.astype(float), labels, strict=True):
        # The way that, gone back, makes a frame most like the one three frames before it.
        frames = video - video.mean((1, 2), keepdims=True)
        scores = {
            name: max(_alike(frames, down * n, right_ * n) for n in (2, 3, 4)) for name, (down, right_) in MOVES.items()
        }
        right += max(scores, key=lambda name: scores[name]) == label
    assert right > 190


def _alike(frames: np.ndarray, down: int, right: int) -> float:
    return float((frames[:-3] * np.roll(frames[3:], (-down, -right), (1, 2))).sum())


def test_one_frame_does_not_tell() -> None:
    """The mean picture of the first frames is the same grey for every way to move."""
    videos, labels = moving_shapes(2000, seed=4, frames=1)
    means = [videos[[label == name for label in labels]].mean() for name in MOVES]
    assert max(means) - min(means) < 4

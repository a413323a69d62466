"""Images of attention: a scale, the sentence as title, and a size that can be looked at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mirada.errors import UsageError
from mirada.inspection.attention import MAX_CELLS, CrossAttention, titled
from mirada.tasks.translation.model import TranslationModel


def look(layers: int, heads: int, rows: int, columns: int) -> CrossAttention:
    weights = np.random.default_rng(0).dirichlet(np.ones(columns), size=(layers, heads, rows)).astype(np.float32)
    return CrossAttention([" s"] * columns, [" t"] * rows, "t " * rows, weights, "s " * columns)


def test_every_head_is_drawn_while_it_fits() -> None:
    seen = look(2, 3, 5, 4)
    weights, which = seen.boxes()
    assert which == "every head"
    assert weights is seen.weights


def test_a_long_sentence_is_drawn_as_means_and_says_so() -> None:
    side = int((MAX_CELLS / 4) ** 0.5)
    seen = look(2, 4, side, side)
    weights, which = seen.boxes()
    assert which == "the mean of the 4 heads of each layer"
    np.testing.assert_allclose(weights, seen.weights.mean(1, keepdims=True))
    seen = look(2, 2, 2 * side, 2 * side)
    weights, which = seen.boxes()
    assert which == "the mean of all 4 heads"
    np.testing.assert_allclose(weights[0, 0], seen.mean, rtol=1e-5)


def test_the_title_is_the_sentence_and_its_translation(trained: TranslationModel) -> None:
    seen = trained.attend("el gato ve el tren")
    assert seen.sentence == "el gato ve el tren"
    assert titled(seen.sentence, seen.text, 10) == "el gato ve el tren\n→ the cat sees the train"
    long = titled("palabra " * 50, "word", 3)
    assert max(map(len, long.splitlines())) <= 39
    assert titled("a $b$", "c\x00", 10) == "a \\$b\\$\n→ c\ufffd"


def test_a_picture_has_a_scale(tmp_path: Path) -> None:
    """A head whose weights are all equal is one colour; the scale beside it has all of them."""
    seen = CrossAttention(["a"] * 4, ["b"] * 4, "b", np.full((1, 1, 4, 4), 0.25, np.float32), "a")
    seen.draw(tmp_path / "look.png")
    pixels = np.asarray(Image.open(tmp_path / "look.png").convert("RGB")).reshape(-1, 3).astype(int)
    blues = np.unique(pixels[pixels[:, 2] - pixels[:, 0] > 10], axis=0)
    assert len(blues) > 100


def test_a_picture_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        look(1, 1, 2, 2).draw(tmp_path / "none" / "look.png")

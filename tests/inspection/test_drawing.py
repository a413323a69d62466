"""Pictures of attention: a scale, the sentence as title, readable labels, and a size that can be looked at."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mirada.errors import UsageError
from mirada.inspection.attention import Attention, AttentionMap
from mirada.inspection.drawing import Heading, boxes, draw_heads, headed, label, mean_of, role
from mirada.inspection.figures import MAX_CELLS
from mirada.inspection.fonts import drawable
from mirada.inspection.patches import lit
from mirada.inspection.trace import Image as Seen
from mirada.inspection.words import Tokens
from tests.inspection.test_attention import an_attention
from tests.traced import MODELS


def texts_of(figure: Any) -> list[str]:
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def test_every_head_is_drawn_while_it_fits() -> None:
    part = an_attention(["t"] * 5, ["s"] * 4).main
    weights, which = boxes(part)
    assert which == "every head"
    assert weights is part.weights
    said = texts_of(an_attention(["t"] * 5, ["s"] * 4).figure())
    assert [text for text in said if text.startswith("layer")] == [
        f"layer {layer}, head {head}" for layer in range(2) for head in range(3)
    ]
    assert "looks at →" in said
    assert "token being chosen" in said


def test_a_long_sentence_is_drawn_as_means_and_says_so() -> None:
    side = int((MAX_CELLS / 4) ** 0.5)
    part = an_attention(["t"] * side, ["s"] * side, 2, 4).main
    weights, which = boxes(part)
    assert which == "the mean of the 4 heads of each layer"
    np.testing.assert_allclose(weights, part.weights.mean(1, keepdims=True))
    part = an_attention(["t"] * 2 * side, ["s"] * 2 * side, 2, 2).main
    weights, which = boxes(part)
    assert which == "the mean of all 4 heads"
    assert mean_of(2) == "the mean of both heads"
    np.testing.assert_allclose(weights[0, 0], part.mean(), rtol=1e-5)


def test_a_matrix_is_the_average_with_its_values() -> None:
    found = an_attention(["a", "b"], ["x", "y", "z"])
    said = texts_of(found.figure("matrix"))
    for weight in found.mean.ravel():
        assert f"{weight:.2f}".removeprefix("0") in said
    assert "attention weight in decoder.cross, the mean of all 6 heads; a row sums to 1" in said


def test_a_picture_of_one_head_says_which() -> None:
    one = an_attention(["t"] * 5, ["s"] * 4).select("decoder.cross", layer=1, head=2).main
    for averaged in (False, True):
        figure = draw_heads(one, Heading("a", "b"), str, averaged)
        assert "attention weight in decoder.cross, layer 1, head 2; a row sums to 1" in texts_of(figure)
    alone = AttentionMap("attention", one.weights, one.queries, one.keys)
    assert "attention weight, layer 0, head 0; a row sums to 1" in texts_of(draw_heads(alone, Heading("a", "b"), str))


def test_rows_are_what_is_read_where_a_model_looks_at_the_same_tokens() -> None:
    """A GPT reads its rows; a translator chooses them, even those that are the source again."""
    read, weights = Tokens(("<s>", "a")), np.full((1, 1, 2, 2), 0.5, np.float32)
    assert role(AttentionMap("decoder.self", weights, read, read)) == "token read"
    assert role(AttentionMap("encoder.self", weights, read, read)) == "token read"
    assert role(AttentionMap("decoder.self", weights, Tokens(("a", "</s>")), read)) == "token being chosen"
    assert role(AttentionMap("decoder.cross", weights, read, read)) == "token being chosen"


def test_lines_say_what_they_are_of() -> None:
    found = an_attention(["a", "b"], ["x", "y", "z"])
    said = [" ".join(text.split()) for text in texts_of(found.figure("lines"))]
    assert "attention weight in decoder.cross, the mean of all 6 heads" in said
    said = [" ".join(text.split()) for text in texts_of(found.select("cross", layer=1, head=2).figure("lines"))]
    assert "attention weight in decoder.cross, layer 1, head 2" in said


def test_lines_are_as_dark_as_the_average_weight() -> None:
    from matplotlib.collections import LineCollection

    found = an_attention(["a", "b"], ["x", "y", "z"])
    (lines,) = found.figure("lines").findobj(LineCollection)
    np.testing.assert_allclose(np.asarray(lines.get_colors())[:, 3], found.mean.ravel(), atol=1e-6)
    with pytest.raises(UsageError, match="40,401 lines are too many to see"):
        an_attention(["a"] * 201, ["b"] * 201, 1, 1).figure("lines")


def test_titles_and_labels_are_what_people_wrote() -> None:
    shown = str
    assert headed(Heading("el gato", "the cat"), 10, shown) == "el gato\n→ the cat"
    assert headed(Heading("el gato"), 10, shown) == "el gato"
    assert headed(Heading("a", "b", ("scale", "encoder.0")), 10, shown).splitlines()[-1] == "without scale, encoder.0"
    assert max(map(len, headed(Heading("palabra " * 50, "word"), 3, shown).splitlines())) <= 36
    assert label(" gato") == "▁gato"
    assert label("") == "∅"
    assert label("\n") == "↵"  # a GPT's line break
    assert label("\t") == "⇥"
    assert label("p" * 30) == "p" * 23 + "…"


def test_an_arrow_is_at_the_left_of_text_from_the_right(monkeypatch: pytest.MonkeyPatch) -> None:
    arabic = "الكتاب على الطاولة، وهو أحمر 42."
    monkeypatch.setattr("matplotlib.__version__", "3.11.0")
    first, *rest = headed(Heading("the book", arabic), 1, drawable).splitlines()[1:]
    assert first == "→ \u2068الكتاب على\u2069"  # by its own direction, the line is from the left
    assert " ".join(rest) == "الطاولة، وهو أحمر 42."
    monkeypatch.setattr("matplotlib.__version__", "3.10.8")  # draws every letter from the left
    assert "\u2068" not in headed(Heading("the book", arabic), 1, drawable)


def test_dollar_signs_and_control_characters_are_drawn(tmp_path: Path) -> None:
    found = an_attention(["$5", "$x^2$"], ["a\x00b", "\u202e", "\\frac"])
    said = texts_of(found.figure())
    assert {"$5", "$x^2$", "a\ufffdb", "\\frac"} <= set(said)
    found.draw(tmp_path / "look.png")
    assert (tmp_path / "look.png").stat().st_size > 1000


def test_a_picture_has_a_scale() -> None:
    """A head whose weights are all equal is one colour; the scale beside it has all of them."""
    weights = np.full((1, 1, 4, 4), 0.25, np.float32)
    part = AttentionMap("decoder.cross", weights, Tokens(("b",) * 4), Tokens(("a",) * 4))
    content = io.BytesIO()
    Attention({"decoder.cross": part}, {"source": part.keys.pieces}, "a", "b").draw(content)
    pixels = np.asarray(Image.open(content).convert("RGB")).reshape(-1, 3).astype(int)
    blues = np.unique(pixels[pixels[:, 2] - pixels[:, 0] > 10], axis=0)
    assert len(blues) > 100


def test_the_same_picture_has_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.svg", "other.svg"):
        an_attention(["a"], ["x", "y"]).save(tmp_path / name)
    one, other = ((tmp_path / name).read_text() for name in ("one.svg", "other.svg"))
    assert [line for line in one.splitlines() if "dc:date" not in line] == [
        line for line in other.splitlines() if "dc:date" not in line
    ]


@pytest.mark.parametrize("kind", ["vit", "captioner"])
def test_images_are_lit_by_layer_and_head(kind: str, tmp_path: Path) -> None:
    build, image = MODELS[kind]
    found = build().attend(image)
    assert found.image is not None
    said = texts_of(found.figure())
    if kind == "vit":
        assert {"layer 0", "layer 1", "all heads", "head 0", "head 1"} <= set(said)
        assert found.main.keys.pieces[:2] == ("class", "0,0")
    else:
        assert {"all heads", "0.0", "0.1", "1.0", "1.1", "</s>"} <= set(said)
    figure = found.figure()
    figure.canvas.draw()
    label_of_scale = figure.axes[-1].yaxis.label.get_window_extent()
    assert figure.bbox.y0 <= label_of_scale.y0 < label_of_scale.y1 <= figure.bbox.y1  # it is whole
    found.save(tmp_path / "look.html")
    assert "data:image/png;base64,iVBOR" in (tmp_path / "look.html").read_text(encoding="utf-8")


def test_a_patch_is_as_light_as_its_weight() -> None:
    pixels = np.full((2, 4, 4, 1), 255, np.uint8)
    found = lit(Seen(pixels, (2, 2, 2)), np.array([0.1, 0.2, 0.4, 0, 0, 0, 0, 0.2], np.float32))
    assert found.shape == (4, 8, 3)  # two frames side by side
    np.testing.assert_allclose(found[::2, ::2, 0], [[0.3625, 0.575, 0.15, 0.15], [1, 0.15, 0.15, 0.575]], atol=1e-6)


def test_no_warning_is_left_to_matplotlib(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("heads", "matrix", "lines"):
            an_attention([" the", "…", "</s>"], ["العربية", "ñ", "Ж"]).draw(tmp_path / f"{kind}.pdf", kind)

"""Images of attention on vectors: the arrows' numbers, what is drawn of them, and what is refused."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.quiver import Quiver
from matplotlib.transforms import Bbox
from torch import Tensor

from mirada.errors import UsageError
from mirada.inspection.vectors import VectorPicture, draw_vectors
from mirada.nn.attention import Attended, between, hard, self_attention, soft

X = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-0.5, -0.5]])


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def panels(image: VectorPicture) -> list[Axes]:
    return [box for box in image.figure().axes if box.axison]


def drawn(box: Axes) -> dict[str, np.ndarray]:
    """The arrows of a panel by name: their ends [.., 2]; all start at the origin."""
    quivers = [thing for thing in box.collections if isinstance(thing, Quiver)]
    assert not any(np.asarray(quiver.XY).any() for quiver in quivers)
    return {str(quiver.get_label()): np.stack([quiver.U, quiver.V], 1) for quiver in quivers}


def written(box: Axes) -> list[str]:
    return [text.get_text() for text in box.texts]


# --- numbers ---


def test_arrows_of_the_notes_self_attention() -> None:
    image = draw_vectors(X, self_attention(X))
    np.testing.assert_allclose(image.vectors, X)
    np.testing.assert_allclose(image.contributions[0], [[0.6285, 0.0], [0.0, 0.2312], [-0.0701, -0.0701]], atol=1e-4)
    np.testing.assert_allclose(image.outputs, [[0.5584, 0.1611], [0.1611, 0.5584], [-0.0761, -0.0761]], atol=1e-4)
    assert image.queries is None
    assert image.names == ["x1", "x2", "x3"]


def test_contributions_head_to_tail_end_at_the_output() -> None:
    image = draw_vectors(X, soft(X, torch.full((2, 3), 0.1) + 0.7 * torch.eye(2, 3)))
    np.testing.assert_allclose(image.steps[0], [[0.0, 0.0], [0.8, 0.0], [0.8, 0.1], [0.75, 0.05]], atol=1e-6)
    np.testing.assert_allclose(image.steps[:, -1], image.outputs)


def test_more_dimensions_are_projected_and_still_add_up() -> None:
    x, y = some(2, 7), some(4, 7, seed=1)
    attended = between(x, y)
    image = draw_vectors(y, attended, queries=x)
    assert image.projected
    assert image.title.startswith("Attention between two sets of vectors\n7 dimensions on two principal axes (PCA): ")
    assert image.queries is not None
    both = torch.cat([y, x]).double()
    seen = torch.from_numpy(np.concatenate([image.vectors, image.queries]))
    values, vectors = torch.linalg.eigh(both.T @ both)  # the same axes in another way; in rising order
    expected = (both @ vectors[:, -2:]).flip(1)
    torch.testing.assert_close(seen.abs(), expected.abs())
    assert f"{values[-2:].sum() / values.sum():.0%} of the squared lengths" in image.title
    axes = torch.linalg.lstsq(both, seen).solution  # one linear map for all: so an output's image is the sum's
    torch.testing.assert_close(torch.from_numpy(image.outputs), attended.output.double() @ axes)


def test_vectors_in_a_plane_keep_their_lengths_and_angles() -> None:
    turn, _ = torch.linalg.qr(some(5, 5).double())
    flat = torch.cat([X, torch.zeros(3, 3)], 1).double() @ turn
    image = draw_vectors(flat, self_attention(flat))
    np.testing.assert_allclose(image.vectors @ image.vectors.T, X @ X.T, atol=1e-6)
    assert "100% of the squared lengths" in image.title


@pytest.mark.parametrize("x", [some(1, 5), torch.zeros(2, 3), torch.zeros(2, 2)], ids=["one", "zeros", "flat zeros"])
def test_the_least_that_can_be_drawn(x: Tensor, tmp_path: Path) -> None:
    image = draw_vectors(x, self_attention(x), tmp_path / "least.png")
    assert np.isfinite(image.vectors).all()
    np.testing.assert_allclose(np.linalg.norm(image.vectors, axis=1), x.norm(dim=1), rtol=1e-5)


# --- what is drawn ---


def test_a_panel_shows_vectors_contributions_and_output() -> None:
    image = draw_vectors(X, self_attention(X))
    boxes = panels(image)
    assert [box.get_title() for box in boxes] == [
        "output 1 = (0.558, 0.161)",
        "output 2 = (0.161, 0.558)",
        "output 3 = (−0.0761, −0.0761)",
    ]
    for row, box in enumerate(boxes):
        arrows = drawn(box)
        assert set(arrows) == {"vectors", "contributions", "output"}
        np.testing.assert_allclose(arrows["vectors"], image.vectors)
        np.testing.assert_allclose(arrows["contributions"], image.contributions[row])
        np.testing.assert_allclose(arrows["output"], image.outputs[[row]])
        np.testing.assert_allclose(np.asarray(box.lines[-1].get_xydata(), float), image.steps[row])
        assert box.get_aspect() == 1.0
    assert written(boxes[0]) == ["0.63 · x1", "0.23 · x2", "0.14 · x3"]
    assert written(boxes[2]) == ["0.21 · x1", "0.21 · x2", "0.58 · x3"]


def test_two_sets_are_drawn_as_two_sets() -> None:
    x, y = some(2, 2), some(3, 2, seed=1)
    image = draw_vectors(y, between(x, y), queries=x)
    boxes = panels(image)
    for row, box in enumerate(boxes):
        arrows = drawn(box)
        np.testing.assert_allclose(arrows["query"], x[[row]], rtol=1e-6)
        np.testing.assert_allclose(arrows["other queries"], x[[1 - row]], rtol=1e-6)
        np.testing.assert_allclose(arrows["vectors"], y, rtol=1e-6)
        assert [text.split(" · ")[-1] for text in written(box)] == ["y1", "y2", "y3", f"x{row + 1}"]
        assert box.get_title().startswith(f"output for x{row + 1} = (")
        of_set = {str(quiver.get_label()): np.asarray(quiver.get_facecolor())[0, :3] for quiver in box.collections}
        assert not np.allclose(of_set["query"], of_set["vectors"])
    legend = image.figure().legends[0]
    assert [text.get_text() for text in legend.get_texts()][:2] == ["vector that looks", "vector of the set looked at"]


def test_names_and_titles_are_shown_as_they_are() -> None:
    x = some(2, 3)
    image = draw_vectors(x, self_attention(x), names=["$el$", "be_bé"], query_names=["uno", "dos"], title="100 $ $")
    box, other = panels(image)
    assert [text.split(" · ")[1] for text in written(box)] == ["$el$", "be_bé"]
    assert (box.get_title(), other.get_title()) == ("uno", "dos")
    assert not any(text.get_parse_math() for text in [*box.texts, box.title])
    assert image.title.startswith("100 $ $\n3 dimensions")


def test_hard_attention_shows_one_arrow_whole_and_zeros_as_zero() -> None:
    boxes = panels(draw_vectors(X, hard(X, torch.tensor([0, -1, -1]))))
    assert drawn(boxes[0])["contributions"].tolist() == [[1, 0], [0, 0], [0, 0]]
    assert drawn(boxes[1])["output"].tolist() == [[0, 0]]
    assert boxes[1].get_title() == "output 2 = (0, 0)"
    assert written(boxes[0]) == ["1.00 · x1", "0.00 · x2", "0.00 · x3"]


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_labels_stay_inside_their_panel_and_off_each_other_and_the_legend_off_the_panels(count: int) -> None:
    angles = torch.arange(count) * (2 * math.pi / count) + 0.3
    x = torch.stack([angles.cos(), angles.sin()], 1) * torch.linspace(0.6, 1.4, count)[:, None]
    figure = draw_vectors(x, self_attention(x)).figure()
    legend = figure.legends[0].get_window_extent()
    assert legend.x0 >= 0
    assert legend.x1 <= figure.bbox.width
    boxes = [box for box in figure.axes if box.axison]
    assert len(boxes) == count
    for box in boxes:
        assert not Bbox.union([box.bbox, *(tick.get_window_extent() for tick in box.get_xticklabels())]).overlaps(
            legend
        )
        extents = [text.get_window_extent() for text in box.texts]
        for number, extent in enumerate(extents):
            assert box.bbox.x0 <= extent.x0
            assert extent.x1 <= box.bbox.x1
            assert box.bbox.y0 <= extent.y0
            assert extent.y1 <= box.bbox.y1
            assert not any(extent.overlaps(other) for other in extents[:number])


@pytest.mark.parametrize(("outputs", "width"), [(1, 800), (2, 1120), (3, 1350), (4, 1600), (5, 1350), (8, 1600)])
def test_the_file_is_a_picture_of_a_readable_size(outputs: int, width: int, tmp_path: Path) -> None:
    path = tmp_path / "image.png"
    image = draw_vectors(X, soft(X, torch.softmax(some(outputs, 3), -1)), path)
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24])[0] == width
    assert 300 <= struct.unpack(">II", data[16:24])[1] <= 1700
    assert len(image.outputs) == outputs


def test_the_name_says_the_kind_of_file(tmp_path: Path) -> None:
    draw_vectors(X, self_attention(X), tmp_path / "image.svg")
    assert b"<svg" in (tmp_path / "image.svg").read_bytes()
    draw_vectors(X, self_attention(X), str(tmp_path / "image"))
    assert (tmp_path / "image").read_bytes()[:4] == b"\x89PNG"


def test_tensors_of_any_kind_are_drawn() -> None:
    x = X.to(torch.bfloat16).requires_grad_()
    image = draw_vectors(x, self_attention(x))
    np.testing.assert_allclose(image.outputs[0], [0.5584, 0.1611], atol=5e-3)


# --- what is refused ---


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (
            lambda: draw_vectors(X[0], self_attention(X)),
            "the inputs must be a table, a row for each vector, not of shape [2]",
        ),
        (lambda: draw_vectors(X[None], self_attention(X)), "the inputs must be a table, a row for each vector, not of"),
        (lambda: draw_vectors(X[:0], self_attention(X[:0])), "not of shape [0, 2]"),
        (
            lambda: draw_vectors(X[:, :1], self_attention(X[:, :1])),
            "the inputs have one dimension: arrows need at least two",
        ),
        (lambda: draw_vectors(X, self_attention(some(3, 4))), "the inputs are 2 wide, but the output is 4 wide"),
        (
            lambda: draw_vectors(X, Attended(X, torch.eye(2))),
            "the weights are 2 × 2, but 3 outputs of 3 vectors need 3 × 3",
        ),
        (lambda: draw_vectors(X, Attended(X, torch.ones(3))), "the weights must be a table"),
        (
            lambda: draw_vectors(X[:2], self_attention(X)),
            "the weights are 3 × 3, but 3 outputs of 2 vectors need 3 × 2",
        ),
        (lambda: draw_vectors(X + 1, self_attention(X)), "the output is not the weights × the inputs"),
        (
            lambda: draw_vectors(some(9, 2), self_attention(some(9, 2))),
            "9 vectors and 9 outputs are too many for an image",
        ),
        (
            lambda: draw_vectors(X, between(some(9, 2), X)),
            "3 vectors and 9 outputs are too many for an image: at most 8",
        ),
        (
            lambda: draw_vectors(X, self_attention(X), queries=X[:2]),
            "the queries are 2 × 2, but 3 outputs of width 2 need 3 × 2",
        ),
        (
            lambda: draw_vectors(X, self_attention(X), queries=some(3, 4)),
            "the queries are 3 × 4, but 3 outputs of width 2 need",
        ),
        (lambda: draw_vectors(X, self_attention(X), names=["a"]), "there are 1 names for 3 vectors: give one for each"),
        (lambda: draw_vectors(X, self_attention(X), query_names=["a"]), "there are 1 names for 3 outputs"),
        (lambda: draw_vectors(X / 0, self_attention(X)), "the inputs hold numbers that are not finite"),
    ],
)
def test_what_cannot_be_drawn_gets_one_clear_line(image: Callable[[], VectorPicture], message: str) -> None:
    with pytest.raises(UsageError) as error:
        image()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [("none/image.png", "cannot be written (No such file"), ("image.xyz", ".xyz is not a kind of image")],
)
def test_a_file_that_cannot_be_written(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="image") as error:
        draw_vectors(X, self_attention(X), tmp_path / name)
    assert message in str(error.value)
    assert not list(tmp_path.iterdir())

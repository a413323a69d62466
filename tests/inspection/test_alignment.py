"""Links from weights between words, and the picture of an alignment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as shapes
from PIL import Image

from mirada.inspection.alignment import (
    Alignment,
    Linking,
    Reading,
    between_words,
    grown,
    link,
    needed,
    overlap,
    readings,
    word_spans,
)

TABLES = shapes.arrays(
    np.float32, shapes.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(0, 1, width=32)
)
NONE = np.zeros(9, np.float32)


@given(TABLES, st.sampled_from(["target", "both", "either", "grow"]))
def test_links_are_within_bounds_and_between_both_and_either(table: np.ndarray, how: Linking) -> None:
    null = np.zeros(len(table), np.float32)
    found = link(table, null, how)
    assert all(0 <= s < table.shape[1] and 0 <= t < table.shape[0] for s, t in found)
    assert link(table, null, "both") <= found <= link(table, null, "either")


@given(TABLES)
def test_a_link_a_target_word(table: np.ndarray) -> None:
    found = link(table, np.zeros(len(table), np.float32), "target")
    assert sorted(t for _, t in found) == list(range(len(table)))
    assert all(table[t, s] == table[t].max() for s, t in found)


def test_a_word_that_looks_at_nothing_has_no_link() -> None:
    table = np.array([[0.2, 0.5], [0.1, 0.2]], np.float32)
    null = np.array([0.3, 0.7], np.float32)
    for how in ("target", "both", "either", "grow"):
        assert link(table, null, how) == {(1, 0)} | ({(0, 0)} if how in ("either", "grow") else set())


def test_a_threshold_links_many_to_many() -> None:
    table = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]], np.float32)
    assert link(table, NONE[:2], threshold=0.2) == {(0, 0), (1, 0), (1, 1), (2, 1)}
    assert link(table, NONE[:2], threshold=0.8) == set()


def test_growing_takes_neighbours_for_words_without_a_link() -> None:
    """Of rows and columns: (3, 3) touches nothing, and both words of (1, 1) have links when it is looked at."""
    sure, candidates = np.zeros((4, 4), bool), np.zeros((4, 4), bool)
    sure[0, 0] = True
    for place in ((0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (3, 3)):
        candidates[place] = True
    found = {(int(t), int(s)) for t, s in np.argwhere(grown(sure, candidates))}
    assert found == {(0, 0), (0, 1), (1, 0), (1, 2)}
    assert np.argwhere(sure).tolist() == [[0, 0]]


def test_needs_are_shares_of_what_is_lost() -> None:
    assert needed(np.array([[3.0, -1.0, 1.0], [-1.0, -2.0, 0.0]], np.float32)).tolist() == [
        [0.75, 0.0, 0.25],
        [0, 0, 0],
    ]


def test_weights_between_words_are_sums_over_keys_and_means_over_queries() -> None:
    """Two tokens make the first word on either side; a tag stands before the source; </s> ends both."""
    weights = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)  # [L, H, T+1, tag + S + </s>]
    source_tokens, target_tokens = [(0, 2), (2, 4), (4, 7)], [(0, 1), (1, 3), (3, 6)]
    source_words, target_words = [(0, 4), (5, 7)], [(0, 3), (4, 6)]
    found = between_words(weights, 1, source_tokens, target_tokens, source_words, target_words)
    for fed_in in (False, True):
        rows = weights[:, :, fed_in : 3 + fed_in]
        expected = np.stack(
            [
                np.stack([rows[:, :, :2, 1:3].sum(3).mean(2), rows[:, :, :2, 3].mean(2)], -1),
                np.stack([rows[:, :, 2, 1:3].sum(2), rows[:, :, 2, 3]], -1),
            ],
            2,
        )
        words, null = found.read(Reading(1, 2, fed_in))
        np.testing.assert_allclose(words, expected[1, 2])
        np.testing.assert_allclose(null, [rows[1, 2, :2][:, [0, 4]].sum(1).mean(), rows[1, 2, 2, [0, 4]].sum()])
        words, _ = found.read(Reading(None, None, fed_in))
        np.testing.assert_allclose(words, expected.mean((0, 1)), rtol=1e-5)


def test_a_token_of_two_words_is_shared() -> None:
    weights = np.array([[[[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]]]], np.float32)
    words, null = between_words(weights, 0, [(0, 4), (4, 5)], [(0, 1)], [(0, 2), (2, 4), (4, 5)], [(0, 1)]).read(
        Reading(0, 0)
    )
    np.testing.assert_allclose(words, [[0.3, 0.3, 0.3]], rtol=1e-6)
    np.testing.assert_allclose(null, [0.1], rtol=1e-5)


def test_words_end_at_spaces_or_at_punctuation() -> None:
    text = "Don't go,  señor Ruiz-López!"
    assert [text[a:b] for a, b in word_spans(text)] == ["Don't", "go,", "señor", "Ruiz-López!"]
    marks = [text[a:b] for a, b in word_spans(text, "punctuation")]
    assert marks == ["Don't", "go", ",", "señor", "Ruiz-López", "!"]
    assert overlap([(0, 5)], [(0, 3), (3, 6), (6, 8)]).tolist() == [[1, 1, 0]]


@pytest.mark.parametrize(("layers", "heads", "count"), [(1, 1, 2), (1, 4, 10), (3, 1, 8), (2, 4, 22)])
def test_every_layer_head_and_mean_is_read_once_from_both_rows(layers: int, heads: int, count: int) -> None:
    found = readings(layers, heads)
    assert len(found) == len(set(found)) == count
    assert len({str(one) for one in found}) == count


def test_an_alignment_as_text_as_data_and_as_a_picture(tmp_path: Path) -> None:
    table = np.array([[0.9, 0.1], [0.2, 0.8]], np.float32)
    found = Alignment(("el", "gato"), ("the", "cat"), frozenset({(1, 1), (0, 0)}), table, NONE[:2], Reading(0, None))
    assert found.as_text() == "0-0 1-1"
    assert str(found) == "el–the gato–cat"
    assert found.as_dict() == {
        "source": ["el", "gato"],
        "target": ["the", "cat"],
        "links": [[0, 0], [1, 1]],
        "weights": [[0.9, 0.1], [0.2, 0.8]],
        "reading": {"layer": 0, "head": "mean", "row": "chosen"},
    }
    found.draw(tmp_path / "matrix.png")
    assert min(Image.open(tmp_path / "matrix.png").size) > 200
    labels = found.figure().axes[0]
    assert [text.get_text() for text in labels.get_xticklabels()] == ["el", "gato"]
    assert [text.get_text() for text in labels.get_yticklabels()] == ["the", "cat"]
    assert sorted((int(line.get_xdata()[0]), int(line.get_ydata()[0])) for line in labels.lines) == [(0, 0), (1, 1)]  # type: ignore[index,arg-type]


def test_an_empty_alignment_is_an_empty_line() -> None:
    empty = Alignment(problem="is too long")
    assert empty.as_text() == ""
    assert empty.as_dict()["problem"] == "is too long"
    assert empty.figure().axes

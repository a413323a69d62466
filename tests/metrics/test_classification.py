"""Scores of classes: figures computed by hand, what must hold for any classes, and tables that can be read."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.errors import UsageError
from mirada.metrics.classification import ClassRow, LabelScores, class_rows, evaluate_labels, percent

any_classes = settings(derandomize=True, max_examples=100, deadline=None, database=None)
CLASSES = 4
PAIRS = st.lists(st.tuples(*2 * [st.integers(0, CLASSES - 1)]), min_size=1, max_size=30)
NAMES = ["a", "b", "c", "d"]


def of_pairs(pairs: list[tuple[int, int]], labels: list[str] = NAMES) -> LabelScores:
    return evaluate_labels([true for true, _ in pairs], [said for _, said in pairs], labels)


def test_by_hand() -> None:
    #                        a  a  a  a  b  b  c  c  c  c
    scores = evaluate_labels([0, 0, 0, 0, 1, 1, 2, 2, 2, 2], [0, 0, 0, 1, 1, 0, 2, 2, 1, 1], ["a", "b", "c"])
    assert scores.confusion == ((3, 1, 0), (1, 1, 0), (0, 2, 2))
    # a: TP 3, FP 1, FN 1.  b: TP 1, FP 3, FN 1.  c: TP 2, FP 0, FN 2.
    assert [(row.label, row.count) for row in scores.classes] == [("a", 4), ("b", 2), ("c", 4)]
    expected = [(75, 75, 75), (25, 50, 100 / 3), (100, 50, 200 / 3)]
    for row, figures in zip(scores.classes, expected, strict=True):
        assert (row.precision, row.recall, row.f1) == pytest.approx(figures)
    assert [score.name for score in scores.scores] == ["accuracy", "macro-F1", "majority"]
    assert scores.score("accuracy") == 60.0
    assert scores.score("macro-F1") == pytest.approx((75 + 100 / 3 + 200 / 3) / 3)
    assert scores.score("majority") == 40.0
    assert [score.signature for score in scores.scores] == [
        "right:6|of:10",
        "classes:3|undefined precision:0",
        "accuracy of always saying:a",
    ]
    assert scores.summary == "accuracy 60.0, macro-F1 58.3, majority 40.0 on 10 texts"


def test_always_saying_the_same_does_not_fool_anybody() -> None:
    scores = evaluate_labels([0] * 95 + [1] * 5, [0] * 100, ["ham", "spam"])
    assert scores.score("accuracy") == scores.score("majority") == 95.0
    assert scores.score("macro-F1") == pytest.approx(100 * (2 * 95 / (2 * 95 + 5)) / 2)  # spam: never said, so 0
    assert scores.classes[1] == ClassRow("spam", 5, 0.0, 0.0, 0.0)


def test_classes_that_do_not_occur_are_left_out_of_the_mean() -> None:
    scores = evaluate_labels([0, 0], [0, 2], ["a", "b", "c", "d"])
    assert scores.score("macro-F1") == pytest.approx((200 / 3 + 0) / 2)  # a and c, as scikit-learn has it
    assert scores.scores[1].signature == "classes:2|undefined precision:0|never seen nor said, left out:2"


@any_classes
@given(pairs=PAIRS)
def test_scores_are_percentages_and_counts_add_up(pairs: list[tuple[int, int]]) -> None:
    scores = of_pairs(pairs)
    assert all(0 <= score.value <= 100 for score in scores.scores)
    assert [sum(row) for row in scores.confusion] == [row.count for row in scores.classes]
    assert sum(map(sum, scores.confusion)) == scores.size == len(pairs)
    assert all(scores.confusion[t][p] == pairs.count((t, p)) for t in range(CLASSES) for p in range(CLASSES))
    assert scores.score("accuracy") == pytest.approx(100 * sum(t == p for t, p in pairs) / len(pairs))
    assert (scores.score("accuracy") == 100) == all(t == p for t, p in pairs)


@any_classes
@given(pairs=PAIRS)
def test_perfect_predictions_give_100(pairs: list[tuple[int, int]]) -> None:
    scores = of_pairs([(true, true) for true, _ in pairs])
    assert scores.score("accuracy") == scores.score("macro-F1") == 100


@any_classes
@given(pairs=PAIRS, order=st.permutations(range(CLASSES)))
def test_permuted_classes_permute_the_table(pairs: list[tuple[int, int]], order: list[int]) -> None:
    one = of_pairs(pairs)
    other = of_pairs(
        [(order.index(true), order.index(said)) for true, said in pairs], [NAMES[number] for number in order]
    )
    assert other.confusion == tuple(tuple(one.confusion[t][p] for p in order) for t in order)
    assert other.classes == tuple(one.classes[number] for number in order)
    for score in one.scores:
        assert other.score(score.name) == pytest.approx(score.value)


def test_text_with_a_matrix() -> None:
    labels = ["politics at home", "spo\x1brt"]
    scores = evaluate_labels([0] * 2000 + [1] * 3, [0] * 1500 + [1] * 503, labels)
    assert scores.as_text().splitlines() == [
        "texts: 2,003",
        "",
        *scores.text_of_scores(),
        "",
        "class                  count  precision  recall      F1",
        "politics at home       2,000     100.00   75.00   85.71",
        "spo�rt                     3       0.60  100.00    1.19",
        "",
        "true ↓ predicted →  politic…  spo�rt",
        "politics at home       1,500     500",
        "spo�rt                     0       3",
    ]


def test_many_classes_show_the_most_frequent_confusions() -> None:
    labels = [f"c{number}" for number in range(60)]
    right = list(range(60)) * 2
    text = evaluate_labels(right + [7] * 5 + [3] * 9, right + [8] * 5 + [4] * 9, labels).as_text()
    assert text.endswith("\n2 kinds of confusion:\n         9  c3 taken for c4\n         5  c7 taken for c8\n")
    assert "\n… and 10 less frequent ones\n" in text
    assert "predicted →" not in text
    text = evaluate_labels(right, right[1:] + right[:1], labels).as_text()
    assert text.count(" taken for ") == 10
    assert "60 kinds of confusion, the most frequent:" in text
    assert evaluate_labels(right, right, labels).as_text().endswith("\n0 kinds of confusion\n")


def test_plain_values_for_programs() -> None:
    scores = evaluate_labels([0, 1], [0, 0], ["a", "b"])
    plain = scores.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["unit"], plain["confusion"], plain["classes"][1]["label"]) == ("texts", [[1, 0], [1, 0]], "b")


@pytest.mark.parametrize(
    ("truth", "predicted", "part"),
    [
        ([], [], "nothing to evaluate"),
        ([0], [0, 1], "1 examples but 2 predictions"),
    ],
)
def test_what_cannot_be_scored(truth: list[int], predicted: list[int], part: str) -> None:
    with pytest.raises(UsageError) as caught:
        evaluate_labels(truth, predicted, ["a", "b"])
    assert part in str(caught.value)


def test_the_matrix_gives_way_to_a_list_above_twelve_classes() -> None:
    for classes, matrix in ((12, True), (13, False)):
        right = list(range(classes))
        text = evaluate_labels(right, right, [f"c{number}" for number in right]).as_text()
        assert ("predicted →" in text) == matrix
        assert ("kinds of confusion" in text) != matrix


def test_fifty_classes_are_listed_in_their_order_and_of_more_the_most_frequent() -> None:
    right = [*range(50), 49]
    labels = [f"c{number}" for number in range(51)]
    rows = evaluate_labels(right, right, labels[:50]).as_text().splitlines()
    assert [line.split()[0] for line in rows if line.startswith("c")] == ["class", *labels[:50]]
    right = [*range(51), 50]
    rows = evaluate_labels(right, right, labels).as_text().splitlines()
    assert [line.split()[0] for line in rows if line.startswith("c")] == ["class", "c50", *labels[:49]]
    assert "… and 1 less frequent ones" in rows


def test_a_class_that_occurs_once_counts() -> None:
    scores = evaluate_labels([0, 1], [0, 1], ["a", "b"])
    assert [(row.count, row.precision, row.recall, row.f1) for row in scores.classes] == [(1, 100, 100, 100)] * 2


def test_nothing_that_occurs_scores_zero() -> None:
    none = np.zeros(2, dtype=np.int64)
    rows, macro = class_rows(["a", "b"], none, none, none, "classes")
    assert macro.value == 0
    assert macro.signature == "classes:0|undefined precision:0|never seen nor said, left out:2"
    assert [row.f1 for row in rows] == [0, 0]
    assert (percent(1, 4), percent(0, 0)) == (25, 0)


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    scores = evaluate_labels([0] * 12345 + [1], [0] * 12345 + [0], ["a", "b"])
    assert scores.as_text().splitlines()[-3:] == [
        "true ↓ predicted →       a  b",
        "a                   12,345  0",
        "b                        1  0",
    ]

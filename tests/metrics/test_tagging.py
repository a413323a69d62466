"""Scores of tags, spans and numbers: figures computed by hand, and what must hold for any of them."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.errors import UsageError
from mirada.metrics.classification import ClassRow
from mirada.metrics.tagging import evaluate_numbers, evaluate_tags, spans

anything = settings(derandomize=True, max_examples=100, deadline=None, database=None)

# --- spans ---


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("", set()),
        ("O O", set()),
        ("B-a I-a O B-b", {(0, 2, "a"), (3, 4, "b")}),
        ("B-a B-a I-a", {(0, 1, "a"), (1, 3, "a")}),
        ("I-a I-a O I-b", {(0, 2, "a"), (3, 4, "b")}),
        ("I-a B-a I-b", {(0, 1, "a"), (1, 2, "a"), (2, 3, "b")}),
        ("B-a I-b I-b", {(0, 1, "a"), (1, 3, "b")}),
        ("O I-a", {(1, 2, "a")}),
        ("B-a I-a E-a S-a", {(0, 3, "a"), (3, 4, "a")}),
        ("B-a L-a U-a U-b", {(0, 2, "a"), (2, 3, "a"), (3, 4, "b")}),
        ("E-a E-a I-a S-a I-a", {(0, 1, "a"), (1, 2, "a"), (2, 3, "a"), (3, 4, "a"), (4, 5, "a")}),
        ("B-a L-a I-a", {(0, 2, "a"), (2, 3, "a")}),
        ("B-a E-b", {(0, 1, "a"), (1, 2, "b")}),
        ("B I O B", {(0, 2, ""), (3, 4, "")}),
        ("B-x-y I-x-y", {(0, 2, "x-y")}),
        ("B-a NN I-a", {(0, 1, "a"), (2, 3, "a")}),
    ],
)
def test_spans_as_conlleval_has_them(tags: str, expected: set[tuple[int, int, str]]) -> None:
    assert spans(tags.split()) == expected


PIECES = st.lists(st.tuples(st.sampled_from("Oab"), st.integers(1, 4)), max_size=8)


def tagged(pieces: list[tuple[str, int]], scheme: str) -> list[str]:
    """Stretches of words outside or of one type, as tags of a scheme."""
    tags: list[str] = []
    for kind, length in pieces:
        if kind == "O":
            tags += ["O"] * length
            continue
        touches = bool(tags) and tags[-1].endswith(f"-{kind}")
        begin, inside, end, single = {
            "IOB1": "BIIB" if touches else "IIII",
            "BIO": "BIIB",
            "BIOES": "BIES",
            "BILOU": "BILU",
        }[scheme]
        letters = single if length == 1 else begin + inside * (length - 2) + end
        tags += [f"{letter}-{kind}" for letter in letters]
    return tags


@anything
@given(pieces=PIECES)
def test_spans_are_the_same_in_every_scheme(pieces: list[tuple[str, int]]) -> None:
    ends = [sum(length for _, length in pieces[: number + 1]) for number in range(len(pieces))]
    expected = {(end - n, end, kind) for end, (kind, n) in zip(ends, pieces, strict=True) if kind != "O"}
    for scheme in ("IOB1", "BIO", "BIOES", "BILOU"):
        assert spans(tagged(pieces, scheme)) == expected


@pytest.mark.parametrize("scheme", ["IOB1", "BIO", "BIOES", "BILOU"])
def test_spans_are_scored_in_every_scheme(scheme: str) -> None:
    tags = tagged([("a", 3), ("a", 1), ("b", 1), ("O", 1), ("a", 2)], scheme)
    scores = evaluate_tags([tags, tags], [tags, tags])
    assert scores.scores[0].name == "span-F1"
    assert "|spans:8|found:8" in scores.scores[0].signature


# --- tags ---

TRUTH = [["B-PER", "I-PER", "O", "O", "B-LOC"], [], ["O", "B-ORG", "I-ORG", "O"], ["I-LOC"]]
SAID = [["B-PER", "I-PER", "O", "B-LOC", "I-LOC"], [], ["O", "B-ORG", "O", "I-PER"], ["B-LOC"]]


def test_by_hand() -> None:
    # True: PER 0–1, LOC 4, ORG 6–7, LOC 9. Said: PER 0–1, LOC 3–4, ORG 6, PER 8, LOC 9. Right are PER 0–1 and LOC 9.
    unknown = [[True, False, False, True, False], [], [False, True, False, False], [False]]
    scores = evaluate_tags(TRUTH, SAID, unknown)
    assert [score.name for score in scores.scores] == ["span-F1", "accuracy", "macro-F1", "unknown words"]
    assert scores.score("span-F1") == pytest.approx(100 * 2 * 2 / (4 + 5))
    assert scores.score("accuracy") == 50.0
    assert scores.score("unknown words") == pytest.approx(100 * 2 / 3)
    # F1 of O: 4 true, 3 said, 2 right. B-PER 1, 1, 1. I-PER 1, 2, 1. B-LOC 1, 2, 0. B-ORG 1, 1, 1. I-ORG, I-LOC 0.
    assert scores.score("macro-F1") == pytest.approx(100 * (4 / 7 + 1 + 2 / 3 + 0 + 1 + 0 + 0) / 7)
    loc, org, per = scores.spans
    assert (loc, org) == (ClassRow("LOC", 2, 50.0, 50.0, 50.0), ClassRow("ORG", 1, 0.0, 0.0, 0.0))
    assert (per.label, per.count) == ("PER", 1)
    assert (per.precision, per.recall, per.f1) == pytest.approx((50, 100, 200 / 3))
    outside = scores.tags[0]
    assert (outside.label, outside.count) == ("O", 4)
    assert (outside.precision, outside.recall, outside.f1) == pytest.approx((200 / 3, 50, 400 / 7))
    assert [row.label for row in scores.tags[1:4]] == ["B-LOC", "B-ORG", "B-PER"]
    assert scores.scores[0].signature == "micro|match:exact|spans:4|found:5"
    assert scores.summary == "span-F1 44.4, accuracy 50.0, macro-F1 46.3, unknown words 66.7 on 10 words"


def test_spans_end_with_their_sentence() -> None:
    scores = evaluate_tags([["B-a"], ["I-a"]], [["B-a"], ["I-a"]])
    assert "|spans:2|" in scores.scores[0].signature
    assert evaluate_tags([["B-a", "I-a"]], [["B-a", "I-a"]]).scores[0].signature.endswith("|spans:1|found:1")


@pytest.mark.parametrize(
    ("tags", "marked"),
    [
        ("DET NOUN", False),
        ("O O", False),
        ("B-x NN", True),
        ("I-x O", True),
        ("U-x O", True),
        ("S-x NN", False),
        ("B I O", True),
        ("B S", False),
        ("S U", False),
    ],
)
def test_spans_are_scored_where_the_true_tags_mark_some(tags: str, marked: bool) -> None:
    scores = evaluate_tags([tags.split()], [["B-x", "O", "O"][: len(tags.split())]])
    assert (scores.scores[0].name == "span-F1") == marked
    assert bool(scores.spans) == marked


def test_unknown_words_are_left_out_if_there_are_none() -> None:
    assert len(evaluate_tags([["A"]], [["A"]], [[False]]).scores) == 2
    assert evaluate_tags([["A"]], [["B"]], [[True]]).score("unknown words") == 0


TAGS = st.sampled_from(["O", "B-a", "I-a", "E-a", "S-b", "I-b", "NN"])
SENTENCES = st.lists(st.lists(st.tuples(TAGS, TAGS), max_size=6), min_size=1, max_size=5).filter(any)


@anything
@given(sentences=SENTENCES)
def test_whole_test_sets_agree_with_single_sentences(sentences: list[list[tuple[str, str]]]) -> None:
    truth = [[true for true, _ in sentence] for sentence in sentences]
    said = [[guess for _, guess in sentence] for sentence in sentences]
    scores = evaluate_tags(truth, said)
    assert all(0 <= score.value <= 100 for score in scores.scores)
    assert sum(row.count for row in scores.tags) == scores.size
    pairs = [pair for sentence in sentences for pair in sentence]
    assert scores.score("accuracy") == pytest.approx(100 * sum(t == g for t, g in pairs) / len(pairs))
    if scores.spans:
        one, two = ([spans(tags) for tags in given] for given in (truth, said))
        right = sum(len(a & b) for a, b in zip(one, two, strict=True))
        total = sum(map(len, one)) + sum(map(len, two))
        assert scores.score("span-F1") == pytest.approx(100 * 2 * right / total)
        assert evaluate_tags(truth, truth).score("span-F1") == 100
    assert evaluate_tags(truth, truth).score("accuracy") == evaluate_tags(truth, truth).score("macro-F1") == 100


def test_text_and_plain_values() -> None:
    scores = evaluate_tags(TRUTH, SAID)
    text = scores.as_text()
    assert text.startswith("\n".join(["words: 10", "", *scores.text_of_scores(), ""]))
    assert "\nspan       count  precision  recall      F1\nLOC            2      50.00   50.00   50.00\n" in text
    assert "\ntag         count  precision  recall      F1\nO               4      66.67   50.00   57.14\n" in text
    assert "\nspan " not in evaluate_tags([["NN"]], [["NN"]]).as_text()
    plain = scores.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["unit"], plain["size"]) == ("words", 10)


@pytest.mark.parametrize(
    ("truth", "said", "part"),
    [
        ([], [], "nothing to evaluate"),
        ([[]], [[]], "nothing to evaluate"),
        ([["A"]], [], "1 sentences but 0 predictions"),
        ([["A"], ["A", "B"]], [["A"], ["A"]], "sentence 2 has 2 words but 1 predictions"),
    ],
)
def test_what_cannot_be_scored(truth: list[list[str]], said: list[list[str]], part: str) -> None:
    with pytest.raises(UsageError) as caught:
        evaluate_tags(truth, said)
    assert part in str(caught.value)


# --- numbers ---


def test_numbers_by_hand() -> None:
    scores = evaluate_numbers([[1, 2], [], [3, 6]], [[1, 4], [], [2, 6]])
    assert scores.score("MAE") == 0.75
    assert scores.score("RMSE") == pytest.approx(math.sqrt(5 / 4))
    assert scores.score("R²") == pytest.approx(1 - 5 / 14)  # the mean is 3: 4 + 1 + 0 + 9
    assert [score.lower_is_better for score in scores.scores] == [True, True, False]
    assert scores.summary == "MAE 0.750, RMSE 1.12, R² 0.643 on 4 words"
    assert scores.as_text().splitlines() == ["words: 4", "", *scores.text_of_scores()]


def test_small_errors_do_not_look_like_none() -> None:
    assert str(evaluate_numbers([[0.0, 1.0]], [[0.00012, 1.0]]).scores[0]) == "MAE 0.0000600"


def test_numbers_that_never_change() -> None:
    assert evaluate_numbers([[0.1] * 3], [[0.1] * 3]).score("R²") == 1
    scores = evaluate_numbers([[0.1] * 3], [[0.1, 0.1, 0.2]])
    assert (scores.score("R²"), scores.scores[2].signature) == (0, "all y are the same")


NUMBERS = st.floats(-1e50, 1e50)


@anything
@given(pairs=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_numbers_of_any_size_have_finite_scores(pairs: list[tuple[float, float]]) -> None:
    truth, said = ([[pair[side] for pair in pairs]] for side in (0, 1))
    scores = evaluate_numbers(truth, said)
    assert all(map(math.isfinite, [score.value for score in scores.scores]))
    assert 0 <= scores.score("MAE") <= scores.score("RMSE") * (1 + 1e-9) + 1e-150
    assert scores.score("R²") <= 1
    assert [score.value for score in evaluate_numbers(truth, truth).scores] == [0, 0, 1]
    mean = [[sum(truth[0]) / len(pairs)] * len(pairs)]
    assert evaluate_numbers(truth, mean).score("R²") == pytest.approx(0, abs=1e-6) or len({*truth[0]}) == 1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1e51])
def test_numbers_that_cannot_be_scored(bad: float) -> None:
    for truth, said in (([[1.0], [], [2.0, 3.0]], [[1.0], [], [2.0, bad]]), ([[bad]], [[1.0]])):
        with pytest.raises(UsageError, match=r"up to 1e\+50"):
            evaluate_numbers(truth, said)


def test_numbers_up_to_the_largest_are_scored() -> None:
    assert evaluate_numbers([[1e50]], [[0.0]]).score("MAE") == 1e50
    with pytest.raises(UsageError, match=r"up to 1e\+50"):
        evaluate_numbers([[1.1e50]], [[0.0]])


def test_numbers_that_hardly_change_count_as_constant() -> None:
    for spread, constant in ((0.9e-50, True), (1.1e-50, False)):
        scores = evaluate_numbers([[0.0, spread]], [[0.0, 0.0]])
        assert ("the same" in scores.scores[2].signature) == constant


def test_numbers_are_shown_with_at_least_one_decimal() -> None:
    assert [str(score) for score in evaluate_numbers([[12345.0]], [[0.0]]).scores[:2]] == [
        "MAE 12,345.0",
        "RMSE 12,345.0",
    ]

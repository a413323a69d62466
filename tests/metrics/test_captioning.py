"""Scores of captions, computed by hand."""

from __future__ import annotations

from mirada.metrics.captioning import evaluate_captions, exact
from mirada.metrics.translation import text_scores

REFERENCES = [["a red star", "one red star"], ["a blue ring"], ["two dots"]]
CAPTIONS = ["one red star", "a blue star", "two dots"]
PLACES = ["1.png", "2.png", "3.png"]


def test_captions_match_any_of_their_references() -> None:
    assert exact(CAPTIONS, REFERENCES) == 2
    assert exact(["a blue ring"], [["a red star"]]) == 0


def test_scores_by_hand() -> None:
    scores = evaluate_captions(PLACES, CAPTIONS, REFERENCES)
    assert (scores.size, scores.cut, scores.notes) == (3, 0, ())
    assert scores.score("exact match") == 100 * 2 / 3
    assert scores.scores[0].signature == "right:2|of:3"
    assert scores.scores[1:] == text_scores(CAPTIONS, REFERENCES)
    assert scores.misses == (("2.png", "a blue star", "a blue ring"),)
    assert scores.as_text() == (
        "images: 3\n\n" + "\n".join(scores.text_of_scores()) + "\n\n"
        "not among the references, the first:\n  2.png\n    → a blue star\n    = a blue ring\n"
    )  # fmt: skip


def test_perfect_captions_have_no_misses() -> None:
    scores = evaluate_captions(PLACES, [given[0] for given in REFERENCES], REFERENCES)
    assert scores.score("exact match") == 100
    assert scores.misses == ()
    assert scores.as_text() == "images: 3\n\n" + "\n".join(scores.text_of_scores()) + "\n"


def test_five_misses_are_shown_and_cut_captions_are_counted() -> None:
    wrong = evaluate_captions([f"{n}.png" for n in range(9)], ["x"] * 9, [["y", "z"]] * 9, cut=1200)
    assert [place for place, _, _ in wrong.misses] == [f"{n}.png" for n in range(5)]
    assert {truth for _, _, truth in wrong.misses} == {"y"}
    assert wrong.cut == 1200
    assert wrong.notes == ("captions cut at the length limit: 1,200",)
    assert wrong.as_text().startswith("images: 9\ncaptions cut at the length limit: 1,200\n\n")


def test_chinese_captions_are_scored_by_character() -> None:
    scores = evaluate_captions(["1.png"], ["一个红星"], [["一个红星"]])
    assert "tok:zh" in scores.scores[1].signature

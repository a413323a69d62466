"""Scores of a text: figures computed by hand."""

import json
import warnings

import numpy as np
import pytest

from mirada.errors import UsageError
from mirada.metrics.perplexity import evaluate_text

COUNTS = np.array([0, 0, 0, 1, 3, 4])  # with one added to each: 1 1 1 2 4 5 of 14


def test_by_hand() -> None:
    scores = evaluate_text(np.array([1.0, 2.0, 3.0]), np.array([3, 4, 5]), COUNTS, 4, "subwords", how="one row")
    assert scores.score("bits/character") == 6 / 4
    assert scores.score("perplexity") == pytest.approx(4)  # 2^(6/3)
    expected = (np.log2(14 / 2) + np.log2(14 / 4) + np.log2(14 / 5)) / 4
    assert scores.score("unigram bits/character") == pytest.approx(expected)
    assert (scores.size, scores.characters, scores.bits) == (3, 4, 6.0)
    assert [score.lower_is_better for score in scores.scores] == [True, True, True]
    assert scores.scores[0].signature == "units:subwords|one row"
    assert scores.summary.startswith("bits/character 1.500, perplexity 4.00, unigram bits/character ")
    assert scores.summary.endswith(" on 3 tokens")


@pytest.mark.parametrize(("unit", "name"), [("words", "bits/word"), ("symbols", "bits/symbol")])
def test_units_that_do_not_spell_the_text_are_counted_themselves(unit: str, name: str) -> None:
    scores = evaluate_text(np.array([1.0, 2.0]), np.array([3, 4]), COUNTS, 1000, unit, 3)
    assert scores.score(name) == 1.5
    assert scores.score("perplexity") == pytest.approx(2**1.5)
    assert scores.scores[0].signature == f"units:{unit}|unknown:1"


def test_units_that_training_never_had_cost_much_but_not_everything() -> None:
    scores = evaluate_text(np.array([1.0]), np.array([0]), COUNTS, 1, "characters", 3)
    assert scores.score("unigram bits/character") == pytest.approx(np.log2(14))


def test_for_a_person_and_for_a_program() -> None:
    scores = evaluate_text(np.array([1.0, 1200.0]), np.array([3, 4]), COUNTS, 2, "characters", 3)
    assert "tokens: 2" in scores.as_text()
    assert "bits/character" in scores.as_text()
    assert "(lower is better)" in scores.as_text()
    plain = json.loads(json.dumps(scores.as_dict()))
    assert plain["unit"] == "tokens"
    assert plain["scores"][0]["value"] == 600.5


def test_faults() -> None:
    with pytest.raises(UsageError, match="2 tokens but 1 predictions"):
        evaluate_text(np.array([1.0]), np.array([3, 4]), COUNTS, 2, "characters")
    with pytest.raises(UsageError, match="nothing to evaluate"):
        evaluate_text(np.zeros(0), np.zeros(0, dtype=int), COUNTS, 0, "characters")


def test_a_text_without_characters_or_tokens_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing to evaluate"):
        evaluate_text(np.array([1.0]), np.array([3]), COUNTS, 0, "words")
    with pytest.raises(UsageError, match="nothing to evaluate"):
        evaluate_text(np.zeros(0), np.zeros(0, dtype=int), COUNTS, 5, "words")


def test_unknown_tokens_are_counted() -> None:
    scores = evaluate_text(np.ones(5), np.array([3, 4, 3, 5, 3]), COUNTS, 9, "words", 3)
    assert scores.scores[0].signature == "units:words|unknown:3"


def test_a_hopeless_text_has_an_infinite_perplexity() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluate_text(np.array([1e6]), np.array([3]), COUNTS, 1, "words").score("perplexity") == np.inf


def test_the_text() -> None:
    scores = evaluate_text(np.array([1.0, 1200.0]), np.array([3, 4]), COUNTS, 2345, "characters")
    unigram = (np.log2(14 / 2) + np.log2(14 / 4)) / 2345
    assert [score.digits for score in scores.scores] == [3, 2, 3]
    assert scores.as_text().splitlines() == [
        "tokens: 2",
        "characters: 2,345",
        "",
        "bits/character          0.5122  units:characters  (lower is better)",
        f"perplexity             {2 ** (1201 / 2):,.3f}  a token|units:characters  (lower is better)",
        f"unigram bits/character  {unigram:.4f}  of the units' frequency in training alone  (lower is better)",
    ]

"""How scores, texts and numbers are shown."""

from __future__ import annotations

import pytest

from mirada.metrics.score import Evaluation, Score, decimals, shown


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 2), (-1, 2), (123, 0), (99.9, 1), (10, 1), (1, 2), (0.5, 3), (0.0123, 4), (1e-30, 9)]
)
def test_decimals_leave_about_three_digits(value: float, expected: int) -> None:
    assert decimals(value) == expected
    assert decimals(value, 1) == max(1, expected)


def test_long_texts_are_cut_to_their_width() -> None:
    assert shown("abcdef", 6) == "abcdef"
    assert shown("abcdefg", 6) == "abcde…"
    assert shown("x" * 30) == "x" * 30
    assert shown("x" * 31) == "x" * 29 + "…"
    assert shown("a\x1b[31m\n") == "a\ufffd[31m\ufffd"


def test_an_evaluation_by_name_in_one_line_and_as_plain_values() -> None:
    found = Evaluation(1234, (Score("right", 99.123, "how"), Score("wrong", 0.5, "", True, 2)), notes=("a note",))
    assert found.score("wrong") == 0.5
    assert found.summary == "right 99.1, wrong 0.50 on 1,234 examples"
    assert found.text_of_scores() == ["right   99.12  how", "wrong   0.500    (lower is better)"]
    assert found.as_dict() == {
        "unit": "examples",
        "size": 1234,
        "scores": [
            {"name": "right", "value": 99.123, "signature": "how", "lower_is_better": False, "digits": 1},
            {"name": "wrong", "value": 0.5, "signature": "", "lower_is_better": True, "digits": 2},
        ],
        "notes": ["a note"],
    }

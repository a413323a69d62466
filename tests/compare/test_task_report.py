"""The longest paths between the words of one sequence."""

from __future__ import annotations

from typing import Any

import pytest

from mirada.compare.task_report import encoder_path


@pytest.mark.parametrize(
    ("settings", "bidirectional", "begins", "steps"),
    [
        ({"name": "lstm"}, True, "n − 1, forward and back", {8: 7, 16: 15}),
        ({"name": "jordan"}, False, "n − 1, forward only", {8: 7, 16: 15}),
        ({"name": "transformer"}, False, "1", {8: 1, 16: 1}),
        ({"name": "bag", "ngrams": 1}, False, "none: it ignores the order", {}),
        ({"name": "bag", "ngrams": 2}, False, "none: it ignores the order beyond 2 words in a row", {}),
        ({"name": "memoryless"}, False, "none: it reads every word alone", {}),
    ],
)
def test_the_longest_paths(settings: dict[str, Any], bidirectional: bool, begins: str, steps: dict[int, int]) -> None:
    found = encoder_path(settings, bidirectional, (8, 16))
    assert found is not None
    assert (found.formula, found.steps) == (begins, steps)


def test_an_unknown_architecture_has_no_path() -> None:
    assert encoder_path({"name": "something-new"}, False, (8,)) is None

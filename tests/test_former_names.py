"""Names from earlier versions: tasks and report fields get their current ones, everything else stays."""

from __future__ import annotations

from typing import Any

import pytest

from mirada import tasks
from mirada.config import parse
from mirada.former_names import TASKS, current_names, current_report, current_task


def test_every_former_task_is_a_task_of_today() -> None:
    assert {current_task(name) for name in TASKS} <= set(tasks.packages())
    assert not set(TASKS) & set(tasks.packages())
    assert current_task("translation") == "translation"


@pytest.mark.parametrize("values", [{}, {"task": 3}, {"format": 2, "data": None}, {"format": 2, "data": ["pictures"]}])
def test_values_of_a_wrong_type_are_left_alone(values: dict[str, Any]) -> None:
    assert current_names(values) == values


def test_cards_and_configurations() -> None:
    card = {"format": 2, "task": "pictures", "data": {"pictures": 9, "classes": {}}}
    assert current_names(card) == {**card, "task": "image_classification", "data": {"images": 9, "classes": {}}}
    assert card["task"] == "pictures"
    assert current_report({"pictures": 1, "read": 2}) == {"images": 1, "read": 2}
    assert parse(b"task: masked\ndata:\n  pictures: 1\n", "c.yaml") == {"task": "masked_lm", "data": {"pictures": 1}}

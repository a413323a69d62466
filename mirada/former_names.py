"""What earlier versions of Mirada called things: their bundles, runs and configurations are still understood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TASKS = {"language": "language_model", "masked": "masked_lm", "pictures": "image_classification"}
REPORT_FIELDS = {"pictures": "images"}
"""Of what a card and prepared data say about the data."""


def current_task(name: str) -> str:
    """The name that a task has today."""
    return TASKS.get(name, name)


def current_report(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is said about the data, under today's names."""
    return {REPORT_FIELDS.get(key, key): value for key, value in values.items()}


def current_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """A card or a configuration under today's names; what is not of the right type is left for its schema to refuse."""
    found = dict(values)
    if isinstance(task := found.get("task"), str):
        found["task"] = current_task(task)
    if isinstance(data := found.get("data"), dict) and "format" in found:  # a card
        found["data"] = current_report(data)
    return found

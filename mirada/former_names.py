"""Names from earlier versions of Mirada, so that their bundles, runs and configurations still work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TASKS = {"language": "language_model", "masked": "masked_lm", "pictures": "image_classification"}
REPORT_FIELDS = {"pictures": "images"}
"""Fields of the data report in a card and in prepared data."""


def current_task(name: str) -> str:
    """The current name of a task."""
    return TASKS.get(name, name)


def current_report(values: Mapping[str, Any]) -> dict[str, Any]:
    """A data report with current field names."""
    return {REPORT_FIELDS.get(key, key): value for key, value in values.items()}


def current_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """A card or a configuration with current names; values of a wrong type are left for the schema to refuse."""
    found = dict(values)
    if isinstance(task := found.get("task"), str):
        found["task"] = current_task(task)
    if isinstance(data := found.get("data"), dict) and "format" in found:  # a card
        found["data"] = current_report(data)
    return found

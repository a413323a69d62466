"""The verb of the task."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mirada.cli.app import Program
from mirada.cli.predict import Lines, predicts
from mirada.predictions import Prediction


def register(app: Program) -> None:
    @predicts(app, "counting")
    def count(model: Any, lines: Lines) -> Iterable[Prediction]:
        """Count the vowels of words: word, tab, number."""
        found: Iterable[Prediction] = model.count(lines.texts)
        return found

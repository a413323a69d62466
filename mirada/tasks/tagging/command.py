"""The verb of tagging."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mirada.cli.app import Program
from mirada.cli.predict import Lines, predicts
from mirada.predictions import Prediction


def register(app: Program) -> None:
    @predicts(app, "tagging")
    def tag(model: Any, lines: Lines) -> Iterable[Prediction]:
        """Tag the words of texts: word, tab, tag or number, one line per word; a blank line after each text."""
        found: Iterable[Prediction] = model.tag(lines.texts)
        return found

"""The verb of tagging."""

from __future__ import annotations

from typing import Any

from mirada.cli.app import Program
from mirada.cli.predict import Lines, predicts


def register(app: Program) -> None:
    @predicts(app, "tagging")
    def tag(model: Any, lines: Lines) -> Any:
        """Tag the words of texts. Prints one line per word (word, tab, tag or number), a blank line after each text."""
        return model.tag(lines.texts)

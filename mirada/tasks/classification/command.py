"""The verb of text classification."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mirada.cli.app import Program
from mirada.cli.predict import Lines, predicts


def register(app: Program) -> None:
    @predicts(app, "classification", allowed=("tsv",))
    def classify(
        model: Any,
        lines: Lines,
        why: Annotated[bool, typer.Option("--why", help="Print the words that decided (bag models only).")] = False,
    ) -> Any:
        """Classify texts or images: label, tab, probability, one line per input.

        A model for pairs takes two texts with a tab between them.
        """
        return model.classify(lines.texts, why=why, first=lines.first)

"""The verb of text classification."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from mirada.cli.app import Program
from mirada.cli.predict import Lines, predicts
from mirada.predictions import Prediction


def register(app: Program) -> None:
    @predicts(app, "classification", allowed=("tsv",))
    def classify(
        model: Any,
        lines: Lines,
        why: Annotated[bool, typer.Option("--why", help="Print the words that decided (bag models only).")] = False,
    ) -> Iterable[Prediction]:
        """Classify texts or images: label, tab, probability, one line per input.

        A model for pairs takes two texts with a tab between them.
        """
        found: Iterable[Prediction] = model.classify(lines.texts, why=why, first=lines.first)
        return found

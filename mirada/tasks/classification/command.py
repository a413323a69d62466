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
        why: Annotated[
            bool, typer.Option("--why", help="Also print the words with the most weight (bag models only).")
        ] = False,
    ) -> Any:
        """Classify texts or images. Prints one line per input: label, tab, probability.

        A model for text pairs takes two texts separated by a tab.
        """
        return model.classify_lines(lines.texts, why=why)

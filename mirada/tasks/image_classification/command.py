"""The verb of image classification."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mirada.cli.app import Program
from mirada.cli.predict import Lines, predicts
from mirada.predictions import Prediction


def register(app: Program) -> None:
    @predicts(app, "image_classification", unit="files")
    def classify(model: Any, lines: Lines) -> Iterable[Prediction]:
        """An image model takes files instead of texts: an image each, or an .npz with many."""
        found: Iterable[Prediction] = model.classify_files(lines.texts)
        return found

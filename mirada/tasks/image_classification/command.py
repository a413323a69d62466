"""The verb of image classification."""

from __future__ import annotations

from typing import Any

from mirada.cli.app import Program
from mirada.cli.predict import Lines, predicts


def register(app: Program) -> None:
    @predicts(app, "image_classification", unit="files")
    def classify(model: Any, lines: Lines) -> Any:
        """An image model takes files instead of texts: one image each, or an .npz file with several."""
        return model.classify_files(lines.texts)

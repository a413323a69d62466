"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

from dataclasses import dataclass

from mirada.contracts import Sizes
from mirada.data.images.format import Format


@dataclass(frozen=True)
class ImagePreprocessor:
    """What classifying images needs besides weights."""

    labels: list[str]
    format: Format

    @property
    def sizes(self) -> Sizes:
        shape = self.format.shape
        return Sizes(shape[0], len(self.labels), numeric_inputs=True, shape=shape)

    def files(self) -> dict[str, bytes]:
        return {"pictures.json": self.format.to_json(self.labels).encode("utf-8")}

"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mirada.contracts import Sizes
from mirada.data.images.format import Format


@dataclass(frozen=True)
class ImagePreprocessor:
    """The labels of an image classifier, and the format of its images."""

    labels: list[str]
    format: Format

    @property
    def sizes(self) -> Sizes:
        shape = self.format.shape
        return Sizes(shape[0], len(self.labels), numeric_inputs=True, shape=shape)

    def files(self) -> dict[str, bytes]:
        return {"pictures.json": self.format.to_json(self.labels).encode("utf-8")}

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> ImagePreprocessor:
        """What `files` returned."""
        return cls(*Format.from_json(files["pictures.json"], where / "pictures.json"))

"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, Field

from mirada.contracts import Sizes
from mirada.data.images.format import Format
from mirada.data.tokenizer import Tokenizer
from mirada.errors import BundleError
from mirada.parsing import load_json


@dataclass(frozen=True)
class CaptionPreprocessor:
    """The tokenizer of captions, and the format of images."""

    tokenizer: Tokenizer
    format: Format
    longest: int
    """Tokens in the longest caption that was learned from."""

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.format.shape[0], self.tokenizer.size, numeric_inputs=True, shape=self.format.shape)

    def files(self) -> dict[str, bytes]:
        return {
            "tokenizer.json": self.tokenizer.to_json().encode("utf-8"),
            "pictures.json": self.format.to_json([]).encode("utf-8"),
            "captions.json": json.dumps({"longest": self.longest}).encode("utf-8"),
        }

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> CaptionPreprocessor:
        """What `files` returned."""
        _, format_ = Format.from_json(files["pictures.json"], where / "pictures.json")
        about: _Captions = load_json(files["captions.json"], _Captions, where / "captions.json", BundleError)
        tokenizer = Tokenizer.load(where / "tokenizer.json", files["tokenizer.json"])
        return cls(tokenizer, format_, about.longest)


class _Captions(BaseModel):
    """What captions.json says."""

    longest: int = Field(ge=1, le=65_536)

"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import BaseModel, Field

from mirada.contracts import Sizes
from mirada.data.images.format import Format
from mirada.data.tokenizer import Tokenizer


@dataclass(frozen=True)
class CaptionPreprocessor:
    """What captioning needs besides weights."""

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


class _Captions(BaseModel):
    """What captions.json says."""

    longest: int = Field(ge=1, le=65_536)

"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from mirada.contracts import Sizes
from mirada.data.splits import LabelNames
from mirada.data.tokenizer import Tokenizer


@dataclass(frozen=True)
class Labels:
    """What classifying needs besides weights."""

    tokenizer: Tokenizer
    labels: list[str]
    parts: int = 1
    """Of a text: two when pairs are classified."""

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.tokenizer.size, len(self.labels))

    def files(self) -> dict[str, bytes]:
        about = self.labels if self.parts == 1 else {"labels": self.labels, "parts": self.parts}
        return {
            "tokenizer.json": self.tokenizer.to_json().encode("utf-8"),
            "labels.json": json.dumps(about, ensure_ascii=False).encode("utf-8"),
        }


class _Named(BaseModel):
    """What labels.json says; of single texts it may be the labels alone."""

    labels: LabelNames
    parts: Literal[1, 2] = 1

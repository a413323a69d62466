"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from mirada.contracts import Sizes
from mirada.data.splits import LabelNames
from mirada.data.tokenizer import Tokenizer
from mirada.errors import BundleError
from mirada.parsing import load_json


@dataclass(frozen=True)
class ClassificationPreprocessor:
    """The tokenizer and the labels of a classifier."""

    tokenizer: Tokenizer
    labels: list[str]
    parts: int = 1
    """Parts of a text: two when pairs are classified."""

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.tokenizer.size, len(self.labels))

    def files(self) -> dict[str, bytes]:
        about = self.labels if self.parts == 1 else {"labels": self.labels, "parts": self.parts}
        return {
            "tokenizer.json": self.tokenizer.to_json().encode("utf-8"),
            "labels.json": json.dumps(about, ensure_ascii=False).encode("utf-8"),
        }

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> ClassificationPreprocessor:
        """What `files` returned."""
        found = load_json(files["labels.json"], _Named | LabelNames, where / "labels.json", BundleError)
        about = found if isinstance(found, _Named) else _Named(labels=found)
        return cls(Tokenizer.load(where / "tokenizer.json", files["tokenizer.json"]), about.labels, about.parts)


class _Named(BaseModel):
    """What labels.json says; of single texts it may be the labels alone."""

    labels: LabelNames
    parts: Literal[1, 2] = 1

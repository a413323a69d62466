"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mirada.contracts import Sizes
from mirada.data.tokenizer import Tokenizer
from mirada.tasks.language_model.data import Spelling, load_counts


@dataclass(frozen=True)
class LanguageModelPreprocessor:
    """The units of text of a language model, and how often each occurred in training."""

    spelling: Spelling
    counts: npt.NDArray[np.int64]

    @property
    def tokenizer(self) -> Tokenizer:
        return self.spelling.tokenizer

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.tokenizer.size, self.tokenizer.size, causal=True)

    def files(self) -> dict[str, bytes]:
        counts = json.dumps(self.counts.tolist())
        return {"tokenizer.json": self.tokenizer.to_json().encode("utf-8"), "counts.json": counts.encode("utf-8")}

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> LanguageModelPreprocessor:
        """What `files` returned."""
        tokenizer = Tokenizer.load(where / "tokenizer.json", files["tokenizer.json"])
        return cls(Spelling(tokenizer), load_counts(files["counts.json"], tokenizer.size, where / "counts.json"))

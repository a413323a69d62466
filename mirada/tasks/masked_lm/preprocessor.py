"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mirada.contracts import Sizes
from mirada.data.tokenizer import Tokenizer


@dataclass(frozen=True)
class MaskedLMPreprocessor:
    """The tokenizer of a masked language model."""

    tokenizer: Tokenizer

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.tokenizer.size, self.tokenizer.size)

    def files(self) -> dict[str, bytes]:
        return {"tokenizer.json": self.tokenizer.to_json().encode("utf-8")}

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> MaskedLMPreprocessor:
        """What `files` returned."""
        return cls(Tokenizer.load(where / "tokenizer.json", files["tokenizer.json"]))

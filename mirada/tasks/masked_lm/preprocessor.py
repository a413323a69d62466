"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mirada.contracts import Sizes
from mirada.data.tokenizer import Tokenizer


@dataclass(frozen=True)
class Vocabulary:
    """The tokenizer of a masked language model."""

    tokenizer: Tokenizer

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.tokenizer.size, self.tokenizer.size)

    def files(self) -> dict[str, bytes]:
        return {"tokenizer.json": self.tokenizer.to_json().encode("utf-8")}

    @classmethod
    def read(cls, folder: Path) -> Vocabulary:
        """What `files` wrote."""
        return cls(Tokenizer.load(folder / "tokenizer.json"))

"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

from dataclasses import dataclass

from mirada.contracts import Sizes
from mirada.data.tokenizer import Tokenizer


@dataclass(frozen=True)
class Vocabulary:
    """What masked modelling needs besides weights."""

    tokenizer: Tokenizer

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.tokenizer.size, self.tokenizer.size)

    def files(self) -> dict[str, bytes]:
        return {"tokenizer.json": self.tokenizer.to_json().encode("utf-8")}

"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

from dataclasses import dataclass

from mirada.contracts import Sizes
from mirada.data.tokenizer import Tokenizer

SOURCE, TARGET = "tokenizer.json", "tokenizer.target.json"


@dataclass(frozen=True)
class TranslationPreprocessor:
    """What translating needs besides weights: the subwords of both languages, often the same."""

    source: Tokenizer
    target: Tokenizer

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.source.size, self.target.size)

    def files(self) -> dict[str, bytes]:
        files = {SOURCE: self.source.to_json().encode("utf-8")}
        if self.target is not self.source:
            files[TARGET] = self.target.to_json().encode("utf-8")
        return files

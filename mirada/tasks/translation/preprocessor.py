"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mirada.contracts import Sizes
from mirada.data.tokenizer import Tokenizer

SOURCE, TARGET = "tokenizer.json", "tokenizer.target.json"


@dataclass(frozen=True)
class TranslationPreprocessor:
    """The tokenizers of both languages, often the same."""

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

    @classmethod
    def read(cls, folder: Path) -> TranslationPreprocessor:
        """What `files` wrote."""
        source = Tokenizer.load(folder / SOURCE)
        return cls(source, Tokenizer.load(folder / TARGET) if (folder / TARGET).exists() else source)

"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

from collections.abc import Mapping
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
    def read(
        cls, files: Mapping[str, bytes], where: Path, names: tuple[str, str] = (SOURCE, TARGET)
    ) -> TranslationPreprocessor:
        """What `files` returned; `names` are those of the files."""
        source, target = names
        tokenizer = Tokenizer.load(where / source, files[source])
        return cls(tokenizer, Tokenizer.load(where / target, files[target]) if target in files else tokenizer)

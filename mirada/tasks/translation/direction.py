"""The direction of a translation: which languages a model translates between, and the ids that tell it which way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mirada.data import language
from mirada.data.tokenizer import Tokenizer
from mirada.data.tokenizer_learning import tag_to
from mirada.errors import UsageError
from mirada.tasks.translation.data import Examples


class Directions:
    """The languages of a model. One of two directions has tags in its vocabulary, one for each target language.

    A published multilingual model has marks instead (>>fra<<), which are used the same way.
    """

    def __init__(self, tokenizer: Tokenizer, languages: dict[str, Any], path: Path):
        self.source: str | None = languages.get("source")
        self.target: str | None = languages.get("target")
        self._tokenizer, self._path = tokenizer, path
        codes = [code for code in (self.target, self.source) if code and tag_to(code) in tokenizer.tags]
        self.codes = codes if len(codes) == 2 else []
        """The target languages of a model of two directions, that of its training data first."""

    @property
    def both(self) -> bool:
        """Whether the model translates both ways."""
        return bool(self.codes)

    @property
    def ways(self) -> list[str | None]:
        """The directions of the model, by what is translated into: one, which need not be named, or two."""
        return [*self.codes] or [None]

    def pair(self, to: str | None) -> tuple[str | None, str | None]:
        """Source and target language of a direction."""
        return (self.target, self.source) if self.both and to == self.source else (self.source, self.target)

    def arrow(self, to: str | None) -> str:
        """A direction in words: es→en."""
        return "→".join(code or "?" for code in self.pair(to))

    def find(self, to: str | None) -> str | None:
        """The direction that a language code asks for, as the model calls it; None where there is but one."""
        if to is None:
            return None
        for code in self.codes:
            if code == to or language.primary(code) == language.primary(to):
                return code
        if not self.both and self._mark(to) is not None:
            return to
        if self.target is None:
            raise UsageError(
                f"--to {to}: {self._path} does not know its languages, and translates one way; leave it out"
            )
        if not self.both and language.primary(to) == language.primary(self.target):
            return None
        known = " or ".join(self.codes) or self.target
        raise UsageError(f"--to {to}: {self._path} translates into {known}")

    def of_files(self, to: str | None) -> str | None:
        """The direction for files in known languages: a model that does not know its own takes any."""
        known = to is not None and (self.target is not None or self._mark(to) is not None)
        return self.find(to) if known else None

    def tag(self, to: str | None) -> list[int]:
        """The ids before each source that tell the model its direction."""
        if to is None:
            return []
        mark = self._mark(to)
        return [self._tokenizer.tags[tag_to(to)] if mark is None else mark]

    def _mark(self, to: str) -> int | None:
        return self._tokenizer.vocabulary().get(f">>{to}<<") if self._tokenizer.unit == "pieces" else None

    def guess(self, texts: Sequence[str]) -> tuple[str, str]:
        """The direction that suits the language of the texts, and a note that says so."""
        source = language.which(texts, (self.codes[0], self.codes[1]))
        to, other = self.codes
        if source is None:
            raise UsageError(
                f"{self._path}: translates both ways, and the language of the input is unclear; choose the direction: "
                f"--to {to} or --to {other}"
            )
        to = other if source == to else to
        return to, f"the input looks like {source}, so it is translated into {to} (--to {source} for the other way)"


def turned(examples: Examples, to: str | None, directions: Directions) -> Examples:
    """Examples as a direction needs them: the other way round, the first reference is the source."""
    if directions.pair(to) == (directions.source, directions.target):
        return examples
    return [(references[0], (source,)) for source, references in examples]

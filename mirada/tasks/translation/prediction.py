"""Translations as a translator returns them, and scores with notes on what went wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mirada.metrics.translation import TranslationScores
from mirada.predictions import ranked
from mirada.tasks.model import GeneratedText
from mirada.tasks.translation.memory import Match


@dataclass(frozen=True)
class Translation(GeneratedText):
    """A translated text, its score summed over its sentences; empty if there is a `problem`."""

    key = "translation"
    parts: int = 0
    """How many parts its overlong sentences were translated in."""
    flags: tuple[str, ...] = ()
    """What it should be checked for: see `mirada.tasks.translation.flags`."""
    confidence: float = 0.0
    """The mean probability of a token in the sentence that the model is least sure of."""
    words: tuple[tuple[str, float], ...] = field(default=(), repr=False)
    """Its words with their probabilities, where they were asked for (`words=True`)."""
    uncovered: tuple[str, ...] = ()
    """Words of the source that seem to have no counterpart, where words were asked for."""
    corrected: tuple[tuple[str, str], ...] = ()
    """Misspelt words of the source, and as what they were read."""
    memory: tuple[Match, ...] = ()
    """What a translation memory has for its sentences."""

    def values(self) -> dict[str, Any]:
        found = {**super().values(), "flags": list(self.flags), "confidence": round(self.confidence, 4)}
        if self.words:
            found |= {"words": ranked(self.words, "word", "probability"), "uncovered": list(self.uncovered)}
        if self.corrected:
            found |= {"corrected": [list(pair) for pair in self.corrected]}
        if self.memory:
            found |= {"memory": [match.as_dict() for match in self.memory]}
        return found

    def with_columns(self) -> Translation:
        """The same, shown with its flags and its confidence in columns after the text."""
        return _WithColumns(**vars(self))

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Translation:
        """A translation from what `as_dict` made of it."""
        return cls(
            values["translation"],
            values["score"],
            tuple((other["text"], other["score"]) for other in values["alternatives"]),
            values["complete"],
            flags=tuple(values.get("flags", ())),
            confidence=values.get("confidence", 0.0),
            notes=tuple(values.get("notes", ())),
            problem=values.get("problem"),
        )


class _WithColumns(Translation):
    """A translation with columns for its flags and its confidence."""

    def as_text(self, number: int = 1) -> str:
        confidence = f"{self.confidence:.2f}" if self.text.strip() else ""
        return f"{super().as_text(number)}\t{', '.join(self.flags)}\t{confidence}"


def with_notes(scores: TranslationScores, found: Sequence[Translation]) -> TranslationScores:
    """Scores with notes on how many of the translations were refused, cut off, or made in parts."""
    refused = [number for number, each in enumerate(found, 1) if each.problem]
    cut = [number for number, each in enumerate(found, 1) if not each.complete]
    parts = [number for number, each in enumerate(found, 1) if each.parts]

    def note(what: str, numbers: list[int], more: str = "") -> list[str]:
        first = f"sentence {numbers[0]}{more}{', …' * (len(numbers) > 1)}" if numbers else ""
        return [f"{what}: {len(numbers):,} ({first})"] if numbers else []

    problem = f" {found[refused[0] - 1].problem}" if refused else ""
    notes = (
        *note("refused, and scored as empty", refused, problem),
        *note("cut at the length limit (decode.max_ratio)", cut),
        *note("translated in parts, because longer than the model accepts", parts),
    )
    return replace(scores, notes=(*scores.notes, *notes), refused=len(refused), cut=len(cut))

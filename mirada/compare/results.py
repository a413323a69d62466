"""What a comparison found: plain figures, the same in `report.json`, in the page and in the library."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HTML, JSON = "report.html", "report.json"


@dataclass(frozen=True)
class Look:
    """Where a model looked in the source for each token of its translation, on average over layers and heads."""

    source: list[str]  # S tokens
    target: list[str]  # T tokens
    weights: list[list[float]]  # [T, S]


@dataclass(frozen=True)
class Route:
    """How many steps lie between two words, for sentences of n words: as a formula, and at some n."""

    formula: str
    steps: dict[int, int]


@dataclass(frozen=True)
class Entrant:
    """One of the models, trained and measured."""

    name: str
    bundle: str
    """Where it is, in the comparison's directory."""
    parameters: int
    settings: dict[str, Any]
    """The model section of its configuration."""
    training: dict[str, Any]
    """Steps, epochs, tokens, seconds, …: what its card says."""
    scores: dict[str, Any]
    """Of the dev part, also by source length: what its card says."""
    tokens_per_second: float | None
    """In training, both sides counted."""
    sentences_per_second: float
    """In use: dev sentences, translated."""
    speed_by_length: dict[int, float]
    """Tokens a second, forward and backward, in a batch of sentences of one length, by that length."""
    across: Route | None
    """The longest way from a source word to a target word; None for an architecture that nobody has counted."""
    within: Route | None
    """The longest way between two words of one sentence."""
    translations: list[str]
    """Of the comparison's samples, in their order."""
    attention: Look | None
    """None for a model without."""

    def score(self, name: str = "BLEU") -> float:
        return next(float(score["value"]) for score in self.scores["scores"] if score["name"] == name)


@dataclass(frozen=True)
class Sample:
    """A dev sentence and what it should become."""

    source: str
    references: list[str]


@dataclass(frozen=True)
class Comparison:
    """Models that had the same data, tokens and budget, side by side."""

    out: Path
    task: str
    languages: dict[str, str | None]
    data: dict[str, Any]
    """Training pairs, dev pairs, words, vocabulary, …, as the cards say."""
    preset: str
    budget: dict[str, float]
    """Of each model: minutes, epochs or steps."""
    seed: int
    decode: dict[str, Any]
    batch_tokens: int
    """In each batch that `speed_by_length` was measured with, both sides counted."""
    timed_sentences: int
    """That `sentences_per_second` was measured with."""
    samples: list[Sample]
    attended: str
    """The sentence whose attention is shown."""
    entrants: list[Entrant]
    """In the order they were named."""
    software: dict[str, str]

    @property
    def html(self) -> Path:
        return self.out / HTML

    @property
    def json(self) -> Path:
        return self.out / JSON

    @property
    def ranking(self) -> list[Entrant]:
        """Best BLEU first."""
        return sorted(self.entrants, key=lambda entrant: -entrant.score())

    @property
    def verdict(self) -> str:
        """Which model won, by how much, in a sentence."""
        best, *others = self.ranking
        if not others:
            return f"{best.name} reached {best.score():.1f} BLEU."
        lead = best.score() - others[0].score()
        if round(lead, 1) == 0:
            return f"{best.name} and {others[0].name} translated best, with {best.score():.1f} BLEU both."
        ahead = f"{lead:.1f} more than {others[0].name}"
        last = "" if len(others) == 1 else f" and {best.score() - others[-1].score():.1f} more than {others[-1].name}"
        return f"{best.name} translated best: {best.score():.1f} BLEU, {ahead}{last}."

    @property
    def caution(self) -> str:
        """What a reader of the verdict has to know."""
        once = (
            "Each was trained once, with one seed" if len(self.entrants) > 1 else "It was trained once, with one seed"
        )
        return (
            f"{once} ({self.seed}): another seed gives somewhat different figures, so a small lead may be chance "
            "until the comparison has been repeated."
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, dictionaries, texts and numbers, ready for JSON."""
        figures = {key: value for key, value in asdict(self).items() if key != "out"}  # a report may be moved
        return plain({"verdict": self.verdict, "caution": self.caution, **figures})


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """As JSON gives it back."""
    read: dict[str, Any] = json.loads(json.dumps(values))
    return read


def best_of(entrants: list[Entrant], value: Callable[[Entrant], float | None], lowest: bool = False) -> list[Entrant]:
    """Those with the best value; several when they are equal, none when there is nobody to compare with."""
    known = [(entrant, found) for entrant in entrants if (found := value(entrant)) is not None]
    if len(known) < 2:
        return []
    best = (min if lowest else max)(found for _, found in known)
    return [entrant for entrant, found in known if found == best]

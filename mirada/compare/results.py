"""What a comparison found: plain figures, the same in `report.json`, in the page and in the library.

What can be found is the same for every task; a task that has nothing of a kind (no attention, no forecast) leaves it
out, and the page has no section on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mirada.metrics.score import Score

HTML, JSON = "report.html", "report.json"


@dataclass(frozen=True)
class Sample:
    """A dev example and what it should become: one of the truths."""

    text: str
    truths: list[str]


@dataclass(frozen=True)
class Answer:
    """What a model made of a sample."""

    text: str
    right: bool
    """Whether it is one of the truths."""
    probability: float | None = None
    """That the model gives it, from 0 to 1."""
    unseen: int = 0
    """Tokens of the sample beyond the model's limit."""


@dataclass(frozen=True)
class LengthScore:
    """The score of the examples that have from `shortest` to `longest` words."""

    shortest: int
    longest: int
    count: int
    value: float

    @property
    def name(self) -> str:
        return f"{self.shortest}–{self.longest}" if self.shortest < self.longest else f"{self.shortest}"


@dataclass(frozen=True)
class Route:
    """How many steps lie between two words, for sequences of n words: as a formula, and at some n.

    There are no steps where there is no way at all.
    """

    formula: str
    steps: dict[int, int]


@dataclass(frozen=True)
class Look:
    """Where a model looked in the source for each token of its translation, on average over layers and heads."""

    source: list[str]  # S tokens
    target: list[str]  # T tokens
    weights: list[list[float]]  # [T, S]


@dataclass(frozen=True)
class Course:
    """A forecast of one column from one origin: the likeliest values, and ranges they should lie in, by percent."""

    values: list[float]  # [H]
    ranges: dict[int, tuple[list[float], list[float]]]


@dataclass(frozen=True)
class Outlook:
    """What all models forecast for the page: one column from one origin, and what came."""

    column: str
    history: list[float]
    truth: list[float]  # [H]
    labels: list[str]
    """The times of history and truth, or how many steps each is from the origin."""


@dataclass(frozen=True)
class Baseline:
    """What can be had without learning: its scores, by the names that the models' have, and its errors by horizon."""

    name: str
    scores: dict[str, float]
    by_horizon: dict[int, float]


@dataclass(frozen=True)
class ModelResult:
    """One of the models, trained and measured."""

    name: str
    bundle: str
    """Where it is, in the comparison's directory."""
    parameters: int
    settings: dict[str, Any]
    """The model section of its configuration."""
    recipe: dict[str, Any]
    """The train section, which may be the model's own."""
    training: dict[str, Any]
    """Steps, epochs, tokens, seconds, …: what its card says."""
    scores: dict[str, Any]
    """Of the dev set: what its card says."""
    tokens_per_second: float | None
    """In training."""
    in_use: float
    """How much it does in a second: so many of what the comparison says it `used`."""
    speed_by_length: dict[int, float]
    """Tokens a second, forward and backward, in a batch of sequences of one length, by that length."""
    paths: dict[str, Route]
    """The longest ways between two words, by what they connect; nothing for an architecture that nobody has counted."""
    by_length: list[LengthScore]
    """Of the score that matters most; nothing where an example has no length."""
    by_horizon: dict[int, float]
    """Of forecasts: the mean absolute error so many steps ahead."""
    answers: list[Answer]
    """To the comparison's samples, in their order."""
    attention: Look | None
    """None for a model without."""
    forecast: Course | None
    """Of the comparison's outlook."""

    @property
    def headline(self) -> Score:
        """The score that matters most."""
        return Score(**self.scores["scores"][0])

    def score(self, name: str | None = None) -> float:
        """The score of that name; without one, the one that matters most."""
        found = (score for score in self.scores["scores"] if name in (None, score["name"]))
        return float(next(found)["value"])


@dataclass(frozen=True)
class Comparison:
    """Models that had the same data, tokens and budget, side by side."""

    out: Path
    task: str
    did: str
    """What the models did with the dev set: translated, classified, …"""
    languages: dict[str, str | None]
    data: dict[str, Any]
    """What was read, what became of it, what is left for training, …, as the cards say."""
    preset: str
    budget: dict[str, float]
    """Of each model: minutes, epochs or steps."""
    seed: int
    decode: dict[str, Any]
    tokens: str
    """What the data is cut into: subwords, words, steps."""
    batch_tokens: int
    """In each batch that `speed_by_length` was measured with."""
    used: str
    """What `in_use` counts: sentences, texts, forecasts."""
    timed: int
    """How many of them `in_use` was measured with."""
    samples: list[Sample]
    attended: str
    """The sentence whose attention is shown, if one is."""
    outlook: Outlook | None
    """The forecast that is shown, if one is."""
    baselines: list[Baseline]
    entrants: list[ModelResult]
    """In the order they were named."""
    software: dict[str, str]

    @property
    def html(self) -> Path:
        return self.out / HTML

    @property
    def json(self) -> Path:
        return self.out / JSON

    @property
    def ranking(self) -> list[ModelResult]:
        """Best first."""
        lower = self.entrants[0].headline.lower_is_better
        return sorted(self.entrants, key=lambda entrant: entrant.score() if lower else -entrant.score())

    def figure(self, value: float) -> str:
        """A value of the score that matters most, in words."""
        headline = self.entrants[0].headline
        return f"{value:,.{headline.digits}f} {headline.name}"

    @property
    def verdict(self) -> str:
        """Which model won, by how much, in a sentence."""
        best, *others = self.ranking
        headline = best.headline
        if not others:
            return f"{best.name} reached {self.figure(best.score())}."

        def lead(other: ModelResult) -> str:
            more = "less" if headline.lower_is_better else "more"
            return f"{abs(best.score() - other.score()):,.{headline.digits}f} {more} than {other.name}"

        if round(best.score() - others[0].score(), headline.digits) == 0:
            return f"{best.name} and {others[0].name} {self.did} best, with {self.figure(best.score())} both."
        last = "" if len(others) == 1 else f" and {lead(others[-1])}"
        return f"{best.name} {self.did} best: {self.figure(best.score())}, {lead(others[0])}{last}."

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


def best_of(
    entrants: Sequence[ModelResult], value: Callable[[ModelResult], float | None], lowest: bool = False
) -> list[ModelResult]:
    """Those with the best value; several when they are equal, none when there is nobody to compare with."""
    known = [(entrant, found) for entrant in entrants if (found := value(entrant)) is not None]
    if len(known) < 2:
        return []
    best = (min if lowest else max)(found for _, found in known)
    return [entrant for entrant, found in known if found == best]

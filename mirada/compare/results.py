"""The results of a comparison: plain data, the same in `report.json`, on the page and in the library."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from mirada.metrics.score import Score

HTML, JSON = "report.html", "report.json"


@dataclass(frozen=True)
class Sample:
    """A dev example and its references: the right answers."""

    text: str
    references: list[str]


@dataclass(frozen=True)
class Prediction:
    """What a model predicted for a sample."""

    text: str
    correct: bool | None = None
    """None where a prediction that differs from the references may be right too."""
    probability: float | None = None
    truncated: int = 0
    """Tokens of the sample beyond the model's length limit."""


@dataclass(frozen=True)
class LengthScore:
    """The main score on the examples that have from `shortest` to `longest` words."""

    shortest: int
    longest: int
    count: int
    value: float

    @property
    def name(self) -> str:
        return f"{self.shortest}–{self.longest}" if self.shortest < self.longest else f"{self.shortest}"


@dataclass(frozen=True)
class PathLength:
    """The steps between two words of a sequence of n words: as a formula, and for some n; none without a path."""

    formula: str
    steps: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, formula: str, steps: Callable[[int], int], lengths: Sequence[int]) -> PathLength:
        return cls(formula, {n: steps(n) for n in lengths})


@dataclass(frozen=True)
class Curves:
    """How a training went: (x, y) points by step, or by minute where the budget is in minutes."""

    loss: list[tuple[float, float]]
    """The training loss per token."""
    dev: list[tuple[float, float]]
    """The score of each validation."""
    metric: str
    """What `dev` is measured in."""


@dataclass(frozen=True)
class Baseline:
    """A method that needs no training: its scores, under the names that the models' have."""

    name: str
    scores: dict[str, float]
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelResult:
    """One of the models, trained and measured."""

    name: str
    bundle: str
    """Where its bundle is, relative to the comparison's directory."""
    parameters: int
    settings: dict[str, Any]
    """The `model` section of its configuration."""
    train_settings: dict[str, Any]
    """The `train` section, which may differ between models."""
    training: dict[str, Any]
    """Steps, epochs, tokens, seconds, …, from its card."""
    scores: dict[str, Any]
    """The scores on the dev set, from its card."""
    training_speed: float | None
    """Tokens a second in training; None without the training log."""
    inference_speed: float
    """Units a second in use; the comparison's `unit` says which."""
    speed_by_length: dict[int, float]
    """Tokens a second, forward and backward, in batches of sequences of one length, by that length."""
    paths: dict[str, PathLength]
    """The longest paths between two words, by what they connect; empty for an unknown architecture."""
    by_length: list[LengthScore]
    curves: Curves | None
    predictions: list[Prediction]
    """Its predictions for the comparison's samples, in their order."""
    details: dict[str, Any]
    """What the task's own sections show."""

    @property
    def all_scores(self) -> list[Score]:
        """All scores on the dev set; the first, the main score, decides."""
        known = [one.name for one in fields(Score)]
        return [Score(**{key: score[key] for key in known if key in score}) for score in self.scores["scores"]]

    def score(self, name: str | None = None) -> float:
        """The score of that name; without a name, the main score."""
        return next(float(score.value) for score in self.all_scores if name in (None, score.name))


@dataclass(frozen=True)
class Comparison:
    """Models trained with the same data, tokens and budget, side by side."""

    out: Path
    task: str
    title: str
    verb: str
    """What the models did with the dev set: translated, classified, …"""
    languages: dict[str, str | None]
    data: dict[str, Any]
    """What was read, excluded, kept for training, …, from the cards."""
    facts: list[tuple[str, str]]
    """The data in words, as `mirada info` describes it."""
    summary: str
    """The data in one sentence."""
    preset: str
    budget: dict[str, float]
    """Minutes, epochs or steps of each model."""
    seed: int
    decode: dict[str, Any]
    batch_tokens: int
    """Tokens in each batch that `speed_by_length` was measured with."""
    unit: str
    """What `inference_speed` counts: sentences, texts, forecasts."""
    timed: int
    """How many of them `inference_speed` was measured with."""
    samples: list[Sample]
    baselines: list[Baseline]
    models: list[ModelResult]
    """The compared models, in the order they were named."""
    software: dict[str, str]

    @property
    def html(self) -> Path:
        return self.out / HTML

    @property
    def json(self) -> Path:
        return self.out / JSON

    @property
    def main_score(self) -> Score:
        """The score that decides; its value is the first model's."""
        return self.models[0].all_scores[0]

    @property
    def ranking(self) -> list[ModelResult]:
        """Best first."""
        lower = self.main_score.lower_is_better
        return sorted(self.models, key=lambda model: model.score() if lower else -model.score())

    def written(self, value: float) -> str:
        """A value of the main score with its name."""
        return f"{value:,.{self.main_score.digits}f} {self.main_score.name}"

    @property
    def verdict(self) -> str:
        """Which model won, by how much, in a sentence."""
        best, *others = self.ranking
        digits = self.main_score.digits
        if not others:
            return f"{best.name} reached {self.written(best.score())}."

        def lead(other: ModelResult) -> str:
            more = "less" if self.main_score.lower_is_better else "more"
            return f"{abs(best.score() - other.score()):,.{digits}f} {more} than {other.name}"

        if round(best.score() - others[0].score(), digits) == 0:
            return f"{best.name} and {others[0].name} {self.verb} best, both with {self.written(best.score())}."
        last = "" if len(others) == 1 else f" and {lead(others[-1])}"
        return f"{best.name} {self.verb} best: {self.written(best.score())}, {lead(others[0])}{last}."

    @property
    def caution(self) -> str:
        """How far the verdict can be trusted."""
        return (
            f"{'Each' if len(self.models) > 1 else 'It'} was trained once, with one seed ({self.seed}): another seed "
            "gives somewhat different scores, so repeat the comparison before you rely on a small lead."
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, dictionaries, strings and numbers, ready for JSON."""
        values = {key: value for key, value in asdict(self).items() if key != "out"}  # a report may be moved
        return as_json({"verdict": self.verdict, "caution": self.caution, **values})


def as_json(values: dict[str, Any]) -> dict[str, Any]:
    """The values as JSON gives them back: tuples as lists, keys as strings."""
    found: dict[str, Any] = json.loads(json.dumps(values))
    return found

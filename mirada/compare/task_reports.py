"""What a comparison must know of a task: how its models are used, what can be shown of them, and the words for it.

Training, resuming, measuring and the page are one for all tasks. A `Subject` is what differs; each is a file here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, ClassVar

import torch

from mirada import tasks
from mirada.compare.results import (
    Answer,
    Baseline,
    Comparison,
    Course,
    LengthScore,
    Look,
    ModelResult,
    Outlook,
    Route,
    Sample,
)
from mirada.contracts import EOS, Batch, SequenceBatch
from mirada.errors import UsageError
from mirada.tasks.task import Model, Prepared

SAMPLES = 8
"""Dev examples that are shown."""

HOMES = {
    "translation": ("translation", "TranslationSubject"),
    "classification": ("classification", "ClassificationSubject"),
    "tagging": ("tagging", "TaggingSubject"),
    "forecasting": ("forecasting", "ForecastingSubject"),
    "language_model": ("language", "LanguageSubject"),
}
"""Name of the task: module and class."""

Column = tuple[str, Callable[[ModelResult], float | None], Callable[[float], str], bool | None]
"""Its head, what it shows of a model, how that is written, and whether low is best; None when nothing is."""


def find(task: str) -> Subject:
    """The subject of a task."""
    if task not in HOMES:
        tasks.find(task)  # a misspelt name gets the nearest one
        raise UsageError(f"--task {task}: its models cannot be compared; those of {', '.join(HOMES)} can")
    module, kind = HOMES[task]
    subject: Subject = getattr(import_module(f"mirada.compare.{module}"), kind)()
    return subject


class Subject:
    """A task, as a comparison sees it."""

    task: ClassVar[str]
    models: ClassVar[tuple[str, ...]]
    """The line-up, unless another is named."""
    lengths: ClassVar[tuple[int, ...]] = (8, 16, 32, 64, 128)
    """Of the sequences that a step is timed with, in tokens."""

    did: ClassVar[str]
    """What its models did with the dev set: translated."""
    sequence: ClassVar[str]
    """What they read: a sentence."""
    word: ClassVar[str] = "word"
    """What that is made of, for a person …"""
    token: ClassVar[str] = "token"
    """… and for the model."""
    counted: ClassVar[str] = ""
    """How tokens are counted, if that needs saying."""
    drawn: ClassVar[str] = "random tokens"
    """What the batches hold that a step is timed with."""
    used: ClassVar[str]
    """What use is timed with: sentences."""
    timed: ClassVar[str]
    """The same with how it is done: dev sentences handed over at once."""
    best: ClassVar[str]
    """What the best model makes: Best translations."""
    quality: ClassVar[str]
    """What the first image shows."""
    beside: ClassVar[tuple[str, ...]] = ()
    """Scores that are the same whatever the model: baselines."""
    lengths_of: ClassVar[str] = "words"
    """What the length of an example is counted in."""
    asked: ClassVar[tuple[str, str]] = ("", "")
    """What stands before a sample and its truth: source, reference."""
    about_samples: ClassVar[str] = ""
    """Which samples are shown, and how they are marked."""
    shown: ClassVar[int | None] = None
    """Characters of a sample on the page; all unless given."""
    right: ClassVar[str] = "right"
    """What an answer is that is marked as right."""
    marks_wrong: ClassVar[bool] = False
    """Whether wrong answers are marked, rather than right ones: the fewer of the two."""

    # ── what is measured ──────────────────────────────────────────────────────────────────────────────────────────

    def asks(self, prepared: Prepared, most: int) -> Sequence[Any]:
        """What use is timed with: up to so many inputs of the dev set."""
        raise NotImplementedError

    def use(self, model: Any, asked: Sequence[Any]) -> object:
        """Let a model do its work on them."""
        raise NotImplementedError

    def batch(self, model: Model, prepared: Prepared, length: int, tokens: int) -> Batch | SequenceBatch:
        """Random words in sequences of one length: what they are makes no difference to the time."""
        raise NotImplementedError

    def paths(self, model: Model) -> dict[str, Route]:
        """The longest ways between two words."""
        return {}

    # ── what is shown ─────────────────────────────────────────────────────────────────────────────────────────────

    def samples(self, prepared: Prepared) -> list[Sample]:
        """Dev examples, from short to long."""
        return []

    def answers(self, model: Any, samples: Sequence[Sample]) -> list[Answer]:
        return []

    def by_length(self, model: Any, prepared: Prepared) -> list[LengthScore]:
        return []

    def about_length(self, c: Comparison) -> str:
        """What quality by length can show of the models that are compared."""
        return ""

    def about_paths(self, c: Comparison) -> str:
        """What the longest paths show besides."""
        return ""

    def attended(self, prepared: Prepared) -> str:
        """The dev sentence whose attention is shown; nothing if none is."""
        return ""

    def attention(self, model: Any, sentence: str) -> Look | None:
        return None

    def outlook(self, prepared: Prepared) -> Outlook | None:
        return None

    def forecast(self, model: Any, prepared: Prepared) -> Course | None:
        return None

    def by_horizon(self, model: Any) -> dict[int, float]:
        return {}

    def baselines(self, models: Sequence[Any], prepared: Prepared) -> list[Baseline]:
        """What can be had without learning."""
        return []

    # ── in words ──────────────────────────────────────────────────────────────────────────────────────────────────

    def title(self, c: Comparison) -> str:
        return c.task.capitalize()

    def learned(self, c: Comparison, same: str) -> str:
        """What was learned from; `same` is "the same " where there are several models."""
        raise NotImplementedError

    def tested(self, c: Comparison) -> str:
        """What was then done with the dev set."""
        held = "held out of the data" if c.data["held_out"] else "of a dev set"
        return f"{c.did} {c.entrants[0].scores['size']:,} {c.entrants[0].scores['unit']} {held}"

    def columns(self, c: Comparison) -> list[Column]:
        """The scores of the first table: all that the cards have, but for those that are baselines."""

        def shown(name: str) -> Callable[[ModelResult], float]:
            return lambda entrant: entrant.score(name)

        def written(digits: int) -> Callable[[float], str]:
            return lambda value: f"{value:,.{digits}f}"

        return [
            (score["name"], shown(score["name"]), written(score["digits"]), score["lower_is_better"])
            for score in c.entrants[0].scores["scores"]
            if score["name"] not in self.beside
        ]

    def notes(self, c: Comparison) -> list[str]:
        """What the scores mean."""
        return []

    def facts(self, c: Comparison) -> list[tuple[str, str]]:
        """The data, for the section on the method."""
        raise NotImplementedError


# ── what several subjects do alike ────────────────────────────────────────────────────────────────────────────────────


def spread(lengths: Sequence[int]) -> list[int]:
    """Places of some examples from short to long, evenly spread over the lengths there are."""
    order = sorted(range(len(lengths)), key=lambda i: (lengths[i], i))
    last = len(order) - 1
    count = min(SAMPLES, len(order))
    return [order[round(k * last / max(1, count - 1))] for k in range(count)]


def random_words(vocabulary: int, rows: int, length: int) -> torch.Tensor:
    """Ids of real words, and EOS behind them: [rows, length]."""
    chance = torch.Generator().manual_seed(length)
    body = torch.randint(EOS + 1, vocabulary, (rows, length - 1), generator=chance)
    return torch.cat([body, torch.full((rows, 1), EOS)], 1)


def route(formula: str, steps: Callable[[int], int], lengths: Sequence[int]) -> Route:
    return Route(formula, {n: steps(n) for n in lengths})

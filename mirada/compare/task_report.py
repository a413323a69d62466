"""What a comparison does with the models of a task, and how it shows them.

Training, timing and the page are the same for all tasks. A task's folder may have a module `report` with a
`TaskReport` of its own as `REPORT`; for a task without one, the defaults here are derived from the task itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar

import torch
from pydantic import BaseModel, Field
from torch import Tensor

from mirada import models, tasks
from mirada.compare.page import Column, Section
from mirada.compare.results import Baseline, Comparison, LengthScore, PathLength, Prediction, Sample
from mirada.contracts import EOS, Batch, SequenceBatch, Sizes
from mirada.errors import BundleError, MiradaError
from mirada.metrics.score import Score
from mirada.models.rnn import RecurrentConfig
from mirada.parsing import Malformed, check
from mirada.tasks.task import Model, Prepared, Task

SAMPLES = 8
"""Dev examples that are shown."""
RECURRENT = ("elman", "jordan", "lstm", "gru")


class CardScores(BaseModel):
    """What a report reads of the scores on a card."""

    scores: Annotated[list[Score], Field(min_length=1)]
    unit: str


class TaskReport:
    """The comparison of one task's models."""

    card_scores: ClassVar[type[CardScores]] = CardScores
    """What the report reads of the scores on the models' cards."""

    line_up: ClassVar[tuple[str, ...]] = ()
    """The models to compare unless others are named; all that serve the task if empty."""
    lengths: ClassVar[tuple[int, ...]] = (8, 16, 32, 64, 128)
    """The sequence lengths to time a training step with, in tokens."""

    # ── words for the page ────────────────────────────────────────────────────────────────────────────────────────

    verb: ClassVar[str] = "did"
    """What the models did with the dev set, in the past tense: translated."""
    sequence: ClassVar[str] = "sequence"
    """What they read: a sentence."""
    word: ClassVar[str] = "token"
    """What a sequence is made of, for a person …"""
    token: ClassVar[str] = "token"
    """… and for the model."""
    unit: ClassVar[str] = ""
    """What inference speed counts; what the scores count if empty."""
    timed: ClassVar[str] = "of the dev set, scored in one call"
    """How inference was timed, after a number and the unit."""
    counted: ClassVar[str] = ""
    """How tokens are counted, if that needs saying."""
    length_unit: ClassVar[str] = "words"
    """What the length of an example is counted in."""
    baseline_scores: ClassVar[tuple[str, ...]] = ()
    """Scores of the cards that no model has a part in; `baselines` shows them."""
    score_notes: ClassVar[tuple[str, ...]] = ()
    """What the scores mean."""
    sample_headings: ClassVar[tuple[str, str]] = ("input", "reference")
    samples_note: ClassVar[str] = "Examples of the dev set with each model's prediction."
    longest_sample: ClassVar[int | None] = None
    """Characters of a sample on the page; all unless given."""

    def __init__(self, task: Task):
        self.task = task

    @property
    def models(self) -> tuple[str, ...]:
        """The models to compare unless others are named."""
        able = (name for name, one in models.architectures().items() if self.task.name in one.variants)
        return self.line_up or tuple(able)

    def title(self, languages: dict[str, str | None]) -> str:
        """The page's title, before the number of models."""
        return self.task.name.replace("_", " ").capitalize()

    def length_note(self, c: Comparison) -> str:
        """What quality by length can show of the compared models."""
        return ""

    def path_note(self, c: Comparison) -> str:
        """What the path lengths show of the compared models."""
        return ""

    def check(self, model: Model) -> None:
        """Refuse a model whose card does not have the scores that are compared."""
        try:
            check(self.card_scores, model.card["scores"])
        except Malformed as fault:
            raise BundleError(
                f"{model.path / 'card.json'}: is damaged (scores.{fault}); to train it again, delete {model.path}"
            ) from None

    # ── measurements ──────────────────────────────────────────────────────────────────────────────────────────────

    def infer(self, model: Any, prepared: Prepared, most: int) -> int:
        """Run a model on up to `most` examples of the dev set; returns how many `unit`s it did. This is timed."""
        return int(model.score(model.sample(prepared.dev, most)).size)

    def batch(self, model: Model, prepared: Prepared, length: int, tokens: int) -> Batch | SequenceBatch | None:
        """A training batch of about `tokens` tokens in sequences of one length; None leaves out speed by length."""
        return None

    def paths(self, model: Model) -> dict[str, PathLength]:
        """The longest paths between two words, by what they connect."""
        return {}

    def by_length(self, model: Any, prepared: Prepared) -> list[LengthScore]:
        """The main score by the length of the examples."""
        return []

    def samples(self, model: Any, prepared: Prepared) -> list[tuple[Sample, Prediction]]:
        """Some dev examples, the same for every model, with the model's predictions.

        By default what `Model.validate` gives as its example for single examples of the dev set.
        """
        dev, found = prepared.dev, []
        for place in spread([0] * len(dev)) if hasattr(dev, "__len__") else ():
            try:
                example = model.validate(dev[place : place + 1], 1).example
            except MiradaError:  # this example cannot be validated alone
                continue
            if example is not None:
                text, predicted, reference = example
                text = "/".join(Path(text).parts[-2:]) if os.path.isabs(text) else text  # a report may be handed on
                found.append(
                    (Sample(text, [reference]), Prediction(predicted, True if predicted == reference else None))
                )
        return found

    def baselines(self, models: Sequence[Any], prepared: Prepared) -> list[Baseline]:
        """Methods that need no training, to compare the models with."""
        return []

    def details(self, model: Any, prepared: Prepared) -> dict[str, Any]:
        """Measurements for this task's own sections: plain values and dataclasses of them."""
        return {}

    # ── the page ──────────────────────────────────────────────────────────────────────────────────────────────────

    def columns(self, c: Comparison) -> list[Column]:
        """Further columns of the first table, after the scores."""
        return []

    def sections(self, c: Comparison) -> list[Section]:
        """This task's own sections of the page."""
        return []


class SequenceReport(TaskReport):
    """The comparison of a task whose models are `SequenceEncoder`s."""

    def paths(self, model: Model) -> dict[str, PathLength]:
        config = model.network.config
        bidirectional = isinstance(config, RecurrentConfig) and config.both_ways(model.preprocessor.sizes)
        found = encoder_path(model.config["model"], bidirectional, self.lengths)
        return {f"within a {self.sequence}": found} if found else {}

    def batch(self, model: Model, prepared: Prepared, length: int, tokens: int) -> SequenceBatch:
        """Random words: which they are makes no difference to the time."""
        rows, sizes = max(1, tokens // length), model.preprocessor.sizes
        return SequenceBatch(
            inputs=random_words(sizes.inputs, rows, length),
            lengths=torch.full((rows,), length),
            truth=self.truth(sizes, rows, length),
            before=self.before(sizes, rows, length),
            rows=torch.arange(rows) * (length + 1),  # none begins where another ends
        )

    def truth(self, sizes: Sizes, rows: int, length: int) -> Tensor:
        """Labels that random words could have."""
        raise NotImplementedError

    def before(self, sizes: Sizes, rows: int, length: int) -> Tensor | None:
        """The true outputs, for a network that is trained on them."""
        return None


def encoder_path(settings: Mapping[str, Any], bidirectional: bool, lengths: Sequence[int]) -> PathLength | None:
    """The longest path between two words of a sequence; None for an unknown architecture.

    recurrent       x_1 → h_1 → … → h_n: n − 1 steps, from the first word to the last, and back if bidirectional
    self-attention  1
    memoryless, bag none: no word sees another
    """
    name = settings["name"]
    if name == "transformer":
        return PathLength.of("1", lambda n: 1, lengths)
    if name == "bag":
        grams = int(settings["ngrams"])
        return PathLength("none: it ignores the order" + (f" beyond {grams} words in a row" if grams > 1 else ""))
    if name == "memoryless":
        return PathLength("none: it reads every word alone")
    if name not in RECURRENT:
        return None
    direction = "forward and back" if bidirectional else "forward only"
    return PathLength.of(f"n − 1, {direction}", lambda n: n - 1, lengths)


def uses(c: Comparison, *names: str) -> bool:
    """Whether one of the compared models is one of these architectures."""
    return any(model.settings.get("name") in names for model in c.models)


def find(name: str) -> TaskReport:
    """The report of a task."""
    task = tasks.find(name)
    module = f"{tasks.packages()[task.name]}.report"
    if find_spec(module) is None:
        return TaskReport(task)
    report: TaskReport = import_module(module).REPORT
    return report


def spread(lengths: Sequence[int]) -> list[int]:
    """The places of some examples from short to long, evenly spread over the lengths there are."""
    order = sorted(range(len(lengths)), key=lambda i: (lengths[i], i))
    last = len(order) - 1
    count = min(SAMPLES, len(order))
    return [order[round(k * last / max(1, count - 1))] for k in range(count)]


def random_words(vocabulary: int, rows: int, length: int) -> Tensor:
    """Random ids of real words, and EOS after them: [rows, length]."""
    generator = torch.Generator().manual_seed(length)
    body = torch.randint(EOS + 1, vocabulary, (rows, length - 1), generator=generator)
    return torch.cat([body, torch.full((rows, 1), EOS)], 1)

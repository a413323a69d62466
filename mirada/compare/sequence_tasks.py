"""What comparisons of models that read a sequence have in common: the way between two words of it, and random words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from mirada.compare.results import Route
from mirada.compare.task_reports import Subject, random_words, route
from mirada.contracts import SequenceBatch, Sizes
from mirada.models.rnn import RecurrentConfig
from mirada.tasks.task import Model, Prepared


class ReadingSubject(Subject):
    """A task whose models are `SequenceEncoder`s."""

    within: ClassVar[str]
    """Where the way is that is counted: within a text."""

    def paths(self, model: Model) -> dict[str, Route]:
        config = model.network.config
        both_ways = isinstance(config, RecurrentConfig) and config.both_ways(model.preprocessor.sizes)
        found = reading_path(model.config["model"], both_ways, self.lengths)
        return {self.within: found} if found else {}

    def batch(self, model: Model, prepared: Prepared, length: int, tokens: int) -> SequenceBatch:
        rows, sizes = max(1, tokens // length), model.preprocessor.sizes
        return SequenceBatch(
            inputs=random_words(sizes.inputs, rows, length),
            lengths=torch.full((rows,), length),
            truth=self.truth(sizes, rows, length),
            before=self.before(sizes, rows, length),
            rows=torch.arange(rows) * (length + 1),  # none begins where another ends
        )

    def truth(self, sizes: Sizes, rows: int, length: int) -> Tensor:
        """Something that random words could be."""
        raise NotImplementedError

    def before(self, sizes: Sizes, rows: int, length: int) -> Tensor | None:
        """The true outputs, where training tells them to a network that hears its own."""
        return None


def reading_path(settings: Mapping[str, Any], both_ways: bool, lengths: Sequence[int]) -> Route | None:
    """The longest way between two words of a sequence that is read; None for an architecture that nobody has counted.

    recurrent       x_1 → h_1 → … → h_n: n − 1 steps; read in both directions too, but then each end hears of the other
    self-attention  1
    memoryless, bag none: no word hears of another
    """
    name = settings["name"]
    if name == "transformer":
        return route("1", lambda n: 1, lengths)
    if name == "bag":
        grams = int(settings["ngrams"])
        near = f" beyond {grams} words in a row" if grams > 1 else ""
        return Route(f"none: it knows no order{near}", {})
    if name == "memoryless":
        return Route("none: every word is read alone", {})
    if name not in ("elman", "jordan", "lstm", "gru"):
        return None
    whom = "from the first to the last and back" if both_ways else "from the first to the last, never back"
    return route(f"n − 1, {whom}", lambda n: n - 1, lengths)

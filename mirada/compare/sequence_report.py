"""The comparison of models that read a sequence (`SequenceEncoder`s): their path lengths and timing batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mirada.compare.results import Comparison, PathLength
from mirada.compare.task_report import TaskReport, random_words
from mirada.contracts import SequenceBatch, Sizes
from mirada.models.rnn import RecurrentConfig
from mirada.tasks.task import Model, Prepared

RECURRENT = ("elman", "jordan", "lstm", "gru")


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

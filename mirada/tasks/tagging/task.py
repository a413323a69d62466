"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from mirada.contracts import Loss
from mirada.data.tokenizer import TokenizerConfig
from mirada.tasks.model import start_from_vectors
from mirada.tasks.tagging.data import TaggingData
from mirada.tasks.tagging.model import TaggingModel
from mirada.tasks.tagging.tags import TaggedConfig
from mirada.tasks.task import Prepared, Task
from mirada.training.losses import LabelLoss, SquaredErrorLoss


def _loss(smoothing: float) -> Callable[[Any, Any], Loss]:
    labels, numbers = LabelLoss(smoothing), SquaredErrorLoss()
    return lambda model, batch: (numbers if batch.truth.is_floating_point() else labels)(model, batch)


class TaggingTask(Task):
    """A label, or a number, for every word of a sentence."""

    name = "tagging"
    verb = "tag"
    model = TaggingModel
    default_model = "lstm"
    preparation = TaggingData
    loss = staticmethod(_loss)
    sections = {"data": TaggedConfig, "tokenizer": TokenizerConfig}
    defaults = {
        "tokenizer": {"unit": "subwords"},
        "train": {"label_smoothing": 0.0, "validate_sentences": 1000, "max_batch_tokens": 2000},
    }
    used = ("data",)
    length = ("max_tokens", 2)  # a first and a last token

    def fit(self, network: nn.Module, prepared: Prepared, built: Mapping[str, Any]) -> list[str]:
        return start_from_vectors(network, prepared.preprocessor.tokenizer, built["data"].vectors)


TASK = TaggingTask()

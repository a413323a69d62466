"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from mirada.data.tokenizer import TokenizerConfig
from mirada.models.bag import Bag
from mirada.tasks.classification.data import LONGEST, ClassificationData, LabelledConfig
from mirada.tasks.classification.model import ClassificationModel
from mirada.tasks.model import start_from_vectors
from mirada.tasks.task import Prepared, Task
from mirada.training.losses import ClassLoss


class ClassificationTask(Task):
    """A text, or a pair of texts, to one of a few labels."""

    name = "classification"
    verb = "classify"
    model = ClassificationModel
    default_model = "lstm"
    preparation = ClassificationData
    loss = ClassLoss
    sections = {"data": LabelledConfig, "tokenizer": TokenizerConfig}
    defaults = {
        "tokenizer": {"unit": "words"},
        "train": {"label_smoothing": 0.0, "validate_sentences": 5000, "max_batch_tokens": 8000},
    }
    used = ("data",)
    length = ("max_tokens", 2)  # a first and a last token

    def complete(self, built: dict[str, Any]) -> dict[str, Any]:
        if built["data"].max_tokens is not None:
            return built
        room = built["model"].max_length - 2
        longest = room if built["model"].name == "bag" else min(LONGEST, room)
        return {**built, "data": built["data"].model_copy(update={"max_tokens": longest})}

    def fit(self, network: nn.Module, prepared: Prepared, built: Mapping[str, Any]) -> list[str]:
        if isinstance(network, Bag):
            side = prepared.store.source
            network.fit(side.ids, side.offsets)
            return []
        return start_from_vectors(network, prepared.preprocessor.tokenizer, built["data"].vectors)


TASK = ClassificationTask()

"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from mirada.bundle import need
from mirada.contracts import Loss
from mirada.data.tokenizer import TokenizerConfig
from mirada.errors import ConfigError
from mirada.models.bag import Bag
from mirada.tasks.classification.data import LONGEST, ClassificationData, LabelledConfig
from mirada.tasks.classification.model import ClassificationModel
from mirada.tasks.classification.preprocessor import ClassificationPreprocessor
from mirada.tasks.sequences import start_from_vectors
from mirada.tasks.task import Prepared, Task
from mirada.training.losses import ClassLoss


class ClassificationTask(Task):
    """A text, or a pair of texts, to one of a few labels."""

    name = "classification"
    verb = "classify"
    model = ClassificationModel
    default_model = "lstm"
    preparation = ClassificationData
    sections = {"data": LabelledConfig, "tokenizer": TokenizerConfig}
    defaults = {
        "tokenizer": {"unit": "words"},
        "train": {"label_smoothing": 0.0, "validate_sentences": 5000, "max_batch_tokens": 8000},
    }
    used = ("data",)

    def complete(self, built: dict[str, Any]) -> dict[str, Any]:
        if built["data"].max_tokens is not None:
            return built
        room = built["model"].max_length - 2  # a first and a last token
        longest = room if built["model"].name == "bag" else min(LONGEST, room)
        return {**built, "data": built["data"].model_copy(update={"max_tokens": longest})}

    def check(self, built: Mapping[str, Any]) -> None:
        longest, room = built["data"].max_tokens, built["model"].max_length
        if longest + 2 > room:
            raise ConfigError(
                f"data.max_tokens={longest}: the model takes {room - 2}: --set model.max_length={longest + 2}"
            )

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        data = card["data"]
        left_out, what = sum(data["excluded"].values()), "pairs" if data.get("parts", 1) > 1 else "texts"
        return [
            ("labels", ", ".join(f"{label} {count:,}" if count else label for label, count in data["classes"].items())),
            ("data", f"{data['training']:,} {what}, {data['words']:,} words, {left_out:,} left out"),
            ("dev", f"{data['dev']:,} {what}" + (", held out of the data" if data["held_out"] else "")),
            ("vocabulary", f"{data['vocabulary']:,}"),
        ]

    def keeps_output(self, base: ClassificationPreprocessor, preprocessor: ClassificationPreprocessor) -> bool:
        return base.labels == preprocessor.labels

    def fit(self, network: nn.Module, prepared: Prepared, built: Mapping[str, Any]) -> list[str]:
        if isinstance(network, Bag):
            side = prepared.store.source
            network.fit(side.ids, side.offsets)
            return []
        return start_from_vectors(network, prepared.preprocessor.tokenizer, built["data"].vectors)

    def open(self, files: Mapping[str, bytes], where: Path) -> ClassificationPreprocessor:
        need(files, where, "tokenizer.json", "labels.json")
        return ClassificationPreprocessor.read(files, where)

    def loss(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return ClassLoss(smoothing)


TASK = ClassificationTask()

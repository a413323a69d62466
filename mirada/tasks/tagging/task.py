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
from mirada.tasks.sequences import start_from_vectors
from mirada.tasks.tagging.data import TaggingData
from mirada.tasks.tagging.model import TaggingModel
from mirada.tasks.tagging.tags import TaggedConfig, TaggingPreprocessor
from mirada.tasks.task import Prepared, Task
from mirada.training.losses import LabelLoss, SquaredErrorLoss


class TaggingTask(Task):
    """A label, or a number, for every word of a sentence."""

    name = "tagging"
    verb = "tag"
    model = TaggingModel
    default_model = "lstm"
    preparation = TaggingData
    sections = {"data": TaggedConfig, "tokenizer": TokenizerConfig}
    defaults = {
        "tokenizer": {"unit": "subwords"},
        "train": {"label_smoothing": 0.0, "validate_sentences": 1000, "max_batch_tokens": 2000},
    }
    used = ("data",)

    def check(self, built: Mapping[str, Any]) -> None:
        longest, room = built["data"].max_tokens, built["model"].max_length
        if longest + 2 > room:  # a first and a last token
            raise ConfigError(
                f"data.max_tokens={longest}: the model takes {room - 2}: --set model.max_length={longest + 2}"
            )

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        data = card["data"]
        left_out = sum(data["excluded"].values())
        shown = ", ".join(f"{tag} {count:,}" for tag, count in data["tags"].items())
        scale = "numbers, {:.4g} ± {:.4g}".format(*data["scale"]) if data["scale"] else ""
        return [
            ("tags", scale or shown),
            ("data", f"{data['training']:,} sentences, {data['words']:,} words, {left_out:,} left out"),
            ("dev", f"{data['dev']:,} sentences" + (", held out of the data" if data["held_out"] else "")),
            ("vocabulary", f"{data['vocabulary']:,}"),
        ]

    def fit(self, network: nn.Module, prepared: Prepared, built: Mapping[str, Any]) -> list[str]:
        return start_from_vectors(network, prepared.preprocessor.tokenizer, built["data"].vectors)

    def open(self, files: Mapping[str, bytes], where: Path) -> TaggingPreprocessor:
        need(files, where, "tokenizer.json", "tags.json", "words.u64")
        return TaggingPreprocessor.read(files, where)

    def loss(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        labels, numbers = LabelLoss(smoothing), SquaredErrorLoss()
        return lambda model, batch: (numbers if batch.truth.is_floating_point() else labels)(model, batch)


TASK = TaggingTask()

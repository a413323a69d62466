"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mirada.bundle import need
from mirada.contracts import Loss
from mirada.data.tokenizer import TokenizerConfig
from mirada.errors import ConfigError
from mirada.tasks.masked_lm.data import DocumentsConfig, MaskedData
from mirada.tasks.masked_lm.model import MaskedLanguageModel
from mirada.tasks.masked_lm.preprocessor import MaskedLMPreprocessor
from mirada.tasks.task import Task
from mirada.training.losses import MaskedTokenLoss


class MaskedLMTask(Task):
    """Fill the gaps of a text."""

    name = "masked_lm"
    verb = "fill"
    model = MaskedLanguageModel
    default_model = "bert"
    preparation = MaskedData
    sections = {"data": DocumentsConfig, "tokenizer": TokenizerConfig}
    defaults = {"train": {"label_smoothing": 0.0}}
    used = ("data",)

    def check(self, built: Mapping[str, Any]) -> None:
        if built["data"].length >= built["model"].max_length:
            raise ConfigError(
                f"data.length={built['data'].length} must be below model.max_length={built['model'].max_length}"
            )

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        data = card["data"]
        return [
            ("data", f"{data['documents']:,} documents, {data['words']:,} words"),
            ("dev", f"{data['dev']:,} documents" + (", held out of the data" if data["held_out"] else "")),
            ("subwords", f"{data['vocabulary']:,}"),
        ]

    def open(self, files: Mapping[str, bytes], where: Path) -> MaskedLMPreprocessor:
        need(files, where, "tokenizer.json")
        return MaskedLMPreprocessor.read(files, where)

    def loss(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return MaskedTokenLoss()


TASK = MaskedLMTask()

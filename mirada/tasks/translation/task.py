"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mirada.bundle import need
from mirada.config import Values
from mirada.contracts import Loss
from mirada.data.checks import CheckConfig
from mirada.data.sources import DataConfig
from mirada.data.tokenizer import TokenizerConfig
from mirada.decoding import DecodeConfig
from mirada.errors import ConfigError
from mirada.tasks.task import Task
from mirada.tasks.translation.data import TranslationData
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.preprocessor import SOURCE, TranslationPreprocessor
from mirada.training.losses import TargetTokenLoss


class TranslationTask(Task):
    """Sentences in one language to sentences in another."""

    name = "translation"
    verb = "translate"
    model = TranslationModel
    default_model = "transformer"
    preparation = TranslationData
    sections = {"data": DataConfig, "check": CheckConfig, "tokenizer": TokenizerConfig, "decode": DecodeConfig}
    used = ("decode",)
    inherited = ("source_language", "target_language")
    presets = ("tiny", "small")

    def check(self, built: Mapping[str, Any]) -> None:
        if not built["tokenizer"].joint and built["model"].tie == "all":
            raise ConfigError(
                "tokenizer.joint=false gives two vocabularies, so embeddings cannot all be tied: --set model.tie=output"
            )
        if built["data"].max_tokens >= built["model"].max_length:
            raise ConfigError(
                f"data.max_tokens={built['data'].max_tokens} must be below model.max_length={built['model'].max_length}"
            )

    def about(self, values: Values) -> dict[str, Any]:
        data = values["data"]
        return {"languages": {"source": data["source_language"], "target": data["target_language"]}}

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        languages, data = card["languages"], card["data"]
        left_out = sum(data["excluded"].values())
        return [
            ("languages", f"{languages['source'] or '?'} → {languages['target'] or '?'}"),
            ("data", f"{data['training']:,} pairs, {data['words']:,} words, {left_out:,} left out"),
            ("dev", f"{data['dev']:,} pairs" + (", held out of the data" if data["held_out"] else "")),
            ("subwords", f"{data['vocabulary']:,}"),
        ]

    def open(self, files: Mapping[str, bytes], where: Path) -> TranslationPreprocessor:
        need(files, where, SOURCE)
        return TranslationPreprocessor.read(files, where)

    def loss(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return TargetTokenLoss(smoothing)


TASK = TranslationTask()

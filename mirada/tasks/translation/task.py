"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mirada.config import Values
from mirada.data.checks import CheckConfig
from mirada.data.sources import DataConfig
from mirada.data.tokenizer import TokenizerConfig
from mirada.decoding import DecodeConfig
from mirada.errors import ConfigError
from mirada.tasks.task import Task
from mirada.tasks.translation.data import TranslationData
from mirada.tasks.translation.model import TranslationModel
from mirada.training.losses import TargetTokenLoss


class TranslationTask(Task):
    """Sentences in one language to sentences in another."""

    name = "translation"
    verb = "translate"
    model = TranslationModel
    default_model = "transformer"
    preparation = TranslationData
    loss = TargetTokenLoss
    sections = {"data": DataConfig, "check": CheckConfig, "tokenizer": TokenizerConfig, "decode": DecodeConfig}
    used = ("decode",)
    inherited = ("source_language", "target_language", "direction")
    presets = ("tiny", "small")
    steps_in_budget = 2000
    length = ("max_tokens", 1)

    def check(self, built: Mapping[str, Any]) -> None:
        super().check(built)
        if not built["tokenizer"].joint and built["model"].tie == "all":
            raise ConfigError("tokenizer.joint=false: two vocabularies cannot be tied; add --set model.tie=output")
        if not built["tokenizer"].joint and built["data"].direction == "both":
            raise ConfigError("tokenizer.joint=false: a model of both directions has one vocabulary; leave it out")

    def about(self, values: Values) -> dict[str, Any]:
        data = values["data"]
        both = {"direction": "both"} if data.get("direction") == "both" else {}
        return {"languages": {"source": data["source_language"], "target": data["target_language"], **both}}

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        source, target = (card["languages"][side] or "?" for side in ("source", "target"))
        arrow = "↔" if card["languages"].get("direction") == "both" else "→"
        return [("languages", f"{source} {arrow} {target}"), *super().describe(card)]


TASK = TranslationTask()

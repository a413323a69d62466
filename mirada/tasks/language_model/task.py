"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mirada.data.tokenizer import TokenizerConfig
from mirada.decoding import DecodeConfig
from mirada.errors import ConfigError
from mirada.tasks.language_model.data import PIECE, LanguageModelData, TextConfig
from mirada.tasks.language_model.model import LanguageModel
from mirada.tasks.task import Task
from mirada.training.losses import NextTokenLoss


class LanguageModelTask(Task):
    """Language modelling: continuing a text."""

    name = "language_model"
    verb = "generate"
    model = LanguageModel
    default_model = "lstm"
    preparation = LanguageModelData
    loss = NextTokenLoss
    sections = {"data": TextConfig, "tokenizer": TokenizerConfig, "decode": DecodeConfig}
    defaults = {
        "tokenizer": {"unit": "characters"},
        "decode": {"sample": True, "temperature": 0.8},
        "train": {"label_smoothing": 0.0, "lr": 1.6e-2, "max_batch_tokens": 2048, "validate_sentences": 200},
    }
    used = ("data", "decode")
    length = ("length", 0)

    def complete(self, built: dict[str, Any]) -> dict[str, Any]:
        data, model, tokenizer = built["data"], built["model"], built.get("tokenizer")
        if tokenizer is not None and "normalize" not in tokenizer.model_fields_set:
            built = {**built, "tokenizer": tokenizer.model_copy(update={"normalize": False})}
        remembers = model.name != "gpt"
        length = data.length or (PIECE if remembers else model.max_length)
        carry = remembers if data.carry is None else data.carry
        data = data.model_copy(update={"length": length, "carry": carry})
        return {**built, "data": data}

    def check(self, built: Mapping[str, Any]) -> None:
        super().check(built)
        if built["tokenizer"].normalize:
            raise ConfigError("tokenizer.normalize=true: a language model keeps text unchanged; leave it out")


TASK = LanguageModelTask()

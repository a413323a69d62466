"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mirada.bundle import need
from mirada.contracts import Loss
from mirada.data.tokenizer import TokenizerConfig
from mirada.decoding import DecodeConfig
from mirada.errors import ConfigError
from mirada.tasks.language_model.data import LanguageModelData, TextConfig
from mirada.tasks.language_model.data import Windows as Windows
from mirada.tasks.language_model.model import PIECE, LanguageModel
from mirada.tasks.language_model.preprocessor import LanguageModelPreprocessor
from mirada.tasks.task import Task
from mirada.training.losses import NextTokenLoss


class LanguageModelTask(Task):
    """Language modelling: continuing a text."""

    name = "language_model"
    verb = "generate"
    model = LanguageModel
    default_model = "lstm"
    preparation = LanguageModelData
    sections = {"data": TextConfig, "tokenizer": TokenizerConfig, "decode": DecodeConfig}
    defaults = {
        "tokenizer": {"unit": "characters"},
        "decode": {"sample": True, "temperature": 0.8},
        # Shakespeare's plays, LSTM of width 128, 600,000 characters: rates of 4e-3, 8e-3 and 16e-3 gave 3.61, 2.94 and
        # 2.62 bits per character in batches of 2,048, once each; Adam at 16e-3 gave 2.79.
        "train": {"label_smoothing": 0.0, "lr": 1.6e-2, "max_batch_tokens": 2048, "validate_sentences": 200},
    }
    used = ("data", "decode")

    def complete(self, built: dict[str, Any]) -> dict[str, Any]:
        data, model, tokenizer = built["data"], built["model"], built["tokenizer"]
        if "normalize" not in tokenizer.model_fields_set:
            tokenizer = tokenizer.model_copy(update={"normalize": False})
        remembers = model.name != "gpt"
        length = data.length or (PIECE if remembers else model.max_length)
        carry = remembers if data.carry is None else data.carry
        data = data.model_copy(update={"length": length, "carry": carry})
        return {**built, "data": data, "tokenizer": tokenizer}

    def check(self, built: Mapping[str, Any]) -> None:
        data, model = built["data"], built["model"]
        if built["tokenizer"].normalize:
            raise ConfigError(
                "tokenizer.normalize=true: a language model reads and writes a text as it is, to the last space; leave "
                "it out"
            )
        if data.length > model.max_length:
            raise ConfigError(f"data.length={data.length} must not be above model.max_length={model.max_length}")

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        data = card["data"]
        left_out = sum(data["excluded"].values())
        return [
            ("data", f"{data['characters']:,} characters, {data['lines']:,} lines, {left_out:,} left out"),
            ("dev", f"{data['dev_characters']:,} characters" + (", the end of the text" if data["held_out"] else "")),
            ("units", f"{data['vocabulary']:,} {data['unit']}"),
        ]

    def open(self, files: Mapping[str, bytes], where: Path) -> LanguageModelPreprocessor:
        need(files, where, "tokenizer.json", "counts.json")
        return LanguageModelPreprocessor.read(files, where)

    def loss(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return NextTokenLoss(smoothing)


TASK = LanguageModelTask()

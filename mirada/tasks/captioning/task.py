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
from mirada.tasks.captioning.data import CaptioningData, CaptionsConfig
from mirada.tasks.captioning.model import CaptionModel
from mirada.tasks.captioning.preprocessor import CaptionPreprocessor
from mirada.tasks.task import Task
from mirada.training.losses import TargetTokenLoss


class CaptioningTask(Task):
    """An image to a text about it."""

    name = "captioning"
    verb = "caption"
    model = CaptionModel
    default_model = "captioner"
    preparation = CaptioningData
    sections = {"data": CaptionsConfig, "tokenizer": TokenizerConfig, "decode": DecodeConfig}
    used = ("decode",)
    defaults = {"train": {"max_batch_tokens": 4000}}

    def check(self, built: Mapping[str, Any]) -> None:
        data, model = built["data"], built["model"]
        data.check(model.patch_for)
        if data.max_tokens >= model.max_length:
            raise ConfigError(f"data.max_tokens={data.max_tokens} must be below model.max_length={model.max_length}")

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        data = card["data"]
        left_out = sum(data["excluded"].values())
        return [
            ("data", f"{data['training']:,} captions, {left_out:,} left out"),
            ("images", f"{data['images']:,}, {data['format']}"),
            ("dev", f"{data['dev']:,} images" + (", held out of the data" if data["held_out"] else "")),
            ("units", f"{data['vocabulary']:,}"),
        ]

    def open(self, files: Mapping[str, bytes], where: Path) -> CaptionPreprocessor:
        need(files, where, "tokenizer.json", "pictures.json", "captions.json")
        return CaptionPreprocessor.read(files, where)

    def loss(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return TargetTokenLoss(smoothing)


TASK = CaptioningTask()

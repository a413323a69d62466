"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mirada.data.tokenizer import TokenizerConfig
from mirada.decoding import DecodeConfig
from mirada.tasks.captioning.data import CaptioningData, CaptionsConfig
from mirada.tasks.captioning.model import CaptionModel
from mirada.tasks.task import Task
from mirada.training.losses import TargetTokenLoss


class CaptioningTask(Task):
    """An image to a text about it."""

    name = "captioning"
    verb = "caption"
    model = CaptionModel
    default_model = "captioner"
    preparation = CaptioningData
    loss = TargetTokenLoss
    sections = {"data": CaptionsConfig, "tokenizer": TokenizerConfig, "decode": DecodeConfig}
    used = ("decode",)
    defaults = {"train": {"max_batch_tokens": 4000}}
    length = ("max_tokens", 1)

    def check(self, built: Mapping[str, Any]) -> None:
        super().check(built)
        built["data"].check(built["model"].patch_for)


TASK = CaptioningTask()

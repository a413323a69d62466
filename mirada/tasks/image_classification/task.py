"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mirada.tasks.image_classification.data import ImageClassificationData, ImageConfig
from mirada.tasks.image_classification.model import ImageClassificationModel
from mirada.tasks.task import Task
from mirada.training.losses import ClassLoss


class ImageClassificationTask(Task):
    """An image or a video to one of a few labels."""

    name = "image_classification"
    verb = "classify"
    model = ImageClassificationModel
    default_model = "vit"
    preparation = ImageClassificationData
    loss = ClassLoss
    sections = {"data": ImageConfig}
    defaults = {"train": {"label_smoothing": 0.1, "validate_sentences": 5000, "max_batch_tokens": 512}}

    def check(self, built: Mapping[str, Any]) -> None:
        built["data"].check(built["model"].patch_for)


TASK = ImageClassificationTask()

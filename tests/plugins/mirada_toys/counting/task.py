"""The task: settings, data, loss and model class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mirada.contracts import Loss
from mirada.tasks.task import Task
from mirada.training.losses import ClassLoss
from mirada_toys.counting.data import CountingConfig, CountingData, Letters
from mirada_toys.counting.model import CountingModel


class CountingTask(Task):
    """A word to its number of vowels."""

    name = "counting"
    verb = "count"
    model = CountingModel
    default_model = "sum"
    preparation = CountingData
    sections = {"data": CountingConfig}
    defaults = {"train": {"label_smoothing": 0.0}}

    def open(self, files: Mapping[str, bytes], where: Path) -> Letters:
        return Letters.read(files, where)

    def loss(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return ClassLoss(smoothing)


TASK = CountingTask()

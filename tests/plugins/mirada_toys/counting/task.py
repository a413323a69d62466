"""The task: settings, data, loss and model class."""

from __future__ import annotations

from mirada.tasks.task import Task
from mirada.training.losses import ClassLoss
from mirada_toys.counting.data import CountingConfig, CountingData
from mirada_toys.counting.model import CountingModel


class CountingTask(Task):
    """A word to its number of vowels."""

    name = "counting"
    verb = "count"
    model = CountingModel
    default_model = "sum"
    preparation = CountingData
    loss = ClassLoss
    sections = {"data": CountingConfig}
    defaults = {"train": {"label_smoothing": 0.0}}


TASK = CountingTask()

"""The shapes that a sequence problem can have, by name; each is a file here, imported when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mirada.config import nearest
from mirada.errors import UsageError

if TYPE_CHECKING:
    from mirada.tasks.task import Task

HOMES = {
    "translation": ("translation", "TranslationTask"),
    "classification": ("classification", "ClassificationTask"),
    "pictures": ("pictures", "PicturesTask"),
    "captioning": ("captioning", "CaptioningTask"),
    "tagging": ("tagging", "TaggingTask"),
    "forecasting": ("forecasting", "ForecastingTask"),
    "language": ("language", "LanguageTask"),
    "masked": ("masked", "MaskedTask"),
}
"""Name of the task: module and class."""


def find(name: str) -> Task:
    """The task of that name."""
    if name not in HOMES:
        raise UsageError(f"--task {name}: there is no such task{nearest(name, HOMES)}")
    module, kind = HOMES[name]
    task: Task = getattr(import_module(f"mirada.tasks.{module}"), kind)()
    return task

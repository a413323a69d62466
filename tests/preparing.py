"""Prepare the data of a task, without training anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mirada import tasks
from mirada.data.preparation import Prepared
from mirada.data.preparation import prepare as prepare_data


def prepare(task: str, folder: Path, *, base: Any = None, **sections: Any) -> Prepared:
    """The data of a task, prepared in a folder; sections that are not given have their defaults."""
    found = tasks.find(task)
    built = {name: section() for name, section in found.sections.items() if name not in sections}
    return prepare_data(found.preparation({**built, **sections}, base), folder, lambda what, done, total: None)

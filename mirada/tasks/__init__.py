"""The tasks: a folder each, which holds all that is its own and is imported when it is needed.

A task's folder has a module `task` with the task itself as `TASK`, and may have a module `command` whose function
`register(app)` adds its verbs to the command line. Other packages add theirs by an entry point of the group
`mirada.tasks`, whose name is the task's and whose value is such a package.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from mirada.errors import UsageError
from mirada.former_names import current_task

if TYPE_CHECKING:
    from mirada.tasks.task import Task


@cache
def packages() -> dict[str, str]:
    """The package of every task, by the task's name: those here, then those of other distributions."""
    here = {module.name: f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__) if module.ispkg}
    return here | {entry.name: entry.value for entry in entry_points(group="mirada.tasks") if entry.name not in here}


def find(name: str) -> Task:
    """The task of that name."""
    found = packages()
    name = current_task(name)
    if name not in found:
        from mirada.config import nearest  # not before: the command line asks for the packages alone

        raise UsageError(f"--task {name}: there is no such task{nearest(name, found)}")
    task: Task = import_module(f"{found[name]}.task").TASK
    return task

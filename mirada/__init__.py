"""Mirada: train sequence models with attention, use them, and see what they look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["MiradaError", "Model", "Translation", "__version__", "load", "train"]

if TYPE_CHECKING:
    from mirada.api import Model, load, train
    from mirada.errors import MiradaError
    from mirada.tasks.translation.translator import Translation

_HOMES = {"Translation": "mirada.tasks.translation.translator", "MiradaError": "mirada.errors"}


def __getattr__(name: str) -> Any:
    """The public names, imported when they are first used: `import mirada` and `mirada --help` stay quick."""
    if name not in __all__:
        raise AttributeError(f"module 'mirada' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "mirada.api")), name)

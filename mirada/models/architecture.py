"""The description of an architecture: its origin, and its network for each task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from mirada.config import Section, Values
from mirada.contracts import Sizes


@dataclass(frozen=True)
class Variant:
    """An architecture as one task uses it."""

    config: type[Section]
    """The `model` section of its configuration."""
    build: Callable[[Any, Sizes], nn.Module]
    """Builds a network with random weights from that section and the sizes of the data."""
    presets: dict[str, Values]
    """Configurations by name: sizes under `model`, and settings of training under `train` if the preset has its own."""


@dataclass(frozen=True)
class Architecture:
    """An architecture of the lineage, with a variant for every task that it serves."""

    year: int
    paper: str
    formula: str
    variants: Mapping[str, Variant]
    """By the name of the task."""


SEQUENCE_TASKS = ("classification", "tagging", "forecasting")
"""Tasks that an encoder of sequences serves."""

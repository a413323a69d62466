"""What is known about prepared data: for its folder and a bundle's card, and for a person before training begins."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Report:
    """What was read, and what became of it. A task adds its own figures in a subclass."""

    read: int = 0
    training: int = 0
    dev: int = 0
    held_out: bool = False
    """Whether the dev set was held out of the data."""
    words: int = 0
    """Running words of the training set."""
    vocabulary: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    """How many records were left out, by reason (`checks.REASONS`)."""
    findings: dict[str, int] = field(default_factory=dict)
    """How many were kept that are worth a look, by reason."""
    notes: list[str] = field(default_factory=list)
    fingerprint: str = ""


@dataclass(frozen=True)
class DataSummary:
    """What a person is shown about the data before a training begins."""

    summary: str
    notes: list[str] = field(default_factory=list)
    excluded: dict[str, int] = field(default_factory=dict)
    """Why something is left out, in words, and how often."""
    doubts: dict[str, int] = field(default_factory=dict)
    """What is kept but worth a look, in words, and how often."""
    command: str = ""
    """What shows where all of it is, and what changes it, if something does."""

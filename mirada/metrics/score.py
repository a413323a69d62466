"""Evaluations: named scores, as text for people and as plain values for programs; how texts and numbers are shown."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sized
from dataclasses import asdict, dataclass, field
from typing import Any

from mirada.errors import UsageError


@dataclass(frozen=True)
class Score:
    """One score of a whole test set, with the signature that says how it was computed."""

    name: str
    value: float
    signature: str
    lower_is_better: bool = False
    digits: int = 1
    """Decimals to print."""

    def __str__(self) -> str:
        return f"{self.name} {self.value:,.{self.digits}f}"


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a test set; the first score is the most important one."""

    size: int
    """The number of sentences, texts or steps that were scored."""
    scores: tuple[Score, ...]
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    """Remarks, such as how many outputs were cut."""

    unit = "examples"
    """The unit of `size`."""

    def score(self, name: str) -> float:
        return next(score.value for score in self.scores if score.name == name)

    @property
    def summary(self) -> str:
        """The scores in one line."""
        return f"{', '.join(map(str, self.scores))} on {self.size:,} {self.unit}"

    def as_dict(self) -> dict[str, Any]:
        """The evaluation as plain values, ready for JSON."""
        plain: dict[str, Any] = json.loads(json.dumps({"unit": self.unit, **asdict(self)}))
        return plain

    def as_text(self) -> str:
        """The evaluation as aligned plain text."""
        parts = [[f"{self.unit}: {self.size:,}", *self.notes], self.text_of_scores(), *self.tables()]
        return "\n\n".join("\n".join(part) for part in parts) + "\n"

    def tables(self) -> Iterable[Iterable[str]]:
        """Further parts of the text, as lines."""
        return ()

    def text_of_scores(self) -> list[str]:
        """One line per score."""
        width = max(len(score.name) for score in self.scores)
        return [
            f"{score.name:<{width}} {score.value:>7,.{score.digits + 1}f}  {score.signature}"
            + ("  (lower is better)" if score.lower_is_better else "")
            for score in self.scores
        ]


def check_sizes(what: str, truth: Sized, predicted: Sized) -> None:
    """Refuse to score nothing, or predictions that are not one for each `what`."""
    if not len(truth):
        raise UsageError(f"there is nothing to evaluate: no {what}")
    if len(truth) != len(predicted):
        raise UsageError(f"{len(truth)} {what}s but {len(predicted)} predictions: there must be one of each")


def shown(text: str, width: int = 30) -> str:
    """The text for a table: shortened, without control characters."""
    short = text if len(text) <= width else text[: width - 1] + "…"
    return "".join(character if character.isprintable() else "\ufffd" for character in short)


def decimals(value: float, minimum: int = 0) -> int:
    """The number of decimals for about three significant digits of a value."""
    return min(9, max(minimum, 2 - math.floor(math.log10(value)))) if value > 0 else 2

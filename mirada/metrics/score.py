"""What every evaluation is: named scores, and the rest as text for a person and as plain values for a program."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Score:
    """One score of a whole test set, with the signature that says how it was computed."""

    name: str
    value: float
    signature: str
    lower_is_better: bool = False
    digits: int = 1
    """Behind the point, where a person reads it."""

    def __str__(self) -> str:
        return f"{self.name} {self.value:,.{self.digits}f}"


@dataclass(frozen=True)
class Evaluation:
    """All that is said about one look at a test set; the first score is the one that matters most."""

    size: int
    """Sentences, texts, steps: what was scored."""
    scores: tuple[Score, ...]
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    """What else there is to say: how many were cut, or passed over."""

    unit = "examples"
    """What `size` counts."""

    def score(self, name: str) -> float:
        return next(score.value for score in self.scores if score.name == name)

    @property
    def summary(self) -> str:
        """In one line."""
        return f"{', '.join(map(str, self.scores))} on {self.size:,} {self.unit}"

    def as_dict(self) -> dict[str, Any]:
        """The evaluation as plain lists, dictionaries, texts and numbers, ready for JSON."""
        plain: dict[str, Any] = json.loads(json.dumps({"unit": self.unit, **asdict(self)}))
        return plain

    def as_text(self) -> str:
        """The evaluation as aligned plain text for a person."""
        raise NotImplementedError

    def text_of_scores(self) -> list[str]:
        """A line a score."""
        width = max(len(score.name) for score in self.scores)
        return [
            f"{score.name:<{width}} {score.value:>7,.{score.digits + 1}f}  {score.signature}"
            + ("  (lower is better)" if score.lower_is_better else "")
            for score in self.scores
        ]

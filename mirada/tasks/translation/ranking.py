"""Which reading of a translator's attention aligns words best, as far as a sample can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mirada.inspection.alignment import Reading

FEW = 50
"""Target words, or links, below which a sample tells no reading from another."""


@dataclass(frozen=True)
class Ranked:
    """A reading, and how well it aligns."""

    reading: Reading
    value: float


@dataclass(frozen=True)
class Ranking:
    """All readings of a model, the best first."""

    rows: tuple[Ranked, ...]
    measure: str
    """`AER`, or `agreement`: how many per cent of the target words look most at the source word that they need most."""
    pairs: int
    """How many were compared."""
    chosen: Ranked
    """The one that averages most heads among those that the sample cannot tell from the first."""

    def __str__(self) -> str:
        return f"{self.measure} {self.chosen.value:.1f}%"

    def as_text(self) -> str:
        """A table of the readings, a line each."""
        rows = [f"{self.measure:>9}  layer  head  row"]
        for row in self.rows:
            about = row.reading.as_dict()
            chosen = "  ← chosen" if row is self.chosen else ""
            if chosen and row is not self.rows[0]:
                chosen += ": a mean of more heads, and no worse as far as the sample can tell"
            rows.append(f"{row.value:9.2f}  {about['layer']:>5}  {about['head']:>4}  {about['row']}{chosen}")
        return "\n".join(rows)

    def as_dict(self) -> dict[str, Any]:
        """The ranking as plain values."""
        chosen, *rows = ({**row.reading.as_dict(), "value": round(row.value, 2)} for row in (self.chosen, *self.rows))
        return {"measure": self.measure, "pairs": self.pairs, "chosen": chosen, "readings": rows}


def steadiest(rows: Sequence[Ranked], p: float, n: float) -> Ranked:
    """The row that averages most heads among those that a sample cannot tell from the first.

    The first is right in a share p of n words or links. As good are rows down to Wilson's bound, of one standard error:
    least = (p + 1/2n − √(p (1 − p)/n + 1/4n²)) / (1 + 1/n); and all where n < FEW: one of many is then ahead by luck.
    """
    near = list(rows)
    if n >= FEW:
        least = (p + 1 / (2 * n) - np.sqrt(p * (1 - p) / n + 1 / (4 * n * n))) / (1 + 1 / n)
        near = [row for row in rows if abs(row.value - rows[0].value) <= 100 * (p - least)]
    return max(near, key=lambda row: (row.reading.layer, row.reading.head).count(None))

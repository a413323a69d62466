"""Scores a model by how little a text surprises it: bits per character, perplexity, and what counting alone would give.

    bits = Σ −log₂ p(token | all before it)    bits per character = bits / characters    perplexity = 2^(bits / tokens)

Bits per character can be compared between models with different units, perplexity cannot. Where units do not spell the
text out (words are lower-cased and rare ones unknown; symbols are no letters) they are bits per unit instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirada.errors import UsageError
from mirada.metrics.score import Evaluation, Score

MEASURES = {
    "characters": "bits/character",
    "subwords": "bits/character",
    "words": "bits/word",
    "symbols": "bits/symbol",
}
"""By the unit."""


@dataclass(frozen=True)
class TextScores(Evaluation):
    """All that is said about one reading of a text."""

    characters: int
    bits: float
    """Of the whole text."""

    unit = "tokens"

    def as_text(self) -> str:
        counted = [f"tokens: {self.size:,}", f"characters: {self.characters:,}"]
        return "\n\n".join(["\n".join(counted), "\n".join(self.text_of_scores())]) + "\n"


def divisor(unit: str, tokens: int, characters: int) -> int:
    """What bits are divided by."""
    return characters if MEASURES[unit] == "bits/character" else tokens


def evaluate_text(
    bits: NDArray[np.floating],
    ids: NDArray[np.integer],
    counts: NDArray[np.integer],
    characters: int,
    unit: str,
    unknown: int | None = None,
    how: str = "",
) -> TextScores:
    """Scores the surprise at each token of a text: its `bits`, beside those of the tokens' frequency in training.

    `counts` is how often each unit occurred there. `unknown` is the id of what the vocabulary does not have, and `how`
    says how the text was read.
    """
    if len(bits) != len(ids):
        raise UsageError(f"{len(ids)} tokens but the bits of {len(bits)}: there must be one of each")
    if not len(ids) or not characters:
        raise UsageError("there is nothing to evaluate: the text is empty")
    measure, total = MEASURES[unit], float(bits.sum())
    per = divisor(unit, len(ids), characters)
    strange = int((ids == unknown).sum()) if unknown is not None else 0
    shared = f"units:{unit}" + (f"|unknown:{strange}" if unknown is not None else "") + (f"|{how}" if how else "")
    frequency = np.log2(counts.sum() + len(counts)) - np.log2(counts + 1)  # [V] of each unit, one count added to all
    unigram = float(frequency[ids].sum())
    with np.errstate(over="ignore"):
        perplexity = float(np.exp2(total / len(ids)))
    return TextScores(
        size=len(ids),
        scores=(
            Score(measure, total / per, shared, lower_is_better=True, digits=3),
            Score("perplexity", perplexity, f"a token|{shared}", lower_is_better=True, digits=2),
            Score(f"unigram {measure}", unigram / per, "of the units' frequency in training alone", True, 3),
        ),
        characters=characters,
        bits=total,
    )

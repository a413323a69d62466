"""Language-modelling metrics: bits per character, perplexity, and a unigram baseline.

    bits = Σ −log₂ p(token | all before it)    bits per character = bits / characters    perplexity = 2^(bits / tokens)

Bits per character can be compared between models with different units, perplexity cannot. Where units do not spell the
text out (words are lower-cased and rare ones unknown; symbols are not letters) they are bits per unit instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirada.errors import UsageError
from mirada.metrics.score import Evaluation, Score, check_sizes

MEASURES = {
    "characters": "bits/character",
    "subwords": "bits/character",
    "words": "bits/word",
    "symbols": "bits/symbol",
}
"""The name of the first score, by the unit of the vocabulary."""


@dataclass(frozen=True)
class TextScores(Evaluation):
    """The evaluation of a language model on a text."""

    characters: int
    bits: float
    """The negative log-likelihood of the whole text, base 2."""

    unit = "tokens"


def divisor(unit: str, tokens: int, characters: int) -> int:
    """The number that bits are divided by: characters, or tokens where these do not spell the text."""
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
    """Score a text by the negative log-likelihood of each token in `bits`, beside that of a unigram model.

    `counts` is how often each unit occurs in the training set, `unknown` the id of the unknown token, and `how` a
    remark for the signature on how the text was read.
    """
    check_sizes("token", ids, bits)
    if not characters:
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
        notes=(f"characters: {characters:,}",),
    )

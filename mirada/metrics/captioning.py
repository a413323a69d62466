"""Captioning metrics: exact match, BLEU, chrF++ and TER against all references of an image, and a few misses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mirada.metrics.score import Evaluation, Score
from mirada.metrics.translation import bleu_tokenizer, text_scores

MAX_MISSES = 5


@dataclass(frozen=True)
class CaptionScores(Evaluation):
    """The evaluation of the captions of a test set."""

    misses: tuple[tuple[str, str, str], ...]
    """The first few captions that match no reference: image, caption, the first reference."""
    cut: int
    """Captions that were cut at the length limit."""

    unit = "images"

    def tables(self) -> Iterator[list[str]]:
        if self.misses:
            lines = [f"  {place}\n    → {caption}\n    = {truth}" for place, caption, truth in self.misses]
            yield ["not among the references, the first:", *lines]


def exact(captions: Sequence[str], references: Sequence[Sequence[str]]) -> int:
    """The number of captions that equal one of their references."""
    return sum(caption in given for caption, given in zip(captions, references, strict=True))


def evaluate_captions(
    places: Sequence[str], captions: Sequence[str], references: Sequence[Sequence[str]], cut: int = 0
) -> CaptionScores:
    """Score the captions of a test set; `references[i]` are the one or more references of image i.

    `cut` of them were cut at the length limit.
    """
    scores = text_scores(captions, references, bleu_tokenizer(None, references))
    right = exact(captions, references)
    match = Score("exact match", 100 * right / len(captions), f"right:{right}|of:{len(captions)}")
    missed = [row for row in zip(places, captions, references, strict=True) if row[1] not in row[2]]
    misses = tuple((place, caption, given[0]) for place, caption, given in missed[:MAX_MISSES])
    notes = (f"captions cut at the length limit: {cut:,}",) if cut else ()
    return CaptionScores(len(captions), (match, *scores), misses, cut, notes=notes)

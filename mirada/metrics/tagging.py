"""Tagging metrics: accuracy, macro-F1 and span-F1 of tags; MAE, RMSE and R² of numbers.

Where tags mark spans, such as B-PER I-PER O, the first score is the F1 of whole spans: one counts only if its first
word, its last word and its type are right. Tags become spans as in conlleval:

    a span continues    with I-x or E-x after B-x or I-x of the same type
    a span starts       with any other B-x, I-x, E-x or S-x: also with an I-x after O or after another type

BILOU's L and U are E and S. The rules read IOB1, BIO, BIOES and BILOU without knowing which of them it is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from mirada.errors import UsageError
from mirada.metrics.classification import ClassRow, class_rows, percent, text_of_rows
from mirada.metrics.score import Evaluation, Score, check_sizes, decimals

LARGEST = 1e50
"""A number beyond this cannot be squared and summed without care; nor can the spread of numbers below its inverse."""


@dataclass(frozen=True)
class TagScores(Evaluation):
    """The evaluation of one tagging of a test set."""

    tags: tuple[ClassRow, ...]
    """The most frequent first."""
    spans: tuple[ClassRow, ...]
    """A row for each type of span, the most frequent first; none if the tags do not mark spans."""

    unit = "words"

    def tables(self) -> Iterator[Iterator[str]]:
        if self.spans:
            yield text_of_rows("span", self.spans)
        yield text_of_rows("tag", self.tags)


@dataclass(frozen=True)
class NumberScores(Evaluation):
    """The evaluation of numbers predicted for a test set."""

    unit = "words"


def evaluate_tags(
    truth: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    unknown: Sequence[Sequence[bool]] | None = None,
) -> TagScores:
    """Score one tagging of a test set: for each sentence, a tag for each word.

    `unknown` says of each word whether it was not in the training set; the score of such words is left out if there
    are none. Where tags mark spans, span-F1 comes first, as most words then are outside and easy to get right.
    """
    _check_lengths(truth, predicted)
    right = [tag == guess for tag, guess in zip(chain(*truth), chain(*predicted), strict=True)]
    hits = Counter(tag for tag, hit in zip(chain(*truth), right, strict=True) if hit)
    true = Counter(chain(*truth))
    rows, macro = _rows(hits, true, Counter(chain(*predicted)), "tags")
    scores = [Score("accuracy", percent(sum(right), len(right)), f"right:{sum(right)}|of:{len(right)}"), macro]
    by_type: tuple[ClassRow, ...] = ()
    if _mark_spans(true):
        score, by_type = _span_scores(truth, predicted)
        scores.insert(0, score)
    among = [hit for hit, new in zip(right, chain(*(unknown or ())), strict=unknown is not None) if new]
    if among:
        signature = f"accuracy on words not in the training set|right:{sum(among)}|of:{len(among)}"
        scores.append(Score("unknown words", percent(sum(among), len(among)), signature))
    return TagScores(size=len(right), scores=tuple(scores), tags=rows, spans=by_type)


def _rows(
    hits: Counter[str], true: Counter[str], predicted: Counter[str], noun: str
) -> tuple[tuple[ClassRow, ...], Score]:
    """The rows of all labels, the most frequent first, and macro-F1."""
    names = sorted(true | predicted, key=lambda name: (-true[name], name))
    h, t, p = (np.array([counter[name] for name in names], np.int64) for counter in (hits, true, predicted))
    return class_rows(names, h, t, p, noun)


def _check_lengths(truth: Sequence[Sequence[Any]], predicted: Sequence[Sequence[Any]]) -> None:
    check_sizes("sentence", truth, predicted)
    for number, (one, two) in enumerate(zip(truth, predicted, strict=True), 1):
        if len(one) != len(two):
            raise UsageError(f"sentence {number} has {len(one)} words but {len(two)} predictions: one each is needed")
    if not any(truth):
        raise UsageError("there is nothing to evaluate: the test set has no words")


# --- spans ----------------------------------------------------------------------------------------------------------

_LETTERS = {"B": "B", "I": "I", "E": "E", "L": "E", "S": "S", "U": "S"}


def spans(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """The spans of a sentence: first word, the one after the last, type. Tags of no known form are outside."""
    found = set()
    start, before = 0, ("O", "")
    for place, tag in enumerate([*tags, "O"]):
        letter, kind = _parts(tag)
        if letter not in ("I", "E") or before not in (("B", kind), ("I", kind)):  # it does not continue the span before
            if before[0] != "O":
                found.add((start, place, before[1]))
            start = place
        before = letter, kind
    return found


def _parts(tag: str) -> tuple[str, str]:
    """A tag's letter (B, I, E, S or O) and the type of its span: those of B-PER, or of B where there are no types."""
    letter, _, kind = tag.partition("-")
    return (_LETTERS[letter], kind) if letter in _LETTERS else ("O", "")


def _mark_spans(names: Iterable[str]) -> bool:
    """Whether the true tags look like those of spans rather than, say, parts of speech."""
    if any(name[:2] in ("B-", "I-") and name[2:] for name in names):
        return True
    others = {name for name in names if name != "O"}
    if any(_parts(name)[0] == "O" for name in others):
        return False
    return any("-" in name for name in others) or {"B", "I"} <= others


def _span_scores(
    truth: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> tuple[Score, tuple[ClassRow, ...]]:
    """The micro-F1 of spans, and a row for each type."""
    hits, true, said = Counter[str](), Counter[str](), Counter[str]()
    for tags, guessed in zip(truth, predicted, strict=True):
        there, found = spans(tags), spans(guessed)
        for counter, some in ((hits, there & found), (true, there), (said, found)):
            counter.update(kind for _, _, kind in some)
    rows, _ = _rows(hits, true, said, "types")
    signature = f"micro|match:exact|spans:{true.total()}|found:{said.total()}"
    return Score("span-F1", percent(2 * hits.total(), true.total() + said.total()), signature), rows


# --- numbers --------------------------------------------------------------------------------------------------------


def evaluate_numbers(truth: Sequence[Sequence[float]], predicted: Sequence[Sequence[float]]) -> NumberScores:
    """Score numbers, one for each word of each sentence: with e = y − ŷ over all N words of the test set

    MAE = Σ|e| / N      RMSE = √(Σe² / N)      R² = 1 − Σe² / Σ(y − ȳ)²

    Where all y are the same, R² is 1 if there is no error and else 0, as scikit-learn has it.
    """
    _check_lengths(truth, predicted)
    y, guess = (np.fromiter(chain(*given), np.float64) for given in (truth, predicted))  # [N]
    if not np.abs([y, guess]).max() <= LARGEST:  # NaN is not, either
        raise UsageError(f"only numbers of a size up to {LARGEST:g} can be scored")
    e = y - guess
    mae, rmse = float(np.abs(e).mean()), float(np.sqrt(np.square(e).mean()))
    constant = float(np.ptp(y)) < 1 / LARGEST
    r2 = float(not e.any()) if constant else 1.0 - float(np.square(e).sum() / np.square(y - y.mean()).sum())
    return NumberScores(
        size=len(y),
        scores=(
            Score("MAE", mae, "mean |y−ŷ|", lower_is_better=True, digits=decimals(mae, 1)),
            Score("RMSE", rmse, "√ mean (y−ŷ)²", lower_is_better=True, digits=decimals(rmse, 1)),
            Score("R²", r2, "all y are the same" if constant else "1 − Σ(y−ŷ)²/Σ(y−ȳ)²", digits=3),
        ),
    )

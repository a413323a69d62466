"""Tagging metrics: accuracy, macro-F1 and span-F1 of tags; MAE, RMSE and R² of numbers.

Where tags mark spans, such as B-PER I-PER O, the first score is the F1 of whole spans: one counts only if its first
word, its last word and its type are right. Tags become spans as in conlleval:

    a span continues    with I-x or E-x after B-x or I-x of the same type
    a span starts       with any other B-x, I-x, E-x or S-x: also with an I-x after O or after another type

BILOU's L and U are E and S. The rules read IOB1, BIO, BIOES and BILOU without being told which of them it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirada.errors import UsageError
from mirada.metrics.classification import ClassRow, Ints, class_rows, percent, text_of_rows
from mirada.metrics.score import Evaluation, Score, decimals

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

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

    def as_text(self) -> str:
        parts = [[f"{self.unit}: {self.size:,}"], self.text_of_scores()]
        if self.spans:
            parts.append(list(text_of_rows("span", self.spans)))
        parts.append(list(text_of_rows("tag", self.tags)))
        return "\n\n".join("\n".join(part) for part in parts) + "\n"


@dataclass(frozen=True)
class NumberScores(Evaluation):
    """The evaluation of numbers predicted for a test set."""

    unit = "words"

    def as_text(self) -> str:
        return "\n".join([f"{self.unit}: {self.size:,}", "", *self.text_of_scores()]) + "\n"


def evaluate_tags(
    truth: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    unknown: Sequence[Sequence[bool]] | None = None,
) -> TagScores:
    """Score one tagging of a test set: for each sentence, a tag for each word.

    `unknown` says of each word whether it was not in the training set; the score of such words is left out if there
    are none. Where tags mark spans, span-F1 comes first, as most words then are outside and easy to get right.
    """
    lengths = _checked_lengths(truth, predicted, "predicted tags")
    names = sorted({*chain.from_iterable(truth), *chain.from_iterable(predicted)})
    y, guess = (_numbered(given, names) for given in (truth, predicted))  # [N] places in names
    right = y == guess  # [N]
    hits, true, said = (np.bincount(ids, minlength=len(names)) for ids in (y[right], y, guess))
    rows, macro = class_rows(names, hits, true, said, "tags")
    scores = [Score("accuracy", percent(right.sum(), len(y)), f"right:{right.sum()}|of:{len(y)}"), macro]
    by_type: tuple[ClassRow, ...] = ()
    if _mark_spans([names[tag] for tag in np.flatnonzero(true)]):
        score, by_type = _span_scores(names, y, guess, lengths)
        scores.insert(0, score)
    if unknown is not None:
        _checked_lengths(truth, unknown, "marks of unknown words")
        new = np.fromiter(chain.from_iterable(unknown), dtype=bool)
        if new.any():
            among = right[new]
            signature = f"accuracy on words not in the training set|right:{among.sum()}|of:{len(among)}"
            scores.append(Score("unknown words", percent(among.sum(), len(among)), signature))
    return TagScores(size=len(y), scores=tuple(scores), tags=_most_frequent_first(rows), spans=by_type)


def _most_frequent_first(rows: Sequence[ClassRow]) -> tuple[ClassRow, ...]:
    return tuple(sorted(rows, key=lambda row: (-row.count, row.label)))


def _numbered(given: Sequence[Sequence[str]], names: Sequence[str]) -> Ints:
    """The tags of all sentences in a row, as indices into `names`."""
    place = {name: number for number, name in enumerate(names)}
    return np.fromiter(map(place.__getitem__, chain.from_iterable(given)), dtype=np.int64)


def _checked_lengths(truth: Sequence[Sequence[Any]], other: Sequence[Sequence[Any]], what: str) -> Ints:
    """How many words each sentence has, which must be the same in both."""
    if len(truth) != len(other):
        raise UsageError(f"{len(truth)} sentences but {what} for {len(other)}: there must be one of each")
    for number, (one, two) in enumerate(zip(truth, other, strict=True), 1):
        if isinstance(one, str) or isinstance(two, str):
            raise UsageError(f"sentence {number} must be a list with a tag for each word, not one text")
        if len(one) != len(two):
            raise UsageError(f"sentence {number} has {len(one)} words but {len(two)} {what}: there must be one of each")
    if not any(len(one) for one in truth):
        raise UsageError("there is nothing to evaluate: the test set has no words")
    return np.fromiter(map(len, truth), dtype=np.int64)


# --- spans ----------------------------------------------------------------------------------------------------------

_OUTSIDE, _BEGIN, _INSIDE, _END, _SINGLE = range(5)
_LETTERS = {"B": _BEGIN, "I": _INSIDE, "E": _END, "L": _END, "S": _SINGLE, "U": _SINGLE}


def spans(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """The spans of a sentence: first word, the one after the last, type. Tags of no known form are outside."""
    names = sorted(set(tags))
    first, last, kind, kinds = _spans(names, _numbered([tags], names), np.array([len(tags)]))
    found = zip(first.tolist(), last.tolist(), kind.tolist(), strict=True)
    return {(start, end + 1, kinds[type_]) for start, end, type_ in found}


def _parts(tag: str) -> tuple[int, str]:
    """What a tag says of its word's place in a span, and the type of the span: B-PER, or B where there are no types."""
    letter, _, kind = tag.partition("-")
    return (_LETTERS[letter], kind) if letter in _LETTERS else (_OUTSIDE, "")


def _mark_spans(names: Sequence[str]) -> bool:
    """Whether the true tags look like those of spans rather than, say, parts of speech."""
    if any(name[:2] in ("B-", "I-") and name[2:] for name in names):
        return True
    others = [name for name in names if name != "O"]
    if any(_parts(name)[0] == _OUTSIDE for name in others):
        return False
    return any("-" in name for name in others) or {"B", "I"} <= set(others)


def _letters_and_kinds(names: Sequence[str], ids: Ints) -> tuple[Ints, Ints, list[str]]:
    parts = [_parts(name) for name in names]
    kinds = sorted({kind for _, kind in parts})
    letter = np.array([letter for letter, _ in parts], dtype=np.int64)
    kind = np.array([kinds.index(kind) for _, kind in parts], dtype=np.int64)
    return letter[ids], kind[ids], kinds


def _spans(names: Sequence[str], ids: Ints, lengths: Ints) -> tuple[Ints, Ints, Ints, list[str]]:
    """The first word, last word and type of every span of all sentences, which stand in a row; and the types' names."""
    letter, kind, kinds = _letters_and_kinds(names, ids)  # [N], [N]
    inside = letter != _OUTSIDE
    before = np.concatenate([[_OUTSIDE], letter[:-1]])[: len(ids)]
    before[_first_words(lengths)] = _OUTSIDE
    other_kind = np.concatenate([[True], kind[1:] != kind[:-1]])[: len(ids)]
    starts = inside & (
        np.isin(letter, (_BEGIN, _SINGLE)) | np.isin(before, (_OUTSIDE, _END, _SINGLE)) | other_kind
    )  # [N]
    continues = np.concatenate([(inside & ~starts)[1:], [False]])[: len(ids)]
    first = np.flatnonzero(starts)
    return first, np.flatnonzero(inside & ~continues), kind[first], kinds


def _first_words(lengths: Ints) -> Ints:
    """Where each sentence that has words begins."""
    begins = np.cumsum(lengths) - lengths
    return begins[lengths > 0]


def _span_scores(names: Sequence[str], y: Ints, guess: Ints, lengths: Ints) -> tuple[Score, tuple[ClassRow, ...]]:
    """The micro-F1 of spans, and a row for each type."""
    first, last, kind, kinds = _spans(names, y, lengths)
    guessed_first, guessed_last, guessed_kind, _ = _spans(names, guess, lengths)
    # No two spans of one tagging start at the same word, so the others can be looked up by it.
    end, type_ = np.full(len(y), -1), np.full(len(y), -1)
    end[guessed_first], type_[guessed_first] = guessed_last, guessed_kind
    right = (end[first] == last) & (type_[first] == kind)
    hits, true, said = (np.bincount(ids, minlength=len(kinds)) for ids in (kind[right], kind, guessed_kind))
    rows, _ = class_rows(kinds, hits, true, said, "types")
    by_type = _most_frequent_first([row for row, count in zip(rows, true + said, strict=True) if count])
    f1 = percent(2 * right.sum(), len(first) + len(guessed_first))
    signature = f"micro|match:exact|scheme:{_scheme(names, y, lengths)}|spans:{len(first)}|found:{len(guessed_first)}"
    return Score("span-F1", f1, signature), by_type


def _scheme(names: Sequence[str], y: Ints, lengths: Ints) -> str:
    """What the way of tagging is called, for the signature; the spans are the same however it is called."""
    used = {names[tag].partition("-")[0] for tag in np.unique(y)}
    if used & {"L", "U"}:
        return "BILOU"
    if used & {"E", "S"}:
        return "BIOES"
    letter, kind, _ = _letters_and_kinds(names, y)
    touches = np.concatenate([[False], (letter[:-1] != _OUTSIDE) & (kind[:-1] == kind[1:])])
    touches[_first_words(lengths)] = False
    # In IOB1 a span begins with I, and with B only where it touches one of the same type.
    return "IOB1" if np.any((letter == _INSIDE) & ~touches) and not np.any((letter == _BEGIN) & ~touches) else "BIO"


# --- numbers --------------------------------------------------------------------------------------------------------


def evaluate_numbers(truth: Sequence[Sequence[float]], predicted: Sequence[Sequence[float]]) -> NumberScores:
    """Score numbers, one for each word of each sentence: with e = y − ŷ over all N words of the test set

    MAE = Σ|e| / N      RMSE = √(Σe² / N)      R² = 1 − Σe² / Σ(y − ȳ)²

    Where all y are the same, R² is 1 if there is no error and else 0, as scikit-learn has it.
    """
    lengths = _checked_lengths(truth, predicted, "predicted numbers")
    y, guess = (_floats(name, given, lengths) for name, given in (("true", truth), ("predicted", predicted)))
    e = y - guess  # [N]
    mae, rmse = float(np.abs(e).mean()), float(np.sqrt(np.square(e).mean()))
    around_mean = np.square(y - y.mean()).sum()
    constant = float(np.ptp(y)) < 1 / LARGEST
    r2 = float(not e.any()) if constant else 1.0 - float(np.square(e).sum() / around_mean)
    return NumberScores(
        size=len(y),
        scores=(
            Score("MAE", mae, "mean |y−ŷ|", lower_is_better=True, digits=decimals(mae, 1)),
            Score("RMSE", rmse, "√ mean (y−ŷ)²", lower_is_better=True, digits=decimals(rmse, 1)),
            Score("R²", r2, "all y are the same" if constant else "1 − Σ(y−ŷ)²/Σ(y−ȳ)²", digits=3),
        ),
    )


def _floats(name: str, given: Sequence[Sequence[float]], lengths: Ints) -> Floats:
    """The numbers of all sentences in a row."""
    numbers = np.fromiter(chain.from_iterable(given), dtype=np.float64)
    alien = ~(np.abs(numbers) <= LARGEST)  # NaN is not below anything
    if alien.any():
        place = int(alien.argmax())
        ends = np.cumsum(lengths)
        sentence = int(np.searchsorted(ends, place, side="right"))
        word = place - int(ends[sentence] - lengths[sentence])
        raise UsageError(
            f"sentence {sentence + 1}, word {word + 1}: the {name} number is {numbers[place]:g}; "
            f"only numbers of a size up to {LARGEST:g} can be scored"
        )
    return numbers

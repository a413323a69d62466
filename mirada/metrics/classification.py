"""Classification metrics: accuracy, macro-F1, the majority baseline, scores per class, confusions.

The definitions are scikit-learn's. For a class with TP true positives, FP false positives and FN false negatives:

    precision = TP / (TP + FP)      recall = TP / (TP + FN)      F1 = 2 TP / (2 TP + FP + FN)

and 0 where the denominator is 0. All scores are percentages.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirada.metrics.score import Evaluation, Score, check_sizes, shown

Ints = NDArray[np.int64]

MAX_COLUMNS = 12
"""The most classes for which a confusion matrix is printed."""
MAX_CONFUSIONS = 10
"""The most confusions that are listed instead of a matrix."""
MAX_ROWS = 50
"""The most rows of a table of classes."""


@dataclass(frozen=True)
class ClassRow:
    """Precision, recall and F1 of one class in percent; `count` is how often it is the true one."""

    label: str
    count: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class LabelScores(Evaluation):
    """The evaluation of a classification of a test set."""

    classes: tuple[ClassRow, ...]
    """In the order of the labels."""
    confusion: tuple[tuple[int, ...], ...]
    """Rows are the true classes, columns the predicted ones."""

    unit = "texts"

    def tables(self) -> Iterator[Iterable[str]]:
        yield text_of_rows("class", self.classes)
        yield self._text_of_confusions() if len(self.classes) > MAX_COLUMNS else self._text_of_matrix()

    def _text_of_matrix(self) -> Iterator[str]:
        labels = [shown(row.label, 8) for row in self.classes]
        corner = "true ↓ predicted →"
        widths = [
            2 + max(len(label), *(len(f"{row[column]:,}") for row in self.confusion))
            for column, label in enumerate(labels)
        ]
        yield corner + "".join(f"{label:>{width}}" for label, width in zip(labels, widths, strict=True))
        for row, counts in zip(self.classes, self.confusion, strict=True):
            cells = "".join(f"{count:>{width},}" for count, width in zip(counts, widths, strict=True))
            yield f"{shown(row.label, len(corner)):<{len(corner)}}{cells}"

    def _text_of_confusions(self) -> Iterator[str]:
        wrong = np.array(self.confusion)  # [true, predicted]
        np.fill_diagonal(wrong, 0)
        ranked = np.argsort(-wrong, axis=None, kind="stable")
        pairs = [divmod(int(place), len(wrong)) for place in ranked[:MAX_CONFUSIONS] if wrong.flat[place]]
        kinds = int(np.count_nonzero(wrong))
        yield f"{kinds:,} kinds of confusion" + (", the most frequent:" if kinds > len(pairs) else ":" if kinds else "")
        for true, predicted in pairs:
            true_label, other = shown(self.classes[true].label), shown(self.classes[predicted].label)
            yield f"{wrong[true, predicted]:>10,}  {true_label} taken for {other}"


def evaluate_labels(
    truth: Sequence[int], predicted: Sequence[int], labels: Sequence[str], kind: type[LabelScores] = LabelScores
) -> LabelScores:
    """Score one classification of a test set; classes are indices into `labels`."""
    check_sizes("example", truth, predicted)
    y, guess = np.array(truth), np.array(predicted)
    n = len(labels)
    confusion = np.bincount(y * n + guess, minlength=n * n).reshape(n, n)
    rows, macro = class_rows(labels, np.diagonal(confusion), confusion.sum(axis=1), confusion.sum(axis=0), "classes")
    commonest = max(rows, key=lambda row: row.count)
    accuracy = Score("accuracy", percent(np.trace(confusion), len(y)), f"right:{np.trace(confusion)}|of:{len(y)}")
    majority = Score(
        "majority", percent(commonest.count, len(y)), f"accuracy of always saying:{shown(commonest.label)}"
    )
    return kind(
        size=len(y),
        scores=(accuracy, macro, majority),
        classes=rows,
        confusion=tuple(tuple(row) for row in confusion.tolist()),
    )


# --- shared with the metrics of tagging -----------------------------------------------------------------------------


def class_rows(
    labels: Sequence[str], hits: Ints, true: Ints, predicted: Ints, noun: str
) -> tuple[tuple[ClassRow, ...], Score]:
    """The rows of all classes, and macro-F1: the mean F1 of those that occur, as true or as predicted.

    For each class: how often it was predicted rightly (`hits`), is true (`true`), and was predicted (`predicted`).
    """
    precision = _ratios(hits, predicted)
    recall = _ratios(hits, true)
    f1 = _ratios(2 * hits, true + predicted)  # 2 TP + FP + FN is the number of true plus that of predicted ones
    rows = tuple(map(ClassRow, labels, true.tolist(), precision.tolist(), recall.tolist(), f1.tolist()))
    occur = (true + predicted) > 0
    absent = len(labels) - int(occur.sum())
    signature = f"{noun}:{int(occur.sum())}|undefined precision:0" + (
        f"|never seen nor said, left out:{absent}" if absent else ""
    )
    return rows, Score("macro-F1", float(f1[occur].mean()) if occur.any() else 0.0, signature)


def _ratios(part: Ints, whole: Ints) -> NDArray[np.float64]:
    """Ratios in percent; 0 where the denominator is 0."""
    return 100.0 * np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def percent(part: int, whole: int) -> float:
    return 100.0 * int(part) / int(whole) if whole else 0.0


def text_of_rows(noun: str, rows: Sequence[ClassRow]) -> Iterator[str]:
    """The rows as a table, or the most frequent of them if there are many."""
    kept = rows if len(rows) <= MAX_ROWS else sorted(rows, key=lambda row: -row.count)[:MAX_ROWS]
    labels = [shown(row.label) for row in kept]
    width = max([len(noun), *map(len, labels)]) + 2
    yield f"{noun:<{width}}{'count':>10}{'precision':>11}{'recall':>8}{'F1':>8}"
    for label, row in zip(labels, kept, strict=True):
        yield f"{label:<{width}}{row.count:>10,}{row.precision:>11.2f}{row.recall:>8.2f}{row.f1:>8.2f}"
    if len(kept) < len(rows):
        yield f"… and {len(rows) - len(kept):,} less frequent ones"

"""The comparison of classifiers: accuracy beside the majority's and by text length, texts with predicted labels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mirada.compare.results import Baseline, Comparison, LengthScore, Prediction, Sample
from mirada.compare.task_report import RECURRENT, SequenceReport, spread, uses
from mirada.contracts import Sizes
from mirada.tasks.classification.data import Labelled
from mirada.tasks.classification.model import ClassificationModel
from mirada.tasks.classification.task import TASK
from mirada.tasks.task import Prepared

LONG_TEXTS = ((1, 50), (51, 100), (101, 200), (201, 400))
SHORT_TEXTS = ((1, 5), (6, 10), (11, 20), (21, 50))
"""Ranges of lengths in words, and one more for longer texts. The short ones where no text has more than 50 words."""

MAJORITY = "majority"


class ClassificationReport(SequenceReport):
    """A text to one of a few labels."""

    line_up = ("bag", "lstm", "transformer")
    lengths = (16, 32, 64, 128, 256, 512)
    verb = "classified"
    sequence = "text"
    word = "word"
    unit = "texts"
    timed = "of the dev set, classified in one call"
    baseline_scores = (MAJORITY,)
    score_notes = (
        "Accuracy is the share of texts with the right label, in percent. Macro-F1 is the mean over the classes, so "
        "that a rare one counts as much as a frequent one. Higher is better.",
        "A model that is no better than the majority baseline has learned nothing but which label is most frequent.",
    )
    sample_headings = ("text", "label")
    samples_note = (
        "Texts of the dev set from short to long, chosen by length alone, with each model's label and its probability. "
        "✗ is wrong."
    )
    longest_sample = 300

    def length_note(self, c: Comparison) -> str:
        notes = {
            "A bag of words counts what occurs, however long the text is.": ("bag",),
            "A recurrent network has to carry what it read at the beginning to the end.": RECURRENT,
            "Self-attention reaches every word at once, but has more of them to choose from.": ("transformer",),
        }
        return " ".join(note for note, about in notes.items() if uses(c, *about))

    def path_note(self, c: Comparison) -> str:
        note = "A bidirectional network also reads from the end; in one direction, no word sees a later one."
        return note if uses(c, *RECURRENT) else ""

    def infer(self, model: ClassificationModel, prepared: Prepared, most: int) -> int:
        return len(model.classify([text for text, _ in prepared.dev[:most]]))

    def truth(self, sizes: Sizes, rows: int, length: int) -> Tensor:
        return torch.arange(rows) % sizes.outputs

    def samples(self, model: ClassificationModel, prepared: Prepared) -> list[tuple[Sample, Prediction]]:
        dev: Labelled = prepared.dev
        chosen = [dev[i] for i in spread([len(text.split()) for text, _ in dev])]
        found = zip(chosen, model.classify([text for text, _ in chosen]), strict=True)
        return [
            (Sample(text, [label]), Prediction(made.label, made.label == label, round(made.probability, 4), made.cut))
            for (text, label), made in found
        ]

    def by_length(self, model: ClassificationModel, prepared: Prepared) -> list[LengthScore]:
        dev: Labelled = prepared.dev
        labels = [found.label for found in model.classify([text for text, _ in dev])]
        correct = [label == true for label, (_, true) in zip(labels, dev, strict=True)]
        return accuracy_by_length([len(text.split()) for text, _ in dev], correct)

    def baselines(self, models: Sequence[ClassificationModel], prepared: Prepared) -> list[Baseline]:
        """Always the most frequent label."""
        scores = {score["name"]: score for score in models[0].card["scores"]["scores"]}
        if MAJORITY not in scores:
            return []
        label = scores[MAJORITY]["signature"].partition(":")[2]
        return [Baseline(f"always “{label}”", {"accuracy": scores[MAJORITY]["value"]})]


def accuracy_by_length(lengths: Sequence[int], correct: Sequence[bool]) -> list[LengthScore]:
    """The accuracy, in percent, on each range of lengths that has examples."""
    longest = max(lengths)
    ranges = SHORT_TEXTS if longest <= SHORT_TEXTS[-1][1] else LONG_TEXTS
    rows = []
    for low, high in (*ranges, (ranges[-1][1] + 1, longest)):
        members = [hit for hit, length in zip(correct, lengths, strict=True) if low <= length <= high]
        if members:
            rows.append(LengthScore(low, high, len(members), 100 * sum(members) / len(members)))
    return rows


REPORT = ClassificationReport(TASK)

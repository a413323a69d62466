"""Classifiers compared: accuracy beside the majority's, by text length, confusions, texts with every model's label."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mirada.compare.results import Answer, Baseline, Comparison, LengthScore, Sample
from mirada.compare.sequence_tasks import ReadingSubject
from mirada.compare.task_reports import spread
from mirada.contracts import Sizes
from mirada.tasks.classification.data import Labelled
from mirada.tasks.classification.model import ClassificationModel
from mirada.tasks.task import Prepared

LENGTH_CLASSES = ((1, 50), (51, 100), (101, 200), (201, 400))
SHORT_CLASSES = ((1, 5), (6, 10), (11, 20), (21, 50))
"""In words; longer texts are a class of their own. The short ones where no text has more than 50 words."""

MAJORITY = "majority"
RECURRENT = {"jordan", "elman", "lstm", "gru"}


class ClassificationSubject(ReadingSubject):
    """A text to one of a few labels."""

    task = "classification"
    models = ("bag", "lstm", "transformer")
    lengths = (16, 32, 64, 128, 256, 512)
    did = "classified"
    sequence = "text"
    within = "within a text"
    used = "texts"
    timed = "dev texts handed over at once"
    best = "Best labels"
    quality = "Accuracy on the dev set, in percent; the line is always the commonest label"
    asked = ("text", "label")
    about_samples = (
        "Texts of the dev set from short to long, chosen by their length alone, with the label that each model gave "
        "and how sure it was. ✗ is not the true label."
    )
    beside = (MAJORITY,)
    shown = 300
    marks_wrong = True

    def about_length(self, c: Comparison) -> str:
        names = {entrant.settings.get("name") for entrant in c.entrants}
        said = {
            "A bag of words counts what occurs, however long the text is.": {"bag"},
            "A recurrent network has to carry what it read at the beginning to the end.": RECURRENT,
            "Self-attention reaches every word at once, but has more of them to choose from.": {"transformer"},
        }
        return " ".join(sentence for sentence, about in said.items() if names & about)

    def about_paths(self, c: Comparison) -> str:
        if not any(entrant.settings.get("name") in RECURRENT for entrant in c.entrants):
            return ""
        return (
            "Read in both directions, a text's first word hears of its last too; in one direction a word only hears of "
            "those before it."
        )

    def asks(self, prepared: Prepared, most: int) -> list[str]:
        return [text for text, _ in prepared.dev[:most]]

    def use(self, model: ClassificationModel, asked: Sequence[str]) -> object:
        return model.classify(asked)

    def truth(self, sizes: Sizes, rows: int, length: int) -> Tensor:
        return torch.arange(rows) % sizes.outputs

    def samples(self, prepared: Prepared) -> list[Sample]:
        dev: Labelled = prepared.dev
        return [Sample(dev[i][0], [dev[i][1]]) for i in spread([len(text.split()) for text, _ in dev])]

    def answers(self, model: ClassificationModel, samples: Sequence[Sample]) -> list[Answer]:
        found = model.classify([sample.text for sample in samples])
        return [
            Answer(answer.label, answer.label in sample.truths, round(answer.probability, 4), answer.cut)
            for answer, sample in zip(found, samples, strict=True)
        ]

    def by_length(self, model: ClassificationModel, prepared: Prepared) -> list[LengthScore]:
        """Accuracy, in percent, of each class of lengths that has texts."""
        dev: Labelled = prepared.dev
        labels = [answer.label for answer in model.classify([text for text, _ in dev])]
        right = [label == true for label, (_, true) in zip(labels, dev, strict=True)]
        return length_scores([len(text.split()) for text, _ in dev], right)

    def baselines(self, models: Sequence[ClassificationModel], prepared: Prepared) -> list[Baseline]:
        """Always to say the commonest label."""
        scores = {score["name"]: score for score in models[0].card["scores"]["scores"]}
        said = scores[MAJORITY]["signature"].partition(":")[2]
        return [Baseline(f"always “{said}”", {"accuracy": scores[MAJORITY]["value"]}, {})]

    # ── in words ──────────────────────────────────────────────────────────────────────────────────────────────────

    def learned(self, c: Comparison, same: str) -> str:
        classes = len(c.data["classes"])
        return (
            f"{same}{c.data['training']:,} texts of {classes:,} classes with {same}{c.data['vocabulary']:,} {c.tokens}"
        )

    def notes(self, c: Comparison) -> list[str]:
        return [
            "Accuracy is the share of texts that got their true label, in percent. Macro-F1 is the mean over the "
            "classes, so that a rare one weighs as much as a frequent one. More is better.",
            f"Who does no better than {c.baselines[0].name} has learned nothing but which label is the commonest.",
        ]

    def facts(self, c: Comparison) -> list[tuple[str, str]]:
        data = c.data
        left_out = sum(data["excluded"].values())
        dev = "held out, the same share of each class" if data["held_out"] else "from a file of its own"
        cut = f", {data['cut']:,} of them cut at the longest length" if data["cut"] else ""
        counts = list(data["classes"].items())
        classes = ", ".join(f"{label} {count:,}" for label, count in counts[:20]) + (", …" if len(counts) > 20 else "")
        learned = f"learned once for all models; data id {data['fingerprint'][:16]}"
        return [
            ("data", f"{data['training']:,} training texts{cut}, {data['words']:,} words, {left_out:,} left out"),
            ("classes", classes),
            ("dev set", f"{data['dev']:,} texts, {dev}"),
            ("tokens", f"{data['vocabulary']:,} {c.tokens}, {learned}"),
        ]


def length_scores(lengths: Sequence[int], right: Sequence[bool]) -> list[LengthScore]:
    """The share of right answers, in percent, of each class of lengths that has some."""
    longest = max(lengths)
    classes = SHORT_CLASSES if longest <= SHORT_CLASSES[-1][1] else LENGTH_CLASSES
    rows = []
    for low, high in (*classes, (classes[-1][1] + 1, longest)):
        members = [hit for hit, length in zip(right, lengths, strict=True) if low <= length <= high]
        if members:
            rows.append(LengthScore(low, high, len(members), 100 * sum(members) / len(members)))
    return rows

"""The comparison of taggers: scores, speeds and path lengths, and sentences with every model's tags."""

from __future__ import annotations

import torch
from torch import Tensor

from mirada.compare.results import Comparison, Prediction, Sample
from mirada.compare.task_report import SequenceReport, spread, uses
from mirada.contracts import Sizes
from mirada.tasks.tagging.model import TaggingModel
from mirada.tasks.tagging.tags import Examples
from mirada.tasks.tagging.task import TASK
from mirada.tasks.task import Prepared


class TaggingReport(SequenceReport):
    """A label, or a number, for every word of a sentence."""

    line_up = ("memoryless", "lstm", "transformer")
    verb = "tagged"
    sequence = "sentence"
    word = "word"
    unit = "sentences"
    timed = "of the dev set, tagged in one call"
    sample_headings = ("sentence", "tags")
    samples_note = "Sentences of the dev set from short to long, chosen by length alone. ✗ has a wrong tag."

    def path_note(self, c: Comparison) -> str:
        return "Without a path, a word is tagged without its context." if uses(c, "memoryless") else ""

    def infer(self, model: TaggingModel, prepared: Prepared, most: int) -> int:
        return len(model.tag([words for words, _ in prepared.dev[:most]]))

    def truth(self, sizes: Sizes, rows: int, length: int) -> Tensor:
        if sizes.numeric_outputs:
            return torch.zeros(rows, length)
        return 1 + torch.arange(rows * length).view(rows, length) % sizes.outputs  # 1 + the label's place

    def before(self, sizes: Sizes, rows: int, length: int) -> Tensor:
        return torch.zeros(rows, length, sizes.outputs)

    def samples(self, model: TaggingModel, prepared: Prepared) -> list[tuple[Sample, Prediction]]:
        dev: Examples = prepared.dev
        chosen = [dev[i] for i in spread([len(words) for words, _ in dev])]
        found = []
        for (words, tags), tagged in zip(chosen, model.tag([words for words, _ in chosen]), strict=True):
            made = " ".join(f"{word[1]:.4g}" if isinstance(word[1], float) else word[1] for word in tagged)
            sample = Sample(" ".join(words), [" ".join(tags)])
            correct = None if model.preprocessor.sizes.numeric_outputs else made == sample.references[0]
            found.append((sample, Prediction(made, correct)))
        return found


REPORT = TaggingReport(TASK)

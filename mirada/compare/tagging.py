"""Taggers compared: their scores, speeds and paths, and sentences with every model's tags."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mirada.compare.results import Answer, Comparison, Sample
from mirada.compare.sequence_tasks import ReadingSubject
from mirada.compare.task_reports import spread
from mirada.contracts import Sizes
from mirada.tasks.tagging.model import TaggingModel
from mirada.tasks.tagging.tags import Examples
from mirada.tasks.task import Prepared

INNER = "\u00a0"
"""A space within a word, so that a sample can be cut into its words again."""


class TaggingSubject(ReadingSubject):
    """A label, or a number, for every word of a sentence."""

    task = "tagging"
    models = ("memoryless", "lstm", "transformer")
    did = "tagged"
    sequence = "sentence"
    within = "within a sentence"
    used = "sentences"
    timed = "dev sentences handed over at once"
    best = "Best tags"
    quality = "Quality of all tags of the dev set"
    asked = ("sentence", "tags")
    about_samples = "Sentences of the dev set from short to long, chosen by their length alone. ✓ has no wrong tag."

    def about_paths(self, c: Comparison) -> str:
        alone = any(entrant.settings.get("name") == "memoryless" for entrant in c.entrants)
        return "Without a path, a word gets its tag without regard to its neighbours." if alone else ""

    def asks(self, prepared: Prepared, most: int) -> list[list[str]]:
        return [words for words, _ in prepared.dev[:most]]

    def use(self, model: TaggingModel, asked: Sequence[Sequence[str]]) -> object:
        return model.tag(asked)

    def truth(self, sizes: Sizes, rows: int, length: int) -> Tensor:
        if sizes.numeric_outputs:
            return torch.zeros(rows, length)
        return 1 + torch.arange(rows * length).view(rows, length) % sizes.outputs  # a mark is 1 + the label's place

    def before(self, sizes: Sizes, rows: int, length: int) -> Tensor:
        return torch.zeros(rows, length, sizes.outputs)

    def samples(self, prepared: Prepared) -> list[Sample]:
        dev: Examples = prepared.dev
        chosen = (dev[i] for i in spread([len(words) for words, _ in dev]))
        return [
            Sample(" ".join(word.replace(" ", INNER) for word in words), [" ".join(tags)]) for words, tags in chosen
        ]

    def answers(self, model: TaggingModel, samples: Sequence[Sample]) -> list[Answer]:
        found = []
        sentences = [[word.replace(INNER, " ") for word in sample.text.split(" ")] for sample in samples]
        for sample, words in zip(samples, model.tag(sentences), strict=True):
            said = " ".join(f"{word[1]:.4g}" if isinstance(word[1], float) else word[1] for word in words)
            found.append(Answer(said, said in sample.truths))
        return found

    # ── in words ──────────────────────────────────────────────────────────────────────────────────────────────────

    def learned(self, c: Comparison, same: str) -> str:
        return f"{same}{c.data['training']:,} sentences with {same}{c.data['vocabulary']:,} {c.tokens}"

    def facts(self, c: Comparison) -> list[tuple[str, str]]:
        data = c.data
        left_out = sum(data["excluded"].values())
        tags = ", ".join(f"{tag} {count:,}" for tag, count in list(data["tags"].items())[:20])
        dev = "held out" if data["held_out"] else "from a file of its own"
        learned = f"learned once for all models; data id {data['fingerprint'][:16]}"
        return [
            ("data", f"{data['training']:,} training sentences, {data['words']:,} words, {left_out:,} left out"),
            ("tags", (tags + (", …" if len(data["tags"]) > 20 else "")) or "numbers"),
            ("dev set", f"{data['dev']:,} sentences, {dev}"),
            ("tokens", f"{data['vocabulary']:,} {c.tokens}, {learned}"),
        ]

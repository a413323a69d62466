"""Language models compared: how little a text surprises them beside mere frequency, and how each goes on with it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mirada.compare.results import Answer, Baseline, Comparison, Sample
from mirada.compare.sequence_tasks import ReadingSubject
from mirada.contracts import Sizes
from mirada.metrics.perplexity import MEASURES
from mirada.tasks.language_model.data import Lines
from mirada.tasks.language_model.model import LanguageModel
from mirada.tasks.task import Model, Prepared

PROMPTS, PROMPT, WRITTEN = 4, 80, 200
"""Places of the dev set that are continued; characters that are read there, and tokens that are written."""
TIMED_PROMPTS = 3
"""One continuation is written after another, so that a few say enough."""

UNIGRAM = "unigram "


class LanguageSubject(ReadingSubject):
    """What comes next in a text."""

    task = "language_model"
    models = ("elman", "lstm", "gru")
    did = "foresaw the text"
    sequence = "piece"
    within = "within a text"
    word = "token"
    used = "continuations"
    timed = f"times {WRITTEN} tokens written, one after another"
    best = "Least surprised"
    quality = "Bits on the dev set, fewer is better; the line is the frequency of each unit alone"
    beside = tuple(UNIGRAM + measure for measure in dict.fromkeys(MEASURES.values()))
    asked = ("text", "goes on")
    about_samples = (
        "Places of the dev set, evenly spread, and how each model goes on there: no continuation is right or wrong, "
        "but it can be read."
    )

    def asks(self, prepared: Prepared, most: int) -> list[str]:
        return [sample.text for sample in self.samples(prepared)][: min(most, TIMED_PROMPTS)]

    def use(self, model: LanguageModel, asked: Sequence[str]) -> object:
        return [model.generate(prompt, tokens=WRITTEN) for prompt in asked]

    def truth(self, sizes: Sizes, rows: int, length: int) -> Tensor:
        return torch.arange(rows * length).view(rows, length) % sizes.outputs

    def samples(self, prepared: Prepared) -> list[Sample]:
        lines: Lines = prepared.dev
        text = "".join(lines)
        last = max(0, len(text) - PROMPT - WRITTEN)
        begins = sorted({last * place // max(1, PROMPTS - 1) for place in range(PROMPTS)})
        return [Sample(text[at : at + PROMPT], [text[at + PROMPT : at + PROMPT + WRITTEN]]) for at in begins]

    def answers(self, model: LanguageModel, samples: Sequence[Sample]) -> list[Answer]:
        return [Answer(model.generate(sample.text, tokens=WRITTEN, seed=1).text, False) for sample in samples]

    def baselines(self, models: Sequence[Model], prepared: Prepared) -> list[Baseline]:
        scores = models[0].card["scores"]["scores"]
        simple = {s["name"].removeprefix(UNIGRAM): s["value"] for s in scores if s["name"].startswith(UNIGRAM)}
        return [Baseline("frequency alone", simple, {})]

    # ── in words ──────────────────────────────────────────────────────────────────────────────────────────────────

    def tested(self, c: Comparison) -> str:
        held = "held out at the end of the text" if c.data["held_out"] else "of a dev set"
        return f"read {c.data['dev_characters']:,} characters {held}"

    def learned(self, c: Comparison, same: str) -> str:
        return f"{same}{c.data['characters']:,} characters with {same}{c.data['vocabulary']:,} {c.tokens}"

    def notes(self, c: Comparison) -> list[str]:
        return [
            "Bits say how much each character (or word) surprised a model on average, given all before it: fewer is "
            "better. Perplexity is the same for each token, as a number of equally likely choices.",
        ]

    def facts(self, c: Comparison) -> list[tuple[str, str]]:
        data = c.data
        left_out = sum(data["excluded"].values())
        dev = "the end of the text, held out" if data["held_out"] else "from a file of its own"
        learned = f"learned once for all models; data id {data['fingerprint'][:16]}"
        return [
            ("data", f"{data['characters']:,} characters in {data['lines']:,} lines, {left_out:,} lines left out"),
            ("dev set", f"{data['dev_characters']:,} characters, {dev}"),
            ("tokens", f"{data['vocabulary']:,} {c.tokens}, {learned}"),
        ]

"""The comparison of language models: bits per character beside the unigram's, and continuations of dev texts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mirada.compare.results import Baseline, Prediction, Sample
from mirada.compare.task_report import SequenceReport
from mirada.contracts import Sizes
from mirada.metrics.perplexity import MEASURES
from mirada.tasks.language_model.model import LanguageModel
from mirada.tasks.language_model.task import TASK
from mirada.tasks.task import Model, Prepared

PROMPTS, PROMPT, GENERATED = 4, 80, 200
"""How many places of the dev set are continued, characters of a prompt, and tokens that are generated."""
TIMED_PROMPTS = 3
"""Continuations that are timed: one is generated after another, so a few are enough."""

UNIGRAM = "unigram "


class LanguageModelReport(SequenceReport):
    """A text and its continuation."""

    line_up = ("elman", "lstm", "gru")
    verb = "predicted"
    sequence = "text"
    unit = "continuations"
    timed = f"of {GENERATED} tokens, generated one after another"
    baseline_scores = tuple(UNIGRAM + measure for measure in dict.fromkeys(MEASURES.values()))
    score_notes = (
        "Bits are the mean negative log₂-likelihood of a character (or word), given all before it: lower is better. "
        "Perplexity says the same per token, as a number of equally likely choices. The baseline is the frequency of "
        "each token alone.",
    )
    sample_headings = ("prompt", "text")
    samples_note = (
        "Places of the dev set, evenly spread, with each model's continuation. Many continuations are possible: read "
        "them for style and sense."
    )

    def infer(self, model: LanguageModel, prepared: Prepared, most: int) -> int:
        prompts = [sample.text for sample in _samples(prepared)][: min(most, TIMED_PROMPTS)]
        return len([model.generate(prompt, tokens=GENERATED) for prompt in prompts])

    def truth(self, sizes: Sizes, rows: int, length: int) -> Tensor:
        return torch.arange(rows * length).view(rows, length) % sizes.outputs

    def samples(self, model: LanguageModel, prepared: Prepared) -> list[tuple[Sample, Prediction]]:
        chosen = _samples(prepared)
        return [(one, Prediction(model.generate(one.text, tokens=GENERATED, seed=1).text)) for one in chosen]

    def baselines(self, models: Sequence[Model], prepared: Prepared) -> list[Baseline]:
        scores = models[0].card["scores"]["scores"]
        return [
            Baseline(
                "unigram",
                {s["name"].removeprefix(UNIGRAM): s["value"] for s in scores if s["name"].startswith(UNIGRAM)},
            )
        ]


def _samples(prepared: Prepared) -> list[Sample]:
    text = "".join(prepared.dev)
    last = max(0, len(text) - PROMPT - GENERATED)
    places = sorted({last * place // max(1, PROMPTS - 1) for place in range(PROMPTS)})
    return [Sample(text[at : at + PROMPT], [text[at + PROMPT : at + PROMPT + GENERATED]]) for at in places]


REPORT = LanguageModelReport(TASK)

"""The comparison of translators: quality by source length, path lengths, translations, attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from mirada.compare import charts
from mirada.compare.page import Figure, Grid, Quote, Section, named
from mirada.compare.results import Comparison, LengthScore, PathLength, Prediction, Sample
from mirada.compare.task_report import CardScores, TaskReport, random_words, spread
from mirada.config import Values
from mirada.contracts import BOS, Batch
from mirada.errors import InputError, UsageError
from mirada.metrics.translation import LengthRow
from mirada.tasks.task import Model, Prepared
from mirada.tasks.translation.data import Examples
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.task import TASK

ATTENTION_WORDS = 8
"""About how many words the sentence has whose attention is shown: enough to see something, few enough to read."""

ACROSS, WITHIN = "source to target word", "within a sentence"


@dataclass(frozen=True)
class AttentionMap:
    """A sentence's attention weights, averaged over layers and heads."""

    text: str
    source: list[str]  # S tokens
    target: list[str]  # T tokens
    weights: list[list[float]]  # [T, S]


class _CardScores(CardScores):
    by_length: list[LengthRow]


class TranslationReport(TaskReport):
    """Sentences in one language to sentences in another."""

    card_scores = _CardScores

    line_up = ("seq2seq-lstm", "seq2seq-lstm+additive", "transformer")
    verb = "translated"
    sequence = "sentence"
    word = "word"
    unit = "sentences"
    timed = "of the dev set, translated in one call"
    counted = "source and target"
    length_unit = "source words"
    score_notes = (
        "BLEU, chrF++ and TER compare each translation with the reference. BLEU and chrF++ go from 0 to 100, higher is "
        "better; TER counts the edits it would take, lower is better.",
        "A model that has not learned when to stop writes long translations, which also makes it slower.",
    )
    sample_headings = ("source", "reference")
    samples_note = "Sentences of the dev set from short to long, chosen by length alone. ✓ equals a reference."

    def title(self, languages: dict[str, str | None]) -> str:
        return (
            f"{languages['source']} → {languages['target']}" if languages and all(languages.values()) else "Translation"
        )

    def length_note(self, c: Comparison) -> str:
        without = [x for x in c.models if x.settings.get("attention") == "none"]
        if not without:
            return "With attention, every target word sees all source words again, however long the sentence is."
        bottleneck = (
            "The bottleneck: an encoder–decoder without attention hands the decoder one vector, of the same size for a "
            "long sentence as for a short one. Where that is too small, quality drops as sentences grow"
        )
        if len(without) == len(c.models):
            return f"{bottleneck}."
        return f"{bottleneck}, further than for the others. With attention, every target word sees all source words."

    def path_note(self, c: Comparison) -> str:
        if all(x.settings.get("attention") in (None, "none") for x in c.models):
            return ""
        return (
            "Attention on top of a recurrent network shortens the path from source to target; the path within a "
            "sentence stays."
        )

    def infer(self, model: TranslationModel, prepared: Prepared, most: int) -> int:
        return len(model.translate([source for source, _ in prepared.dev[:most]], to=model.directions.ways[0]))

    def batch(self, model: Model, prepared: Prepared, length: int, tokens: int) -> Batch:
        rows = max(1, tokens // (2 * length))
        sizes = model.preprocessor.sizes
        target = torch.cat([torch.full((rows, 1), BOS), random_words(sizes.outputs, rows, length)], 1)
        return Batch(random_words(sizes.inputs, rows, length), target)

    def paths(self, model: Model) -> dict[str, PathLength]:
        return path_lengths(model.config["model"])

    def by_length(self, model: Model, prepared: Prepared) -> list[LengthScore]:
        rows = model.card["scores"]["by_length"]
        return [LengthScore(row["shortest"], row["longest"], row["sentences"], row["bleu"]) for row in rows]

    def samples(self, model: TranslationModel, prepared: Prepared) -> list[tuple[Sample, Prediction]]:
        dev: Examples = prepared.dev
        chosen = [dev[i] for i in spread([len(source.split()) for source, _ in dev])]
        made = model.translate([source for source, _ in chosen], to=model.directions.ways[0])
        return [
            (Sample(source, list(references)), Prediction(one.text, True if one.text in references else None))
            for (source, references), one in zip(chosen, made, strict=True)
        ]

    def details(self, model: TranslationModel, prepared: Prepared) -> dict[str, Any]:
        """The cross-attention for one sentence; None for a model without."""
        sources: list[str] = [source for source, _ in prepared.dev]
        sentence = min(sources, key=lambda source: abs(len(source.split()) - ATTENTION_WORDS))
        try:
            seen = model.attend(sentence, to=model.directions.ways[0], split=False)
        except (UsageError, InputError):  # it has no attention, or the sentence is too long for it
            return {"attention": None}
        weights = [[round(float(weight), 4) for weight in row] for row in seen.mean]
        return {"attention": AttentionMap(sentence, seen.source, seen.target, weights)}

    def sections(self, c: Comparison) -> list[Section]:
        drawn, without, text = [], [], ""
        for number, (name, x) in enumerate(named(c.models)):
            found: AttentionMap | None = x.details["attention"]
            if found is None:
                without.append(x.name)
                continue
            text = found.text
            strongest = ", ".join(
                f"{target.strip()}: {found.source[row.index(max(row))].strip()}"
                for target, row in zip(found.target, found.weights, strict=True)
            )
            alt = f"Attention of {x.name}, the source token with the largest weight for each target token: {strongest}"
            largest = max((weight for row in found.weights for weight in row), default=0.0)
            caption = f"{''.join(found.target[:-1]).strip() or '—'} (strongest blue: {largest:.2f})"
            chart = charts.heat_map(f"attention-{number}", found.target, found.source, found.weights, alt)
            drawn.append(Figure(chart, caption, name))
        if not drawn:
            return []
        note = (
            "A row for each target token, a column for each source token: the bluer, the larger the attention weight, "
            "averaged over all layers and heads. The strongest blue of each chart is its largest weight."
        )
        rest = [f"{', '.join(without)}: no attention to show."] if without else []
        quote = Quote(text, c.languages.get("source"))
        return [Section("attention", "Attention", [note, quote, Grid(drawn, "narrow"), *rest])]


def path_lengths(model: Values) -> dict[str, PathLength]:
    """The longest path between two words: across (source to target), and within a sentence; both have n words.

    "The shorter these paths between any combination of positions in the input and output sequences, the easier it is
    to learn long-range dependencies" (Vaswani et al. 2017, §4, table 1: O(n) for a recurrent layer, O(1) for
    self-attention). Counted are the fewest steps from one position to another for the two words that are furthest
    apart; layers above each other cost nothing.

        recurrent       within  x_1 → h_1 → … → h_n                                   n − 1
                        across  x_i → … → h_n → s_0 → s_1 → … → s_n                   (n − 1) + 1 + n = 2n
                                bidirectional: the middle word is furthest from
                                either end                                            ⌊(n − 1)/2⌋ + 1 + n
                        across, with attention, x_i → h_i → c_n                       1
        self-attention  within and across                                             1
    """
    lengths = TranslationReport.lengths
    one = PathLength.of("1", lambda n: 1, lengths)
    if model["name"] == "transformer":
        return {ACROSS: one, WITHIN: one}
    if not model["name"].startswith("seq2seq-"):
        return {}
    across = PathLength.of("2n", lambda n: 2 * n, lengths)
    if model["attention"] != "none":
        across = one
    elif model["bidirectional"]:
        across = PathLength.of("⌊(n − 1)/2⌋ + 1 + n", lambda n: (n - 1) // 2 + 1 + n, lengths)
    return {ACROSS: across, WITHIN: PathLength.of("n − 1", lambda n: n - 1, lengths)}


REPORT = TranslationReport(TASK)

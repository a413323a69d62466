"""Translators compared: quality by source length, the way from source to target, translations, attention."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from mirada.compare.results import Answer, Comparison, LengthScore, Look, Route, Sample
from mirada.compare.task_reports import Subject, random_words, route, spread
from mirada.config import Values
from mirada.contracts import BOS, Batch
from mirada.errors import InputError, UsageError
from mirada.tasks.task import Model, Prepared
from mirada.tasks.translation.data import Examples
from mirada.tasks.translation.model import TranslationModel

ATTENDED_WORDS = 8
"""About so many words has the sentence whose attention is shown."""

ACROSS, WITHIN = "source to target word", "within a sentence"


class TranslationSubject(Subject):
    """Sentences in one language to sentences in another."""

    task = "translation"
    models = ("seq2seq-lstm", "seq2seq-lstm+additive", "transformer")
    did = "translated"
    sequence = "sentence"
    used = "sentences"
    timed = "dev sentences handed over at once"
    best = "Best translations"
    quality = "Quality of all translations of the dev set"
    lengths_of = "source words"
    asked = ("source", "reference")
    about_samples = (
        "Sentences of the dev set from short to long, chosen by their length alone. ✓ is equal to a reference."
    )
    right = "equal to a reference"
    counted = "both sides counted"

    def about_length(self, c: Comparison) -> str:
        without = [entrant for entrant in c.entrants if entrant.settings.get("attention") == "none"]
        if not without:
            return "With attention, every target word looks at all source words again, however long the sentence is."
        bottleneck = (
            "The bottleneck: an encoder–decoder without attention hands the decoder one vector, as long for a long "
            "sentence as for a short one. If that is too little, its line falls where sentences grow"
        )
        if len(without) == len(c.entrants):
            return f"{bottleneck}."
        return (
            f"{bottleneck}, further than the others. With attention, every target word looks at all source words again."
        )

    def about_paths(self, c: Comparison) -> str:
        if all(entrant.settings.get("attention") in (None, "none") for entrant in c.entrants):
            return ""
        return (
            "Attention on top of a recurrent network shortens the way from source to target; the way within a sentence "
            "stays."
        )

    def asks(self, prepared: Prepared, most: int) -> list[str]:
        return [source for source, _ in prepared.dev[:most]]

    def use(self, model: TranslationModel, asked: Sequence[str]) -> object:
        return model.translate(asked)

    def batch(self, model: Model, prepared: Prepared, length: int, tokens: int) -> Batch:
        rows = max(1, tokens // (2 * length))
        sizes = model.preprocessor.sizes
        target = torch.cat([torch.full((rows, 1), BOS), random_words(sizes.outputs, rows, length)], 1)
        return Batch(random_words(sizes.inputs, rows, length), target)

    def paths(self, model: Model) -> dict[str, Route]:
        return routes(model.config["model"])

    def samples(self, prepared: Prepared) -> list[Sample]:
        dev: Examples = prepared.dev
        return [Sample(dev[i][0], list(dev[i][1])) for i in spread([len(source.split()) for source, _ in dev])]

    def answers(self, model: TranslationModel, samples: Sequence[Sample]) -> list[Answer]:
        translations = model.translate([sample.text for sample in samples])
        return [Answer(t.text, t.text in sample.truths) for t, sample in zip(translations, samples, strict=True)]

    def by_length(self, model: Model, prepared: Prepared) -> list[LengthScore]:
        rows = model.card["scores"]["by_length"]
        return [LengthScore(row["shortest"], row["longest"], row["sentences"], row["bleu"]) for row in rows]

    def attended(self, prepared: Prepared) -> str:
        """Long enough to see something, short enough to read."""
        sources: list[str] = [source for source, _ in prepared.dev]
        return min(sources, key=lambda source: abs(len(source.split()) - ATTENDED_WORDS))

    def attention(self, model: TranslationModel, sentence: str) -> Look | None:
        """The cross-attention, averaged over layers and heads."""
        try:
            seen = model.attend(sentence)
        except (UsageError, InputError):  # it has no attention, or the sentence is too long for it
            return None
        weights = [[round(float(weight), 4) for weight in row] for row in seen.mean]
        return Look(seen.source, seen.target, weights)

    # ── in words ──────────────────────────────────────────────────────────────────────────────────────────────────

    def title(self, c: Comparison) -> str:
        return f"{c.languages['source']} → {c.languages['target']}" if all(c.languages.values()) else "Translation"

    def learned(self, c: Comparison, same: str) -> str:
        return f"{same}{c.data['training']:,} sentence pairs with {same}{c.data['vocabulary']:,} {c.tokens}"

    def notes(self, c: Comparison) -> list[str]:
        return [
            "BLEU, chrF++ and TER compare each translation with the reference. BLEU and chrF++ go from 0 to 100, more "
            "is better; TER counts the edits that would be needed, fewer is better.",
            "A model that has not learned when to stop writes long translations, and is slower in use for it.",
        ]

    def facts(self, c: Comparison) -> list[tuple[str, str]]:
        data = c.data
        left_out = sum(data["excluded"].values())
        dev = "held out: no sentence of it is in training" if data["held_out"] else "from a file of its own"
        learned = f"learned once for all models; data id {data['fingerprint'][:16]}"
        return [
            ("data", f"{data['training']:,} training pairs, {data['words']:,} words, {left_out:,} pairs left out"),
            ("dev set", f"{data['dev']:,} pairs, {dev}"),
            ("tokens", f"{data['vocabulary']:,} {c.tokens}, {learned}"),
        ]


def routes(model: Values) -> dict[str, Route]:
    """The longest path between two words: across (source to target), and within a sentence; both have n words.

    "The shorter these paths between any combination of positions in the input and output sequences, the easier it is
    to learn long-range dependencies" (Vaswani et al. 2017, §4, table 1: O(n) for a recurrent layer, O(1) for
    self-attention). Counted here are the steps from one position to another that a signal takes at least, for the two
    words that are worst off; layers above each other cost nothing.

        recurrent       within  x_1 → h_1 → … → h_n                                   n − 1
                        across  x_i → … → h_n → s_0 → s_1 → … → s_n                   (n − 1) + 1 + n = 2n
                                read in both directions, the middle word has the
                                longest way to an end                                 ⌊(n − 1)/2⌋ + 1 + n
                        across, with attention, x_i → h_i → c_n                       1
        self-attention  within and across                                             1
    """
    lengths = TranslationSubject.lengths
    one = route("1", lambda n: 1, lengths)
    if model["name"] == "transformer":
        return {ACROSS: one, WITHIN: one}
    if not model["name"].startswith("seq2seq-"):
        return {}
    across = route("2n", lambda n: 2 * n, lengths)
    if model["attention"] != "none":
        across = one
    elif model["bidirectional"]:
        across = route("⌊(n − 1)/2⌋ + 1 + n", lambda n: (n - 1) // 2 + 1 + n, lengths)
    return {ACROSS: across, WITHIN: route("n − 1", lambda n: n - 1, lengths)}

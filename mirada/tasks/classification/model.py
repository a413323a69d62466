"""The text classification model: assigns a label to a text or to a pair of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

import torch
from torch import Tensor

from mirada.contracts import EOS, SequenceEncoder, Validation
from mirada.data.batching import similar
from mirada.data.labels import TAB, joined
from mirada.data.text import shown_text
from mirada.errors import DataError, InputError, UsageError, counted
from mirada.inspection.trace import Pass
from mirada.inspection.words import Tokens, read_tokens
from mirada.metrics.classification import LabelScores, evaluate_labels
from mirada.models.bag import Bag
from mirada.predictions import Prediction, with_problems
from mirada.tasks.classification.data import (
    ClassificationData,
    ClassificationPreprocessor,
    Labelled,
    LabelledConfig,
    framed,
    segments,
)
from mirada.tasks.inputs import check_filled, check_texts
from mirada.tasks.model import CELLS, Model, framed_tokens, pad, validation

REASONS = 10
"""How many n-grams `classify(…, why=True)` returns."""


@dataclass(frozen=True)
class Classification(Prediction):
    """The label of an input, and its probability."""

    label: str
    probability: float
    probabilities: dict[str, float] = field(repr=False)
    """The probability of every label, the likeliest first."""
    cut: int = 0
    """Tokens beyond the model's limit, which were not read."""
    reasons: tuple[tuple[str, float], ...] = ()
    """The n-grams that decided (`classify(…, why=True)`)."""

    def values(self) -> dict[str, Any]:
        rounded = {label: round(p, 6) for label, p in self.probabilities.items()}
        why = {"why": [list(reason) for reason in self.reasons]} if self.reasons else {}
        return {"label": self.label, "probabilities": rounded, **why}

    def as_text(self, number: int = 1) -> str:
        reasons = [f"    {weight:+.3f}  {words}" for words, weight in self.reasons]
        return "\n".join([f"{self.label}\t{self.probability:.4f}", *reasons])

    def __str__(self) -> str:
        return self.label


class Classifier(Model):
    """A trained model that predicts one of a few labels."""

    @property
    def labels(self) -> list[str]:
        labels: list[str] = self.preprocessor.labels
        return labels

    def ranked(self, probabilities: Sequence[float]) -> list[tuple[str, float]]:
        """The labels with their probabilities, the likeliest first."""
        return sorted(zip(self.labels, probabilities, strict=True), key=lambda pair: -pair[1])

    def numbers(self, labels: Sequence[str], place: Callable[[int], str]) -> list[int]:
        """The numbers of labels; `place` says where the n-th is from."""
        numbers = {label: number for number, label in enumerate(self.labels)}
        for index, label in enumerate(labels):
            if label not in numbers:
                raise DataError(
                    f"{place(index)}: has the label {shown_text(label)}, which the model {self.path} does not know: "
                    f"it knows {', '.join(self.labels[:20])}"
                )
        return [numbers[label] for label in labels]


class ClassificationModel(Classifier):
    """A trained classifier of texts, opened from its bundle."""

    example = 'mirada classify {path} "…"'
    network: SequenceEncoder
    preprocessor: ClassificationPreprocessor

    @overload
    def classify(  # type: ignore[overload-overlap]
        self, texts: str, *, why: bool = ...
    ) -> Classification: ...
    @overload
    def classify(self, texts: Sequence[str | tuple[str, str]], *, why: bool = ...) -> list[Classification]: ...

    def classify(
        self, texts: str | Sequence[str | tuple[str, str]], *, why: bool = False
    ) -> Classification | list[Classification]:
        """Classify a text, or many, in order.

        A model for pairs takes tuples of two texts, or texts with a tab between the two. `why` adds the n-grams that
        decided (bag models only).
        """
        if isinstance(texts, str):
            return self.classify([texts], why=why)[0]
        given = [self._text(text, n) for n, text in enumerate(check_texts(texts, also=(tuple,)), 1)]
        if why:
            self._bag()
        probabilities, cut = self.probabilities(given)
        found = []
        for text, row, beyond in zip(given, probabilities.tolist(), cut, strict=True):
            ranked = self.ranked(row)
            what = f"the last {beyond:,} tokens" if self.preprocessor.parts == 1 else f"{beyond:,} tokens in all"
            notes = (f"{what} were not read, the model takes fewer",) if beyond else ()
            reasons = self._reasons(text, ranked[0][0]) if why else ()
            found.append(Classification(*ranked[0], dict(ranked), beyond, reasons, notes=notes))
        return found

    def classify_lines(self, texts: Sequence[str], *, why: bool = False) -> list[Prediction]:
        """Classify texts; one that does not suit the model has a `problem` instead of a label."""
        return with_problems(texts, map(self._not_a_pair, texts), lambda some: self.classify(some, why=why))

    def _text(self, given: str | tuple[str, str], number: int) -> str:
        """A text as the data has it, if it has as many parts as the model's."""
        text = given if isinstance(given, str) else joined(given)
        if self.preprocessor.parts == 1 and text is not given:
            raise InputError(f"text {number} is a pair: {shown_text(text)}; the model classifies single texts")
        if problem := self._not_a_pair(text):
            raise InputError(f"text {number} {problem}")
        return text

    def _not_a_pair(self, text: str) -> str | None:
        """What is wrong with a text for a model of pairs."""
        if self.preprocessor.parts == 1 or (tabs := text.count(TAB)) == 1:
            return None
        found = f"has {counted(tabs, 'tab') if tabs else 'no tab'}: {shown_text(text)}"
        return f"{found}; the model classifies pairs: write the first text, a tab, and the second"

    def passes(self, text: str, /, target: str | None = None, **options: Any) -> list[Pass]:
        """The pass that classifies a text."""
        self._reads_only(target, options)
        whole = self._text(check_filled(text), 1)
        tokenizer, longest = self.preprocessor.tokenizer, int(self.config["data"]["max_tokens"])
        (ids,), (cut,) = framed(tokenizer, [whole], self.preprocessor.parts, longest)
        batch = pad([[*ids, EOS]]).to(self.device)
        source = read_tokens(tokenizer, whole, ids)
        if self.preprocessor.parts > 1:
            batch = replace(batch, segments=segments(batch.inputs))
            source = Tokens(tuple(tokenizer.spelt(ids)), tuple(ids))
        rows = {"source": framed_tokens(self.network, source), "label": Tokens(tuple(self.labels))}
        notes = (f"{cut:,} tokens at the end were not read, the model takes fewer",) if cut else ()
        network = self.network
        return [
            Pass(network, lambda: network.output(network.pool(batch)), whole, rows, ("label",), self.facts, notes=notes)
        ]

    @torch.inference_mode()
    def probabilities(self, texts: Sequence[str]) -> tuple[Tensor, list[int]]:
        """The probability of every label for every text [N, K], and how many tokens of each text were cut off."""
        framed_, cut = framed(
            self.preprocessor.tokenizer, texts, self.preprocessor.parts, int(self.config["data"]["max_tokens"])
        )
        ids = [[*text, EOS] for text in framed_]
        found = torch.empty(len(ids), len(self.labels))
        for numbers in similar([len(text) for text in ids], CELLS):
            batch = pad([ids[number] for number in numbers])
            if self.preprocessor.parts > 1:
                batch = replace(batch, segments=segments(batch.inputs))
            found[numbers] = self.network.output(self.network.pool(batch.to(self.device))).softmax(-1).cpu()
        return found, cut

    def evaluate(
        self,
        texts: str | Path | Iterable[tuple[str | tuple[str, str], str]],
        *,
        columns: Sequence[str] = (),
        **other: Any,
    ) -> LabelScores:
        """Classify the texts of a test set (a file, or texts each with its label) and score the result."""
        if not isinstance(texts, (str, Path)):
            return self.score([(self._text(text, n), label) for n, (text, label) in enumerate(texts, 1)])
        settings = {**self.config["data"], "columns": columns or self.config["data"]["columns"]}
        data = LabelledConfig.model_validate(settings)
        if data.parts != self.preprocessor.parts:
            wanted = "two texts and their label" if self.preprocessor.parts > 1 else "a text and its label"
            raise UsageError(f"--columns {','.join(columns)}: {wanted} are read by the model {self.path}")
        preparation, paths = ClassificationData({"data": data}), (str(texts),)
        dev = preparation.read_whole(paths)
        return self.score(dev, lambda index: preparation.place_of(paths, index))

    def score(self, dev: Labelled, place: Callable[[int], str] | None = None) -> LabelScores:
        """Classify and score examples; `place` says where the n-th is from."""
        truth = self._truth(dev, place)
        probabilities, beyond = self.probabilities([text for text, _ in dev])
        scores = evaluate_labels(truth, probabilities.argmax(-1).tolist(), self.labels)
        if not (cut := sum(map(bool, beyond))):
            return scores
        return replace(scores, notes=(f"cut to the {self.config['data']['max_tokens']:,} tokens it reads: {cut:,}",))

    def validate(self, dev: Labelled, size: int) -> Validation:
        """Accuracy and mean loss on a sample of the dev set."""
        chosen = self.sample(dev, size)
        probabilities, _ = self.probabilities([text for text, _ in chosen])
        text, label = chosen[0]
        shown = " ".join(text.replace(TAB, " | ").split())[:100]
        return validation(probabilities, self._truth(chosen), lambda given: (shown, self.labels[given], label))

    def _truth(self, dev: Labelled, place: Callable[[int], str] | None = None) -> list[int]:
        quoted = place or (lambda index: f"the text {shown_text(dev[index][0], 40)}")
        return self.numbers([label for _, label in dev], quoted)

    def _bag(self) -> Bag:
        if not isinstance(self.network, Bag):
            raise UsageError(f"{self.path}: only a bag can say which words decided; this is {self.card['model']}")
        return self.network

    def _reasons(self, text: str, label: str) -> tuple[tuple[str, float], ...]:
        """The n-grams that speak most for and against a label (bag models with a linear layer only).

        Each with what it adds to the label's score, compared with the mean of what it adds to the others.
        """
        best = self.labels.index(label)
        (framed_,), _ = framed(self.preprocessor.tokenizer, [text], self.preprocessor.parts, int(1e9))
        rows = []
        for gram, scores in self._bag().why(torch.tensor(framed_)):
            others = (scores.sum() - scores[best]) / (len(scores) - 1)
            rows.append((" ".join(self.preprocessor.tokenizer.pieces(gram)), float(scores[best] - others)))
        return tuple(sorted(rows, key=lambda row: -abs(row[1]))[:REASONS])

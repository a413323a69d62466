"""Classification, many to one: a text, or a pair of texts, to one of a few labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import torch
from torch import Tensor

from mirada.contracts import EOS, SequenceEncoder, Validation
from mirada.data.batching import similar
from mirada.data.readers.labelled import TAB, joined
from mirada.data.text import shown_text
from mirada.errors import DataError, InputError, UsageError
from mirada.inspection.embeddings import Embeddings
from mirada.metrics.classification import LabelScores, evaluate_labels
from mirada.models.bag import Bag
from mirada.tasks.classification.data import (
    Labelled,
    LabelledConfig,
    framed,
    read_labelled,
    segments,
)
from mirada.tasks.classification.preprocessor import Labels
from mirada.tasks.sequences import CELLS, embeddings_of, pad, validation
from mirada.tasks.task import Model


@dataclass(frozen=True)
class Classification:
    """The label of a text, and how sure the model is of it."""

    label: str
    probability: float
    probabilities: dict[str, float]
    """Of every label, the likeliest first."""
    cut: int = 0
    """Tokens beyond the model's limit, which it has not seen."""

    def __str__(self) -> str:
        return self.label


class ClassificationModel(Model):
    """A trained classifier, opened from its bundle."""

    network: SequenceEncoder
    preprocessor: Labels

    @property
    def try_it(self) -> str:
        return f'mirada classify {self.path} "…"'

    @property
    def labels(self) -> list[str]:
        return self.preprocessor.labels

    @overload
    def classify(self, texts: str, *, first: int = ...) -> Classification: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Sequence[str | tuple[str, str]], *, first: int = ...) -> list[Classification]: ...

    def classify(
        self, texts: str | Sequence[str | tuple[str, str]], *, first: int = 1
    ) -> Classification | list[Classification]:
        """The likeliest label of a text, or of many, in order, with the probability of each label.

        Of a model for pairs, each is a tuple of two texts, or one with a tab between them. `first` is the number that
        the first of them has when one is refused.
        """
        if isinstance(texts, str):
            return self.classify([texts])[0]
        probabilities, cut = self.probabilities([self._text(text, n) for n, text in enumerate(texts, first)])
        found = []
        for row, beyond in zip(probabilities.tolist(), cut, strict=True):
            ranked = sorted(zip(self.labels, row, strict=True), key=lambda pair: -pair[1])
            found.append(Classification(*ranked[0], dict(ranked), beyond))
        return found

    def _text(self, given: str | tuple[str, str], number: int) -> str:
        """A text as the data has it, if it has as many parts as the model's."""
        text = given if isinstance(given, str) else joined(given)
        if self.preprocessor.parts == 1:
            if text is given:
                return text
            raise InputError(f"text {number} is a pair: {shown_text(text)}; the model classifies single texts")
        tabs = text.count(TAB)
        if tabs != 1:
            raise InputError(
                f"text {number} has {tabs or 'no'} tab{'s' * (tabs > 1)}: {shown_text(text)}; the model classifies "
                "pairs: write the first text, a tab, and the second"
            )
        return text

    @torch.inference_mode()
    def probabilities(self, texts: Sequence[str]) -> tuple[Tensor, list[int]]:
        """Of every label for every text [N, K]; and how many tokens of each text were cut off."""
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
            raise UsageError(
                f"--columns {','.join(columns)}: {_kind(self.preprocessor.parts)} by the model {self.path}"
            )
        return self.score(read_labelled(data.open((str(texts),)), data.parts))

    def score(self, dev: Labelled) -> LabelScores:
        truth = self._numbers(dev)
        probabilities, beyond = self.probabilities([text for text, _ in dev])
        scores = evaluate_labels(truth, probabilities.argmax(-1).tolist(), self.labels)
        if not (cut := sum(map(bool, beyond))):
            return scores
        return replace(scores, notes=(f"cut to the {self.config['data']['max_tokens']:,} tokens it reads: {cut:,}",))

    def validate(self, dev: Labelled, size: int) -> Validation:
        """Accuracy on a part of the dev set, and the mean loss."""
        chosen = self.sample(dev, size)
        probabilities, _ = self.probabilities([text for text, _ in chosen])
        text, label = chosen[0]
        shown = " ".join(text.replace(TAB, " | ").split())[:100]
        return validation(probabilities, self._numbers(chosen), lambda given: (shown, self.labels[given], label))

    def _numbers(self, dev: Labelled) -> list[int]:
        places = {label: index for index, label in enumerate(self.labels)}
        for text, label in dev:
            if label not in places:
                raise DataError(
                    f"the text {text[:40]!r} has the label {label!r}, which the model {self.path} does not know: "
                    f"it knows {', '.join(self.labels[:20])}"
                )
        return [places[label] for _, label in dev]

    def why(self, text: str, count: int = 10) -> list[tuple[str, float]]:
        """Of a bag with a linear layer: the n-grams that speak most for the label the text gets, and against it.

        Each with what it adds to the label's score, compared with the mean of what it adds to the others.
        """
        if not isinstance(self.network, Bag):
            raise UsageError(f"{self.path}: only a bag can say which words decided; this is {self.card['model']}")
        best = self.labels.index(self.classify(text).label)
        (framed_,), _ = framed(self.preprocessor.tokenizer, [self._text(text, 1)], self.preprocessor.parts, int(1e9))
        ids = torch.tensor(framed_)
        rows = []
        for gram, scores in self.network.why(ids):
            others = (scores.sum() - scores[best]) / (len(scores) - 1)
            rows.append((" ".join(self.preprocessor.tokenizer.pieces(gram)), float(scores[best] - others)))
        return sorted(rows, key=lambda row: -abs(row[1]))[:count]

    def embeddings(self, side: str = "source") -> Embeddings:
        """The word vectors: `neighbours` of a word, and a map of words."""
        return embeddings_of(self.network, self.preprocessor.tokenizer, self.path)


def _kind(parts: int) -> str:
    """What columns are to be named."""
    return "two texts and their label are read" if parts > 1 else "a text and its label are read"

"""Classification, many to one: a text, or a pair of texts, to one of a few labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, overload

import torch
from pydantic import BaseModel
from torch import Tensor, nn

from mirada.bundle import need
from mirada.contracts import EOS, Loss, Reader, Sizes, Validation
from mirada.data.batching import similar
from mirada.data.classes import LabelNames
from mirada.data.doctor import Notify
from mirada.data.labelled import (
    LONGEST,
    Labelled,
    LabelledBatches,
    LabelledConfig,
    PreparedTexts,
    Report,
    framed,
    prepare,
    read_labelled,
    segments,
)
from mirada.data.labelled import dump as dump_examples
from mirada.data.labelled import load as load_examples
from mirada.data.readers.labelled import TAB, joined
from mirada.data.text import shown_text
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.errors import BundleError, ConfigError, DataError, InputError, UsageError
from mirada.evaluation.labels import LabelScores, evaluate_labels
from mirada.inspection.embeddings import Embeddings
from mirada.models.bag import Bag
from mirada.parsing import load_json
from mirada.tasks.objectives import ClassEntropy
from mirada.tasks.reading import CELLS, embeddings_of, pad, start_from_vectors, validation
from mirada.tasks.task import Model, Task, Told


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


@dataclass(frozen=True)
class Labels:
    """What classifying needs besides weights."""

    tokenizer: Tokenizer
    labels: list[str]
    parts: int = 1
    """Of a text: two when pairs are classified."""

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.tokenizer.size, len(self.labels))

    def files(self) -> dict[str, bytes]:
        about = self.labels if self.parts == 1 else {"labels": self.labels, "parts": self.parts}
        return {
            "tokenizer.json": self.tokenizer.to_json().encode("utf-8"),
            "labels.json": json.dumps(about, ensure_ascii=False).encode("utf-8"),
        }


@dataclass(frozen=True)
class Texts:
    """Labelled texts, ready to train on."""

    data: PreparedTexts

    @property
    def kit(self) -> Labels:
        return Labels(self.data.tokenizer, self.data.labels, self.data.report.parts)

    @property
    def dev(self) -> Labelled:
        return self.data.dev

    def batches(self, tokens: int, seed: int) -> LabelledBatches:
        return LabelledBatches(self.data.corpus, tokens, seed, self.data.report.parts)

    def report(self) -> dict[str, Any]:
        return asdict(self.data.report)

    def told(self) -> Told:
        report = self.data.report
        held = f", {report.dev:,} dev" + (" (held out, the same share of each class)" if report.held_out else "")
        shown = ", ".join(f"{label} {count:,}" for label, count in list(report.classes.items())[:8])
        more = f", … {len(report.classes)} classes" if len(report.classes) > 8 else ""
        what = "texts" if report.parts == 1 else "pairs"
        cut = {f"{what} longer than data.max_tokens, which were cut": report.cut} if report.cut else {}
        units = f"{report.vocabulary:,} {self.data.tokenizer.unit}"
        return Told(
            f"{report.training:,} training {what} ({shown}{more}){held}, {units}",
            report.notes,
            report.excluded,
            cut,
        )

    def dev_file(self) -> str:
        return dump_examples(self.dev)


class ClassificationModel(Model):
    """A trained classifier, opened from its bundle."""

    network: Reader
    kit: Labels

    @property
    def try_it(self) -> str:
        return f'mirada classify {self.path} "…"'

    @property
    def labels(self) -> list[str]:
        return self.kit.labels

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
        if self.kit.parts == 1:
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
        framed_, cut = framed(self.kit.tokenizer, texts, self.kit.parts, int(self.config["data"]["max_tokens"]))
        ids = [[*text, EOS] for text in framed_]
        found = torch.empty(len(ids), len(self.labels))
        for numbers in similar([len(text) for text in ids], CELLS):
            batch = pad([ids[number] for number in numbers])
            if self.kit.parts > 1:
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
        if data.parts != self.kit.parts:
            raise UsageError(f"--columns {','.join(columns)}: {_kind(self.kit.parts)} by the model {self.path}")
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
        (framed_,), _ = framed(self.kit.tokenizer, [self._text(text, 1)], self.kit.parts, int(1e9))
        ids = torch.tensor(framed_)
        rows = []
        for gram, scores in self.network.why(ids):
            others = (scores.sum() - scores[best]) / (len(scores) - 1)
            rows.append((" ".join(self.kit.tokenizer.pieces(gram)), float(scores[best] - others)))
        return sorted(rows, key=lambda row: -abs(row[1]))[:count]

    def embeddings(self, side: str = "source") -> Embeddings:
        """The word vectors: `neighbours` of a word, and a map of words."""
        return embeddings_of(self.network, self.kit.tokenizer, self.path)


def _kind(parts: int) -> str:
    """What columns are to be named."""
    return "two texts and their label are read" if parts > 1 else "a text and its label are read"


class _Named(BaseModel):
    """What labels.json says; of single texts it may be the labels alone."""

    labels: LabelNames
    parts: Literal[1, 2] = 1


class ClassificationTask(Task):
    """A text, or a pair of texts, to one of a few labels."""

    name = "classification"
    verb = "classify"
    model = ClassificationModel
    default_model = "lstm"
    sections = {"data": LabelledConfig, "tokenizer": TokenizerConfig}
    defaults = {
        "tokenizer": {"unit": "words"},
        "train": {"label_smoothing": 0.0, "validate_sentences": 5000, "max_batch_tokens": 8000},
    }
    used = ("data",)

    def complete(self, built: dict[str, Any]) -> dict[str, Any]:
        if built["data"].max_tokens is not None:
            return built
        room = built["model"].max_length - 2  # a first and a last token
        longest = room if built["model"].name == "bag" else min(LONGEST, room)
        return {**built, "data": built["data"].model_copy(update={"max_tokens": longest})}

    def check(self, built: Mapping[str, Any]) -> None:
        longest, room = built["data"].max_tokens, built["model"].max_length
        if longest + 2 > room:
            raise ConfigError(
                f"data.max_tokens={longest}: the model takes {room - 2}: --set model.max_length={longest + 2}"
            )

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        data = card["data"]
        left_out, what = sum(data["excluded"].values()), "pairs" if data.get("parts", 1) > 1 else "texts"
        return [
            ("labels", ", ".join(f"{label} {count:,}" if count else label for label, count in data["classes"].items())),
            ("data", f"{data['training']:,} {what}, {data['words']:,} words, {left_out:,} left out"),
            ("dev", f"{data['dev']:,} {what}" + (", held out of the data" if data["held_out"] else "")),
            ("vocabulary", f"{data['vocabulary']:,}"),
        ]

    def prepare(self, built: Mapping[str, Any], folder: Path, notify: Notify, kit: Labels | None = None) -> Texts:
        if isinstance(kit, Labels) and kit.parts != built["data"].parts:
            columns = ",".join(built["data"].columns) or "none"
            raise UsageError(f"--columns {columns}: {_kind(kit.parts)} by the base")
        learned = (kit.tokenizer, getattr(kit, "labels", None)) if kit else None
        return Texts(prepare(built["data"], built["tokenizer"], folder, notify, learned))

    def keeps_output(self, base: Labels, kit: Labels) -> bool:
        return base.labels == kit.labels

    def fit(self, network: nn.Module, prepared: Texts, built: Mapping[str, Any]) -> list[str]:
        if isinstance(network, Bag):
            side = prepared.data.corpus.source
            network.fit(side.ids, side.offsets)
            return []
        return start_from_vectors(network, prepared.data.tokenizer, built["data"].vectors)

    def open(self, files: Mapping[str, bytes], where: Path) -> Labels:
        need(files, where, "tokenizer.json", "labels.json")
        found = load_json(files["labels.json"], _Named | LabelNames, where / "labels.json", BundleError)
        about = found if isinstance(found, _Named) else _Named(labels=found)
        return Labels(Tokenizer.load(where / "tokenizer.json"), about.labels, about.parts)

    def read_dev(self, text: str) -> Labelled:
        return load_examples(text)

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return ClassEntropy(smoothing)

    report = Report

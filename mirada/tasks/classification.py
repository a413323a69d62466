"""Classification, many to one: a text to one of a few labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, overload

import torch
from torch import Tensor, nn

from mirada.bundle import need
from mirada.contracts import EOS, Loss, Reader, Sizes, Validation
from mirada.data.doctor import Notify
from mirada.data.labelled import (
    LONGEST,
    Labelled,
    LabelledBatches,
    LabelledConfig,
    PreparedTexts,
    prepare,
    read_labelled,
)
from mirada.data.labelled import dump as dump_examples
from mirada.data.labelled import load as load_examples
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.errors import BundleError, ConfigError, DataError, UsageError
from mirada.evaluation.labels import LabelScores, evaluate_labels
from mirada.inspection.embeddings import Embeddings
from mirada.models.bag import Bag
from mirada.tasks.objectives import ClassEntropy
from mirada.tasks.reading import CELLS, embeddings_of, pad, start_from_vectors
from mirada.tasks.task import Model, Task, Told
from mirada.tasks.translator import similar


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

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.tokenizer.size, len(self.labels))

    def files(self) -> dict[str, bytes]:
        return {
            "tokenizer.json": self.tokenizer.to_json().encode("utf-8"),
            "labels.json": json.dumps(self.labels, ensure_ascii=False).encode("utf-8"),
        }


@dataclass(frozen=True)
class Texts:
    """Labelled texts, ready to train on."""

    data: PreparedTexts

    @property
    def kit(self) -> Labels:
        return Labels(self.data.tokenizer, self.data.labels)

    @property
    def dev(self) -> Labelled:
        return self.data.dev

    def batches(self, tokens: int, seed: int) -> LabelledBatches:
        return LabelledBatches(self.data.corpus, tokens, seed)

    def report(self) -> dict[str, Any]:
        return asdict(self.data.report)

    def told(self) -> Told:
        report = self.data.report
        held = f", {report.dev:,} dev" + (" (held out, the same share of each class)" if report.held_out else "")
        shown = ", ".join(f"{label} {count:,}" for label, count in list(report.classes.items())[:8])
        more = f", … {len(report.classes)} classes" if len(report.classes) > 8 else ""
        cut = {"texts longer than data.max_tokens, which were cut": report.cut} if report.cut else {}
        return Told(
            f"{report.training:,} training texts ({shown}{more}){held}, {report.vocabulary:,} words",
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
    def classify(self, texts: str) -> Classification: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Sequence[str]) -> list[Classification]: ...

    def classify(self, texts: str | Sequence[str]) -> Classification | list[Classification]:
        """The likeliest label of a text, or of many, in order, with the probability of each label."""
        if isinstance(texts, str):
            return self.classify([texts])[0]
        probabilities, cut = self.probabilities(texts)
        found = []
        for row, beyond in zip(probabilities.tolist(), cut, strict=True):
            ranked = sorted(zip(self.labels, row, strict=True), key=lambda pair: -pair[1])
            found.append(Classification(*ranked[0], dict(ranked), beyond))
        return found

    @torch.inference_mode()
    def probabilities(self, texts: Sequence[str]) -> tuple[Tensor, list[int]]:
        """Of every label for every text [N, K]; and how many tokens of each text were cut off."""
        limit = int(self.config["data"]["max_tokens"])
        encoded = self.kit.tokenizer.encode(texts)
        cut = [max(0, len(ids) - limit) for ids in encoded]
        ids = [[*text[:limit], EOS] for text in encoded]
        found = torch.empty(len(ids), len(self.labels))
        for numbers in similar([len(text) for text in ids], CELLS):
            batch = pad([ids[number] for number in numbers]).to(self.device)
            found[numbers] = self.network.output(self.network.pool(batch)).softmax(-1).cpu()
        return found, cut

    def evaluate(
        self, texts: str | Path | Iterable[tuple[str, str]], *, columns: Sequence[str] = (), **other: Any
    ) -> LabelScores:
        """Classify the texts of a test set (a file, or pairs of text and label) and score the result."""
        if not isinstance(texts, (str, Path)):
            return self.score(list(texts))
        settings = {**self.config["data"], "columns": columns or self.config["data"]["columns"]}
        data = LabelledConfig.model_validate(settings)
        return self.score(read_labelled(data.open((str(texts),))))

    def score(self, dev: Labelled) -> LabelScores:
        truth = self._numbers(dev)
        predicted = self.probabilities([text for text, _ in dev])[0].argmax(-1)
        return evaluate_labels(truth, predicted.tolist(), self.labels)

    def validate(self, dev: Labelled, size: int) -> Validation:
        """Accuracy on a part of the dev set, and the mean loss."""
        chosen = dev[:: max(1, len(dev) // size)]
        truth = torch.tensor(self._numbers(chosen))
        probabilities, _ = self.probabilities([text for text, _ in chosen])
        predicted = probabilities.argmax(-1)
        loss = -probabilities.gather(1, truth[:, None]).clamp_min(1e-30).log().mean().item()
        accuracy = 100 * (predicted == truth).float().mean().item()
        text, label = chosen[0]
        example = (" ".join(text.split())[:100], self.labels[int(predicted[0])], label)
        return Validation(accuracy, "accuracy", figures={"loss": loss}, example=example)

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
        ids = torch.tensor(self.kit.tokenizer.encode([text])[0])
        rows = []
        for gram, scores in self.network.why(ids):
            others = (scores.sum() - scores[best]) / (len(scores) - 1)
            rows.append((" ".join(self.kit.tokenizer.pieces(gram)), float(scores[best] - others)))
        return sorted(rows, key=lambda row: -abs(row[1]))[:count]

    def embeddings(self, side: str = "source") -> Embeddings:
        """The word vectors: `neighbours` of a word, and a map of words."""
        return embeddings_of(self.network, self.kit.tokenizer, self.path)


class ClassificationTask(Task):
    """A text to one of a few labels."""

    name = "classification"
    verb = "classify"
    model = ClassificationModel
    default_model = "lstm"
    sections = {"data": LabelledConfig, "tokenizer": TokenizerConfig}
    defaults = {
        "tokenizer": {"unit": "words"},
        "train": {"label_smoothing": 0.0, "validate_sentences": 5000, "batch_tokens": 8000},
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
        left_out = sum(data["excluded"].values())
        return [
            ("labels", ", ".join(f"{label} {count:,}" for label, count in data["classes"].items())),
            ("data", f"{data['training']:,} texts, {data['words']:,} words, {left_out:,} left out"),
            ("dev", f"{data['dev']:,} texts" + (", held out of the data" if data["held_out"] else "")),
            ("words", f"{data['vocabulary']:,}"),
        ]

    def prepare(self, built: Mapping[str, Any], folder: Path, notify: Notify, kit: Labels | None = None) -> Texts:
        learned = (kit.tokenizer, getattr(kit, "labels", None)) if kit else None
        return Texts(prepare(built["data"], built["tokenizer"], folder, notify, learned))

    def fit(self, network: nn.Module, prepared: Texts, built: Mapping[str, Any]) -> list[str]:
        if isinstance(network, Bag):
            side = prepared.data.corpus.source
            network.fit(side.ids, side.offsets)
            return []
        return start_from_vectors(network, prepared.data.tokenizer, built["data"].vectors)

    def open(self, files: Mapping[str, bytes], where: Path) -> Labels:
        need(files, where, "tokenizer.json", "labels.json")
        try:
            labels = json.loads(files["labels.json"])
        except ValueError:
            labels = None
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise BundleError(f"{where / 'labels.json'}: is not a list of labels")
        return Labels(Tokenizer.load(where / "tokenizer.json"), labels)

    def read_dev(self, text: str) -> Labelled:
        return load_examples(text)

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return ClassEntropy(smoothing)

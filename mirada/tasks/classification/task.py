"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import nn

from mirada.bundle import need
from mirada.contracts import Loss
from mirada.data.quality import Notify
from mirada.data.splits import LabelNames
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.errors import BundleError, ConfigError, UsageError
from mirada.models.bag import Bag
from mirada.parsing import load_json
from mirada.tasks.classification.data import (
    LONGEST,
    Labelled,
    LabelledBatches,
    LabelledConfig,
    PreparedTexts,
    Report,
    prepare,
)
from mirada.tasks.classification.data import dump as dump_examples
from mirada.tasks.classification.data import load as load_examples
from mirada.tasks.classification.model import ClassificationModel, _kind
from mirada.tasks.classification.preprocessor import Labels, _Named
from mirada.tasks.sequences import start_from_vectors
from mirada.tasks.task import DataSummary, Task
from mirada.training.losses import ClassLoss


@dataclass(frozen=True)
class Texts:
    """Labelled texts, ready to train on."""

    data: PreparedTexts

    @property
    def preprocessor(self) -> Labels:
        return Labels(self.data.tokenizer, self.data.labels, self.data.report.parts)

    @property
    def dev(self) -> Labelled:
        return self.data.dev

    def batches(self, tokens: int, seed: int) -> LabelledBatches:
        return LabelledBatches(self.data.corpus, tokens, seed, self.data.report.parts)

    def report(self) -> dict[str, Any]:
        return asdict(self.data.report)

    def summary(self) -> DataSummary:
        report = self.data.report
        held = f", {report.dev:,} dev" + (" (held out, the same share of each class)" if report.held_out else "")
        shown = ", ".join(f"{label} {count:,}" for label, count in list(report.classes.items())[:8])
        more = f", … {len(report.classes)} classes" if len(report.classes) > 8 else ""
        what = "texts" if report.parts == 1 else "pairs"
        cut = {f"{what} longer than data.max_tokens, which were cut": report.cut} if report.cut else {}
        units = f"{report.vocabulary:,} {self.data.tokenizer.unit}"
        return DataSummary(
            f"{report.training:,} training {what} ({shown}{more}){held}, {units}",
            report.notes,
            report.excluded,
            cut,
        )

    def dev_file(self) -> str:
        return dump_examples(self.dev)


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

    def prepare(
        self, built: Mapping[str, Any], folder: Path, notify: Notify, preprocessor: Labels | None = None
    ) -> Texts:
        if isinstance(preprocessor, Labels) and preprocessor.parts != built["data"].parts:
            columns = ",".join(built["data"].columns) or "none"
            raise UsageError(f"--columns {columns}: {_kind(preprocessor.parts)} by the base")
        learned = (preprocessor.tokenizer, getattr(preprocessor, "labels", None)) if preprocessor else None
        return Texts(prepare(built["data"], built["tokenizer"], folder, notify, learned))

    def keeps_output(self, base: Labels, preprocessor: Labels) -> bool:
        return base.labels == preprocessor.labels

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
        return ClassLoss(smoothing)

    report = Report


TASK = ClassificationTask()

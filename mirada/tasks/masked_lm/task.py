"""The task as training, bundles and the command line see it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mirada.bundle import need
from mirada.contracts import Loss
from mirada.data.quality import Notify
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.errors import BundleError, ConfigError
from mirada.parsing import load_json_lines
from mirada.tasks.masked_lm.data import DocumentsConfig, MaskedBatches, PreparedDocuments, Report, prepare
from mirada.tasks.masked_lm.model import MaskedLanguageModel
from mirada.tasks.masked_lm.preprocessor import Vocabulary
from mirada.tasks.task import DataSummary, Task
from mirada.training.losses import MaskedTokenLoss


@dataclass(frozen=True)
class Documents:
    """Documents, ready to train on."""

    data: PreparedDocuments

    @property
    def preprocessor(self) -> Vocabulary:
        return Vocabulary(self.data.tokenizer)

    @property
    def dev(self) -> list[str]:
        return self.data.dev

    def batches(self, tokens: int, seed: int) -> MaskedBatches:
        side, name = self.data.corpus.source, self.data.corpus.fingerprint
        return MaskedBatches(side.ids, side.offsets, self.data.tokenizer, self.data.config, tokens, seed, name)

    def report(self) -> dict[str, Any]:
        return asdict(self.data.report)

    def summary(self) -> DataSummary:
        report = self.data.report
        held = " (held out)" if report.held_out else ""
        return DataSummary(
            f"{report.documents:,} documents, {report.words:,} words, {report.dev:,} dev{held}, "
            f"{report.vocabulary:,} subwords",
            report.notes,
            report.excluded,
        )

    def dev_file(self) -> str:
        return "".join(json.dumps(text, ensure_ascii=False) + "\n" for text in self.dev)


class MaskedLMTask(Task):
    """Fill the gaps of a text."""

    name = "masked_lm"
    verb = "fill"
    model = MaskedLanguageModel
    default_model = "bert"
    sections = {"data": DocumentsConfig, "tokenizer": TokenizerConfig}
    defaults = {"train": {"label_smoothing": 0.0}}
    used = ("data",)

    def check(self, built: Mapping[str, Any]) -> None:
        if built["data"].length >= built["model"].max_length:
            raise ConfigError(
                f"data.length={built['data'].length} must be below model.max_length={built['model'].max_length}"
            )

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        data = card["data"]
        return [
            ("data", f"{data['documents']:,} documents, {data['words']:,} words"),
            ("dev", f"{data['dev']:,} documents" + (", held out of the data" if data["held_out"] else "")),
            ("subwords", f"{data['vocabulary']:,}"),
        ]

    def prepare(
        self, built: Mapping[str, Any], folder: Path, notify: Notify, preprocessor: Vocabulary | None = None
    ) -> Documents:
        return Documents(
            prepare(built["data"], built["tokenizer"], folder, notify, preprocessor.tokenizer if preprocessor else None)
        )

    def open(self, files: Mapping[str, bytes], where: Path) -> Vocabulary:
        need(files, where, "tokenizer.json")
        return Vocabulary(Tokenizer.load(where / "tokenizer.json"))

    def read_dev(self, text: str) -> list[str]:
        return load_json_lines(text, str, "dev.jsonl", BundleError)

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return MaskedTokenLoss()

    report = Report


TASK = MaskedLMTask()

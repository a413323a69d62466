"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mirada.bundle import need
from mirada.config import Values
from mirada.contracts import Loss
from mirada.data.batching import Batches
from mirada.data.checks import CheckConfig
from mirada.data.quality import KEEPS, Notify
from mirada.data.sources import DataConfig
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.decoding import DecodeConfig
from mirada.errors import ConfigError
from mirada.tasks.task import DataSummary, Task, evenly
from mirada.tasks.translation.data import Examples, Report, dump_examples, load_examples, prepare
from mirada.tasks.translation.data import Prepared as PreparedPairs
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.preprocessor import SOURCE, TARGET, TranslationPreprocessor
from mirada.training.losses import TargetTokenLoss

FINAL_SENTENCES = 2000
"""Dev sentences that the scores of a finished training are measured on, at most."""


@dataclass(frozen=True)
class Pairs:
    """Sentence pairs, ready to train on."""

    data: PreparedPairs

    @property
    def preprocessor(self) -> TranslationPreprocessor:
        return TranslationPreprocessor(self.data.source_tokenizer, self.data.target_tokenizer)

    @property
    def dev(self) -> Examples:
        return evenly(self.data.dev, FINAL_SENTENCES)

    def batches(self, tokens: int, seed: int) -> Batches:
        return Batches(self.data.corpus, tokens, seed)

    def report(self) -> dict[str, Any]:
        return asdict(self.data.report)

    def summary(self) -> DataSummary:
        report: Report = self.data.report
        held = " (held out of the data: no sentence of it is in training)" if report.held_out else ""
        findings = report.diagnosis["findings"]
        return DataSummary(
            f"{report.training:,} training pairs, {report.dev:,} dev{held}, {report.vocabulary:,} subwords",
            report.diagnosis["notes"],
            report.excluded,
            {finding["title"]: finding["count"] for finding in findings if finding["training"] == KEEPS},
            "mirada check",
        )

    def dev_file(self) -> str:
        return dump_examples(self.dev)


class TranslationTask(Task):
    """Sentences in one language to sentences in another."""

    name = "translation"
    verb = "translate"
    model = TranslationModel
    default_model = "transformer"
    sections = {"data": DataConfig, "check": CheckConfig, "tokenizer": TokenizerConfig, "decode": DecodeConfig}
    used = ("decode",)
    inherited = ("source_language", "target_language")
    presets = ("tiny", "small")

    def check(self, built: Mapping[str, Any]) -> None:
        if not built["tokenizer"].joint and built["model"].tie == "all":
            raise ConfigError(
                "tokenizer.joint=false gives two vocabularies, so embeddings cannot all be tied: --set model.tie=output"
            )
        if built["data"].max_tokens >= built["model"].max_length:
            raise ConfigError(
                f"data.max_tokens={built['data'].max_tokens} must be below model.max_length={built['model'].max_length}"
            )

    def about(self, values: Values) -> dict[str, Any]:
        data = values["data"]
        return {"languages": {"source": data["source_language"], "target": data["target_language"]}}

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        languages, data = card["languages"], card["data"]
        left_out = sum(data["excluded"].values())
        return [
            ("languages", f"{languages['source'] or '?'} → {languages['target'] or '?'}"),
            ("data", f"{data['training']:,} pairs, {data['words']:,} words, {left_out:,} left out"),
            ("dev", f"{data['dev']:,} pairs" + (", held out of the data" if data["held_out"] else "")),
            ("subwords", f"{data['vocabulary']:,}"),
        ]

    def prepare(
        self,
        built: Mapping[str, Any],
        folder: Path,
        notify: Notify,
        preprocessor: TranslationPreprocessor | None = None,
    ) -> Pairs:
        learned = (preprocessor.source, preprocessor.target) if preprocessor else None
        return Pairs(prepare(built["data"], built["check"], built["tokenizer"], folder, notify, learned))

    def open(self, files: Mapping[str, bytes], where: Path) -> TranslationPreprocessor:
        need(files, where, SOURCE)
        source = Tokenizer.load(where / SOURCE)
        return TranslationPreprocessor(source, Tokenizer.load(where / TARGET) if TARGET in files else source)

    def read_dev(self, text: str) -> Examples:
        return load_examples(text)

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return TargetTokenLoss(smoothing)

    report = Report


TASK = TranslationTask()

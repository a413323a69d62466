"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mirada.bundle import need
from mirada.contracts import Loss
from mirada.data.images.batches import Images
from mirada.data.images.format import Format
from mirada.data.quality import Notify
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.decoding import DecodeConfig
from mirada.errors import BundleError, ConfigError
from mirada.parsing import load_json
from mirada.tasks.captioning.data import (
    CaptionBatches,
    CaptionsConfig,
    PreparedCaptions,
    Report,
    prepare,
)
from mirada.tasks.captioning.model import CaptionModel
from mirada.tasks.captioning.preprocessor import CaptionPreprocessor, _Captions
from mirada.tasks.task import DataSummary, Task
from mirada.training.losses import TargetTokenLoss


@dataclass(frozen=True)
class Album:
    """Images with captions, ready to train on."""

    data: PreparedCaptions
    patches: int
    longest: int

    @property
    def preprocessor(self) -> CaptionPreprocessor:
        return CaptionPreprocessor(self.data.tokenizer, self.data.format, self.longest)

    @property
    def dev(self) -> Images[list[str]]:
        return self.data.dev

    def batches(self, tokens: int, seed: int) -> CaptionBatches:
        data = self.data
        mark = data.report.fingerprint
        return CaptionBatches(data.corpus, tokens, seed, data.pixels, data.format, self.patches, mark)

    def report(self) -> dict[str, Any]:
        return asdict(self.data.report)

    def summary(self) -> DataSummary:
        report = self.data.report
        held = f", {report.dev:,} dev" + (" (held out: none of them is in training)" if report.held_out else "")
        notes = list(report.notes)
        if len(self.dev.kept) < len(self.dev):
            notes.append(f"the bundle keeps {len(self.dev.kept):,} of the dev images, to measure with later")
        return DataSummary(
            f"{report.training:,} captions of {report.images:,} images, {report.format}{held}, "
            f"{self.patches:,} patches each, {report.vocabulary:,} units",
            notes,
            report.excluded,
        )

    def dev_file(self) -> str:
        return self.dev.kept.dump()


class CaptioningTask(Task):
    """An image to a text about it."""

    name = "captioning"
    verb = "caption"
    model = CaptionModel
    default_model = "captioner"
    sections = {"data": CaptionsConfig, "tokenizer": TokenizerConfig, "decode": DecodeConfig}
    used = ("decode",)
    defaults = {"train": {"max_batch_tokens": 4000}}

    def check(self, built: Mapping[str, Any]) -> None:
        data, model = built["data"], built["model"]
        data.check(model.patch_for)
        if data.max_tokens >= model.max_length:
            raise ConfigError(f"data.max_tokens={data.max_tokens} must be below model.max_length={model.max_length}")

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        data = card["data"]
        left_out = sum(data["excluded"].values())
        return [
            ("data", f"{data['training']:,} captions, {left_out:,} left out"),
            ("images", f"{data['images']:,}, {data['format']}"),
            ("dev", f"{data['dev']:,} images" + (", held out of the data" if data["held_out"] else "")),
            ("units", f"{data['vocabulary']:,}"),
        ]

    def prepare(
        self, built: Mapping[str, Any], folder: Path, notify: Notify, preprocessor: CaptionPreprocessor | None = None
    ) -> Album:
        model = built["model"]
        learned = (preprocessor.tokenizer, preprocessor.format) if preprocessor else None
        prepared = prepare(built["data"], built["tokenizer"], model.patch_for, folder, notify, learned)
        rows, columns = model.grid(prepared.format.shape)
        longest = int(prepared.corpus.target.lengths.max())
        return Album(prepared, rows * columns, max(longest, preprocessor.longest) if preprocessor else longest)

    def open(self, files: Mapping[str, bytes], where: Path) -> CaptionPreprocessor:
        need(files, where, "tokenizer.json", "pictures.json", "captions.json")
        _, format_ = Format.from_json(files["pictures.json"], where / "pictures.json")
        about: _Captions = load_json(files["captions.json"], _Captions, where / "captions.json", BundleError)
        return CaptionPreprocessor(Tokenizer.load(where / "tokenizer.json"), format_, about.longest)

    def read_dev(self, text: str) -> Images[list[str]]:
        return Images.load(text)

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return TargetTokenLoss(smoothing)

    report = Report


TASK = CaptioningTask()

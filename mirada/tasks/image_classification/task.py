"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mirada.bundle import need
from mirada.contracts import Loss
from mirada.data.images.batches import ImageBatches, Images
from mirada.data.images.format import Format
from mirada.data.quality import Notify
from mirada.tasks.image_classification.data import ImageConfig, PreparedImages, Report, prepare
from mirada.tasks.image_classification.model import ImageClassificationModel
from mirada.tasks.image_classification.preprocessor import ImagePreprocessor
from mirada.tasks.task import DataSummary, Task
from mirada.training.losses import ClassLoss


@dataclass(frozen=True)
class Gallery:
    """Labelled images, ready to train on."""

    data: PreparedImages
    patches: int
    flip: bool

    @property
    def preprocessor(self) -> ImagePreprocessor:
        return ImagePreprocessor(self.data.labels, self.data.format)

    @property
    def dev(self) -> Images[str]:
        return self.data.dev

    def batches(self, tokens: int, seed: int) -> ImageBatches:
        data, report = self.data, self.data.report
        return ImageBatches(
            data.training,
            data.truth,
            data.format,
            report.fingerprint,
            self.patches,
            tokens,
            seed,
            augment=report.augmented,
            flip=self.flip,
        )

    def report(self) -> dict[str, Any]:
        return asdict(self.data.report)

    def summary(self) -> DataSummary:
        report = self.data.report
        held = f", {report.dev:,} dev" + (" (held out, the same share of each class)" if report.held_out else "")
        shown = ", ".join(f"{label} {count:,}" for label, count in list(report.classes.items())[:8])
        more = f", … {len(report.classes)} classes" if len(report.classes) > 8 else ""
        notes = list(report.notes)
        if report.augmented:
            notes.append(
                f"{report.noun} are turned, scaled and shifted a little, anew in every epoch [--set data.augment=false]"
            )
        if len(self.dev.kept) < len(self.dev):
            notes.append(f"the bundle keeps {len(self.dev.kept):,} of the dev {report.noun}, to measure with later")
        return DataSummary(
            f"{report.training:,} training {report.noun}, {report.format} ({shown}{more}){held}, "
            f"{self.patches:,} patches each",
            notes,
            report.excluded,
        )

    def dev_file(self) -> str:
        return self.dev.kept.dump()


class ImageClassificationTask(Task):
    """An image or a video to one of a few labels."""

    name = "image_classification"
    verb = "classify"
    model = ImageClassificationModel
    default_model = "vit"
    sections = {"data": ImageConfig}
    defaults = {"train": {"label_smoothing": 0.1, "validate_sentences": 5000, "max_batch_tokens": 512}}
    """32 images of 16 patches a step: with 64, in the same time, dev digits were not better (96.9 of 100 right, 97.6
    with 32; one run each)."""

    def check(self, built: Mapping[str, Any]) -> None:
        built["data"].check(built["model"].patch_for)

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        data = card["data"]
        left_out = sum(data["excluded"].values())
        return [
            ("labels", ", ".join(f"{label} {count:,}" if count else label for label, count in data["classes"].items())),
            ("data", f"{data['training']:,} {data['noun']}, {data['format']}, {left_out:,} left out"),
            ("dev", f"{data['dev']:,} {data['noun']}" + (", held out of the data" if data["held_out"] else "")),
        ]

    def prepare(
        self, built: Mapping[str, Any], folder: Path, notify: Notify, preprocessor: ImagePreprocessor | None = None
    ) -> Gallery:
        data, model = built["data"], built["model"]
        learned = (preprocessor.labels, preprocessor.format) if preprocessor else None
        prepared = prepare(data, model.patch_for, model.frames or 1, folder, notify, learned)
        return Gallery(prepared, model.patches(prepared.format.shape), data.flip)

    def keeps_output(self, base: ImagePreprocessor, preprocessor: ImagePreprocessor) -> bool:
        return base.labels == preprocessor.labels

    def open(self, files: Mapping[str, bytes], where: Path) -> ImagePreprocessor:
        need(files, where, "pictures.json")
        return ImagePreprocessor(*Format.from_json(files["pictures.json"], where / "pictures.json"))

    def read_dev(self, text: str) -> Images[str]:
        return Images.load(text)

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return ClassLoss(smoothing)

    report = Report


TASK = ImageClassificationTask()

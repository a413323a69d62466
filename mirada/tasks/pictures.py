"""Classification of pictures and videos, many to one: pixels to one of a few labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from torch import Tensor

from mirada.bundle import need
from mirada.contracts import Loss, Reading, Sizes, Validation
from mirada.data.corpus import batched
from mirada.data.doctor import Notify
from mirada.data.pictures.batches import PictureBatches, Pictures
from mirada.data.pictures.format import Format
from mirada.data.pictures.labelled import PicturesConfig, PreparedPictures, Report, prepare
from mirada.data.pictures.pixels import BadPicture, Pixels
from mirada.data.pictures.sources import open_pictures
from mirada.data.text import shown_text
from mirada.errors import DataError, MiradaError
from mirada.evaluation.labels import LabelScores, evaluate_labels
from mirada.models.vit import ViT
from mirada.tasks.classification import Classification
from mirada.tasks.objectives import ClassEntropy
from mirada.tasks.reading import CELLS, validation
from mirada.tasks.sight import READ_AT_ONCE, Picture, Seen, Sight
from mirada.tasks.task import Model, Task, Told


@dataclass(frozen=True)
class PictureClass(Classification):
    """The label of a picture, and how sure the model is of it."""

    notes: tuple[str, ...] = ()
    """What was done to the picture first: "resized from 40×30 to 28×28"."""


@dataclass(frozen=True)
class PictureScores(LabelScores):
    """All that is said about one classification of a test set of pictures."""

    unit = "pictures"


@dataclass(frozen=True)
class PictureKit:
    """What classifying pictures needs besides weights."""

    labels: list[str]
    format: Format

    @property
    def sizes(self) -> Sizes:
        shape = self.format.shape
        return Sizes(shape[0], len(self.labels), numeric_inputs=True, shape=shape)

    def files(self) -> dict[str, bytes]:
        return {"pictures.json": self.format.to_json(self.labels).encode("utf-8")}


@dataclass(frozen=True)
class Gallery:
    """Labelled pictures, ready to train on."""

    data: PreparedPictures
    patches: int
    flip: bool

    @property
    def kit(self) -> PictureKit:
        return PictureKit(self.data.labels, self.data.format)

    @property
    def dev(self) -> Pictures[str]:
        return self.data.dev

    def batches(self, tokens: int, seed: int) -> PictureBatches:
        data, report = self.data, self.data.report
        return PictureBatches(
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

    def told(self) -> Told:
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
        return Told(
            f"{report.training:,} training {report.noun}, {report.format} ({shown}{more}){held}, "
            f"{self.patches:,} patches each",
            notes,
            report.excluded,
        )

    def dev_file(self) -> str:
        return self.dev.kept.dump()


class PictureModel(Model):
    """A trained classifier of pictures or videos, opened from its bundle."""

    network: ViT
    kit: PictureKit

    @property
    def try_it(self) -> str:
        return f"mirada classify {self.path} {'videos.npz' if self.kit.format.shape[1] > 1 else 'picture.png'}"

    @property
    def labels(self) -> list[str]:
        return self.kit.labels

    @property
    def sight(self) -> Sight:
        return Sight(self.kit.format, self.path)

    @overload
    def classify(self, pictures: Picture) -> PictureClass: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, pictures: Sequence[Picture]) -> list[PictureClass]: ...

    def classify(self, pictures: Picture | Sequence[Picture]) -> PictureClass | list[PictureClass]:
        """The likeliest label of a picture, or of many, in order, with the probability of each label."""
        if isinstance(pictures, (str, Path, np.ndarray)):
            return self.classify([pictures])[0]
        return self._labelled(self.sight.read(pictures))

    def answer(self, paths: Iterable[str]) -> Iterator[tuple[str, PictureClass | MiradaError]]:
        """Each file's class, or what is wrong with it, in order; an .npz has an answer for every row, no labels needed.

        A few are read at a time, so that memory does not grow with their number.
        """
        for chunk in batched(self.sight.look(paths), READ_AT_ONCE):
            classes = iter(self._labelled([found for _, found in chunk if isinstance(found, Seen)]))
            for place, found in chunk:
                yield place, next(classes) if isinstance(found, Seen) else found

    def _labelled(self, pictures: Sequence[Seen]) -> list[PictureClass]:
        found = []
        rows = self.probabilities(pixels for pixels, _ in pictures).tolist()
        for row, (_, notes) in zip(rows, pictures, strict=True):
            ranked = sorted(zip(self.labels, row, strict=True), key=lambda pair: -pair[1])
            found.append(PictureClass(*ranked[0], dict(ranked), notes=notes))
        return found

    @torch.inference_mode()
    def probabilities(self, pictures: Iterable[Pixels]) -> Tensor:
        """Of every label for every picture [N, K]; pictures [F, H, W, C] as the network takes them."""
        patches = self.network.config.patches(self.kit.format.shape)
        found = [torch.empty(0, len(self.labels))]
        for chunk in batched(pictures, max(1, CELLS // patches)):
            inputs = self.kit.format.tensor(np.stack(chunk))
            batch = Reading(inputs, torch.full((len(chunk),), patches)).to(self.device)
            found.append(self.network.output(self.network.pool(batch)).softmax(-1).cpu())
        return torch.cat(found)

    def evaluate(self, pictures: str | Path, **other: Any) -> LabelScores:
        """Classify the pictures of a test set (a folder with a folder for every class, or an .npz) and score that."""
        source = open_pictures(str(pictures), "test", self.kit.format.scale)
        truth = self._numbers(source.labels, source.place)

        def whole() -> Iterator[Pixels]:
            for index, found in enumerate(source):
                if isinstance(found, BadPicture):
                    raise DataError(f"{found}; a test set has to be whole: mend it or remove it")
                yield self.sight.fit(found[0], source.place(index)).pixels

        return self._scores(truth, self.probabilities(whole()))

    def score(self, dev: Pictures[str]) -> LabelScores:
        return self._scores(self._numbers(dev.labels, dev.places.__getitem__), self.probabilities(dev.pixels))

    def _scores(self, truth: Sequence[int], probabilities: Tensor) -> LabelScores:
        found = evaluate_labels(truth, probabilities.argmax(-1).tolist(), self.labels)
        return PictureScores(found.size, found.scores, found.classes, found.confusion)

    def sample(self, dev: Pictures[str], size: int) -> Pictures[str]:
        return dev[:: max(1, -(-len(dev.places) // size))]

    def validate(self, dev: Pictures[str], size: int) -> Validation:
        """Accuracy on a part of the dev set, and the mean loss."""
        chosen = self.sample(dev, size)
        truth = self._numbers(chosen.labels, chosen.places.__getitem__)
        place, label = chosen.places[0], chosen.labels[0]
        return validation(self.probabilities(chosen.pixels), truth, lambda given: (place, self.labels[given], label))

    def _numbers(self, labels: Sequence[str], place: Callable[[int], str]) -> list[int]:
        places = {label: index for index, label in enumerate(self.labels)}
        for index, label in enumerate(labels):
            if label not in places:
                raise DataError(
                    f"{place(index)}: has the label {shown_text(label)}, which the model {self.path} does not know: "
                    f"it knows {', '.join(self.labels[:20])}"
                )
        return [places[label] for label in labels]


class PicturesTask(Task):
    """A picture or a video to one of a few labels."""

    name = "pictures"
    verb = "classify"
    model = PictureModel
    default_model = "vit"
    sections = {"data": PicturesConfig}
    defaults = {"train": {"label_smoothing": 0.1, "validate_sentences": 5000, "max_batch_tokens": 512}}
    """32 pictures of 16 patches a step: with 64, in the same time, dev digits were not better (96.9 of 100 right, 97.6
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

    def prepare(self, built: Mapping[str, Any], folder: Path, notify: Notify, kit: PictureKit | None = None) -> Gallery:
        data, model = built["data"], built["model"]
        learned = (kit.labels, kit.format) if kit else None
        prepared = prepare(data, model.patch_for, model.frames or 1, folder, notify, learned)
        return Gallery(prepared, model.patches(prepared.format.shape), data.flip)

    def keeps_output(self, base: PictureKit, kit: PictureKit) -> bool:
        return base.labels == kit.labels

    def open(self, files: Mapping[str, bytes], where: Path) -> PictureKit:
        need(files, where, "pictures.json")
        return PictureKit(*Format.from_json(files["pictures.json"], where / "pictures.json"))

    def read_dev(self, text: str) -> Pictures[str]:
        return Pictures.load(text)

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return ClassEntropy(smoothing)

    report = Report

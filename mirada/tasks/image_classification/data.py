"""Images or videos with a label each: how they are checked, split by class, and brought to one size.

Every image is read twice; pixels are not kept in memory.

<folder>/training.npy, dev.npy      the pixels, uint8 [N, F, H, W, C], memory-mapped
<folder>/training.labels.npy        the number of each training image's label
<folder>/dev.json                   the label of each dev image, and where it comes from
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from mirada.contracts import Rows, Sizes
from mirada.data import report as reports
from mirada.data.folder import open_array
from mirada.data.images.batches import ImageBatches, ImagePreparation, open_pixels, write_images
from mirada.data.images.format import Appearance, Format, FormatConfig, moments
from mirada.data.images.pixels import BadImage, Pixels, digest
from mirada.data.images.sources import Archive, Folder, open_images
from mirada.data.labels import LabelledPreparation, shown_classes
from mirada.data.preparation import Prepared
from mirada.data.records import AnyRecord, Record
from mirada.data.survey import Survey
from mirada.data.text import shown_text
from mirada.errors import DataError
from mirada.files import write_text

SMALL_DATA = 20_000
"""Training images below which they are warped a little, unless `augment` says otherwise."""


class ImageConfig(FormatConfig):
    """Which images to learn from."""

    needs = "a folder with a folder of images for every class, or an .npz"

    files: tuple[str, ...] = ()
    """A folder with one subfolder of images per class, or an .npz file with `images` and `labels`."""
    hold_out: float = Field(0.1, gt=0, lt=1)
    """The share of each class to hold out if there is no dev set."""
    augment: bool | None = None
    """Rotate each image by up to 10°, scale it by up to a tenth and shift it by up to a sixteenth of its side, randomly
    in every epoch. Default: with fewer than 20,000 images."""
    flip: bool = False
    """Also mirror every other image: suitable for cats, but not for letters or for movement to the left or right."""
    duplicates: Literal["drop", "keep"] = "drop"
    """What to do about images that occur again with the same label."""
    contradictions: Literal["drop", "keep"] = "drop"
    """What to do about images that occur with different labels."""

    @model_validator(mode="after")
    def _one_of_each(self) -> ImageConfig:
        for name, given in (("files", self.files), ("dev", self.dev)):
            if len(given) > 1:
                raise ValueError(f"data.{name} has {len(given)} names: give one folder, or one .npz")
        return self


@dataclass
class Report(reports.Report):
    """What was read of labelled images, and what became of it."""

    classes: dict[str, int] = field(default_factory=dict)
    """Training images of each."""
    format: str = ""
    noun: str = "images"
    augmented: bool = False


@dataclass(frozen=True)
class ImagePreprocessor:
    """The labels of an image classifier, and the format of its images."""

    required = ("pictures.json",)
    labels: list[str]
    format: Format

    @property
    def sizes(self) -> Sizes:
        shape = self.format.shape
        return Sizes(shape[0], len(self.labels), numeric_inputs=True, shape=shape)

    def files(self) -> dict[str, bytes]:
        return {"pictures.json": self.format.to_json(self.labels).encode("utf-8")}

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> ImagePreprocessor:
        return cls(*Format.from_json(files["pictures.json"], where / "pictures.json"))


class ImageStore(NamedTuple):
    """The encoded training set."""

    pixels: Pixels  # [N, F, H, W, C]
    truth: Rows  # [N] the number of each one's label


class ImageRecords:
    """The images of a folder or an archive as records: place in the source, label, 64 bits of the pixels."""

    def __init__(self, source: Folder | Archive):
        self.source = source
        self.appearance = Appearance()
        self.faulty: dict[str, BadImage] = {}
        """Labels with images that cannot be read, and the first of these."""
        self.notes: list[str] = []

    @property
    def files(self) -> list[tuple[str, str]]:
        return [(self.source.path, self.source.about)]

    def __str__(self) -> str:
        return self.source.path

    def __iter__(self) -> Iterator[Record]:
        for place, reason in self.source.passed:
            yield Record((-1, "", 0), place, 0, reason)
        for index, found in enumerate(self.source):
            label, place = self.source.labels[index], self.source.place(index)
            if isinstance(found, BadImage):
                self.faulty.setdefault(label, found)
                yield Record((index, label, 0), place, 0, found.reason)
            else:
                self.appearance.see(*found)
                yield Record((index, label, digest(found[0])), place, 0)


Example = tuple[int, str, int, str]
"""The place of an image in its source, its label, 64 bits of its pixels, and where it is."""


class ImageClassificationData(ImagePreparation[Example], LabelledPreparation[Example]):
    """Images or videos, with a label each."""

    noun = "image"
    report_type = Report
    preprocessor_type = ImagePreprocessor
    data: ImageConfig
    report: Report

    def open(self, paths: Sequence[str]) -> ImageRecords:
        scale = self.base.format.scale if self.base else None
        self.images = ImageRecords(open_images(paths[0], "train", scale))
        self.held = self.images  # where the dev set is from
        self.images.notes = [f"{path}: {about}" for path, about in self.images.files]
        return self.images

    def read_examples(self, paths: Sequence[str], survey: Survey) -> list[Example]:
        scale = self.base.format.scale if self.base else self.images.source.scale
        self.held, examples = ImageRecords(open_images(paths[0], "test", scale)), []
        for record in self.held:
            if record.problem:
                survey.excluded(record.file, 0, record.problem)
            else:
                examples.append(self.example(record))
        _check_classes(self.held, {label for _, label, _, _ in examples})
        return examples

    def show(self, record: AnyRecord) -> str:
        return str(record.fields[1])

    def example(self, record: AnyRecord) -> Example:
        return *record.fields, record.file

    def label(self, record: AnyRecord) -> str:
        return str(record.fields[1])

    def identity(self, record: AnyRecord) -> int:
        return int(record.fields[2])

    def example_identities(self, examples: list[Example]) -> list[int]:
        return [hashed for _, _, hashed, _ in examples]

    def example_labels(self, examples: list[Example]) -> list[str]:
        return [label for _, label, _, _ in examples]

    def example_place(self, number: int, examples: list[Example]) -> str:
        return examples[number][-1]

    def check_size(self, survey: Survey) -> None:
        _check_classes(self.images, set(self._numbers))
        super().check_size(survey)

    def learn(self, survey: Survey) -> ImagePreprocessor:
        """The labels, and a format whose mean and spread are those of the base, or not known yet."""
        if self.base:
            return ImagePreprocessor(self.labels, self.base.format)
        model, frames = self.built["model"], self.images.source.frames
        if frames % (model.frames or 1):
            raise DataError(f"{survey.source}: {frames} frames do not divide into model.frames={model.frames}")
        channels, height, width = self.data.choose(self.images.appearance, model.patch_for)
        format_ = Format((channels, frames, height, width), (), (), self.images.source.scale)
        return ImagePreprocessor(self.labels, format_)

    def encode(self, survey: Survey, preprocessor: ImagePreprocessor, folder: Path) -> None:
        shape, report, truth = preprocessor.format.shape, self.report, self.truth(survey)
        places = [record.fields[0] for record in survey.records()]
        images = _pixels(self.images.source, places, shape[1])
        hashed = write_images(folder / "training.npy", images, len(places), shape, survey.notify)
        np.save(folder / "training.labels.npy", truth)
        report.training = len(truth)
        report.fingerprint = hashlib.sha256(hashed + truth.tobytes()).hexdigest()
        report.noun = "videos" if shape[1] > 1 else "images"
        report.augmented = len(truth) < SMALL_DATA if self.data.augment is None else self.data.augment
        report.notes += self.images.appearance.notes(*shape[2:])
        pixels = np.load(folder / "training.npy", mmap_mode="r")
        mean, std = (self.base.format.mean, self.base.format.std) if self.base else moments(pixels)
        self._format = Format(shape, mean, std, preprocessor.format.scale)
        report.format, self._notify = self._format.text, survey.notify

    def adapt(self, survey: Survey, preprocessor: ImagePreprocessor) -> ImagePreprocessor:
        return ImagePreprocessor(self.labels, self._format)

    def save_dev(self, dev: list[Example], folder: Path) -> None:
        shape, places = self._format.shape, [index for index, _, _, _ in dev]
        write_images(folder / "dev.npy", _pixels(self.held.source, places, shape[1]), len(dev), shape, self._notify)
        about = {"labels": [label for _, label, _, _ in dev], "places": [place for _, _, _, place in dev]}
        write_text(folder / "dev.json", json.dumps(about))

    def open_store(self, folder: Path, preprocessor: ImagePreprocessor) -> ImageStore:
        training = open_pixels(folder / "training.npy", preprocessor.format.shape)
        truth = np.array(open_array(folder / "training.labels.npy", np.int64))
        if not 0 < len(truth) == len(training) or not 0 <= truth.min() <= truth.max() < len(preprocessor.labels):
            raise DataError(f"{folder / 'training.labels.npy'}: is damaged (the numbers of labels and images differ)")
        return ImageStore(training, truth)

    def batches(self, prepared: Prepared, tokens: int, seed: int) -> ImageBatches:
        store, format_, report = prepared.store, prepared.preprocessor.format, prepared.about
        patches = self.built["model"].patches(format_.shape)
        name, changes = report.fingerprint, {"augment": report.augmented, "flip": self.data.flip}
        return ImageBatches(store.pixels, store.truth, format_, name, patches, tokens, seed, **changes)

    @classmethod
    def describe(cls, data: Mapping[str, Any], nouns: str = "") -> list[tuple[str, str]]:
        left_out = sum(data["excluded"].values())
        return [
            ("labels", shown_classes(data["classes"], 1000)),
            ("data", f"{data['training']:,} {data['noun']}, {data['format']}, {left_out:,} left out"),
            ("dev", f"{data['dev']:,} {data['noun']}" + (", held out of the data" if data["held_out"] else "")),
        ]

    def notes(self, prepared: Prepared) -> list[str]:
        report = prepared.about
        warped = f"{report.noun} are rotated, scaled and shifted randomly in every epoch [--set data.augment=false]"
        return [*super().notes(prepared), *([warped] if report.augmented else [])]


def _check_classes(images: ImageRecords, sound: set[str]) -> None:
    """Refuse a class none of whose images can be read."""
    for label, fault in images.faulty.items():
        if label not in sound:
            raise DataError(f"{images}: no image of the class {shown_text(label)} can be read; the first, {fault}")


def _pixels(source: Folder | Archive, places: Sequence[int], frames: int) -> Iterator[Pixels]:
    """The images at some places of a source, which could be read before."""
    if source.frames != frames:
        raise DataError(f"{source.path}: has {source.frames} frames per image, not {frames}")
    chosen = set(places)
    for index, found in enumerate(source):
        if index in chosen:
            if isinstance(found, BadImage):
                raise found
            yield found[0]

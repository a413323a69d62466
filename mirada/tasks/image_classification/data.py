"""Images or videos with a label each: checked, split by class, brought to one size, on disk.

The data is read twice and a few bytes an image are kept, so that memory does not grow with the images.

<folder>/training.npy, dev.npy      the pixels, uint8 [N, F, H, W, C], memory-mapped
<folder>/training.labels.npy        the number of each training image's label
<folder>/dev.json                   the label of each dev image, and where it comes from
<folder>/pictures.json              the labels, and what a network is told of pixels: shape, mean, spread
<folder>/excluded.tsv               every image that is left out: file, reason
<folder>/prepared.json              the report; written last, so that its presence means all of it is there
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TextIO

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from mirada.contracts import Rows
from mirada.data.images.batches import Images, open_pixels
from mirada.data.images.format import Appearance, Format, FormatConfig, PatchFor, moments
from mirada.data.images.pixels import FAULTS, BadImage, Pixels, fit
from mirada.data.images.sources import Archive, Folder, open_images
from mirada.data.prepared import finish, is_prepared, open_array, reopen, reopening
from mirada.data.quality import Notify
from mirada.data.splits import contradicting, hold_out, other_labels, repeated
from mirada.data.text import shown_text
from mirada.errors import DataError
from mirada.files import read_bytes, write_text

FEWEST = 10
"""Images below which there is nothing to learn from."""
MOST_LABELS = 1000
SMALL_DATA = 20_000
"""Training images below which they are warped a little, unless `augment` says otherwise."""


class ImageConfig(FormatConfig):
    """Which images to learn from."""

    files: tuple[str, ...] = ()
    """A folder with a folder of images for every class, or an .npz with `images` and `labels`."""
    dev: tuple[str, ...] = ()
    """The dev set, likewise. HeldOut out of the data, the same share of every class, when not given."""
    hold_out: float = Field(0.1, gt=0, lt=1)
    """The share to hold out when there is no dev set."""
    augment: bool | None = None
    """Turn each image by up to 10°, scale it by up to a tenth and shift it by up to a sixteenth of its side, anew in
    every epoch. Unless given, below 20,000 images."""
    flip: bool = False
    """Mirror every other image too: right for cats, wrong for letters and for what moves left or right."""
    duplicates: Literal["drop", "keep"] = "drop"
    """Images that occur again with the same label."""
    contradictions: Literal["drop", "keep"] = "drop"
    """Images that occur with different labels."""

    @model_validator(mode="after")
    def _one_of_each(self) -> ImageConfig:
        if not self.files:
            raise ValueError("there is no data: give a folder with a folder of images for every class, or an .npz")
        for name, given in (("files", self.files), ("dev", self.dev)):
            if len(given) > 1:
                raise ValueError(f"data.{name} has {len(given)} names: give one folder, or one .npz")
        return self


@dataclass
class Report:
    """What was read, and what became of it."""

    read: int = 0
    training: int = 0
    dev: int = 0
    held_out: bool = False
    excluded: dict[str, int] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)
    """Training images of each."""
    format: str = ""
    noun: str = "images"
    augmented: bool = False
    fingerprint: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass
class PreparedImages:
    """Labelled images, ready to train on."""

    training: Pixels  # [N, F, H, W, C]
    truth: Rows  # [N] the number of each one's label
    dev: Images[str]
    labels: list[str]
    format: Format
    report: Report


Learned = tuple[list[str], Format]
"""The labels and the format of a base."""


def prepare(
    data: ImageConfig,
    patch_for: PatchFor,
    depth: int,
    folder: Path,
    notify: Notify,
    learned: Learned | None = None,
) -> PreparedImages:
    """Check, split and resize the images into `folder`; what an earlier call finished is only opened.

    `patch_for` says how large a patch is in images of a height and width, and `depth` how many frames it takes.
    """
    if is_prepared(folder):
        return _open(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "excluded.tsv", "w", encoding="utf-8", errors="surrogateescape") as excluded:
        survey = _Survey(data, excluded, notify, learned)
        labels, news = survey.agreed(learned[0] if learned else None)
        shape = learned[1].shape if learned else survey.shape(patch_for, depth)
        report = survey.report(labels, shape)
        report.notes += news
        report.fingerprint = survey.write(folder, labels, shape)
    pixels = np.load(folder / "training.npy", mmap_mode="r")
    mean, std = (learned[1].mean, learned[1].std) if learned else moments(pixels)
    format_ = Format(shape, mean, std, learned[1].scale if learned else survey.training.source.scale)
    report.format = format_.text
    write_text(folder / "pictures.json", format_.to_json(labels))
    finish(folder, report)
    return _open(folder)


def _open(folder: Path) -> PreparedImages:
    with reopening(folder):
        report: Report = reopen(folder, Report)
        path = folder / "pictures.json"
        labels, format_ = Format.from_json(read_bytes(path, DataError), path)
        training, dev = open_pixels(folder / "training.npy", format_.shape), Images.read(folder, format_.shape, str)
        truth = np.array(open_array(folder / "training.labels.npy", np.int64))
        if not 0 < len(truth) == len(training) or not 0 <= truth.min() <= truth.max() < len(labels):
            raise DataError(f"{folder / 'training.labels.npy'}: is damaged (it has not a label for each image)")
        return PreparedImages(training, truth, dev, labels, format_, report)


_DROPPED, _HELD = 1, 2  # bits of an image's verdict


class _Part:
    """The training or the dev set, read once: a few bytes an image, and a verdict on each."""

    def __init__(self, source: Folder | Archive, leave_out: Callable[[str, str], None], notify: Notify):
        self.source = source
        self.appearance = Appearance()
        self.labels = sorted(set(source.labels))
        number = {label: index for index, label in enumerate(self.labels)}
        self.numbers = np.array([number[label] for label in source.labels], dtype=np.int64)
        self.verdicts = np.zeros(len(source), dtype=np.uint8)
        self.hashes = np.zeros(len(source), dtype=np.uint64)
        for place, reason in source.passed:
            leave_out(place, reason)
        fault: dict[int, BadImage] = {}
        for index, found in enumerate(source):
            if index % 500 == 0:
                notify("reading", index, len(source))
            if isinstance(found, BadImage):
                self.verdicts[index] = _DROPPED
                fault.setdefault(int(self.numbers[index]), found)
                leave_out(source.place(index), FAULTS[found.kind][1])
            else:
                self._see(index, *found)
        for missing in sorted(set(fault) - set(self.numbers[self.verdicts == 0].tolist())):
            raise DataError(
                f"{source.path}: no image of the class {shown_text(self.labels[missing])} can be read; "
                f"the first of them, {fault[missing]}"
            )

    def _see(self, index: int, pixels: Pixels, animated: bool) -> None:
        self.appearance.see(pixels, animated)
        digest = hashlib.blake2b(repr(pixels.shape).encode(), digest_size=8)
        digest.update(pixels.tobytes())
        self.hashes[index] = int.from_bytes(digest.digest())

    def chosen(self, verdict: int, format_: tuple[int, int, int, int]) -> Iterator[tuple[int, Pixels]]:
        """The images with that verdict, in their final colours and size, and their places in the source."""
        channels, _, height, width = format_
        for index, found in enumerate(self.source):
            if self.verdicts[index] == verdict:
                if isinstance(found, BadImage):
                    raise found  # it could be read a moment ago
                yield index, fit(found[0], channels, height, width)


class _Survey:
    """Reads all images once, decides about each, and writes them out."""

    def __init__(self, data: ImageConfig, excluded: TextIO, notify: Notify, learned: Learned | None):
        self.data, self._excluded, self._notify = data, excluded, notify
        self.excluded: Counter[str] = Counter()
        scale = learned[1].scale if learned else None
        self.training = _Part(open_images(data.files[0], "train", scale), self._leave_out, notify)
        self.dev: _Part | None = None
        if data.dev:
            scale = scale or self.training.source.scale
            self.dev = _Part(open_images(data.dev[0], "test", scale), self._leave_out, notify)
        sound = int((self.training.verdicts == 0).sum())
        if sound < FEWEST:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.excluded.items())
            left_out = f" (left out: {reasons})" if reasons else ""
            raise DataError(f"{data.files[0]}: {sound} images{left_out}; training needs at least {FEWEST}")
        self._judge()

    def _leave_out(self, place: str, reason: str) -> None:
        self.excluded[reason] += 1
        self._excluded.write(f"{place}\t{reason.partition(' [')[0]}\n")

    def _judge(self) -> None:
        """Mark what is left out, and what is held out: of each class the images with the smallest fingerprints."""
        part = self.training
        sound = np.flatnonzero(part.verdicts == 0)
        hashes, numbers = part.hashes[sound], part.numbers[sound]
        reasons: dict[str, npt.NDArray[np.bool_]] = {}
        if self.data.contradictions == "drop":
            marked = contradicting(hashes, numbers)
            reasons["images that occur with different labels [--set data.contradictions=keep]"] = marked
        if self.data.duplicates == "drop":
            reasons["exact duplicates of an earlier image [--set data.duplicates=keep]"] = repeated(hashes, numbers)
        if self.dev:
            reasons["images that are also in the dev set"] = np.isin(hashes, self.dev.hashes)
        left = np.ones(len(sound), dtype=bool)
        for reason, marked in reasons.items():
            for index in sound[left & marked]:
                part.verdicts[index] = _DROPPED
                self._leave_out(part.source.place(index), reason)
            left &= ~marked
        if not left.any():
            raise DataError(f"{part.source.path}: nothing is left to learn from: {dict(self.excluded)}")
        if self.dev is None:
            held = hold_out(hashes[left], numbers[left], self.data.hold_out, self._single)
            part.verdicts[sound[left][held]] = _HELD

    def _single(self, number: int) -> DataError:
        part = self.training
        (only,) = np.unique(part.hashes[(part.numbers == number) & (part.verdicts == 0)])
        return DataError(
            f"{part.source.place(int(np.argmax(part.hashes == only)))}: is the only image of the class "
            f"{shown_text(part.labels[number])}, which cannot be both learned from and measured with; add more, remove "
            "it, or give a dev set (--dev)"
        )

    def agreed(self, known: list[str] | None) -> tuple[list[str], list[str]]:
        """All labels, in order, those of a base if they are enough; and what there is to say of them."""
        part = self.training
        found = [part.labels[number] for number in np.unique(part.numbers[part.verdicts == 0])]
        news = other_labels(found, known)
        if (news or known is None) and len(found) < 2:
            raise DataError(
                f"{part.source.path}: all images are of the class {shown_text(found[0])}; there is nothing to learn"
            )
        if len(found) > MOST_LABELS:
            raise DataError(f"{part.source.path}: {len(found):,} classes; there may be {MOST_LABELS:,} at most")
        agreed = known if known and not news else found
        for label in self.dev.labels if self.dev else []:
            if label not in agreed:
                raise DataError(f"{self.data.dev[0]}: has the class {shown_text(label)}, which no training image has")
        return agreed, news

    def shape(self, patch_for: PatchFor, depth: int) -> tuple[int, int, int, int]:
        """C, F, H, W of every image to be."""
        part = self.training
        frames = part.source.frames
        if frames % depth:
            raise DataError(
                f"{part.source.path}: {frames} frames cannot be cut into patches that are model.frames={depth} deep"
            )
        channels, height, width = self.data.choose(part.appearance, patch_for)
        return channels, frames, height, width

    def write(self, folder: Path, labels: list[str], shape: tuple[int, int, int, int]) -> str:
        """The pixels of both parts, and what they are; the fingerprint of the training set."""
        channels, frames, height, width = shape
        number = {label: index for index, label in enumerate(labels)}
        dev, verdict = (self.dev, 0) if self.dev else (self.training, _HELD)
        digest = hashlib.sha256()
        for name, part, mark in (("training", self.training, 0), ("dev", dev, verdict)):
            if part.source.frames != frames:
                raise DataError(f"{part.source.path}: has {part.source.frames} frames an image, not {frames}")
            which = np.flatnonzero(part.verdicts == mark)
            size = (len(which), frames, height, width, channels)
            out = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.uint8, size)
            for place, (_, pixels) in enumerate(part.chosen(mark, shape)):
                if place % 500 == 0:
                    self._notify("resizing", place, len(which))
                out[place] = pixels
                if name == "training":
                    digest.update(pixels.tobytes())
            out.flush()
            named = [part.source.labels[index] for index in which]
            if name == "training":
                truth = np.array([number[label] for label in named], dtype=np.int64)
                np.save(folder / "training.labels.npy", truth)
                digest.update(truth.tobytes())
            else:
                places = [part.source.place(index) for index in which.tolist()]
                write_text(folder / "dev.json", json.dumps({"labels": named, "places": places}))
        return digest.hexdigest()

    def report(self, labels: list[str], shape: tuple[int, int, int, int]) -> Report:
        part = self.training
        counts = Counter(part.labels[number] for number in part.numbers[part.verdicts == 0].tolist())
        training = sum(counts.values())
        dev = (self.dev.verdicts == 0) if self.dev else (part.verdicts == _HELD)
        notes = [f"{part.source.path}: {part.source.about}", *part.appearance.notes(*shape[2:])]
        small = training < SMALL_DATA
        return Report(
            read=len(part.source),
            training=training,
            dev=int(dev.sum()),
            held_out=self.dev is None,
            excluded=dict(self.excluded),
            classes={label: counts.get(label, 0) for label in labels},
            noun="videos" if shape[1] > 1 else "images",
            augmented=small if self.data.augment is None else self.data.augment,
            notes=notes,
        )

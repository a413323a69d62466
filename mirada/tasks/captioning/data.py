"""Images with captions: a table of file names and texts, checked, split by image, brought to one size.

Every image is read twice; names stay in memory, pixels do not.

<folder>/training.npy, dev.npy   the pixels, uint8 [N, 1, H, W, C], memory-mapped
<folder>/corpus/                 a row a caption: the number of its image, and its tokens
<folder>/dev.json                the captions of each dev image, and where it comes from
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from pydantic import Field

from mirada.contracts import BOS, EOS, PAD, Captions, Rows
from mirada.data import report as reports
from mirada.data.batching import Groups
from mirada.data.checks import fault, in_words
from mirada.data.corpus import Corpus, write_corpus
from mirada.data.folder import FolderFiles
from mirada.data.images.batches import Images, open_pixels
from mirada.data.images.format import Appearance, Format, FormatConfig, moments
from mirada.data.images.pixels import BadImage, Pixels, digest, fit, read_image
from mirada.data.preparation import Preparation, Prepared
from mirada.data.readers import Wanted
from mirada.data.records import AnyRecord, Record
from mirada.data.sources import PairFiles, TableSection
from mirada.data.splits import Mask, first_of
from mirada.data.survey import HELD, Survey, fingerprint
from mirada.errors import DataError
from mirada.files import write_text
from mirada.tasks.captioning.preprocessor import CaptionPreprocessor


class CaptionsConfig(TableSection, FormatConfig):
    """Which images and captions to learn from."""

    needs = "a table of images and captions (image.png, tab, caption)"

    files: tuple[str, ...] = ()
    """Tables (TSV, CSV, JSONL): the file name of an image, as seen from the table's own folder, and its captions."""
    hold_out: float = Field(0.1, gt=0, lt=1)
    """The share of the images to hold out when there is no dev set."""
    max_tokens: int = Field(100, ge=4)
    """Captions with more tokens than this are left out."""
    columns: tuple[str, ...] = ()
    """The image, its caption and further ones, by name or by number from 1."""


@dataclass
class Report(reports.Report):
    """What was read of images and captions, and what became of it; `training` counts captions, `dev` images."""

    images: int = 0
    """Training images."""
    format: str = ""


class CaptionStore(NamedTuple):
    """The encoded training set."""

    pixels: Pixels  # [N, 1, H, W, C]
    corpus: Corpus


@dataclass
class CaptionBatches(Groups[Captions]):
    """Captions of similar length, each with its image."""

    pixels: Pixels
    format: Format
    patches: int
    mark: str
    """Of the pixels and the captions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._source = np.full(len(self.corpus), self.patches, dtype=np.int32)
        self._pictures = self.corpus.source.ids[self.corpus.source.offsets[:-1]].astype(np.int64)

    @property
    def fingerprint(self) -> str:
        return self.mark

    @property
    def tokens(self) -> int:
        return int(self._source.sum() + self._target.sum())

    def load(self, rows: Rows) -> Captions:
        return Captions(
            source=self.format.tensor(self.pixels[self._pictures[rows]]),
            target=torch.from_numpy(self.corpus.target.padded(rows, BOS, EOS, PAD)),
            rows=torch.from_numpy(rows),
            patches=self.patches,
        )


_IMAGE, _CAPTION = range(2)  # the keys of a caption


class CaptionRecords:
    """The captions of some tables, each with the file of its image and 64 bits of the pixels."""

    def __init__(self, tables: PairFiles):
        self.tables, self.notes = tables, tables.notes
        self.appearance = Appearance()
        self.images: dict[str, int | BadImage] = {}

    @property
    def files(self) -> list[tuple[str, str]]:
        return self.tables.files

    def __str__(self) -> str:
        return str(self.tables)

    def __iter__(self) -> Iterator[Record]:
        for pair in self.tables:
            if problem := fault(pair, longest=0):
                yield Record((*pair.fields[:2], 0), pair.file, pair.line, problem)
                continue
            path = str(Path(pair.file).parent / pair.fields[0].strip())
            if path not in self.images:
                self.images[path] = self._see(path)
            found = self.images[path]
            for caption in filter(str.strip, pair.fields[1:]):
                bad = isinstance(found, BadImage)
                fields = (path, caption, 0 if bad else found)
                yield Record(fields, pair.file, pair.line, found.reason if isinstance(found, BadImage) else "")

    def _see(self, path: str) -> int | BadImage:
        try:
            pixels, animated = read_image(path)
        except BadImage as bad:
            return bad
        self.appearance.see(pixels, animated)
        return digest(pixels)

    def check(self) -> None:
        """Refuse tables none of whose images can be read."""
        bad = [found for found in self.images.values() if isinstance(found, BadImage)]
        if bad and len(bad) == len(self.images):
            raise DataError(
                f"{self}: none of its {len(bad):,} images can be read; the first of them, {bad[0]}; file names are "
                "taken from the table's own folder"
            )


class Scene(NamedTuple):
    """An image, 64 bits of its pixels, and its captions."""

    path: str
    digest: int
    captions: list[str]


def scenes_of(records: Iterable[AnyRecord]) -> list[Scene]:
    """The images of some captions, each once."""
    scenes: dict[str, Scene] = {}
    for record in records:
        path, caption, hashed = record.fields
        captions = scenes.setdefault(path, Scene(path, hashed, [])).captions
        if caption not in captions:
            captions.append(caption)
    return list(scenes.values())


class CaptioningData(Preparation[Scene]):
    """Images with captions: a record is a caption."""

    noun = "caption"
    fewest = 20
    report_type = Report
    data: CaptionsConfig
    report: Report

    def open(self, paths: Sequence[str]) -> CaptionRecords:
        return CaptionRecords(PairFiles(paths, self.data.wanted, self.data.format))

    def read_examples(self, paths: Sequence[str], survey: Survey) -> list[Scene]:
        """A dev or test set; what cannot be read is listed, and left out."""
        source, sound = self.open(paths), []
        for record in source:
            if record.problem:
                survey.excluded(record.file, record.line, record.problem)
            else:
                sound.append(record)
        source.check()
        return scenes_of(sound)

    def keys(self, record: AnyRecord) -> tuple[int, ...]:
        path, caption, hashed = record.fields
        return hashed, fingerprint(path, caption)

    def count_words(self, record: AnyRecord) -> int:
        return len(record.fields[1].split())

    def judge(self, survey: Survey) -> Iterator[tuple[str, Mask]]:
        survey.source.check()  # type: ignore[attr-defined]
        yield "duplicate", ~first_of(survey.column(_CAPTION))
        if survey.compared:
            held = [scene.digest for scenes in survey.compared for scene in scenes]
            yield "in_dev", np.isin(survey.column(_IMAGE), np.array(held, np.uint64))

    def hold_out(self, survey: Survey) -> Mask:
        images = survey.kept(_IMAGE)
        different = np.unique(images)
        if len(different) < 2:
            raise DataError(f"{survey.source}: has one image, which cannot be both learned from and held out")
        share = max(1, min(len(different) - 1, round(self.data.hold_out * len(different))))
        return np.isin(images, different[:share])

    def split(self, survey: Survey) -> list[Scene]:
        if self.data.dev:
            if not survey.good:
                raise DataError(f"{survey.source}: all its images are also in the dev set; nothing is left to learn")
            return list(survey.dev)
        survey.hold(self.hold_out(survey))
        return scenes_of(survey.records(HELD))

    def learn(self, survey: Survey) -> CaptionPreprocessor:
        """The tokenizer, and a format whose mean and spread are those of the base, or not known yet."""
        captions = [record.fields[1] for record in survey.records()]
        self.report.words = sum(len(caption.split()) for caption in captions)
        if self.base:
            return CaptionPreprocessor(self.base.tokenizer, self.base.format, self.base.longest)
        config = self.built["tokenizer"]
        survey.notify(f"learning {config.unit}", 0, 0)
        channels, height, width = self.data.choose(survey.source.appearance, self.built["model"].patch_for)  # type: ignore[attr-defined]
        return CaptionPreprocessor(
            config.learn(captions, self.report.words), Format((channels, 1, height, width), (), ()), 1
        )

    def encode(self, survey: Survey, preprocessor: CaptionPreprocessor, folder: Path) -> None:
        tokenizer, shape, report = preprocessor.tokenizer, preprocessor.format.shape, self.report
        numbers: dict[str, int] = {}
        for record in survey.records():
            numbers.setdefault(record.fields[0], len(numbers))
        hashed = write_images(folder / "training.npy", list(numbers), shape, survey)
        rows: Any = (([numbers[record.fields[0]]], record.fields[1], record) for record in survey.records())
        as_it_is: Any = list  # the number of its image is the whole source side
        corpus = write_corpus(
            folder / "corpus",
            rows,
            as_it_is,
            tokenizer.encode,
            vocabulary=max(tokenizer.size, len(numbers)),
            longest=self.data.max_tokens,
            too_long=lambda record, tokens: survey.leave_out(record, "too_many_tokens"),
            progress=lambda done: survey.notify("tokenising", done, survey.good),
        )
        if not len(corpus):
            raise DataError(
                f"{survey.source}: every caption has more than data.max_tokens={self.data.max_tokens} tokens"
            )
        pixels = np.load(folder / "training.npy", mmap_mode="r")
        format_ = self.base.format if self.base else Format(shape, *moments(pixels))
        longest = max(int(corpus.target.lengths.max()), preprocessor.longest)
        self._preprocessor, self._survey = replace(preprocessor, format=format_, longest=longest), survey
        report.training, report.images, report.vocabulary = len(corpus), len(numbers), tokenizer.size
        report.format, report.notes = format_.text, survey.source.appearance.notes(*shape[2:])  # type: ignore[attr-defined]
        report.fingerprint = hashlib.sha256(hashed + corpus.fingerprint.encode()).hexdigest()

    def adapt(self, survey: Survey, preprocessor: CaptionPreprocessor) -> CaptionPreprocessor:
        return self._preprocessor

    def save_dev(self, dev: list[Scene], folder: Path) -> None:
        shape = self._preprocessor.format.shape
        write_images(folder / "dev.npy", [scene.path for scene in dev], shape, self._survey)
        about = {"labels": [scene.captions for scene in dev], "places": [scene.path for scene in dev]}
        write_text(folder / "dev.json", json.dumps(about, ensure_ascii=False))

    def read_preprocessor(self, folder: Path) -> CaptionPreprocessor:
        return CaptionPreprocessor.read(FolderFiles(folder), folder)

    def read_dev(self, folder: Path, preprocessor: CaptionPreprocessor) -> Images[list[str]]:
        return Images.read(folder, preprocessor.format.shape, list[str])

    def open_store(self, folder: Path, preprocessor: CaptionPreprocessor) -> CaptionStore:
        training, corpus = open_pixels(folder / "training.npy", preprocessor.format.shape), Corpus(folder / "corpus")
        corpus.check((len(training), preprocessor.tokenizer.size), self.data.max_tokens)
        corpus.source.check(len(training), longest=1, shortest=1)
        return CaptionStore(training, corpus)

    @staticmethod
    def dump(dev: Images[list[str]]) -> str:
        return dev.kept.dump()

    @classmethod
    def load(cls, text: str) -> Images[list[str]]:
        return Images.load(text)

    def _patches(self, prepared: Prepared) -> int:
        rows, columns = self.built["model"].grid(prepared.preprocessor.format.shape)
        return int(rows * columns)

    def batches(self, prepared: Prepared, tokens: int, seed: int) -> CaptionBatches:
        store, format_, mark = prepared.store, prepared.preprocessor.format, prepared.about.fingerprint
        return CaptionBatches(store.corpus, tokens, seed, store.pixels, format_, self._patches(prepared), mark)

    def summary(self, prepared: Prepared) -> str:
        report = prepared.about
        held = f", {report.dev:,} dev" + (" (held out: none of them is in training)" if report.held_out else "")
        return (
            f"{report.training:,} captions of {report.images:,} images, {report.format}{held}, "
            f"{self._patches(prepared):,} patches each, {report.vocabulary:,} units"
        )

    def notes(self, prepared: Prepared) -> list[str]:
        return [*prepared.about.notes, *prepared.saved_dev.notes("images")]


def read_captions(path: str, columns: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str], Pixels]]:
    """A test set, which has to be whole: file, captions and pixels [1, H, W, C] of each image."""
    source, sound, seen = CaptionRecords(PairFiles([path], Wanted(columns))), [], set()
    for record in source:
        image, caption, _ = record.fields
        bad = source.images.get(image)
        wrong = str(bad) if isinstance(bad, BadImage) else in_words(record.problem, "caption") if record.problem else ""
        if not wrong and (image, caption) in seen:
            wrong = "the image has this caption already"
        if wrong:
            raise DataError(
                f"{record.file}, line {record.line}: {wrong}; a test set has to be whole: correct it or remove it"
            )
        seen.add((image, caption))
        sound.append(record)
    for scene in scenes_of(sound):
        yield scene.path, scene.captions, read_image(scene.path)[0]


def write_images(path: Path, files: Sequence[str], shape: tuple[int, int, int, int], survey: Survey) -> bytes:
    """Write image files in one size and colours; the sha256 of their pixels."""
    channels, _, height, width = shape
    out = np.lib.format.open_memmap(path, "w+", np.uint8, (len(files), 1, height, width, channels))
    hashed = hashlib.sha256()
    for number, file in enumerate(files):
        if number % 500 == 0:
            survey.notify("resizing", number, len(files))
        out[number] = fit(read_image(file)[0], channels, height, width)
        hashed.update(out[number].tobytes())
    out.flush()
    return hashed.digest()

"""Images with captions: a table of file names and texts, checked, split by image, brought to one size.

Every image is read twice; names stay in memory, pixels do not.

<folder>/training.npy, dev.npy   the pixels, uint8 [N, 1, H, W, C], memory-mapped
<folder>/corpus/                 a row for each caption: the number of its image, and its tokens
<folder>/dev.json                the captions of each dev image, and where it comes from
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from pydantic import BaseModel, Field

from mirada.contracts import BOS, EOS, PAD, Captions, Rows, Sizes
from mirada.data import report as reports
from mirada.data.batching import Groups
from mirada.data.checks import fault, in_words
from mirada.data.corpus import Corpus
from mirada.data.images.batches import Descriptions, ImagePreparation, open_pixels, write_images
from mirada.data.images.format import Appearance, Format, FormatConfig, moments
from mirada.data.images.pixels import BadImage, Pixels, digest, read_image
from mirada.data.preparation import Prepared
from mirada.data.readers import Wanted
from mirada.data.records import AnyRecord, Record
from mirada.data.sources import PairFiles, TableSection
from mirada.data.splits import Mask, first_of
from mirada.data.survey import HELD, Survey, fingerprint
from mirada.data.tokenizer import Tokenizer
from mirada.errors import BundleError, DataError
from mirada.files import write_text
from mirada.parsing import load_json

FIELDS = ("image", "caption")


class CaptionsConfig(TableSection, FormatConfig):
    """Which images and captions to learn from."""

    needs = "a table of images and captions (image.png, tab, caption)"

    files: tuple[str, ...] = ()
    """Tables (TSV, CSV, JSONL) with the file name of an image, relative to the table's folder, and its captions."""
    hold_out: float = Field(0.1, gt=0, lt=1)
    """The share of the images to hold out if there is no dev set."""
    max_tokens: int = Field(100, ge=4)
    """Captions with more tokens than this are left out."""
    columns: tuple[str, ...] = ()
    """The columns of the image and its captions, by name or by number from 1."""


@dataclass
class Report(reports.Report):
    """What was read of images and captions, and what became of it; `training` counts captions, `dev` images."""

    images: int = 0
    """Training images."""
    format: str = ""


@dataclass(frozen=True)
class CaptionPreprocessor:
    """The tokenizer of captions, and the format of images."""

    required = ("tokenizer.json", "pictures.json", "captions.json")
    tokenizer: Tokenizer
    format: Format
    longest: int
    """Tokens in the longest caption that was learned from."""

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.format.shape[0], self.tokenizer.size, numeric_inputs=True, shape=self.format.shape)

    def files(self) -> dict[str, bytes]:
        return {
            "tokenizer.json": self.tokenizer.to_json().encode("utf-8"),
            "pictures.json": self.format.to_json([]).encode("utf-8"),
            "captions.json": json.dumps({"longest": self.longest}).encode("utf-8"),
        }

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> CaptionPreprocessor:
        _, format_ = Format.from_json(files["pictures.json"], where / "pictures.json")
        about: _Captions = load_json(files["captions.json"], _Captions, where / "captions.json", BundleError)
        tokenizer = Tokenizer.load(where / "tokenizer.json", files["tokenizer.json"])
        return cls(tokenizer, format_, about.longest)


class _Captions(BaseModel):
    """What captions.json says."""

    longest: int = Field(ge=1, le=65_536)


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

    def __post_init__(self) -> None:
        super().__post_init__()
        self._source = np.full(len(self.corpus), self.patches, dtype=np.int32)
        self._pictures = self.corpus.source.ids[self.corpus.source.offsets[:-1]].astype(np.int64)

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
            hashed, problem = (0, found.reason) if isinstance(found, BadImage) else (found, "")
            for caption in filter(str.strip, pair.fields[1:]):
                yield Record((path, caption, hashed), pair.file, pair.line, problem)

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
            found = f"{self}: none of its {len(bad):,} images can be read; the first of them, {bad[0]}"
            raise DataError(f"{found}; file names are relative to the table's own folder")


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


class CaptioningData(ImagePreparation[Scene]):
    """Images with captions: a record is a caption."""

    noun = "caption"
    fewest = 20
    report_type = Report
    preprocessor_type = CaptionPreprocessor
    label_type = Descriptions
    data: CaptionsConfig
    report: Report

    def open(self, paths: Sequence[str]) -> CaptionRecords:
        return CaptionRecords(PairFiles(paths, replace(self.data.wanted, fields=FIELDS), self.data.format))

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
        self._source(survey).check()
        yield "duplicate", ~first_of(survey.column(_CAPTION))
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
        channels, height, width = self.data.choose(self._source(survey).appearance, self.built["model"].patch_for)
        tokenizer = self.tokenizer(survey, captions, self.report.words)
        return CaptionPreprocessor(tokenizer, Format((channels, 1, height, width), (), ()), 1)

    @staticmethod
    def _source(survey: Survey) -> CaptionRecords:
        assert isinstance(survey.source, CaptionRecords)
        return survey.source

    def encode(self, survey: Survey, preprocessor: CaptionPreprocessor, folder: Path) -> None:
        tokenizer, shape, report = preprocessor.tokenizer, preprocessor.format.shape, self.report
        numbers: dict[str, int] = {}
        for record in survey.records():
            numbers.setdefault(record.fields[0], len(numbers))
        hashed = write_images(folder / "training.npy", map(_pixels, numbers), len(numbers), shape, survey.notify)
        rows = (([numbers[record.fields[0]]], record.fields[1], record) for record in survey.records())
        vocabulary, longest = max(tokenizer.size, len(numbers)), self.data.max_tokens
        corpus = self.write_corpus(
            survey, folder, rows, list, tokenizer.encode, vocabulary=vocabulary, longest=longest
        )  # the number of its image is the whole source side
        pixels = np.load(folder / "training.npy", mmap_mode="r")
        format_ = self.base.format if self.base else Format(shape, *moments(pixels))
        longest = max(int(corpus.target.lengths.max()), preprocessor.longest)
        self._preprocessor, self._notify = replace(preprocessor, format=format_, longest=longest), survey.notify
        report.images, report.vocabulary = len(numbers), tokenizer.size
        report.format, report.notes = format_.text, self._source(survey).appearance.notes(*shape[2:])
        report.fingerprint = hashlib.sha256(hashed + corpus.fingerprint.encode()).hexdigest()

    def adapt(self, survey: Survey, preprocessor: CaptionPreprocessor) -> CaptionPreprocessor:
        return self._preprocessor

    def save_dev(self, dev: list[Scene], folder: Path) -> None:
        paths, shape = [scene.path for scene in dev], self._preprocessor.format.shape
        write_images(folder / "dev.npy", map(_pixels, paths), len(paths), shape, self._notify)
        about = {"labels": [scene.captions for scene in dev], "places": paths}
        write_text(folder / "dev.json", json.dumps(about, ensure_ascii=False))

    def open_store(self, folder: Path, preprocessor: CaptionPreprocessor) -> CaptionStore:
        training, corpus = open_pixels(folder / "training.npy", preprocessor.format.shape), Corpus(folder / "corpus")
        corpus.check((len(training), preprocessor.tokenizer.size), self.data.max_tokens)
        corpus.source.check(len(training), longest=1, shortest=1)
        return CaptionStore(training, corpus)

    def batches(self, prepared: Prepared, tokens: int, seed: int) -> CaptionBatches:
        store, format_, mark = prepared.store, prepared.preprocessor.format, prepared.about.fingerprint
        rows, columns = self.built["model"].grid(format_.shape)
        return CaptionBatches(store.corpus, tokens, seed, store.pixels, format_, rows * columns, mark=mark)

    @classmethod
    def describe(cls, data: Mapping[str, Any], nouns: str = "") -> list[tuple[str, str]]:
        left_out = sum(data["excluded"].values())
        return [
            ("data", f"{data['training']:,} captions, {left_out:,} left out"),
            ("images", f"{data['images']:,}, {data['format']}"),
            ("dev", f"{data['dev']:,} images" + (", held out of the data" if data["held_out"] else "")),
            ("vocabulary", f"{data['vocabulary']:,}"),
        ]


def _pixels(path: str) -> Pixels:
    return read_image(path)[0]


def read_captions(path: str, columns: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str], Pixels]]:
    """A test set, which has to be whole: file, captions and pixels [1, H, W, C] of each image."""
    source, sound, seen = CaptionRecords(PairFiles([path], Wanted(columns, fields=FIELDS))), [], set()
    for record in source:
        image, caption, _ = record.fields
        bad = source.images.get(image)
        wrong = str(bad) if isinstance(bad, BadImage) else in_words(record.problem, "caption") if record.problem else ""
        if not wrong and (image, caption) in seen:
            wrong = "the image has this caption already"
        if wrong:
            raise DataError(
                f"{record.file}, line {record.line}: {wrong}; a test set must be usable as a whole: correct it"
            )
        seen.add((image, caption))
        sound.append(record)
    for scene in scenes_of(sound):
        yield scene.path, scene.captions, _pixels(scene.path)

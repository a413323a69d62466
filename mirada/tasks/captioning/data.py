"""Images with captions: a table of file names and texts, checked, split by image, brought to one size, on disk.

Every image is read twice; names and captions are kept in memory, pixels are not.

<folder>/training.npy, dev.npy   the pixels, uint8 [N, 1, H, W, C], memory-mapped
<folder>/corpus/                 a row a caption: the number of its image, and its tokens
<folder>/dev.json                the captions of each dev image, and where it comes from
<folder>/pictures.json           what a network is told of pixels
<folder>/tokenizer.json          the units of the captions
<folder>/excluded.tsv            every row that is left out: file, line, reason
<folder>/prepared.json           the report; written last, so that its presence means all of it is there
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TextIO

import numpy as np
import torch
from pydantic import Field, model_validator

from mirada.contracts import BOS, EOS, PAD, Captions, Rows
from mirada.data.batching import Groups
from mirada.data.checks import faults
from mirada.data.corpus import Corpus, write_corpus
from mirada.data.images.batches import Images, open_pixels
from mirada.data.images.format import Appearance, Format, FormatConfig, PatchFor, moments
from mirada.data.images.pixels import FAULTS, BadImage, Pixels, fit, read_image
from mirada.data.prepared import finish, is_prepared, reopen, reopening
from mirada.data.quality import Notify
from mirada.data.readers import Wanted
from mirada.data.sources import PairFiles
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.errors import DataError
from mirada.files import read_bytes, write_text

FEWEST = 20
"""Captions below which there is nothing to learn from."""


class CaptionsConfig(FormatConfig):
    """Which images and captions to learn from."""

    files: tuple[str, ...] = ()
    """Tables (TSV, CSV, JSONL): the file name of an image, as seen from the table's own folder, and its captions."""
    dev: tuple[str, ...] = ()
    """The dev set, likewise. Some images are held out when not given."""
    hold_out: float = Field(0.1, gt=0, lt=1)
    """The share of the images to hold out when there is no dev set."""
    max_tokens: int = Field(100, ge=4)
    """Captions with more tokens than this are left out."""
    columns: tuple[str, ...] = ()
    """Of tables and JSON: the image, its caption and further ones, by name or by number from 1."""
    format: str | None = None
    """tsv, csv or jsonl, for files whose name does not tell."""

    @model_validator(mode="after")
    def _something(self) -> CaptionsConfig:
        if not self.files:
            raise ValueError("there is no data: give a table of images and captions (image.png, tab, caption)")
        return self


@dataclass
class Report:
    """What was read, and what became of it."""

    read: int = 0
    training: int = 0
    """Captions."""
    images: int = 0
    dev: int = 0
    """Images."""
    held_out: bool = False
    excluded: dict[str, int] = field(default_factory=dict)
    words: int = 0
    vocabulary: int = 0
    format: str = ""
    fingerprint: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass
class PreparedCaptions:
    """Images and captions, ready to train on."""

    pixels: Pixels  # [N, 1, H, W, C]
    corpus: Corpus
    dev: Images[list[str]]
    tokenizer: Tokenizer
    format: Format
    report: Report


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


Place = tuple[str, int]
"""A table and a line."""


class LeaveOut(Protocol):
    """DataSummary of every row that is left out, why, and what exactly is wrong if that says more."""

    def __call__(self, place: Place, reason: str, fault: object = "") -> None: ...


_ROW_FAULTS = {
    "blank": "blank lines",
    "one_sided": "rows without an image or without a caption",
    "too_long": "captions that are too long to be one",
}


@dataclass
class _Scene:
    """An image file, all its captions, and the place of each."""

    path: str
    captions: dict[str, Place] = field(default_factory=dict)
    digest: bytes = b""


class _Scenes:
    """The images of some tables: read once, a few bytes of each kept."""

    def __init__(self, files: PairFiles, leave_out: LeaveOut, notify: Notify):
        self.files, self.read = files, 0
        self.appearance = Appearance()
        found = self._rows(leave_out)
        self.scenes: list[_Scene] = []
        faulty: list[BadImage] = []
        for number, scene in enumerate(found):
            if number % 500 == 0:
                notify("reading images", number, len(found))
            try:
                self._see(scene)
                self.scenes.append(scene)
            except BadImage as fault:
                faulty.append(fault)
                for place in scene.captions.values():
                    leave_out(place, FAULTS[fault.kind][1], fault)
        if found and not self.scenes:
            raise DataError(
                f"{files}: none of its {len(found):,} images can be read; the first of them, {faulty[0]}; file names "
                "are taken from the table's own folder"
            )

    def _rows(self, leave_out: LeaveOut) -> list[_Scene]:
        scenes: dict[str, _Scene] = {}
        for pair in self.files:
            self.read += 1
            place = pair.file, pair.line
            if fault := faults(pair, longest=10**9):
                leave_out(place, _ROW_FAULTS.get(fault, fault))
                continue
            path = str(Path(pair.file).parent / pair.source.strip())
            scene = scenes.setdefault(path, _Scene(path))
            for caption in pair.targets:
                if caption in scene.captions:
                    leave_out(place, "captions that an image has twice")
                elif caption.strip():
                    scene.captions[caption] = place
        return list(scenes.values())

    def _see(self, scene: _Scene) -> None:
        pixels, animated = read_image(scene.path)
        self.appearance.see(pixels, animated)
        scene.digest = hashlib.blake2b(repr(pixels.shape).encode() + pixels.tobytes(), digest_size=8).digest()

    def take(self, digests: set[bytes]) -> list[_Scene]:
        """Remove the images with these digests, and return them."""
        taken = [scene for scene in self.scenes if scene.digest in digests]
        self.scenes = [scene for scene in self.scenes if scene.digest not in digests]
        return taken

    @property
    def size(self) -> int:
        return sum(len(scene.captions) for scene in self.scenes)


Learned = tuple[Tokenizer, Format]
"""The units and the format of a base."""


def prepare(
    data: CaptionsConfig,
    tokenizer: TokenizerConfig,
    patch_for: PatchFor,
    folder: Path,
    notify: Notify,
    learned: Learned | None = None,
) -> PreparedCaptions:
    """Check, split, resize and tokenise into `folder`; what an earlier call finished is only opened."""
    if is_prepared(folder):
        return _open(folder, data.max_tokens)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "excluded.tsv", "w", encoding="utf-8", errors="surrogateescape") as excluded:
        counts: Counter[str] = Counter()
        leave_out = _leaver(excluded, counts)
        training = _Scenes(PairFiles(data.files, Wanted(data.columns), data.format), leave_out, notify)
        if training.size < FEWEST:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
            why = f" (left out: {reasons})" if reasons else ""
            raise DataError(f"{training.files}: {training.size} captions{why}; training needs at least {FEWEST}")
        dev = _dev_part(data, training, leave_out, notify)
        if learned:
            units, shape = learned[0], learned[1].shape
        else:
            units = _learn(training, tokenizer, notify)
            channels, height, width = data.choose(training.appearance, patch_for)
            shape = channels, 1, height, width
        digest = _write_pixels(folder / "training.npy", training.scenes, shape, notify)
        _write_pixels(folder / "dev.npy", dev, shape, notify)
        corpus = _write_captions(folder / "corpus", training, units, data.max_tokens, leave_out, notify)
    pixels = np.load(folder / "training.npy", mmap_mode="r")
    format_ = learned[1] if learned else Format(shape, *moments(pixels))
    report = _report(training, dev, shape, not data.dev)
    report.excluded, report.training, report.vocabulary = dict(counts), len(corpus), units.size
    report.format, report.fingerprint = format_.text, hashlib.sha256(digest + corpus.fingerprint.encode()).hexdigest()
    about = {"labels": [list(scene.captions) for scene in dev], "places": [scene.path for scene in dev]}
    write_text(folder / "dev.json", json.dumps(about, ensure_ascii=False))
    write_text(folder / "pictures.json", format_.to_json([]))
    write_text(folder / "tokenizer.json", units.to_json())
    finish(folder, report)
    return _open(folder, data.max_tokens)


def read_captions(path: str, columns: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str], Pixels]]:
    """A set to measure with, which has to be whole: file, captions and pixels [1, H, W, C] of each image."""

    def refuse(place: Place, reason: str, fault: object = "") -> None:
        wrong = fault or reason
        raise DataError(f"{place[0]}, line {place[1]}: {wrong}; a test set has to be whole: mend it or remove it")

    for scene in _Scenes(PairFiles([path], Wanted(columns)), refuse, lambda *_: None).scenes:
        yield scene.path, list(scene.captions), read_image(scene.path)[0]


def _open(folder: Path, longest: int) -> PreparedCaptions:
    with reopening(folder):
        report: Report = reopen(folder, Report)
        path = folder / "pictures.json"
        _, format_ = Format.from_json(read_bytes(path, DataError), path)
        training = open_pixels(folder / "training.npy", format_.shape)
        dev: Images[list[str]] = Images.read(folder, format_.shape, list[str])
        units = Tokenizer.load(folder / "tokenizer.json")
        corpus = Corpus(folder / "corpus")
        corpus.check((len(training), units.size), longest)
        corpus.source.check(len(training), longest=1, shortest=1)
        return PreparedCaptions(training, corpus, dev, units, format_, report)


def _leaver(excluded: TextIO, counts: Counter[str]) -> LeaveOut:
    def leave_out(place: Place, reason: str, fault: object = "") -> None:
        counts[reason] += 1
        excluded.write(f"{place[0]}\t{place[1]}\t{reason}\n")

    return leave_out


def _dev_part(data: CaptionsConfig, training: _Scenes, leave_out: LeaveOut, notify: Notify) -> list[_Scene]:
    """The images to measure with; no training image is one of them."""
    if data.dev:
        dev = _Scenes(PairFiles(data.dev, Wanted(data.columns), data.format), leave_out, notify).scenes
        for scene in training.take({scene.digest for scene in dev}):
            for place in scene.captions.values():
                leave_out(place, "captions of images that are also in the dev set")
        if not training.scenes:
            raise DataError(f"{training.files}: all its images are also in the dev set; nothing is left to learn")
        return dev
    distinct = sorted({scene.digest for scene in training.scenes})
    if len(distinct) < 2:
        raise DataError(f"{training.files}: has one image, which cannot be both learned from and measured with")
    return training.take(set(distinct[: max(1, min(len(distinct) - 1, round(data.hold_out * len(distinct))))]))


def _learn(training: _Scenes, tokenizer: TokenizerConfig, notify: Notify) -> Tokenizer:
    notify(f"learning {tokenizer.unit}", 0, 0)
    captions = [caption for scene in training.scenes for caption in scene.captions]
    return tokenizer.learn(captions, sum(len(caption.split()) for caption in captions))


def _write_pixels(path: Path, scenes: list[_Scene], shape: tuple[int, int, int, int], notify: Notify) -> bytes:
    """The images in one size and colours; their digest."""
    channels, _, height, width = shape
    out = np.lib.format.open_memmap(path, "w+", np.uint8, (len(scenes), 1, height, width, channels))
    digest = hashlib.sha256()
    for number, scene in enumerate(scenes):
        if number % 500 == 0:
            notify("resizing", number, len(scenes))
        out[number] = fit(read_image(scene.path)[0], channels, height, width)
        digest.update(out[number].tobytes())
    out.flush()
    return digest.digest()


def _write_captions(
    folder: Path,
    training: _Scenes,
    units: Tokenizer,
    longest: int,
    leave_out: LeaveOut,
    notify: Notify,
) -> Corpus:
    """A row a caption: its image's number is the whole source side."""
    rows = (
        (str(number), caption, place)
        for number, scene in enumerate(training.scenes)
        for caption, place in scene.captions.items()
    )
    corpus = write_corpus(
        folder,
        rows,
        lambda numbers: [[int(number)] for number in numbers],
        units.encode,
        vocabulary=max(units.size, len(training.scenes)),
        longest=longest,
        too_long=lambda place, tokens: leave_out(place, f"captions of over {longest} tokens"),
        progress=lambda done: notify("tokenising", done, training.size),
    )
    if not len(corpus):
        raise DataError(f"{training.files}: every caption has more than data.max_tokens={longest} tokens")
    return corpus


def _report(training: _Scenes, dev: list[_Scene], shape: tuple[int, int, int, int], held_out: bool) -> Report:
    notes = training.appearance.notes(*shape[2:])
    words = sum(len(caption.split()) for scene in training.scenes for caption in scene.captions)
    return Report(
        read=training.read, images=len(training.scenes), dev=len(dev), held_out=held_out, words=words, notes=notes
    )

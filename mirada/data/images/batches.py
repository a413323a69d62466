"""Images as a network gets them: bytes as numbers, in batches of one size, shuffled and warped by seed and epoch."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from pydantic import BaseModel, Field
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from mirada.contracts import Rows, SequenceBatch
from mirada.data.folder import LARGE_FILE, check_dev, open_array
from mirada.data.images.format import Format
from mirada.data.images.pixels import Pixels, fit
from mirada.data.preparation import Example, Preparation, Prepared
from mirada.data.quality import Notify
from mirada.errors import BundleError, DataError
from mirada.parsing import load_json_lines, read_json

MIN_IN_BATCH = 8
TURN, SCALE, SHIFT = 10.0, 0.1, 1 / 16
"""The most that an image is rotated (in degrees), scaled, and shifted (as a share of its shorter side)."""


Label = TypeVar("Label", str, list[str])
"""The label of an image: its class, or its descriptions."""

Descriptions = Annotated[list[str], Field(min_length=1)]
"""The descriptions of an image in files, at least one."""

KEPT_BYTES = 16 * 2**20
"""The most bytes of pixels that a bundle keeps of its dev set."""


class _Dev(BaseModel, Generic[Label]):
    labels: list[Label]
    places: list[str]


def open_pixels(path: Path, shape: tuple[int, int, int, int]) -> Pixels:
    """Images [N, F, H, W, C] on disk, of a shape C, F, H, W."""
    return open_array(path, np.uint8, (*shape[1:], shape[0]))


@dataclass(frozen=True)
class Images(Generic[Label]):
    """Images with their labels, and where each comes from."""

    pixels: Pixels  # [N, F, H, W, C]
    labels: list[Label]
    places: list[str]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, chosen: slice) -> Images[Label]:
        return Images(self.pixels[chosen], self.labels[chosen], self.places[chosen])

    def sample(self, size: int) -> Images[Label]:
        """At most `size` of them, evenly spaced."""
        return self[:: max(1, -(-len(self) // size))]

    @property
    def kept(self) -> Images[Label]:
        """As many of them as a bundle should hold, evenly chosen."""
        return self[:: -(-self.pixels.size // KEPT_BYTES) or 1]

    def notes(self, noun: str) -> list[str]:
        """What a person should know of this dev set: whether a bundle keeps only some of it."""
        kept = len(self.kept)
        return [f"the bundle keeps {kept:,} of the dev {noun}"] if kept < len(self) else []

    def dump(self) -> str:
        """A line of JSON each, the pixels as base64."""
        return "".join(
            json.dumps([place, label, pixels.shape, base64.b64encode(pixels.tobytes()).decode()]) + "\n"
            for place, label, pixels in zip(self.places, self.labels, self.pixels, strict=True)
        )

    @classmethod
    def read(cls, folder: Path, shape: tuple[int, int, int, int], label: Any) -> Images[Label]:
        """The dev set of prepared data: dev.npy and dev.json; labels of a type, and images of a shape C, F, H, W."""
        about: _Dev = read_json(folder / "dev.json", _Dev[label], DataError, LARGE_FILE)
        pixels = open_pixels(folder / "dev.npy", shape)
        if not len(pixels) == len(about.labels) == len(about.places):
            raise DataError(f"{folder / 'dev.json'}: is damaged (the numbers of labels and images differ)")
        check_dev(about.labels, folder / "dev.json")
        return cls(pixels, about.labels, about.places)

    @classmethod
    def load(cls, text: str) -> Images[Label]:
        rows: list[Any] = load_json_lines(text, _Row, "dev.jsonl", BundleError)
        try:
            pixels = [np.frombuffer(base64.b64decode(row[3]), dtype=np.uint8).reshape(row[2]) for row in rows]
            stacked = np.stack(pixels) if pixels else np.zeros((0, 1, 1, 1, 1), np.uint8)
        except ValueError as fault:
            raise BundleError(f"dev.jsonl: is damaged (its pixels are not images of one size: {fault})") from None
        return cls(stacked, [r[1] for r in rows], [r[0] for r in rows])


Size = Annotated[int, Field(ge=1, le=2**16)]
_Row = tuple[str, str | Descriptions, tuple[Size, Size, Size, Size], str]
"""Where an image is from, what is true of it, its shape, and its pixels as base64."""


def warp(pixels: Tensor, places: Tensor) -> Tensor:
    """Images [B, C, F, H, W], all frames of one alike, each pixel (x, y) read from A (x, y, 1), A [B, 2, 3].

    x and y go from −1 to 1; between pixels a value is interpolated, and beyond the edge it is the edge's.
    """
    b, c, f, h, w = pixels.shape
    flat = pixels.reshape(b, c * f, h, w)
    grid = affine_grid(places, list(flat.shape), align_corners=False)  # [B, H, W, 2]
    return grid_sample(flat, grid, padding_mode="border", align_corners=False).view(b, c, f, h, w)


@dataclass
class ImageBatches:
    """The training set in batches of one size, shuffled and warped by seed and epoch.

    A row of an epoch is e·N + i, so that `load` knows how image i is warped in epoch e: a function of both alone.
    """

    pixels: Pixels  # [N, F, H, W, C]
    truth: Rows  # [N] the number of each one's label
    format: Format
    fingerprint: str
    patches: int
    """Patches in an image."""
    budget: int
    """The most patches in a batch."""
    seed: int
    augment: bool = False
    """Turn, scale and shift."""
    flip: bool = False

    def __post_init__(self) -> None:
        self._drawn: tuple[int, npt.NDArray[np.float32]] | None = None

    @property
    def tokens(self) -> int:
        return len(self.truth) * self.patches

    def epoch(self, epoch: int) -> list[Rows]:
        n = len(self.truth)
        batches = -(-n // max(MIN_IN_BATCH, self.budget // self.patches))
        order = np.random.default_rng([self.seed, epoch]).permutation(n) + epoch * n
        return np.array_split(order, batches)

    def load(self, rows: Rows) -> SequenceBatch:
        n = len(self.truth)
        epoch, row = int(rows[0]) // n, rows % n
        inputs = self.format.tensor(self.pixels[row])
        if self.augment or self.flip:
            inputs = warp(inputs, torch.from_numpy(self._places(epoch)[row]))
        return SequenceBatch(
            inputs=inputs,
            lengths=torch.full((len(row),), self.patches),
            truth=torch.from_numpy(self.truth[row]),
            rows=torch.from_numpy(row),
        )

    def _places(self, epoch: int) -> npt.NDArray[np.float32]:
        """The affine maps [N, 2, 3] that `warp` reads the images of an epoch with."""
        if self._drawn is None or self._drawn[0] != epoch:
            random = np.random.default_rng([self.seed, epoch, 1])
            turn, scale, right, down = random.uniform(-1, 1, (4, len(self.truth))) * self.augment  # each [N]
            mirror = 1 - 2 * random.integers(2, size=len(turn)) * self.flip
            angle, scale = np.radians(TURN) * turn, 1 + SCALE * scale
            cos, sin = scale * np.cos(angle), scale * np.sin(angle)
            height, width = self.format.shape[2:]
            short = min(height, width)
            x = [mirror * cos, -sin * height / width, 2 * SHIFT * right * short / width]
            y = [mirror * sin * width / height, cos, 2 * SHIFT * down * short / height]
            self._drawn = epoch, np.array([x, y], dtype=np.float32).transpose(2, 0, 1)
        return self._drawn[1]

    def padding(self, epoch: int = 0) -> float:
        return 0.0


class ImagePreparation(Preparation[Example]):
    """Preparing images with labels, or with captions: the dev set is `Images`, in dev.npy and dev.json."""

    label_type: ClassVar[Any] = str

    def read_dev(self, folder: Path, preprocessor: Any) -> Images[Any]:
        return Images.read(folder, preprocessor.format.shape, self.label_type)

    @staticmethod
    def dump(dev: Images[Any]) -> str:
        return dev.kept.dump()

    @classmethod
    def load(cls, text: str) -> Images[Any]:
        return Images.load(text)

    def notes(self, prepared: Prepared) -> list[str]:
        return [*prepared.about.notes, *prepared.saved_dev.notes("images")]


def write_images(
    path: Path, images: Iterable[Pixels], count: int, shape: tuple[int, int, int, int], notify: Notify
) -> bytes:
    """Write `count` images in one shape (C, F, H, W); returns the SHA-256 of their pixels."""
    channels, frames, height, width = shape
    out = np.lib.format.open_memmap(path, "w+", np.uint8, (count, frames, height, width, channels))
    hashed = hashlib.sha256()
    for row, pixels in enumerate(images):
        if row % 500 == 0:
            notify("resizing", row, count)
        out[row] = fit(pixels, channels, height, width)
        hashed.update(out[row].tobytes())
    out.flush()
    return hashed.digest()

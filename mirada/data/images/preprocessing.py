"""Loads files and arrays as the images that a network takes: in its size and colours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from mirada.data.corpus import batched
from mirada.data.images.format import Format
from mirada.data.images.pixels import Pixels, from_array, read_image
from mirada.data.images.sources import Archive
from mirada.errors import DataError, InputError, UsageError
from mirada.predictions import ImagePrediction

ImageInput = str | Path | npt.NDArray[Any]
"""A file, or an array: [H, W], [H, W, C], of a video [F, H, W] or [F, H, W, C]."""

READ_AT_ONCE = 256
"""Images that are loaded before they are predicted, so that memory does not grow with their number."""

P = TypeVar("P", bound=ImagePrediction)


class LoadedImage(NamedTuple):
    """An image as the network takes it."""

    pixels: Pixels  # [F, H, W, C]
    notes: tuple[str, ...] = ()
    """What was done to it: "resized from 40×30 to 28×28"."""
    place: str = ""
    """The file it is from, if any."""


@dataclass(frozen=True)
class ImageLoader:
    """Loads images for the model at `path`."""

    format: Format
    path: Path

    def read(self, images: Sequence[ImageInput]) -> list[LoadedImage]:
        """Load files and arrays; the first that cannot be read is an error."""
        if not isinstance(images, Iterable) or isinstance(images, bytes):
            raise UsageError(f"an image must be a file name or an array, not {images!r:.40} ({type(images).__name__})")
        return [self._read(image, number) for number, image in enumerate(images, 1)]

    def _read(self, image: ImageInput, number: int) -> LoadedImage:
        if isinstance(image, np.ndarray):
            place = f"image {number}"
            return self.fit(from_array(image, self.format.scale, place), place)._replace(place="")
        if not isinstance(image, (str, Path)):
            kind = type(image).__name__
            raise UsageError(f"image {number} must be a file name or an array, not {image!r:.40} ({kind})")
        return self._open(str(image))

    def _open(self, path: str) -> LoadedImage:
        pixels, animated = read_image(path)
        if animated and self.format.shape[1] > 1:
            raise InputError(f"{path}: is an animation; the model {self.path} reads videos from an .npz")
        loaded = self.fit(pixels, path)
        return loaded._replace(notes=("only its first frame is read", *loaded.notes)) if animated else loaded

    def predict(
        self, paths: Iterable[str], predict: Callable[[Sequence[LoadedImage]], Sequence[P]]
    ) -> Iterator[P | ImagePrediction]:
        """A prediction for each file in order, with a `problem` for those that cannot be read.

        An .npz file has one for every row, and needs no labels.
        """
        for chunk in batched(self._load(paths), READ_AT_ONCE):
            found = iter(predict([image for image in chunk if isinstance(image, LoadedImage)]))
            for image in chunk:
                yield next(found) if isinstance(image, LoadedImage) else image

    def _load(self, paths: Iterable[str]) -> Iterator[LoadedImage | ImagePrediction]:
        for path in paths:
            try:
                if path.endswith(".npz"):
                    archive = Archive(path, "test", self.format.scale, unlabelled=True)
                    for index, pixels in enumerate(archive.images()):
                        yield self.fit(pixels, archive.place(index))
                else:
                    yield self._open(path)
            except (DataError, InputError) as fault:
                yield ImagePrediction(image=path, problem=str(fault).removeprefix(f"{path}: "))

    def fit(self, pixels: Pixels, place: str) -> LoadedImage:
        """An image in the network's size and colours."""
        _, frames, height, width = self.format.shape
        f, h, w, _ = pixels.shape
        if f != frames:
            wanted = f"videos of {frames} frames, from an .npz" if frames > 1 else "images"
            raise InputError(f"{place}: has {f} frame{'s' * (f > 1)}; the model {self.path} reads {wanted}")
        notes = () if (h, w) == (height, width) else (f"resized from {w}×{h} to {width}×{height}",)
        return LoadedImage(self.format.fit(pixels), notes, place)

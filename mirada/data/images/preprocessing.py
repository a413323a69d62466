"""Files and arrays as a network takes images: read, and brought to its size and colours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mirada.data.images.format import Format
from mirada.data.images.pixels import Pixels, from_array, read_image
from mirada.data.images.sources import Archive
from mirada.errors import DataError, InputError, MiradaError

ImageInput = str | Path | npt.NDArray[Any]
"""A file, or an array: [H, W], [H, W, C], of a video [F, H, W] or [F, H, W, C]."""

READ_AT_ONCE = 256
"""Images, in the network's size, that wait to be looked at."""


class Seen(NamedTuple):
    """An image as the network takes it."""

    pixels: Pixels  # [F, H, W, C]
    notes: tuple[str, ...]
    """What was done to it: "resized from 40×30 to 28×28"."""


@dataclass(frozen=True)
class ImageLoader:
    """How the model at `path` is given images."""

    format: Format
    path: Path

    def read(self, images: Sequence[ImageInput]) -> list[Seen]:
        """Images of a program's own, or files; the first that cannot be read is an error."""
        return [self._read(image, number) for number, image in enumerate(images, 1)]

    def _read(self, image: ImageInput, number: int) -> Seen:
        if isinstance(image, np.ndarray):
            place = f"image {number}"
            return self.fit(from_array(image, self.format.scale, place), place)
        return self._open(str(image))

    def _open(self, path: str) -> Seen:
        pixels, animated = read_image(path)
        if animated and self.format.shape[1] > 1:
            raise InputError(f"{path}: is an animation; the model {self.path} reads videos from an .npz")
        seen = self.fit(pixels, path)
        return Seen(seen.pixels, ("of its frames the first is read", *seen.notes)) if animated else seen

    def look(self, paths: Iterable[str]) -> Iterator[tuple[str, Seen | MiradaError]]:
        """Each file's image, or what is wrong with it, in order; an .npz has one for every row, no labels needed."""
        for path in paths:
            try:
                if path.endswith(".npz"):
                    archive = Archive(path, "test", self.format.scale, unlabelled=True)
                    for index, pixels in enumerate(archive.images()):
                        yield archive.place(index), self.fit(pixels, archive.place(index))
                else:
                    yield path, self._open(path)
            except (DataError, InputError) as fault:
                yield path, fault

    def fit(self, pixels: Pixels, place: str) -> Seen:
        """An image in the network's size and colours."""
        _, frames, height, width = self.format.shape
        f, h, w, _ = pixels.shape
        if f != frames:
            wanted = f"videos of {frames} frames, from an .npz" if frames > 1 else "images"
            raise InputError(f"{place}: has {f} frame{'s' * (f > 1)}; the model {self.path} reads {wanted}")
        notes = () if (h, w) == (height, width) else (f"resized from {w}×{h} to {width}×{height}",)
        return Seen(self.format.fit(pixels), notes)

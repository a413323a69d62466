"""Many images: folders with a subfolder for each class, and .npz archives, read row by row.

The axes of an archive's array decide what it is:

    [N, H, W]       grey images           [N, F, H, W]      grey videos, when the last axis is not 1, 3 or 4
    [N, H, W, C]    images, C 1, 3 or 4   [N, F, H, W, C]   videos
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from mirada.data.images.pixels import (
    MAX_PIXELS,
    UNIT,
    BadImage,
    Pixels,
    Scale,
    as_bytes,
    layout,
    read_image,
    without_alpha,
)
from mirada.data.text import shown_text
from mirada.errors import DataError

IMAGES, LABELS = ("images", "X", "x", "data"), ("labels", "y", "target", "targets")
"""What the arrays of an archive may be called."""
LONGEST_LABEL = 4096
"""The most bytes of a label in an archive."""
MAX_LABELS = 256 * 2**20
"""The most bytes of all labels of an archive."""
CHUNK = 4 * 2**20
"""Bytes of an archive that are read at a time, or one image."""


class Folder:
    """A folder with a folder for every class, whose files are its images."""

    frames = 1
    scale: Scale | None = None

    def __init__(self, path: str):
        self.path = path
        self._files: list[str] = []
        self.labels: list[str] = []
        self.passed: list[tuple[str, str]] = []
        """Files that are not images by their name or place, and why (`checks.REASONS`)."""
        classes = []
        for entry in sorted(Path(path).iterdir()):
            if entry.name.startswith("."):
                self.passed.append((str(entry), "hidden_file"))
            elif entry.is_dir():
                classes.append(entry)
            else:
                self.passed.append((str(entry), "outside_class"))
        if not classes:
            raise DataError(
                f"{path}: has {len(self.passed):,} files and no folders; images are read from a folder for every "
                f"class: {Path(path).name}/cats/1.png, {Path(path).name}/dogs/1.png"
            )
        for folder in classes:
            self._add(folder)
        self.about = f"{len(self._files):,} files in {len(classes):,} folders, one class each"

    def _add(self, folder: Path) -> None:
        before = len(self._files)
        inner = []
        for entry in sorted(folder.iterdir()):
            if entry.name.startswith("."):
                self.passed.append((str(entry), "hidden_file"))
            elif entry.is_dir():
                inner.append(entry.name)
                self.passed.append((str(entry), "nested_folder"))
            else:
                self._files.append(str(entry))
                self.labels.append(folder.name)
        if len(self._files) == before:
            hint = f"if its folders are the classes, give {folder}" if inner else "put some into it, or remove it"
            raise DataError(f"{folder}: the class {shown_text(folder.name)} has no images; {hint}")

    def __len__(self) -> int:
        return len(self._files)

    def place(self, index: int) -> str:
        """Where an image is, for a person."""
        return self._files[index]

    def __iter__(self) -> Iterator[tuple[Pixels, bool] | BadImage]:
        """Each image, and whether more frames of it follow; or what is wrong with it."""
        for place in self._files:
            try:
                yield read_image(place)
            except BadImage as fault:
                yield fault


class Archive:
    """An .npz with an array of images or videos, and one of labels unless they are `unlabelled`."""

    def __init__(self, path: str, part: Literal["train", "test"], scale: Scale | None = None, unlabelled: bool = False):
        self.path, self.passed = path, list[tuple[str, str]]()
        with self._opened() as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            self._images = self._named(names, (*IMAGES, f"x_{part}", f"X_{part}"), "images")
            with archive.open(f"{self._images}.npy") as stream:
                shape, self._dtype = self._header(stream, self._images)
            used, self.count = {self._images}, shape[0] if shape else 0
            if not unlabelled:
                label = self._named(names, (*LABELS, f"y_{part}"), "labels")
                used.add(label)
                self.labels = self._labels(archive, label)
        whole = layout(shape[1:])
        if whole is None or self._dtype.kind not in "uifb":
            raise DataError(
                f"{path}: {self._images} is an array of {self._dtype} {list(shape)}; images are numbers [N, H, W] or "
                "[N, H, W, C], videos [N, F, H, W] or [N, F, H, W, C]"
            )
        if prod(whole) > MAX_PIXELS:
            raise BadImage(f"{path}, {self._images}", "too_large", "×".join(map(str, whole)))
        self.shape, self.frames = whole, whole[0]
        others = [name for name in names if name not in used]
        what = "videos" if self.frames > 1 else "images"
        self.about = f"{self.count:,} {what} {list(whole)} [F, H, W, C] in {self._images}"
        self.about += f"; not read: {', '.join(others)}" if others else ""
        self.scale = self._range() if scale is None and self._dtype != np.uint8 else scale

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self.path) as archive:
                yield archive
        except DataError:
            raise
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read ({error.strerror or error})") from None
        except Exception as error:  # whatever a damaged archive leads to
            raise DataError(f"{self.path}: is not a whole .npz archive ({error})") from None

    def _named(self, names: list[str], wanted: tuple[str, ...], what: str) -> str:
        found = next((name for name in wanted if name in names), None)
        if found is None:
            raise DataError(
                f"{self.path}: has no array of {what} ({', '.join(wanted)}); it has: {', '.join(names[:20]) or 'none'}"
            )
        return found

    def _header(self, stream: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
        if any(axis < 0 for axis in shape):
            raise DataError(f"{self.path}: {name} is damaged: its axes are {list(shape)}")
        if dtype.hasobject:
            raise DataError(
                f"{self.path}: {name} holds Python objects, saved as a pickle, which is never read; "
                "save labels as text, labels.astype(str), and images of one size as numbers, numpy.stack(images)"
            )
        if fortran and len(shape) > 1:
            raise DataError(f"{self.path}: {name} is in Fortran order; save numpy.ascontiguousarray({name})")
        return shape, dtype

    def _labels(self, archive: zipfile.ZipFile, name: str) -> list[str]:
        with archive.open(f"{name}.npy") as stream:
            shape, dtype = self._header(stream, name)
            flat = len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)
            if not flat or dtype.kind not in "iubUS":
                raise DataError(
                    f"{self.path}: {name} is an array of {dtype} {list(shape)}; labels are whole numbers or texts [N]"
                    + f": {name}.astype(int)" * (dtype.kind == "f")
                )
            if shape[0] != self.count:
                raise DataError(
                    f"{self.path}: {self._images} has {self.count:,} images, {name} {shape[0]:,} labels: "
                    "there must be one for each"
                )
            if dtype.itemsize > LONGEST_LABEL:
                raise DataError(
                    f"{self.path}: {name} has labels of {dtype.itemsize:,} bytes; {LONGEST_LABEL:,} is the most"
                )
            size = shape[0] * dtype.itemsize
            if size > MAX_LABELS:
                raise DataError(f"{self.path}: {name} has {size:,} bytes of labels; {MAX_LABELS:,} is the most")
            content = stream.read(size)
        if len(content) < size:
            raise ValueError(f"{name} is cut short")
        array = np.frombuffer(content, dtype=dtype)
        labels = [_label(item) for item in array.tolist()]
        for number, label in enumerate(labels, 1):
            if not label or not label.isprintable():
                raise DataError(
                    f"{self.path}: label {number:,} in {name} is {shown_text(label)}; a label is a text in one line"
                )
        return labels

    def _range(self) -> Scale:
        """0 and 1 if all numbers lie between them, else the least and the greatest."""
        low, high = np.inf, -np.inf
        for number, rows in self._rows():
            if not np.isfinite(rows).all():
                bad = number + int(np.argmin(np.isfinite(rows).reshape(len(rows), -1).all(1))) + 1
                raise DataError(f"{self.place(bad - 1)}: has numbers that are not finite")
            low, high = min(low, float(rows.min())), max(high, float(rows.max()))
        if low >= 0 and high <= 1:
            return UNIT
        self.about += f"; numbers from {low:g} (black) to {high:g} (white)"
        return low, max(high, low + 1e-9)

    def _rows(self) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """A few rows at a time, and the number of the first of them."""
        size = prod(self.shape) * self._dtype.itemsize
        many = max(1, CHUNK // size)
        with self._opened() as archive, archive.open(f"{self._images}.npy") as stream:
            self._header(stream, self._images)
            for begin in range(0, self.count, many):
                count = min(many, self.count - begin)
                content = stream.read(count * size)
                if len(content) < count * size:
                    raise DataError(f"{self.path}: {self._images} is cut short at image {begin + 1:,}")
                yield begin, np.frombuffer(content, dtype=self._dtype).reshape(count, *self.shape)

    def place(self, index: int) -> str:
        return f"{self.path}, {'video' if self.frames > 1 else 'image'} {index + 1}"

    def __len__(self) -> int:
        return self.count

    def images(self) -> Iterator[Pixels]:
        for _, rows in self._rows():
            yield from without_alpha(as_bytes(rows, self.scale))

    def __iter__(self) -> Iterator[tuple[Pixels, bool] | BadImage]:
        for pixels in self.images():
            yield pixels, False


def _label(item: object) -> str:
    return (item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else str(item)).strip()


def open_images(path: str, part: Literal["train", "test"], scale: Scale | None = None) -> Folder | Archive:
    """Labelled images to learn from, or to evaluate with."""
    if os.path.isdir(path):
        try:
            return Folder(path)
        except OSError as error:
            raise DataError(f"{error.filename or path}: cannot be read ({error.strerror})") from None
    if not os.path.exists(path):
        raise DataError(f"{path}: there is no such folder or file")
    if not os.path.isfile(path):  # a pipe would be waited for
        raise DataError(f"{path}: is not a regular file; save it first")
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path}: is neither a folder with one folder of images per class nor an .npz archive")
    return Archive(path, part, scale)

"""One image or video as an array, from a file by Pillow or from a program's own numbers.

Every image is uint8 [F, H, W, C]: F frames (1 of an image), C is 1 (grey) or 3 (red, green, blue).
"""

from __future__ import annotations

import hashlib
import os
import warnings
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from mirada.data.text import shown_text
from mirada.errors import DataError

Pixels = npt.NDArray[np.uint8]
Scale = tuple[float, float]
"""The numbers that are black and white, where pixels are not bytes."""
UNIT: Scale = (0.0, 1.0)

MAX_PIXELS = 64_000_000
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
READ = "PNG, JPEG, GIF, BMP, TIFF, WebP or PPM"
FAULTS = {
    "unreadable": "cannot be opened",
    "empty_file": "is empty (0 bytes)",
    "not_image": f"is not an image ({READ})",
    "too_large": f"has over {MAX_PIXELS // 10**6} megapixels",
    "bit_depth": "has pixels of over 16 bits or fractions: save it with 8 or 16 bits",
    "damaged": "is damaged or truncated",
}
"""What can be wrong with an image, by the identifiers of `checks.REASONS`."""


class BadImage(DataError):
    """An image that cannot be read; `reason` is one of FAULTS."""

    def __init__(self, place: str | Path, reason: str, detail: str = ""):
        super().__init__(f"{place}: {FAULTS[reason]}" + (f" ({detail})" if detail else ""))
        self.reason = reason


class _TooDeep(Exception):
    """Pixels that are not whole numbers of at most 16 bits."""


# ── one image ───────────────────────────────────────────────────────────────────────────────────────────────────────


def read_image(path: str | Path) -> tuple[Pixels, bool]:
    """An image file as a person sees it, [1, H, W, C], and whether more frames follow, which are not read.

    Turned as its EXIF says, on white where it is transparent, 16 bits brought down to 8.
    """
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would be waited for
        raise BadImage(path, "unreadable", "it is not a file")
    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of large images; they are measured here
            return _decoded(file, path)
    except OSError as error:
        raise BadImage(path, "unreadable", error.strerror or str(error)) from None
    except ValueError as error:  # a name with a NUL in it
        raise BadImage(shown_text(str(path)), "unreadable", str(error)) from None


def _decoded(file: IO[bytes], path: str | Path) -> tuple[Pixels, bool]:
    if not os.fstat(file.fileno()).st_size:
        raise BadImage(path, "empty_file")
    try:
        image = Image.open(file, formats=FORMATS)
    except Image.DecompressionBombError:
        raise BadImage(path, "too_large") from None
    except Exception:  # a damaged file can lead Pillow's readers anywhere
        raise BadImage(path, "not_image") from None
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise BadImage(path, "too_large", f"{width:,}×{height:,}")
    try:
        return _bytes_of(image), bool(getattr(image, "is_animated", False))
    except _TooDeep:
        raise BadImage(path, "bit_depth") from None
    except Exception as error:
        raise BadImage(path, "damaged", " ".join(str(error).split())[:80]) from None


def _bytes_of(image: Image.Image) -> Pixels:
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):  # 16 bits: 65,535 is white
        deep = np.asarray(image).astype(np.int32)
        if deep.min() < 0 or deep.max() > 65_535:
            raise _TooDeep
        return ((deep + 128) // 257).astype(np.uint8)[None, :, :, None]
    if image.mode == "F":
        raise _TooDeep
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        return without_alpha(np.asarray(image.convert("RGBA"))[None])
    if image.mode in ("L", "1"):
        return np.asarray(image.convert("L"))[None, :, :, None]
    return np.asarray(image.convert("RGB"))[None]


def without_alpha(pixels: Pixels) -> Pixels:
    """Four channels on white: colour · α + 255 · (1 − α)."""
    if pixels.shape[-1] != 4:
        return pixels
    wide = pixels.astype(np.uint32)
    alpha = wide[..., 3:]
    return ((wide[..., :3] * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)


def is_grey(pixels: Pixels) -> bool:
    """Whether an image has one channel, or equal ones."""
    return pixels.shape[-1] == 1 or bool((pixels == pixels[..., :1]).all())


def fit(pixels: Pixels, channels: int, height: int, width: int) -> Pixels:
    """[F, H, W, C] in other colours and another size, if they differ."""
    if channels == 1 and pixels.shape[-1] == 3:
        wide = pixels.astype(np.uint32)  # the weights of ITU-R BT.601
        grey = (299 * wide[..., 0] + 587 * wide[..., 1] + 114 * wide[..., 2] + 500) // 1000
        pixels = grey.astype(np.uint8)[..., None]
    elif channels == 3 and pixels.shape[-1] == 1:
        pixels = np.repeat(pixels, 3, axis=-1)
    if pixels.shape[1:3] == (height, width):
        return pixels
    frames = (Image.fromarray(frame[..., 0] if channels == 1 else frame) for frame in pixels)
    resized = [np.asarray(frame.resize((width, height), Image.Resampling.BILINEAR)) for frame in frames]
    return np.stack(resized).reshape(len(pixels), height, width, channels)


# ── arrays ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def layout(shape: tuple[int, ...]) -> tuple[int, int, int, int] | None:
    """F, H, W, C of an image from the shape of its array; None if it is not that of an image."""
    coloured = len(shape) > 2 and shape[-1] in (1, 3, 4)
    whole = shape if coloured else (*shape, 1)
    if len(whole) == 3:
        whole = (1, *whole)
    if len(whole) != 4 or not all(whole):
        return None
    return whole[0], whole[1], whole[2], whole[3]


def as_bytes(array: npt.NDArray[Any], scale: Scale | None) -> Pixels:
    """Numbers as bytes: those of `scale` are 0 and 255, what is beyond is cut off. Bytes stay as they are."""
    if array.dtype == np.uint8:
        return array
    low, high = scale or UNIT
    share = (array.astype(np.float64) - low) / (high - low)
    return np.rint(share.clip(0, 1) * 255).astype(np.uint8)


def from_array(array: npt.ArrayLike, scale: Scale | None, place: str) -> Pixels:
    """One image or video of a program's own, [F, H, W, C]."""
    found = np.asarray(array)
    whole = layout(found.shape)
    if whole is None or found.dtype.kind not in "uifb":
        raise DataError(
            f"{place}: an array of {found.dtype} {list(found.shape)} is not an image: give numbers [H, W] or "
            "[H, W, C], of a video [F, H, W] or [F, H, W, C]"
        )
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise DataError(f"{place}: has numbers that are not finite")
    if found.dtype != np.uint8 and scale is None and (found.min() < 0 or found.max() > 1):
        raise DataError(
            f"{place}: has numbers from {found.min():g} to {found.max():g}; give bytes (uint8), or numbers from 0 to 1"
        )
    return without_alpha(as_bytes(found, scale).reshape(whole))


def digest(pixels: Pixels) -> int:
    """64 bits of an image, equal for equal ones."""
    return int.from_bytes(hashlib.blake2b(repr(pixels.shape).encode() + pixels.tobytes(), digest_size=8).digest())

"""Images to test with."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from mirada.data.images.pixels import Pixels

RANDOM = np.random.default_rng(0)


def noise(*shape: int) -> Pixels:
    return RANDOM.integers(0, 256, shape, dtype=np.uint8)


def saved(path: Path, array: np.ndarray, mode: str | None = None, **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array, mode).save(path, **options)
    return path


def png_header(width: int, height: int) -> bytes:
    """The beginning of a PNG: it says how large it is, and hardly has any pixels."""
    chunks = [b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0), b"IDAT" + zlib.compress(bytes(8))]
    body = [struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


def gallery(folder: Path, count: int = 12, size: tuple[int, int] = (8, 8), classes: str = "ab") -> Path:
    """A folder for every class; the classes differ in brightness."""
    for place, name in enumerate(classes):
        for number in range(count):
            saved(folder / name / f"{number}.png", noise(*size) // 4 + 60 * place)
    return folder


def archive(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path

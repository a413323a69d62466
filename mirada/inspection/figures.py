"""Sizes and files of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mirada.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELL = 0.2
"""The inches of a weight in an image, enough to read the tokens beside it."""

MAX_CELLS = 40_000
"""The most weights in an image; a larger one is too large for many image viewers."""


def check_kind_of_file(path: Path, endings: Sequence[str], option: str = "") -> None:
    """Refuse a file whose name has none of these endings, which say what to write."""
    if path.suffix.lower() not in endings:
        kind = path.suffix or "a name without an ending"
        raise UsageError(f"{option}{path}: {kind} is not a kind of file; use {', '.join(endings)}")


def is_svg(path: str | Path | BinaryIO) -> bool:
    """Whether a picture is written as SVG, by the name of its file."""
    return isinstance(path, str | Path) and Path(path).suffix.lower() == ".svg"


def save(figure: Figure, path: str | Path | BinaryIO, dpi: int = 120) -> None:
    """Write a picture, as PNG unless the file's name says otherwise (.svg, .pdf)."""
    kind = Path(path).suffix[1:] if isinstance(path, str | Path) else ""
    try:
        figure.savefig(path, format=kind or "png", dpi=dpi)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from None
    except ValueError:
        raise UsageError(f"{path}: .{kind} is not a kind of image; use .png, .svg or .pdf") from None

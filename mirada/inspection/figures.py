"""What pictures share: sizes, and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mirada.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELL = 0.2
"""Inches of an image for each weight, so that the tokens beside them can be read."""

MAX_CELLS = 40_000
"""The most weights in an image; more make it larger than programs that show images like."""


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

"""What pictures share: labels of tokens, titles, and files."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, BinaryIO

from mirada.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELL = 0.2
"""Inches of an image for each weight, so that the tokens beside them can be read."""

MAX_CELLS = 40_000
"""The most weights in an image; more make it larger than programs that show images like."""


def titled(source: str, text: str | None, inches: float) -> str:
    """A sentence and what became of it, in lines that fit an image of that width."""
    lines = [*wrap(source, round(inches * 13)), *(wrap(f"→ {text}", round(inches * 13)) if text is not None else ())]
    return "\n".join(shown(line, space=" ") for line in lines)


def shown(token: str, space: str = "▁") -> str:
    """A token as a label: its leading space as a low line, no dollar signs that start a formula, nothing unseen."""
    seen = "".join(letter if letter.isprintable() else "\ufffd" for letter in token)
    return seen.replace(" ", space).replace("$", r"\$") or "∅"


def save(figure: Figure, path: str | Path | BinaryIO, dpi: int = 120) -> None:
    """Write a picture, as PNG unless the file's name says otherwise (.svg, .pdf)."""
    kind = Path(path).suffix[1:] if isinstance(path, str | Path) else ""
    try:
        figure.savefig(path, format=kind or "png", dpi=dpi)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from None
    except ValueError:
        raise UsageError(f"{path}: .{kind} is not a kind of image; use .png, .svg or .pdf") from None

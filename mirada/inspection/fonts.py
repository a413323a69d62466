"""Fonts for pictures, chosen by the characters in the texts, with a warning where no installed font has them.

matplotlib 3.11 shapes text itself (right-to-left, joined letters). An older one draws such text letter by letter.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

FIRST = "DejaVu Sans"
"""The font that comes with matplotlib: Latin, Greek, Cyrillic, Hebrew, Arabic, many signs."""
BOXES = "Last Resort"
"""A font that comes with matplotlib and has a box for every character."""
STAND_IN = "·"
CHINESE = "Chinese characters"
SCRIPTS = {"CJK": CHINESE, "IDEOGRAPHIC": CHINESE, "FULLWIDTH": CHINESE, "KANGXI": CHINESE}
SCRIPTS |= {"HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}
"""Common names of scripts, by the first word of their letters' Unicode names; others go by that word."""
FIRST_STRONG, END = "\u2068", "\u2069"
"""Around a text that has its own direction, whatever is beside it; invisible."""
UNSEEN = frozenset(f"\n\u200c\u200d{FIRST_STRONG}{END}")
"""Characters that are kept though they are not printable."""
SHAPES_TEXT = (3, 11)
"""The version of matplotlib that draws right-to-left and joined scripts."""


class FontWarning(UserWarning):
    """Some text cannot be drawn as it is written."""


@contextmanager
def styled(texts: Iterable[str], keeps_text: bool = False) -> Iterator[Callable[[str], str]]:
    """Choose fonts for the texts drawn in the block; yields a function that makes a text drawable with them.

    `keeps_text` is for SVG: a file that is drawn with the reader's fonts where ours lack something.
    """
    import matplotlib

    written = "".join(map(drawable, texts))
    families, missing = choose_fonts(frozenset(written))
    settings: Any = {
        "font.family": list(families),
        "text.parse_math": False,  # a dollar sign is a dollar sign
        "svg.hashsalt": "mirada",  # the same picture has the same bytes
        "svg.fonttype": "none" if missing and keeps_text else "path",
        "pdf.fonttype": 42,
    }
    warn_of(frozenset() if keeps_text else missing, written)
    hidden = frozenset() if keeps_text else missing
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield lambda text: "".join(STAND_IN if letter in hidden else letter for letter in drawable(text))


def drawable(text: str) -> str:
    """A text without variation selectors, and with � for characters that are not printable."""
    kept = (letter for letter in text if not "\ufe00" <= letter <= "\ufe0f")
    return "".join(letter if letter.isprintable() or letter in UNSEEN else "\ufffd" for letter in kept)


@lru_cache(maxsize=64)
def choose_fonts(letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The families of installed fonts that together have these characters, and the characters that none has."""
    from matplotlib.font_manager import fontManager

    left = {letter for letter in letters if not letter.isspace() and unicodedata.category(letter) != "Cf"}
    left -= {letter for letter in left if ord(letter) in _characters(_default())}
    chosen = [FIRST]
    plain = [
        font
        for font in fontManager.ttflist
        if font.style == "normal" and font.weight in (400, "normal") and not font.name.startswith(BOXES)
    ]
    while left:
        best = max(plain, key=lambda font: _count(font.fname, left), default=None)
        if best is None or not _count(best.fname, left):
            break
        chosen.append(best.name)
        left -= {letter for letter in left if ord(letter) in _characters(best.fname)}
    return tuple(chosen), frozenset(left)


def _count(path: str, letters: set[str]) -> int:
    have = _characters(path)
    return sum(ord(letter) in have for letter in letters)


def _default() -> str:
    from matplotlib.font_manager import findfont

    return str(findfont(FIRST))


@lru_cache(maxsize=4096)
def _characters(path: str) -> frozenset[int]:
    """The characters that a font has; none if matplotlib cannot draw them (colour bitmaps)."""
    from matplotlib.ft2font import FT2Font

    try:
        font = FT2Font(path)
        return frozenset(font.get_charmap()) if font.scalable else frozenset()
    except (OSError, RuntimeError, ValueError, AttributeError):
        return frozenset()


def warn_of(missing: Iterable[str], written: str) -> None:
    """Warn of characters that cannot be drawn as they are written."""
    import matplotlib

    names = sorted({script_of(letter) for letter in missing})
    if names:
        warnings.warn(
            f"no installed font has {', '.join(names)}: each such character is drawn as {STAND_IN}; install a font "
            "that has them (Noto), or write .svg or .html, which use the reader's fonts",
            FontWarning,
            stacklevel=4,
        )
    if not shapes_text() and is_right_to_left(written):
        warnings.warn(
            f"matplotlib {matplotlib.__version__} draws right-to-left text from left to right; install "
            f"matplotlib {'.'.join(map(str, SHAPES_TEXT))}, or write .html",
            FontWarning,
            stacklevel=4,
        )


def shapes_text() -> bool:
    """Whether the installed matplotlib draws right-to-left text from the right."""
    import matplotlib

    return tuple(map(int, matplotlib.__version__.split(".")[:2])) >= SHAPES_TEXT


def is_right_to_left(text: str) -> bool:
    """Whether a text has letters that are read from the right."""
    return any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text)


def script_of(letter: str) -> str:
    """The common name of a character's script."""
    if unicodedata.category(letter) in ("So", "Sk"):
        return "emoji" if ord(letter) >= 0x1F000 else "signs such as " + letter
    first = unicodedata.name(letter, "unknown characters").split()[0]
    return SCRIPTS.get(first, first.title() if first.isupper() else f"U+{ord(letter):04X}")

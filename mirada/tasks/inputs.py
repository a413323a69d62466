"""Checks of what a caller gives to a model's methods; each returns it, or raises an error that says what to give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mirada.data.checks import has_invalid_bytes
from mirada.data.text import shown_text
from mirada.errors import InputError, UsageError


def check_text(given: Any, name: str = "the text") -> str:
    """Check that a text is a string."""
    if isinstance(given, str):
        return given
    hint = "; decode it first: .decode('utf-8')" if isinstance(given, bytes) else ""
    raise UsageError(f"{name} must be a string, not {_described(given)}{hint}")


def check_texts(given: Any, also: tuple[type, ...] = ()) -> Sequence[Any]:
    """Check that texts are a list of strings; `also` are other types that an item may have."""
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        check_text(given, "a text, or each in a list of texts,")
    texts = given if isinstance(given, Sequence) else list(given)
    for number, text in enumerate(texts, 1):
        if not isinstance(text, (str, *also)):
            check_text(text, f"text {number}")
    return texts


def check_filled(text: Any) -> str:
    """Check that a text to look into is neither blank nor badly decoded."""
    if not check_text(text).strip():
        raise InputError("the text is empty: there is nothing to look at")
    if has_invalid_bytes(text):
        raise InputError(f"the text has bytes that are not UTF-8: {shown_text(text)}; set your terminal to UTF-8")
    return str(text)


def check_choice(name: str, given: Any, known: Sequence[str]) -> str:
    """Check that a choice is one of those known."""
    if given not in known:
        raise UsageError(f"--{name} {given!s:.40}: there are {', '.join(known)}")
    return str(given)


def check_count(given: Any, name: str, least: int, most: int | None = None) -> int:
    """Check that a number is whole and within its bounds."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise UsageError(f"{name} must be a whole number, not {_described(given)}")
    if given < least or (most is not None and given > most):
        bounds = f"at least {least:,}" if most is None else f"from {least:,} to {most:,}"
        raise UsageError(f"{name} {given}: must be {bounds}")
    return given


def _described(given: Any) -> str:
    return "None" if given is None else f"{given!r:.40} ({type(given).__name__})"

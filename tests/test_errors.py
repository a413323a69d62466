"""Messages: what they quote cannot act on a terminal."""

from __future__ import annotations

import pytest

from mirada.errors import BundleError, DataError, MiradaError


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("plain text, ñ → ✓", "plain text, ñ → ✓"),
        ("the label 'a\x00b'", r"the label 'a\x00b'"),
        ("\x1b[2J erased", r"\x1b[2J erased"),
        ("a\rb\tc", r"a\rb\tc"),
        ("caf\udce9", r"caf\udce9"),
        ("two files:\n    a\n    b", "two files:\n    a\n    b"),
    ],
)
@pytest.mark.parametrize("kind", [MiradaError, DataError, BundleError])
def test_control_characters_are_shown_as_escapes(kind: type[MiradaError], message: str, shown: str) -> None:
    assert str(kind(message)) == shown

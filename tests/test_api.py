"""The public names, pinned: a new one is a decision. And importing them costs nothing until they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mirada

HEAVY = ["torch", "pydantic", "numpy"]


def test_the_public_names() -> None:
    assert mirada.__all__ == ["MiradaError", "Model", "Translation", "__version__", "load", "train"]


@pytest.mark.parametrize("name", mirada.__all__)
def test_every_public_name_is_there(name: str) -> None:
    thing = getattr(mirada, name)
    assert isinstance(thing, str) or thing.__name__ == name


def test_no_other_name_is() -> None:
    with pytest.raises(AttributeError, match="module 'mirada' has no attribute 'translate'"):
        mirada.translate  # noqa: B018
    assert not hasattr(mirada, "Bundle")


def loaded_after(statement: str) -> list[str]:
    """Which of the heavy packages a fresh Python has loaded after a statement."""
    program = f"import sys\n{statement}\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("statement", ["import mirada", "import mirada.cli", "from mirada import MiradaError"])
def test_importing_is_quick(statement: str) -> None:
    assert loaded_after(statement) == []


def test_the_check_sees_a_heavy_import() -> None:
    assert "numpy" in loaded_after("import numpy")

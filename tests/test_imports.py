"""Imports go one way: a module imports only from the layers before its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import mirada

ROOT = Path(mirada.__file__).parent

# From the ground up. A module or package may import from the lines above its own, never from its own line (but a
# package's files may import each other) nor from a line below. A new one gets its place here. A module that many need
# and that needs little may have a place of its own, below that of its package.
LAYERS = [
    ["errors"],
    ["predictions"],
    ["files"],
    ["parsing", "former_names"],
    ["card", "tensors"],
    ["config"],
    ["parts"],
    ["precision"],
    ["contracts"],
    ["device", "data", "nn"],
    ["builtin", "documents"],
    ["models"],
    ["decoding"],
    ["training.losses"],
    ["metrics"],
    ["bundle"],
    ["inspection"],
    ["engines"],
    ["explorer"],
    ["tasks"],
    ["loading"],
    ["training", "exchange"],
    ["settings"],
    ["console"],
    ["api"],
    ["compare"],
    ["tasks.*.report"],
    ["demo"],
    ["cli"],
    ["tasks.*.command_files"],
    ["tasks.*.command"],
]
LAYER = {name: number for number, names in enumerate(LAYERS) for name in names}

# Packages whose files do not import each other, but for what is common to all; only their __init__ knows them all.
STRANGERS = ["models"]
COMMON = "mirada.models.architecture"


def imported(source: str) -> Iterator[tuple[int, str]]:
    """The line and dotted name of everything of Mirada's that a source text imports, also inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # a relative import would need its own arithmetic: the code has none, and `problems` refuses it
            names = [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "mirada" or name.startswith("."):
                yield node.lineno, name


def place(module: str) -> str:
    """What LAYERS calls a module, given without `mirada.`: itself, or else its package."""
    own = (name for name in LAYER if "." in name and fnmatchcase(f"{module}.", f"{name}.*"))
    return next(own, module.split(".")[0])


def problems(path: Path, source: str) -> list[str]:
    """Which imports of a file (its path below `mirada/`) go the wrong way."""
    own = place(".".join(path.with_suffix("").parts))
    if own not in LAYER:
        return [f"{path}: has no place in LAYERS"]
    found = []
    for line, name in imported(source):
        other = place(name.removeprefix("mirada.")) if name.startswith("mirada.") else ""
        if name.startswith("."):
            found.append(f"{path}:{line} imports relatively: write mirada.…")
        elif other == "__version__":
            continue
        elif other not in LAYER:
            found.append(f"{path}:{line} imports {name}, which has no place in LAYERS")
        elif other == own:
            stranger = own in STRANGERS and path.name != "__init__.py" and not name.startswith(COMMON)
            found += [f"{path}:{line} imports {name}, a file beside it"] if stranger else []
        elif LAYER[other] >= LAYER[own]:
            where = "the same layer" if LAYER[other] == LAYER[own] else "a later layer"
            found.append(f"{path}:{line} imports {name} of {where}")
    return found


FILES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_go_one_way(path: Path) -> None:
    assert problems(path, (ROOT / path).read_text(encoding="utf-8")) == []


def test_every_layer_exists() -> None:
    named = {name for name in LAYER if "*" not in name}
    found = {place(".".join(path.with_suffix("").parts)) for path in FILES}
    assert named <= found <= set(LAYER)
    assert len(LAYER) == sum(map(len, LAYERS))


@pytest.mark.parametrize(
    ("path", "source", "wrong"),
    [
        ("nn/blocks.py", "from mirada.nn.attention import fused\nimport torch", False),
        ("nn/blocks.py", "from mirada.models.transformer import Transformer", True),
        ("nn/blocks.py", "import mirada.models", True),
        ("nn/blocks.py", "def f():\n    from mirada import api, config", True),
        ("nn/blocks.py", "if TYPE_CHECKING:\n    from mirada.api import Model", True),
        ("nn/blocks.py", "from .attention import fused", True),
        ("nn/blocks.py", "from mirada import load", True),
        ("bundle.py", "from mirada import __version__", False),
        ("device.py", "from mirada.nn.attention import fused", True),
        ("data/batching.py", "from mirada.data.corpus import Corpus", False),
        ("data/corpus.py", "from mirada.nn.blocks import Dropout", True),
        ("models/gpt.py", "from mirada.models.transformer import Transformer", True),
        ("models/gpt.py", "from mirada.models import transformer", True),
        ("models/__init__.py", "from mirada.models.transformer import Transformer", False),
        ("utils.py", "import torch", True),
    ],
)
def test_the_check_sees_what_is_wrong(path: str, source: str, wrong: bool) -> None:
    assert bool(problems(Path(path), source)) == wrong

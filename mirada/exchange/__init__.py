"""Import published checkpoints in Hugging Face's layout, without running their code or unpickling.

read_checkpoint     a checkpoint as a network with its tokenizer and settings
import_checkpoint   a checkpoint as a bundle
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mirada.errors import DataError
from mirada.exchange import bert, gpt2, marian, vit
from mirada.exchange.bundles import write_bundle
from mirada.exchange.checkpoint import Checkpoint
from mirada.exchange.imported import ImportedModel

__all__ = ["ARCHITECTURES", "ImportedModel", "import_checkpoint", "read_checkpoint"]

ARCHITECTURES: dict[str, Callable[[Checkpoint], ImportedModel]] = {
    "bert": bert.read,
    "gpt2": gpt2.read,
    "marian": marian.read,
    "vit": vit.read,
}
"""Readers by the `model_type` of config.json."""


def read_checkpoint(path: str | Path) -> ImportedModel:
    """Read a checkpoint: a directory with config.json and model.safetensors."""
    checkpoint = Checkpoint(Path(path))
    kind = checkpoint.config.values.get("model_type")
    if not isinstance(kind, str) or kind not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise DataError(f"{checkpoint.config.path}: model_type={kind!r} is not supported; choose from: {known}")
    return ARCHITECTURES[kind](checkpoint)


def import_checkpoint(path: str | Path, out: str | Path) -> Path:
    """Read a checkpoint and write it as a bundle at `out`, which must not exist yet; notes are in the bundle's card."""
    write_bundle(read_checkpoint(path), Path(path), Path(out))
    return Path(out)

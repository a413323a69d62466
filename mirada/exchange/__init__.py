"""Models from elsewhere: published checkpoints in Hugging Face's layout, read without their code and without pickles.

read_checkpoint     a checkpoint as a network, its tokenizer and its settings
import_checkpoint   the same as a bundle, which everything else of Mirada's opens
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mirada.errors import DataError
from mirada.exchange import bert, gpt2, marian, vit
from mirada.exchange.bundles import write_bundle
from mirada.exchange.checkpoint import Checkpoint
from mirada.exchange.imported import Imported

__all__ = ["ARCHITECTURES", "Imported", "import_checkpoint", "read_checkpoint"]

ARCHITECTURES: dict[str, Callable[[Checkpoint], Imported]] = {
    "bert": bert.read,
    "gpt2": gpt2.read,
    "marian": marian.read,
    "vit": vit.read,
}
"""By the `model_type` of config.json."""


def read_checkpoint(path: str | Path) -> Imported:
    """A checkpoint (a directory with config.json and model.safetensors) in Mirada's terms."""
    source = Checkpoint(Path(path))
    kind = source.settings.values.get("model_type")
    if not isinstance(kind, str) or kind not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise DataError(f"{source.settings.path}: model_type={kind!r} is not known here; there are: {known}")
    return ARCHITECTURES[kind](source)


def import_checkpoint(path: str | Path, out: str | Path) -> Path:
    """Read a checkpoint and write it as a bundle at `out`, which must not exist yet; notes are in its card."""
    write_bundle(read_checkpoint(path), Path(path), Path(out))
    return Path(out)

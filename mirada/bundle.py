"""What training leaves and everything else reads: a directory of plain files, no pickles, no code.

    model.safetensors   the weights alone: equal weights, equal bytes
    tokenizer.json, …   what its task needs besides: tokenizers, labels, a scale
    config.yaml         the whole effective configuration
    card.json           format version, task, languages, scores, data, software; sha256 of the other files
    dev.jsonl           the examples the scores were measured on, so that they can be measured again
    log.jsonl           what happened during training, a line an event
    curves.png          the same, as a picture
    run/                checkpoints and the tokenised corpus: what `--resume` needs; may be deleted

A card is written last. A directory with a configuration and no card is a training that has not finished.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from mirada import config as configuration
from mirada.card import check_card
from mirada.errors import BundleError
from mirada.files import read_bytes, write_bytes, write_text
from mirada.tensors import check_forms, forms_of, load_tensors, read_content

FORMAT = 1
LARGEST_WEIGHT = 1e9
"""No trained model has larger ones, and what is computed with such numbers is not finite."""


@dataclass
class Bundle:
    """An opened bundle: everything but the model, which its task builds from it."""

    path: Path
    card: dict[str, Any]
    config: configuration.Values
    files: dict[str, bytes]
    """What the task put into it."""
    weights: dict[str, Tensor]


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """A model's weights by name, each tensor once (tied ones under their first name), in the order of the names."""
    seen: set[int] = set()
    weights = {}
    for name, tensor in sorted(model.state_dict().items()):
        if tensor.data_ptr() not in seen or tensor.numel() == 0:
            seen.add(tensor.data_ptr())
            weights[name] = tensor.detach().to("cpu").contiguous()
    return weights


def put_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Fill a model with weights; names and shapes must be those of the model, exactly."""
    check_forms(forms_of(model), weights, where, BundleError)
    model.load_state_dict(dict(weights), strict=False)


def write(
    path: Path,
    model: nn.Module,
    config: configuration.Values,
    card: Mapping[str, Any],
    extra: Mapping[str, bytes],
) -> None:
    """Write a bundle's files, those of the task (`extra`) among them, the card last."""
    files = {
        "model.safetensors": save_tensors(weights_of(model)),
        "config.yaml": configuration.dump(config).encode("utf-8"),
        **extra,
    }
    for name, content in files.items():
        write_bytes(path / name, content)
    whole = {
        "format": FORMAT,
        **card,
        "software": software(),
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    write_text(path / "card.json", json.dumps(whole, indent=2, ensure_ascii=False) + "\n")


def read(path: Path) -> Bundle:
    """Open a bundle; a damaged, incomplete or newer one is refused with the reason."""
    card = read_card(path)
    need(card["files"], path, "model.safetensors", "config.yaml")
    contents = {name: _read_file(path / name, digest) for name, digest in card["files"].items()}
    weights = load_tensors(contents.pop("model.safetensors"), path / "model.safetensors", BundleError, LARGEST_WEIGHT)
    return Bundle(path, card, configuration.parse(contents["config.yaml"], path / "config.yaml"), contents, weights)


def need(files: Mapping[str, Any], path: Path, *names: str) -> None:
    """Refuse a bundle that does not have these files."""
    missing = [name for name in names if name not in files]
    if missing:
        raise BundleError(f"{path}: its card does not name {missing[0]}, so this is no whole bundle")


def read_card(path: Path) -> dict[str, Any]:
    """A bundle's card alone, checked for its format."""
    if not path.is_dir():
        what = "there is no such directory" if not path.exists() else "is a file, not a bundle directory"
        raise BundleError(f"{path}: {what}; a bundle is what `mirada train --out` writes")
    if not (path / "card.json").exists():
        if (path / "config.yaml").exists():
            raise BundleError(f"{path}: its training has not finished; go on with: mirada train --resume {path}")
        raise BundleError(f"{path}: is not a bundle (it has no card.json)")
    return check_card(_read_file(path / "card.json", None), path / "card.json", FORMAT)


def _read_file(path: Path, digest: str | None) -> bytes:
    content = (read_content if path.suffix == ".safetensors" else read_bytes)(path, BundleError)
    if digest is not None and hashlib.sha256(content).hexdigest() != digest:
        raise BundleError(f"{path}: has been altered or damaged since the bundle was written (its checksum differs)")
    return content


def software() -> dict[str, str]:
    """The versions that a result depends on."""
    from mirada import __version__

    return {"mirada": __version__, "python": platform.python_version(), "torch": torch.__version__}

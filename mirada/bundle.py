"""Write and read bundles: directories of plain files that hold a trained model. No pickles, no code.

    model.safetensors   the weights; equal weights have equal bytes
    tokenizer.json, …   the task's other files: tokenizers, labels, scaling
    config.yaml         the complete configuration, with file names instead of paths
    card.json           format version, task, languages, scores, data, software; sha256 of the other files
    curves.png          learning curves
    data/               text from the training data: the dev set (dev.jsonl), the excluded lines (excluded.tsv), and how
                        the attention in a dev pair came to be (attention.safetensors); optional, may be removed before
                        sharing a bundle
    run/                the training run, see `mirada.training.workspace`; may be deleted

A bundle is replaced as a whole. The new one is written to `bundle.partial/`, which is then renamed to `bundle.new/`:
from that moment it is the bundle. Its files are then moved up one by one, the card last, and readers look for each file
in `bundle.new/` first. So there is a complete bundle at any moment, the old one or the new one.

Format 1 had dev.jsonl, excluded.tsv and the training log (log.jsonl) next to the card, and absolute paths.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from mirada import config as configuration
from mirada.card import check_card
from mirada.errors import BundleError
from mirada.files import read_bytes, sync_folder, write_bytes, write_text
from mirada.tensors import check_specs, load_tensors, read_content, tensor_specs

FORMAT = 3
"""The format that is written; older ones are read too. 2: text of the data in `data/`. 3: tasks have other names."""
MAX_WEIGHT = 1e9
"""No trained model has larger weights, and results computed with them would not be finite."""
PARTIAL, NEW = "bundle.partial", "bundle.new"
"""Folders inside a bundle: the next bundle while it is written, and while it is moved into place."""
DEV, EXCLUDED, ATTENTION = "data/dev.jsonl", "data/excluded.tsv", "data/attention.safetensors"
QUOTES = ("examples", "misses")
"""Fields of reports and scores that quote text from the data."""
FORMAT_1_FILES = ("dev.jsonl", "excluded.tsv", "log.jsonl")


@dataclass
class Bundle:
    """The contents of a bundle, from which its task builds the model."""

    path: Path
    card: dict[str, Any]
    config: configuration.Values
    files: dict[str, bytes]
    """The task's files, by name."""
    weights: dict[str, Tensor]


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """A model's weights sorted by name, each tensor once (tied ones under their first name)."""
    seen: set[int] = set()
    weights = {}
    for name, tensor in sorted(model.state_dict().items()):
        if tensor.data_ptr() not in seen or tensor.numel() == 0:
            seen.add(tensor.data_ptr())
            weights[name] = tensor.detach().to("cpu").contiguous()
    return weights


def put_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Load weights into a model; names, shapes and dtypes must match exactly."""
    check_specs(tensor_specs(model), weights, where, BundleError)
    model.load_state_dict(dict(weights), strict=False)


# ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def write(
    path: Path,
    model: nn.Module,
    config: configuration.Values,
    card: Mapping[str, Any],
    extra: Mapping[str, bytes],
    optional: Mapping[str, bytes] | None = None,
) -> None:
    """Write a bundle's files into a folder, including the task's (`extra`), the card last.

    `optional` files, which may be in the folder `data`, are not needed to use the model.
    """
    config, card = _without_paths(config, card)
    files = {
        "model.safetensors": save_tensors(weights_of(model)),
        "config.yaml": configuration.dump(config).encode("utf-8"),
        **extra,
    }
    for name, content in {**files, **(optional or {})}.items():
        (path / name).parent.mkdir(exist_ok=True)
        write_bytes(path / name, content)
    whole = {
        "format": FORMAT,
        **{key: _without_quotes(part) if key in ("data", "scores") else part for key, part in card.items()},
        "software": software(),
        "files": _digests(files),
        "optional": _digests(optional or {}),
    }
    write_text(path / "card.json", json.dumps(whole, indent=2, ensure_ascii=False) + "\n")


def publish(
    folder: Path,
    model: nn.Module,
    config: configuration.Values,
    card: Mapping[str, Any],
    extra: Mapping[str, bytes],
    optional: Mapping[str, bytes],
) -> None:
    """Write a bundle to `folder`, replacing the one there; a kill leaves one of them complete."""
    finish_publishing(folder)
    shutil.rmtree(folder / PARTIAL, ignore_errors=True)
    (folder / PARTIAL).mkdir()
    write(folder / PARTIAL, model, config, card, extra, optional)
    (folder / PARTIAL).rename(folder / NEW)
    sync_folder(folder)
    finish_publishing(folder)


def finish_publishing(folder: Path) -> None:
    """Move a written bundle into place, also after a kill interrupted that."""
    new = folder / NEW
    if (new / "card.json").exists():
        names = set(_members(read_card(folder)))
        for name in sorted(names):
            if (new / name).exists():
                (folder / name).parent.mkdir(exist_ok=True)
                os.replace(new / name, folder / name)
        for name in _members_at_the_top(folder) - names:
            (folder / name).unlink(missing_ok=True)
        for part in (folder / "data", folder):
            if part.is_dir():
                sync_folder(part)
        os.replace(new / "card.json", folder / "card.json")
        sync_folder(folder)
    shutil.rmtree(new, ignore_errors=True)


def _members(card: Mapping[str, Any]) -> list[str]:
    """The files of a bundle except its card."""
    old = FORMAT_1_FILES if card["format"] == 1 else ()
    return [*card["files"], *card.get("optional", {}), *old]


def _members_at_the_top(folder: Path) -> set[str]:
    """The files of the bundle that is being replaced."""
    try:
        card = check_card(_read_file(folder / "card.json", None), folder / "card.json", FORMAT)
        return {name for name in _members(card) if (folder / name).is_file()}
    except BundleError:  # there is none, or its files are not known
        return set()


def _digests(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def _without_paths(config: configuration.Values, card: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Replace absolute paths in a configuration and a card with file names, for privacy."""
    paths = {text for text in _texts(config) if Path(text).is_absolute() and Path(text).name}
    found = "|".join(map(re.escape, sorted(paths, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![\w.-])(?:{found})(?![\w-])" if found else r"(?!)")

    def shorten(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(lambda match: Path(match[0]).name, value)
        if isinstance(value, Mapping):
            return {key: shorten(part) for key, part in value.items()}
        return [shorten(part) for part in value] if isinstance(value, (list, tuple)) else value

    shortened = {key: shorten(card[key]) for key in ("data", "base") if key in card}
    return shorten(config), {**card, **shortened}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ():
        yield from _texts(part)


def _without_quotes(value: Any) -> Any:
    """Remove text quoted from the data from a report or scores."""
    if isinstance(value, Mapping):
        quotes = [key for key in QUOTES if isinstance(value.get(key), (list, tuple))]  # not a class of that name
        return {key: _without_quotes(part) for key, part in value.items() if key not in quotes}
    return [_without_quotes(part) for part in value] if isinstance(value, (list, tuple)) else value


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def read(path: Path) -> Bundle:
    """Read a bundle; refuse a damaged, incomplete or newer one with the reason."""
    while True:
        before = _stamp(path)
        try:
            return _read(path)
        except BundleError:
            if _stamp(path) == before:  # otherwise it was replaced meanwhile
                raise


def _read(path: Path) -> Bundle:
    card = read_card(path)
    need(card["files"], path, "model.safetensors", "config.yaml")
    contents = {name: _read_member(path, name, digest) for name, digest in card["files"].items()}
    weights = load_tensors(contents.pop("model.safetensors"), path / "model.safetensors", BundleError, MAX_WEIGHT)
    config = configuration.parse(contents["config.yaml"], path / "config.yaml")
    return Bundle(path, card, config, contents, weights)


def members(path: Path) -> list[Path]:
    """The bundles that a path names: a+b is an ensemble of a and b, unless there is a directory of that name."""
    text = str(path)
    if path.exists() or "+" not in text:
        return [path]
    if found := _members_in(text):
        return found
    missing = next((name for name in text.split("+") if not Path(name).is_dir()), text)
    raise BundleError(f"{text}: there is no such directory, and for an ensemble no bundle {missing or '(no name)'}")


def _members_in(text: str) -> list[Path]:
    """The directories named in a text with + between them; a name may itself contain a +."""
    if Path(text).is_dir():
        return [Path(text)]
    for place, character in enumerate(text):
        if character == "+" and place and Path(text[:place]).is_dir() and (rest := _members_in(text[place + 1 :])):
            return [Path(text[:place]), *rest]
    return []


def exists(path: Path) -> bool:
    """Whether a folder contains a bundle, complete or damaged."""
    return _stamp(path) is not None


def read_dev(path: Path) -> str | None:
    """Read the dev set of a bundle as text, unless it was removed."""
    name = _dev_name(read_card(path))
    content = None if name is None else read_optional(path, name)
    return None if content is None else content.decode("utf-8")


def dev_examples(path: Path) -> list[Any]:
    """The examples of a bundle's dev set as JSON; an empty list if it was removed or altered."""
    try:
        return [json.loads(line) for line in (read_dev(path) or "").split("\n") if line]
    except (BundleError, ValueError, RecursionError):
        return []


def read_optional(path: Path, name: str) -> bytes | None:
    """Read an optional file of a bundle; None if it never had it, or it was removed."""
    card = read_card(path)
    digests = {**card["files"], **card.get("optional", {})}
    if name not in digests or not any((folder / name).exists() for folder in (path / NEW, path)):
        return None
    return _read_member(path, name, digests[name])


def _dev_name(card: Mapping[str, Any]) -> str | None:
    name = "dev.jsonl" if card["format"] == 1 else DEV
    return name if name in {**card["files"], **card.get("optional", {})} else None


def copy(path: Path, to: Path) -> None:
    """Copy a bundle and its dev set into an empty folder, the card last."""
    read(path)
    card, dev = read_card(path), read_dev(path)
    for name, digest in card["files"].items():
        write_bytes(to / name, _read_member(path, name, digest))
    if dev is not None:
        name = _dev_name(card)
        assert name is not None
        (to / name).parent.mkdir(exist_ok=True)
        write_text(to / name, dev)
    write_bytes(to / "card.json", _read_member(path, "card.json", None))


def read_config(path: Path) -> configuration.Values:
    """Read the configuration of a bundle."""
    return configuration.parse(_read_member(path, "config.yaml", None), path / "config.yaml")


def _stamp(path: Path) -> tuple[Path, int, int] | None:
    """Identify the current card of a bundle."""
    for card in (path / NEW / "card.json", path / "card.json"):
        try:
            found = card.stat()
            return card, found.st_ino, found.st_mtime_ns
        except OSError:
            continue
    return None


def _read_member(folder: Path, name: str, digest: str | None) -> bytes:
    """Read a file of a bundle, which may not have been moved into place yet."""
    new = folder / NEW / name
    if new.exists():
        try:
            return _read_file(new, digest)
        except BundleError:
            if new.exists():
                raise
    return _read_file(folder / name, digest)


def need(files: Mapping[str, Any], path: Path, *names: str) -> None:
    """Refuse a bundle without these files."""
    missing = [name for name in names if name not in files]
    if missing:
        raise BundleError(f"{path}: its card does not list {missing[0]}, so the bundle is incomplete")


def read_card(path: Path) -> dict[str, Any]:
    """Read and check a bundle's card."""
    if not path.is_dir():
        what = "there is no such directory" if not path.exists() else "is a file, not a bundle directory"
        raise BundleError(f"{path}: {what}; a bundle is what `mirada train --out` writes")
    if not exists(path):
        if any((path / name).exists() for name in ("run/config.yaml", "run.new/config.yaml", "config.yaml")):
            raise BundleError(f"{path}: its training has not finished; resume it with: mirada train --resume {path}")
        raise BundleError(f"{path}: is not a bundle (it has no card.json)")
    return check_card(_read_member(path, "card.json", None), path / "card.json", FORMAT)


def _read_file(path: Path, digest: str | None) -> bytes:
    content = (read_content if path.suffix == ".safetensors" else read_bytes)(path, BundleError)
    if digest is not None and hashlib.sha256(content).hexdigest() != digest:
        raise BundleError(f"{path}: has been altered or damaged since the bundle was written (its checksum differs)")
    return content


def software() -> dict[str, str]:
    """The software versions that a result depends on."""
    from mirada import __version__

    return {"mirada": __version__, "python": platform.python_version(), "torch": torch.__version__}

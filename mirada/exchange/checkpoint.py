"""A published checkpoint on disk: config.json and model.safetensors, whole or in shards. No pickles, no code.

Anything that does not fit is refused with one line that names the file and the tensor or key.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from mirada.config import Values, nearest
from mirada.errors import DataError
from mirada.files import read_bytes

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}
OLD_NAMES = {".LayerNorm.gamma": ".LayerNorm.weight", ".LayerNorm.beta": ".LayerNorm.bias"}
"""Tensor names in the earliest published files, and their names today."""
INTEGERS = {"I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "BOOL"}
"""Types that are never weights; all other types become float32."""


def read_json(path: Path) -> Values:
    """Read a JSON object. (`mirada.parsing` is too strict: published files have integers beyond 64 bits.)"""
    content = read_bytes(path, DataError)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise DataError(f"{path}: is damaged (not JSON)") from None
    if not isinstance(found, dict):
        raise DataError(f"{path}: should be a JSON object, not {str(found)[:40]!r}")
    return found


class CheckpointConfig:
    """The values of config.json, each checked when it is read."""

    def __init__(self, path: Path):
        self.path = path
        self.values = read_json(path)

    def integer(self, key: str, default: int | None = None) -> int:
        """A non-negative integer."""
        value = self.values.get(key, default)
        if value is None and default is not None:
            value = default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise DataError(f"{self.path}: {key} should be a whole number, not {value!r}")
        return value

    def number(self, key: str, default: float) -> float:
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise DataError(f"{self.path}: {key} should be a number, not {value!r}")
        return float(value)

    def choice(self, key: str, choices: Mapping[str, str], default: str) -> str:
        """Mirada's name for one of the supported values."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or value not in choices:
            raise DataError(f"{self.path}: {key}={value!r} is not supported{nearest(str(value), choices)}")
        return choices[value]

    def require(self, **expected: Any) -> None:
        """Refuse a model that computes something else: these keys, if present, must have these values."""
        for key, value in expected.items():
            if self.values.get(key, value) != value:
                raise DataError(f"{self.path}: {key}={self.values[key]!r} is not supported, only {key}={value!r}")


class Checkpoint:
    """The files of a checkpoint. Tensors are read on demand."""

    def __init__(self, folder: Path):
        if not folder.is_dir():
            what = "is a file" if folder.exists() else "there is no such directory"
            raise DataError(f"{folder}: {what}; a checkpoint is a directory with config.json and {WEIGHTS}")
        self.folder = folder
        self.config = CheckpointConfig(folder / "config.json")
        self._tensors = self._find()
        """For each tensor, by its current name: the file it is in, its name there, its shape."""

    @property
    def weights(self) -> Path:
        """The file to name when the weights are wrong."""
        return self.folder / (WEIGHTS if (self.folder / WEIGHTS).exists() else INDEX)

    @property
    def names(self) -> Collection[str]:
        return self._tensors.keys()

    def shape(self, name: str) -> tuple[int, ...]:
        return self._tensors[name][2]

    def tensor(self, name: str) -> Tensor:
        """A tensor in float32."""
        path, stored, _ = self._tensors[name]
        with safe_open(path, "pt") as file:
            found: Tensor = file.get_tensor(stored)
        return found.to(torch.float32)

    def _find(self) -> dict[str, tuple[Path, str, tuple[int, ...]]]:
        tensors: dict[str, tuple[Path, str, tuple[int, ...]]] = {}
        for path, indexed in self._files().items():
            try:
                with safe_open(path, "pt") as file:
                    slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
                    shapes = {name: tuple(part.get_shape()) for name, part in slices.items()}
                    integers = {name for name, part in slices.items() if str(part.get_dtype()) in INTEGERS}
            except (OSError, SafetensorError) as error:
                raise DataError(f"{path}: cannot be read ({error}): is the download complete?") from None
            if missing := sorted(indexed - shapes.keys()):
                raise DataError(f"{path}: has no {missing[0]}, which {INDEX} lists ({len(missing)} missing)")
            for stored, shape in shapes.items():
                name = stored
                for old, new in OLD_NAMES.items():
                    name = name.replace(old, new)
                if stored not in integers:
                    tensors[name] = path, stored, shape
        return tensors

    def _files(self) -> dict[Path, set[str]]:
        """The weight files, and the tensors that the index, if there is one, lists for each."""
        if (self.folder / WEIGHTS).exists():
            return {self.folder / WEIGHTS: set()}
        if not (self.folder / INDEX).exists():
            if pickles := sorted(path.name for path in self.folder.iterdir() if path.suffix in PICKLES):
                raise DataError(
                    f"{self.folder}: has its weights only in {pickles[0]}, a pickle, which can run any code when it is "
                    f"loaded; convert it to {WEIGHTS} first (transformers: model.save_pretrained(folder))"
                )
            raise DataError(f"{self.folder}: has no {WEIGHTS}, so there are no weights to import")
        index = self.folder / INDEX
        shards = read_json(index).get("weight_map")
        if not isinstance(shards, dict) or not all(isinstance(name, str) for name in shards.values()):
            raise DataError(f"{index}: does not say which file each tensor is in (weight_map)")
        files: dict[Path, set[str]] = {}
        for tensor, name in shards.items():
            if name != Path(name).name:
                raise DataError(f"{index}: {tensor} should be in a file next to it, not in {name!r}")
            files.setdefault(self.folder / name, set()).add(tensor)
        return files

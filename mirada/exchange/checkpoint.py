"""A published checkpoint on disk: config.json and model.safetensors, whole or in shards. No pickles, no code.

Whatever does not fit is refused with one line that names the file and the tensor or the key.
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

WHOLE, SHARDS = "model.safetensors", "model.safetensors.index.json"
PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}
LARGEST_JSON = 64 * 2**20
OLD_NAMES = {".LayerNorm.gamma": ".LayerNorm.weight", ".LayerNorm.beta": ".LayerNorm.bias"}
"""As the first published files called them."""
INTEGERS = {"I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "BOOL"}
"""Never weights; what else there is becomes float32."""


def read_json(path: Path) -> Values:
    """A JSON object from a file."""
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise DataError(f"{path}: is larger than {LARGEST_JSON // 2**20} MiB, which it never should be")
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path}: is damaged (not JSON)") from None
    if not isinstance(found, dict):
        raise DataError(f"{path}: should hold names and values, not {str(found)[:40]!r}")
    return found


class Settings:
    """What config.json says, each value checked when it is asked for."""

    def __init__(self, path: Path):
        self.path = path
        self.values = read_json(path)

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number above or equal to zero."""
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
        """Mirada's name for one of the values that it knows."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or value not in choices:
            raise DataError(f"{self.path}: {key}={value!r} is not known here{nearest(str(value), choices)}")
        return choices[value]

    def only(self, **expected: Any) -> None:
        """Refuse a model that computes something else than ours: these keys, where given, must have these values."""
        for key, value in expected.items():
            if self.values.get(key, value) != value:
                raise DataError(
                    f"{self.path}: {key}={self.values[key]!r} makes another model of it than Mirada has, "
                    f"which is for {key}={value!r}"
                )


class Checkpoint:
    """The files of a checkpoint. Tensors are read when they are asked for."""

    def __init__(self, folder: Path):
        if not folder.is_dir():
            what = "is a file" if folder.exists() else "there is no such directory"
            raise DataError(f"{folder}: {what}; a checkpoint is a directory with config.json and {WHOLE}")
        self.folder = folder
        self.settings = Settings(folder / "config.json")
        self._homes = self._find()
        """Each tensor's name as we ask for it: the file it is in, its name there, its shape."""

    @property
    def where(self) -> Path:
        """What to name when the weights are wrong."""
        return self.folder / (WHOLE if (self.folder / WHOLE).exists() else SHARDS)

    @property
    def names(self) -> Collection[str]:
        return self._homes.keys()

    def shape(self, name: str) -> tuple[int, ...]:
        return self._homes[name][2]

    def tensor(self, name: str) -> Tensor:
        """A tensor in float32."""
        path, stored, _ = self._homes[name]
        with safe_open(path, "pt") as file:
            found: Tensor = file.get_tensor(stored)
        return found.to(torch.float32)

    def _find(self) -> dict[str, tuple[Path, str, tuple[int, ...]]]:
        homes: dict[str, tuple[Path, str, tuple[int, ...]]] = {}
        for path, promised in self._files().items():
            try:
                with safe_open(path, "pt") as file:
                    there = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
                    shapes = {name: tuple(part.get_shape()) for name, part in there.items()}
                    whole = {name for name, part in there.items() if str(part.get_dtype()) in INTEGERS}
            except (OSError, SafetensorError) as error:
                raise DataError(f"{path}: cannot be read ({error}): is the download complete?") from None
            if missing := sorted(promised - shapes.keys()):
                raise DataError(f"{path}: has no {missing[0]}, which {SHARDS} promises ({len(missing)} missing)")
            for stored, shape in shapes.items():
                name = stored
                for old, new in OLD_NAMES.items():
                    name = name.replace(old, new)
                if stored not in whole:
                    homes[name] = path, stored, shape
        return homes

    def _files(self) -> dict[Path, set[str]]:
        """The files with weights, and the tensors that the index, if there is one, promises for each."""
        if (self.folder / WHOLE).exists():
            return {self.folder / WHOLE: set()}
        if not (self.folder / SHARDS).exists():
            if pickles := sorted(path.name for path in self.folder.iterdir() if path.suffix in PICKLES):
                raise DataError(
                    f"{self.folder}: has its weights only in {pickles[0]}, a pickle, which can run any code when it is "
                    f"opened; convert it to {WHOLE} first (transformers: model.save_pretrained(folder))"
                )
            raise DataError(f"{self.folder}: has no {WHOLE}, so there are no weights to import")
        index = self.folder / SHARDS
        homes = read_json(index).get("weight_map")
        if not isinstance(homes, dict) or not all(isinstance(name, str) for name in homes.values()):
            raise DataError(f"{index}: does not say which file each tensor is in (weight_map)")
        files: dict[Path, set[str]] = {}
        for tensor, name in homes.items():
            if name != Path(name).name:
                raise DataError(f"{index}: {tensor} should be in a file beside it, not in {name!r}")
            files.setdefault(self.folder / name, set()).add(tensor)
        return files

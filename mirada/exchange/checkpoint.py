"""A published checkpoint on disk, config.json and model.safetensors (whole or in shards), and what is read from it.

No pickles, no code. Anything that does not fit is refused with one line that names the file and the tensor or key.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from mirada import config as configuration
from mirada.config import Section, Values, nearest
from mirada.errors import ConfigError, DataError, UsageError
from mirada.files import open_regular, read_bytes

S = TypeVar("S", bound=Section)

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}
OLD_NAMES = {".LayerNorm.gamma": ".LayerNorm.weight", ".LayerNorm.beta": ".LayerNorm.bias"}
"""Tensor names in the earliest published files, and their names today."""
INTEGERS = {"I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "BOOL"}
"""Types that are never weights; all other types become float32."""
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "swish": "silu",
    "silu": "silu",
}
"""Mirada's activations by their names in config.json."""
EXPORTED_ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu", "silu": "silu"}
"""The names in config.json that every version of `transformers` knows."""


@dataclass(frozen=True)
class ImportedModel:
    """A published model as Mirada's network, settings and preprocessor."""

    model_type: str
    """The `model_type` of config.json."""
    task: str
    settings: Values
    """The configuration's section `model`."""
    network: nn.Module
    preprocessor: Any
    data: Values = field(default_factory=dict)
    """The configuration's section `data`."""
    report: Values = field(default_factory=dict)
    """The fields of the data report: the labels, the size of the vocabulary."""
    notes: tuple[str, ...] = ()
    """Messages for the user, such as parts that the checkpoint does not have."""
    untrained: tuple[str, ...] = ()
    """Parts of the network that the checkpoint does not have, whose weights are random."""


@dataclass(frozen=True)
class ExportedModel:
    """A model as the files of a checkpoint."""

    architecture: str
    """The class of `transformers` that loads it."""
    config: Values
    tensors: dict[str, Tensor]
    files: dict[str, Values | str]
    """Its other files by name: values are written as JSON."""
    notes: tuple[str, ...] = ()
    """Messages for the user on differences there."""


def not_exportable(path: Path, why: str) -> UsageError:
    """The error for a model that no class of `transformers` can hold."""
    return UsageError(f"{path}: cannot be exported to Hugging Face: {why}")


def encoder_config(model: Any) -> Values:
    """The settings of an encoder for config.json, under the names that BERT and ViT share."""
    return {
        "hidden_size": model.width,
        "num_attention_heads": model.heads,
        "num_hidden_layers": model.layers,
        "intermediate_size": model.feed_forward or 4 * model.width,
        "hidden_act": EXPORTED_ACTIVATIONS[model.activation],
        "layer_norm_eps": model.eps,
        "hidden_dropout_prob": model.dropout or 0.0,
        "attention_probs_dropout_prob": 0.0,
    }


def label_config(labels: Sequence[str]) -> Values:
    """The labels of a classifier for config.json."""
    return {
        "id2label": {str(number): label for number, label in enumerate(labels)},
        "label2id": {label: number for number, label in enumerate(labels)},
    }


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
    """The values of config.json or another JSON file of a checkpoint, each checked when it is read."""

    def __init__(self, path: Path, optional: bool = False):
        self.path = path
        self.values = {} if optional and not path.exists() else read_json(path)

    def integer(self, key: str, default: int | None = None) -> int:
        """A non-negative integer."""
        value = self.values.get(key)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise DataError(f"{self.path}: {key} should be a whole number, not {value!r}")
        return value

    def number(self, key: str, default: float) -> float:
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise DataError(f"{self.path}: {key} should be a number, not {value!r}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key)
        if not isinstance(value, bool | None):
            raise DataError(f"{self.path}: {key} should be true or false, not {value!r}")
        return default if value is None else value

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

    def encoder(self) -> Values:
        """The settings of an encoder, under the names that BERT and ViT share."""
        return {
            "width": self.integer("hidden_size"),
            "heads": self.integer("num_attention_heads"),
            "layers": self.integer("num_hidden_layers"),
            "feed_forward": self.integer("intermediate_size"),
            "activation": self.choice("hidden_act", ACTIVATIONS, "gelu"),
            "eps": self.number("layer_norm_eps", 1e-12),
        }

    def build(self, kind: type[S], values: Mapping[str, Any]) -> S:
        """Build the section `model`, with the same checks as for settings that a person wrote."""
        try:
            built: S = configuration.build({"model": kind}, {"model": dict(values)})["model"]
        except ConfigError as error:
            raise DataError(f"{self.path}: does not describe a model that Mirada can build ({error})") from None
        return built


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

    def labels(self) -> list[str]:
        """The labels of id2label, one per row of the classifier; equal names get their number appended.

        Without id2label they are LABEL_0, LABEL_1, … as in `transformers`.
        """
        config, count = self.config, (*self.shape("classifier.weight"), 0)[0]
        named, expected = config.values.get("id2label"), config.values.get("num_labels")
        if named is None:
            if expected is not None and expected != count:
                raise DataError(
                    f"{self.weights}: classifier.weight has {count} rows; {config.path.name} has num_labels={expected}"
                )
            return [f"LABEL_{number}" for number in range(count)]
        if not isinstance(named, dict) or named.keys() != {str(number) for number in range(count)}:
            many = f"{len(named):,} names" if isinstance(named, dict) else repr(named)[:40]
            raise DataError(
                f"{config.path}: id2label should name the classes 0 to {count - 1} of classifier.weight, not {many}"
            )
        labels = [str(named[str(number)]) for number in range(count)]
        found = [f"{name} ({i})" if labels.count(name) > 1 else name for i, name in enumerate(labels)]
        if len(set(found)) < count:
            raise DataError(f"{config.path}: id2label has equal names for different classes")
        return found

    def prefix(self, name: str) -> str:
        """The prefix of the tensor names: models with a head have one, bare models have none."""
        return name if any(one.startswith(name) for one in self.names) else ""

    def _find(self) -> dict[str, tuple[Path, str, tuple[int, ...]]]:
        tensors: dict[str, tuple[Path, str, tuple[int, ...]]] = {}
        for path, indexed in self._files().items():
            open_regular(path, DataError).close()
            try:
                with safe_open(path, "pt") as file:
                    slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - not a dict
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

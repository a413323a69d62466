"""Snapshots of attention: the weights on one example at several steps of training, as a file of a bundle.

The file is safetensors with one tensor `weights` [N, P, H, T, S] in float16: N steps, P attentions with H heads, T
target tokens, S source tokens. Its metadata has the steps, the attentions' paths and the tokens as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from pydantic import BaseModel, Field
from safetensors.torch import save
from torch import Tensor

from mirada.errors import BundleError
from mirada.parsing import Malformed, check, parse_json
from mirada.tensors import load_tensors

MOST_WEIGHTS = 32_768
"""Attention weights in a snapshot; a longer example is not taken."""
LARGEST = 16 * 2**20

Piece = Annotated[str, Field(max_length=4096)]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The attention weights of a model on one example, with the target given."""

    source: list[str]  # S pieces, the last is </s>
    target: list[str]  # T pieces, the last is </s>
    paths: list[str]  # P attentions: decoder.0.cross
    weights: Tensor  # [P, H, T, S], each row sums to 1


@dataclass(frozen=True, eq=False)
class History:
    """The snapshots of a training."""

    steps: list[int]  # N
    source: list[str]
    target: list[str]
    paths: list[str]
    weights: Tensor  # [N, P, H, T, S]

    def about(self) -> dict[str, Any]:
        """All but the weights."""
        return {"steps": self.steps, "source": self.source, "target": self.target, "paths": self.paths}


class _About(BaseModel):
    steps: Annotated[list[Annotated[int, Field(strict=True, ge=0)]], Field(min_length=1, max_length=1000)]
    source: Annotated[list[Piece], Field(min_length=1)]
    target: Annotated[list[Piece], Field(min_length=1)]
    paths: Annotated[list[Piece], Field(min_length=1)]


def dump_history(example: Snapshot, taken: Mapping[int, Tensor]) -> bytes:
    """The file of the snapshots taken at these steps of one example; those of another one are left out."""
    steps = sorted(step for step, tensor in taken.items() if tensor.shape == example.weights.shape)
    about = History(steps, example.source, example.target, example.paths, torch.stack([taken[step] for step in steps]))
    return save({"weights": about.weights}, {"history": json.dumps(about.about(), ensure_ascii=False)})


def load_history(content: bytes, where: object) -> History:
    """The snapshots in the content of a file, which may be altered: names, sizes and values are checked."""
    tensors = load_tensors(content, str(where), BundleError, largest=1.01)
    try:
        length = int.from_bytes(content[:8], "little")
        header = parse_json(content[8 : 8 + length])
        about: _About = check(_About, parse_json(header["__metadata__"]["history"]))
    except (Malformed, KeyError, TypeError) as fault:
        raise BundleError(f"{where}: has been altered or damaged (it does not say of what: {fault})") from None
    weights = tensors.get("weights")
    if len(tensors) != 1 or weights is None or weights.dtype != torch.float16 or weights.ndim != 5:
        raise BundleError(f"{where}: has been altered or damaged (it should have one tensor `weights` of 5 axes)")
    steps, paths, heads, *sides = weights.shape
    said = len(about.steps), len(about.paths), len(about.target), len(about.source)
    if (steps, paths, *sides) != said or not heads or weights.numel() > LARGEST:
        raise BundleError(f"{where}: has been altered or damaged (weights of {list(weights.shape)} for {said})")
    if about.steps != sorted(set(about.steps)):
        raise BundleError(f"{where}: has been altered or damaged (its steps are not in order)")
    return History(about.steps, about.source, about.target, about.paths, weights)

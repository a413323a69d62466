"""Tensors as texts in a page: safetensors files in byte planes, gzip and base64; and weights in one precision."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import numpy as np
import torch
from safetensors.numpy import save
from torch import Tensor, nn

from mirada.bundle import weights_of
from mirada.errors import UsageError

Precision = Literal["float32", "float16"]
PRECISIONS: tuple[Precision, ...] = ("float32", "float16")
FLOAT32_UP_TO = 4_000_000
"""Parameters up to which weights are written in float32."""
PLANES = 4
"""Bytes of a float32."""


def packed(content: bytes) -> str:
    """The text that stands for a file in a page; equal files have equal texts.

    The first bytes of all numbers come first, then the second ones, and so on: the last ones, with sign and exponent,
    are alike, and gzip finds little else that repeats.
    """
    planes = b"".join(content[byte::PLANES] for byte in range(PLANES))
    return base64.b64encode(gzip.compress(planes, 6, mtime=0)).decode("ascii")


def file_of(tensors: Mapping[str, np.ndarray], precision: Precision = "float32") -> bytes:
    """A safetensors file of tensors in one precision; whole numbers, which a page has no use for, are left out."""
    kept = {name: array for name, array in tensors.items() if np.issubdtype(array.dtype, np.floating)}
    return bytes(save({name: np.ascontiguousarray(_cast(array, precision)) for name, array in kept.items()}))


def _cast(array: np.ndarray, precision: Precision) -> np.ndarray:
    if precision == "float32":
        return array.astype(np.float32)
    most = float(np.finfo(np.float16).max)
    return np.where(np.isfinite(array), np.clip(array, -most, most), array).astype(np.float16)


def suggest_precision(parameters: int) -> Precision:
    """The precision to write a model in, by its number of parameters."""
    return "float32" if parameters <= FLOAT32_UP_TO else "float16"


def weights_file(network: nn.Module, precision: Precision) -> bytes:
    """A network's weights as a file, each tensor once."""
    weights = {name: tensor.float().numpy() for name, tensor in weights_of(network).items()}
    if precision == "float16":
        largest = max((float(np.abs(array).max(initial=0)) for array in weights.values()), default=0.0)
        if largest > float(np.finfo(np.float16).max):
            raise UsageError(
                f"--precision float16: has weights up to {largest:,.0f}, and float16 ends at 65,504; write float32"
            )
    return file_of(weights, precision)


def aliases_of(network: nn.Module) -> dict[str, str]:
    """The names of weights that are stored under another one, because both are the same tensor."""
    state = network.state_dict()
    owners = {state[name].data_ptr(): name for name in weights_of(network) if state[name].numel()}
    shared = {name: owners.get(tensor.data_ptr(), name) for name, tensor in sorted(state.items())}
    return {name: owner for name, owner in shared.items() if name != owner}


@contextmanager
def rounded(network: nn.Module, precision: Precision) -> Iterator[None]:
    """Give a network the weights that a page has for the duration of a `with` block."""
    if precision == "float32":
        yield
        return
    tensors = _floating(network)
    kept = [tensor.clone() for tensor in tensors]
    try:
        with torch.no_grad():
            for tensor in tensors:
                tensor.copy_(tensor.half().float())
        yield
    finally:
        with torch.no_grad():
            for tensor, before in zip(tensors, kept, strict=True):
                tensor.copy_(before)


def _floating(network: nn.Module) -> list[Tensor]:
    """A network's weights, each tensor once."""
    found = {tensor.data_ptr(): tensor for tensor in network.state_dict().values() if tensor.is_floating_point()}
    return list(found.values())

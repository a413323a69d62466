"""Read untrusted safetensors files: the header is checked before the data is read, the values before they are used.

    8 bytes     n, the length of the header
    n bytes     JSON: {name: {"dtype": "F32", "shape": [16, 8], "data_offsets": [0, 512]}, …}
    the rest    the data, one tensor after the other

The header determines the size of the file; a file of another size is refused unread.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import torch
from pydantic import BaseModel, Field
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from mirada.errors import MiradaError
from mirada.files import SMALL_FILE, open_regular
from mirada.parsing import load_json

Offset = Annotated[int, Field(ge=0)]
TensorSpec = tuple[tuple[int, ...], torch.dtype]
"""The shape and dtype of a tensor."""


class _Entry(BaseModel):
    dtype: str
    shape: list[Offset]
    data_offsets: tuple[Offset, Offset]


def read_tensors(path: Path, error: type[MiradaError]) -> dict[str, Tensor]:
    """Read the tensors of a file."""
    return load_tensors(read_content(path, error), path, error)


def read_content(path: Path, error: type[MiradaError]) -> bytes:
    """Read the bytes of a safetensors file, whose size must match its header."""
    with open_regular(path, error) as file:
        size = os.fstat(file.fileno()).st_size
        _check_size(file, size, path, error)
        file.seek(0)
        return file.read(size)


def _check_size(file: BinaryIO, size: int, path: Path, error: type[MiradaError]) -> None:
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, SMALL_FILE):
        raise error(f"{path}: has been altered or damaged (it has no safetensors header)")
    shape = dict[str, dict[str, str] | _Entry]
    header: Mapping[str, Any] = load_json(file.read(length), shape, path, error)
    ends = [entry.data_offsets[1] for entry in header.values() if isinstance(entry, _Entry)]
    if 8 + length + max(ends, default=0) != size:
        expected = 8 + length + max(ends, default=0)
        raise error(
            f"{path}: has been altered or damaged (it has {size:,} bytes, and its header describes {expected:,})"
        )
    if size > (memory := _physical_memory()):
        raise error(f"{path}: needs {size / 2**30:,.0f} GiB of memory, and this machine has {memory / 2**30:,.0f}")


def _physical_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def load_tensors(
    content: bytes, where: str | Path, error: type[MiradaError], largest: float = math.inf, loose: str = "\0"
) -> dict[str, Tensor]:
    """Load tensors from the bytes of a file; all values must be finite and within ± `largest`.

    Tensors whose names begin with `loose` may have any values.
    """
    try:
        found = load(content)
    except (SafetensorError, KeyError, ValueError, RuntimeError, TypeError) as fault:  # KeyError: an unknown dtype
        raise error(
            f"{where}: has been altered or damaged (not readable as tensors: {str(fault).splitlines()[0][:80]!r})"
        ) from None
    for name, tensor in found.items():
        if name.startswith(loose):
            continue
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise error(f"{where}: has been altered or damaged ({name[:80]!r} has values that are not finite numbers)")
        if tensor.is_floating_point() and tensor.numel() and tensor.abs().max() > largest:
            raise error(f"{where}: has been altered or damaged ({name[:80]!r} has values beyond ±{largest:g})")
    return found


def tensor_specs(model: nn.Module) -> dict[str, TensorSpec]:
    """The shapes and dtypes of a model's weights, each tied one once; the model may be on the `meta` device."""
    seen: set[int] = set()
    specs = {}
    for name, tensor in sorted(model.state_dict(keep_vars=True).items()):
        if id(tensor) not in seen:
            seen.add(id(tensor))
            specs[name] = tuple(tensor.shape), tensor.dtype
    return specs


def check_specs(
    wanted: Mapping[str, TensorSpec], given: Mapping[str, Tensor], where: str | Path, error: type[MiradaError]
) -> None:
    """Refuse tensors whose names, shapes or dtypes differ from the wanted ones."""
    found = {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in given.items()}
    names = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if names:
        shown, specs = names[0][:80], [_described(specs.get(names[0])) for specs in (wanted, found)]
        raise error(
            f"{where}: the weights do not fit the configuration: {shown!r} should have shape {specs[0]}, not "
            f"{specs[1]} ({len(names)} differ)"
        )


def _described(spec: TensorSpec | None) -> str:
    return "none" if spec is None else f"{spec[0]}" + ("" if spec[1] == torch.float32 else f" of {spec[1]}")


class _WithoutRandomNumbers(TorchFunctionMode):
    """Skips the initialization of tensors."""

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        module = getattr(function, "__module__", "")
        if module == "torch.nn.init" or function in (Tensor.normal_, Tensor.uniform_, Tensor.random_):
            return args[0] if args else given["tensor"]
        return function(*args, **given)


@contextmanager
def outline() -> Iterator[None]:
    """Build networks without values in this block: no memory is allocated, and no random number is drawn.

    Drawing random numbers on the device `meta` would import PyTorch's compiler, which takes seconds.
    """
    with torch.device("meta"), _WithoutRandomNumbers():
        yield

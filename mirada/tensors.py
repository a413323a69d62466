"""Files of tensors (safetensors): their header is checked before they are read, and their values before they are used.

    8 bytes     n, the length of the header
    n bytes     JSON: {name: {"dtype": "F32", "shape": [16, 8], "data_offsets": [0, 512]}, …}
    the rest    the numbers, one tensor behind the other

The header says how large the file has to be, so one of another size is refused unread.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import torch
from pydantic import BaseModel, Field
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn

from mirada.errors import MiradaError
from mirada.files import SMALL_FILE, open_regular
from mirada.parsing import load_json

Offset = Annotated[int, Field(ge=0)]
Form = tuple[tuple[int, ...], torch.dtype]
"""The shape and the type of a tensor."""


class _Entry(BaseModel):
    dtype: str
    shape: list[Offset]
    data_offsets: tuple[Offset, Offset]


def read_tensors(path: Path, error: type[MiradaError]) -> dict[str, Tensor]:
    """The tensors of a file."""
    return load_tensors(read_content(path, error), path, error)


def read_content(path: Path, error: type[MiradaError]) -> bytes:
    """The bytes of a file of tensors, whose header has to describe as many as there are."""
    with open_regular(path, error) as file:
        size = os.fstat(file.fileno()).st_size
        _check_size(file, size, path, error)
        file.seek(0)
        return file.read(size)


def _check_size(file: BinaryIO, size: int, path: Path, error: type[MiradaError]) -> None:
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, SMALL_FILE):
        raise error(f"{path}: has been altered or damaged (it has no header of tensors)")
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
    """Tensors from the bytes of their file, if all their numbers are finite and none is beyond ± `largest`.

    Those whose names begin with `loose` may hold anything.
    """
    try:
        found = load(content)
    except (SafetensorError, KeyError, ValueError, RuntimeError, TypeError) as fault:  # KeyError: a type it cannot make
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


def forms_of(model: nn.Module) -> dict[str, Form]:
    """The shapes and types that a model's weights have, tied ones once, also when it is only an outline (`meta`)."""
    seen: set[int] = set()
    forms = {}
    for name, tensor in sorted(model.state_dict(keep_vars=True).items()):
        if id(tensor) not in seen:
            seen.add(id(tensor))
            forms[name] = tuple(tensor.shape), tensor.dtype
    return forms


def check_forms(
    wanted: Mapping[str, Form], given: Mapping[str, Tensor], where: str | Path, error: type[MiradaError]
) -> None:
    """Refuse tensors whose names, shapes or types are not those that are wanted."""
    found = {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in given.items()}
    names = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if names:
        shown, told = names[0][:80], [_told(forms.get(names[0])) for forms in (wanted, found)]
        raise error(
            f"{where}: the weights do not fit the configuration: {shown!r} should have shape {told[0]}, not {told[1]} "
            f"({len(names)} differ)"
        )


def _told(form: Form | None) -> str:
    return "none" if form is None else f"{form[0]}" + ("" if form[1] == torch.float32 else f" of {form[1]}")

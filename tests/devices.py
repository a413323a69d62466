"""Stand-ins for devices that the test machine lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils import swap_tensors

FETCH = {Tensor.cpu, Tensor.numpy, Tensor.tolist, Tensor.item}


class WithoutFloat64(TorchFunctionMode):
    """As on MPS: no tensor becomes 64-bit before it has been fetched to the CPU."""

    def __init__(self) -> None:
        super().__init__()
        self._fetched: dict[int, Tensor] = {}  # by id; the tensors are kept, so that no id is used twice

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        found = func(*args, **(kwargs or {}))
        given = [value for value in (*args, *(kwargs or {}).values()) if isinstance(value, Tensor)]
        if isinstance(found, Tensor):
            fetched = func in FETCH or any(id(tensor) in self._fetched for tensor in given)
            if found.dtype == torch.float64 and given and not fetched:
                raise TypeError(f"{func.__name__}: this device has no float64")
            if fetched:
                self._fetched[id(found)] = found
        return found


def move_to_meta(model: nn.Module) -> None:
    """Put the parameters on the meta device in place: an optimiser that holds them holds them there."""
    for parameter in model.parameters():
        swap_tensors(parameter, nn.Parameter(parameter.detach().to("meta")))


class Reached(Exception):
    """Stops a computation whose rest the meta device cannot do."""

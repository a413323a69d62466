"""Parts of a network: their paths, recording, switches, and the roles of their parameters.

    with recording("decoder.*.cross.weights") as recorder:
        model(batch)
    recorder.tensors["decoder.0.cross.weights"]  # [B, H, T, S]

    with switched(model, Switches(scale=False)):
        model(batch)

    with without("scale", "decoder.1.cross.2"):  # by name; whatever model runs has to have these parts
        model(batch)

They apply to everything that this thread runs inside the block: a training pass, a whole generation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from mirada.errors import UsageError

# ── recording ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Recorder:
    """Keeps the tensors of a forward pass by their paths (`encoder.0.self.weights`).

    `patterns` select paths (`decoder.*.cross.weights`); all are recorded if there are none. Generation runs the
    network many times: `steps` has a dictionary for each pass, `tensors` is that of the last one.
    """

    patterns: tuple[str, ...] = ()
    outer: Recorder | None = None
    steps: list[dict[str, Tensor]] = field(default_factory=lambda: [{}])

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors of the last pass."""
        return self.steps[-1]

    def wants(self, path: str) -> bool:
        return self._selects(path) or (self.outer is not None and self.outer.wants(path))

    def _selects(self, path: str) -> bool:
        return not self.patterns or any(fnmatchcase(path, pattern) for pattern in self.patterns)

    def record(self, path: str, tensor: Tensor) -> None:
        if self._selects(path):
            self.tensors[path] = tensor
        if self.outer is not None:
            self.outer.record(path, tensor)

    def next_step(self) -> None:
        self.steps.append({})
        if self.outer is not None:
            self.outer.next_step()


_recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


@contextmanager
def recording(*patterns: str) -> Iterator[Recorder]:
    """Record the tensors whose paths match one of the patterns, or all; an outer recorder keeps recording."""
    recorder = Recorder(patterns, _recorder.get())
    token = _recorder.set(recorder)
    try:
        yield recorder
    finally:
        _recorder.reset(token)


def is_recording() -> bool:
    """Whether a recorder is active."""
    return _recorder.get() is not None


def next_step() -> None:
    """Tell the recorder, if there is one, that another step of generation begins."""
    if (recorder := _recorder.get()) is not None:
        recorder.next_step()


@contextmanager
def joined_steps() -> Iterator[None]:
    """Record a loop over time steps as one pass: the tensors of its rounds are joined along the last axis but one.

    The loop calls `next_step` at the beginning of every round but the first.
    """
    outer = _recorder.get()
    if outer is None:
        yield
        return
    inner = _Steps(outer)
    token = _recorder.set(inner)
    try:
        yield
    finally:
        _recorder.reset(token)
    for path in inner.tensors:
        outer.record(path, torch.cat([step[path] for step in inner.steps], -2))


class _Steps(Recorder):
    """Records for `joined_steps` what another recorder wants."""

    def __init__(self, wanting: Recorder):
        super().__init__()
        self.wanting = wanting

    def _selects(self, path: str) -> bool:
        return self.wanting.wants(path)


# ── switches ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Switches:
    """Switches that leave out parts of a model, to see what they are for; all are on by default."""

    scale: bool = True  # the division of attention scores by √d_k
    future_mask: bool = True  # the mask that hides later tokens
    positions: bool = True  # position encodings, added or rotary
    residual_off: frozenset[str] = frozenset()  # paths of residual connections to cut: encoder.0.add_self
    heads_off: frozenset[tuple[str, int]] = frozenset()  # (path, head) pairs that contribute nothing
    layers_off: frozenset[str] = frozenset()  # paths of layers that pass their input on: encoder.1

    def disabled_heads(self, path: str) -> list[int]:
        """The heads of one attention that are switched off."""
        return [head for owner, head in self.heads_off if owner == path]

    def names(self) -> list[str]:
        """The names of the parts that are switched off, as `without` takes them."""
        flags = [name for name in FLAGS if not getattr(self, name)]
        heads = [f"{path}.{head}" for path, head in sorted(self.heads_off)]
        return [*flags, *sorted(self.residual_off), *heads, *sorted(self.layers_off)]

    def and_without(self, names: Iterable[str]) -> Switches:
        """These switches with further parts off, by name."""
        found = self
        for name in names:
            if name in FLAGS:
                scale, future_mask, positions = (getattr(found, flag) and flag != name for flag in FLAGS)
                found = replace(found, scale=scale, future_mask=future_mask, positions=positions)
            elif _RESIDUAL.fullmatch(name):
                found = replace(found, residual_off=found.residual_off | {name})
            elif head := _HEAD.fullmatch(name):
                found = replace(found, heads_off=found.heads_off | {(head[1], int(head[2]))})
            elif _LAYER.fullmatch(name):
                found = replace(found, layers_off=found.layers_off | {name})
            else:
                raise UsageError(
                    f"without {str(name)[:60]!r}: there are {', '.join(FLAGS)}, and by their paths residual "
                    "connections (encoder.0.add_self), heads (decoder.1.cross.2) and layers (encoder.3)"
                )
        return found


FLAGS = ("scale", "future_mask", "positions")
_RESIDUAL = re.compile(r"(?:\w+\.)+add_\w+")
_HEAD = re.compile(r"((?:\w+\.)*[^\W\d]\w*\.\d+\.[^\W\d]\w*)\.(\d{1,6})")  # encoder.0.self.3
_LAYER = re.compile(r"(?:[^\W\d]\w*\.)+\d{1,6}")  # encoder.3
ALL_ON = Switches()
_switches: ContextVar[Switches] = ContextVar("switches", default=ALL_ON)


def active_switches() -> Switches:
    """The switches that apply now."""
    return _switches.get()


@contextmanager
def switched(network: nn.Module, switches: Switches) -> Iterator[None]:
    """Leave out parts of a network; UsageError names one that it does not have."""
    _check(network, switches)
    token = _switches.set(switches)
    try:
        yield
    finally:
        _switches.reset(token)


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Leave out parts of the models that are used in this block: `with mirada.without("scale", "encoder.0.self.3"):`

    `scale` (the division by √d_k), `future_mask` and `positions` are switched off everywhere; by its path a residual
    connection (`encoder.0.add_self`), a head (`decoder.1.cross.2`) or a whole layer (`encoder.3`), counted from 0. A
    model that lacks such a part refuses it by name when it is used. Translations are computed by PyTorch then.
    """
    token = _switches.set(_switches.get().and_without(names))
    try:
        yield
    finally:
        _switches.reset(token)


def check_switches(network: nn.Module) -> None:
    """Raise UsageError if a part is switched off that this network does not have."""
    if (switches := _switches.get()) is not ALL_ON:
        _check(network, switches)


def _check(network: nn.Module, switches: Switches) -> None:
    name = getattr(getattr(network, "config", None), "name", type(network).__name__)
    parts = {module.path: module for module in network.modules() if isinstance(module, Part)}
    able = {switch for part in parts.values() for switch in part.honours}
    for switch in FLAGS:
        if not getattr(switches, switch) and switch not in able:
            raise UsageError(f"without {switch}: {name} has no such part, so nothing would change")
    for path in sorted(switches.residual_off):
        if path not in parts or "residual_off" not in parts[path].honours:
            raise UsageError(f"without {path}: {name} has no residual connection of that path")
    for path in sorted(switches.layers_off):
        if path not in parts or "layers_off" not in parts[path].honours:
            raise UsageError(f"without {path}: {name} has no Transformer layer of that path")
    for path, head in sorted(switches.heads_off):
        heads = getattr(parts[path], "heads", 0) if path in parts and "heads_off" in parts[path].honours else 0
        if not 0 <= head < heads:
            found = f"has {heads} heads there, 0 to {heads - 1}" if heads else "has no attention of that path"
            raise UsageError(f"without {path}.{head}: {name} {found}")


# ── parts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

Role = Literal["hidden", "head", "embedding", "other"]
"""The role of a parameter: a matrix of a hidden layer, the matrix of an output head, an embedding table, or anything
else (gains and biases)."""


class Part(nn.Module):
    """A module that knows its path in the model (`decoder.2.cross`), by which it records its tensors."""

    path: str = ""
    honours: frozenset[str] = frozenset()
    """The switches that this part supports."""
    roles: ClassVar[Mapping[str, Role]] = {}
    """The roles of its own parameters, by name; others are `other`."""

    def name_parts(self) -> None:
        """Give every part below this one its path; a model calls it once, when it is built."""
        for name, module in self.named_modules():
            if isinstance(module, Part):
                module.path = name.replace("layers.", "").replace("self_", "self")

    def record(self, name: str, tensor: Tensor) -> None:
        """Hand a tensor to the recorder, if there is one. In a hot path, ask `is_recording` first: it costs less."""
        if (recorder := _recorder.get()) is not None:
            recorder.record(self._path_of(name), tensor)

    def wants(self, *names: str) -> bool:
        """Whether a recorder asks for any of these tensors."""
        recorder = _recorder.get()
        return recorder is not None and any(recorder.wants(self._path_of(name)) for name in names)

    def _path_of(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


class OutputHead(nn.Linear, Part):
    """The last layer of a model: from vectors [.., D] to logits, or numbers, [.., O]."""

    roles: ClassVar[Mapping[str, Role]] = {"weight": "head"}

    def forward(self, h: Tensor) -> Tensor:
        logits = super().forward(h)
        if is_recording():
            self.record("logits", logits)
        return logits


def parameter_roles(model: nn.Module) -> dict[nn.Parameter, Role]:
    """The role of each parameter of a model, in its order; a matrix shared with an embedding is an embedding."""
    order: tuple[Role, ...] = ("other", "hidden", "head", "embedding")
    found: dict[nn.Parameter, Role] = dict.fromkeys(model.parameters(), "other")
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            found[parameter] = max(found[parameter], _role(module, name), key=order.index)
    return found


def _role(module: nn.Module, name: str) -> Role:
    if isinstance(module, Part):
        return module.roles.get(name, "other")
    if isinstance(module, nn.Embedding):
        return "embedding"
    return "hidden" if isinstance(module, nn.Linear) and name == "weight" else "other"

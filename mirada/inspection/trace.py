"""Traces: every tensor of one forward pass by its path, with named axes and the tokens, in one file.

    trace = model.trace("El gato ve el tren.")
    trace["decoder.1.cross.scores"]             # [head, target, source], a numpy array
    trace.axes["decoder.1.cross.scores"]        # ("head", "target", "source")
    trace.tokens["target"].pieces               # what the rows of an axis `target` are
    trace.save("trace.safetensors")

The file is safetensors; its metadata have one entry, `mirada.trace`, JSON with the format's version, the text, the
tokens and the names of the axes. What a model generated is replayed in one pass on the tokens it chose.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from pydantic import BaseModel, ConfigDict, Field
from safetensors.numpy import save
from torch import Tensor, nn

from mirada import __version__
from mirada.errors import DataError, InputError, UsageError
from mirada.files import SMALL_FILE, write_output
from mirada.inspection.axes import Axes, axes_of, without_batch
from mirada.inspection.words import Tokens
from mirada.nn.blocks import MultiHead
from mirada.parsing import load_json, shown
from mirada.parts import OutputHead, active_switches, check_switches, recording
from mirada.tensors import load_tensors, read_content

FORMAT = 1
"""The version of the file's format."""
METADATA = "mirada.trace"
PROBABILITIES = "probabilities"
MAX_NUMBERS = 2**28
"""The most attention scores, weights, logits and probabilities of a trace: 1 GiB."""
MAX_FILE = 2**33
"""The most bytes of a file that is read."""

Array = npt.NDArray[Any]


# ── recording ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Image(NamedTuple):
    """An image that a model reads, and its patches."""

    pixels: npt.NDArray[np.uint8]  # [F, H, W, C]
    grid: tuple[int, int, int]
    """Patches: in time, in a column, in a row."""
    first: int = 0
    """The tokens before those of the patches."""


def patch_tokens(grid: tuple[int, int, int]) -> Tokens:
    """The patches of an image as tokens, by row and column, and by frame where there are several."""
    frames, rows, columns = (range(count) for count in grid)
    name = "{1},{2}" if len(frames) == 1 else "{0}:{1},{2}"
    return Tokens(tuple(name.format(f, r, c) for f in frames for r in rows for c in columns))


@dataclass(frozen=True)
class Pass:
    """A forward pass of a network on given tokens, which can be recorded."""

    network: nn.Module
    run: Callable[[], Any]
    """The pass, on a batch of one."""
    text: str
    """The text that the model reads."""
    tokens: Mapping[str, Tokens]
    """The rows of tokens: `source`; `target` and `input` of a decoder; others that its outputs have."""
    outputs: Axes
    """The axes of its logits: ("target", "vocabulary"), ("label",), …"""
    facts: Mapping[str, Any]
    """Facts about the model: its name, task, architecture, parameters and sizes."""
    output: str | None = None
    """The text it chose or was given."""
    score: float | None = None
    """The score of the output, if the model chose it."""
    notes: tuple[str, ...] = ()
    image: Image | None = None

    @torch.inference_mode()
    def record(self, *patterns: str) -> Trace:
        """Run it, and keep the tensors whose paths match one of the patterns, or all."""
        check_switches(self.network)
        self._check_size()
        wanted = (*patterns, "*output.logits") if patterns and _selects(PROBABILITIES, patterns) else patterns
        with recording(*wanted) as recorder:
            self.run()
        found = {path: without_batch(path, tensor) for path, tensor in recorder.tensors.items()}
        logits = next((tensor for path, tensor in found.items() if path.endswith("output.logits")), None)
        if logits is not None and self.outputs[-1] != "value":
            found[PROBABILITIES] = logits.float().softmax(-1)
        kept = {path: _plain(tensor) for path, tensor in found.items() if _selects(path, patterns)}
        axes = {path: axes_of(path, array.ndim, self.tokens, self.outputs) for path, array in kept.items()}
        switched_off = tuple(active_switches().names())
        return Trace(
            kept, axes, dict(self.tokens), self.text, self.output, self.score, self.facts, switched_off, self.notes
        )

    def _check_size(self) -> None:
        """Refuse a text whose attention, logits and probabilities would not fit."""
        longest = max((len(tokens) for tokens in self.tokens.values()), default=0)
        heads = sum(part.heads for part in self.network.modules() if isinstance(part, MultiHead))
        outputs = sum(part.out_features for part in self.network.modules() if isinstance(part, OutputHead))
        numbers = 4 * heads * longest**2 + 2 * outputs * len(self.tokens.get(self.outputs[0], ()))
        if numbers > MAX_NUMBERS:
            raise InputError(
                f"a trace of {longest:,} tokens would hold {numbers:,} numbers, and at most {MAX_NUMBERS:,} are "
                "recorded; shorten the text"
            )


def _selects(path: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(path, pattern) for pattern in patterns)


def _plain(tensor: Tensor) -> Array:
    kept = tensor.float() if tensor.is_floating_point() else tensor
    return np.ascontiguousarray(kept.cpu().numpy())


# ── traces ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Mapping[str, Array]):
    """The tensors of a forward pass by their paths, with their axes and tokens."""

    tensors: Mapping[str, Array]
    axes: Mapping[str, Axes]
    """The names of each tensor's axes."""
    tokens: Mapping[str, Tokens]
    """The tokens along the axes of these names."""
    text: str
    """The text that the model read."""
    output: str | None = None
    """The text that it chose, or the target it was given."""
    score: float | None = None
    """The score of the output, if the model chose it."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """Facts about the model: its name, task, architecture, parameters and sizes."""
    without: tuple[str, ...] = ()
    """The parts that were switched off (`mirada.without`)."""
    notes: tuple[str, ...] = ()

    def __getitem__(self, path: str) -> Array:
        if path not in self.tensors:
            near = get_close_matches(path, self.tensors, 3) or list(self.tensors)[:3]
            raise UsageError(f"{path[:80]}: the trace has no such tensor; it has {', '.join(near)}, …")
        return self.tensors[path]

    def __contains__(self, path: object) -> bool:
        return path in self.tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)

    def __repr__(self) -> str:
        what = f"{self.text!r}" + ("" if self.output is None else f" → {self.output!r}")
        return f"<Trace {what}: {len(self.tensors)} tensors>"

    @property
    def source(self) -> list[str]:
        """The tokens that the model read."""
        return list(self.tokens["source"].pieces)

    @property
    def target(self) -> list[str] | None:
        """The tokens that it chose, for a model that generates from a source."""
        return list(self.tokens["target"].pieces) if "target" in self.tokens else None

    def as_dict(self) -> dict[str, Any]:
        """Everything but the numbers, ready for JSON."""
        tensors = {
            path: {"axes": list(self.axes[path]), "shape": list(array.shape)} for path, array in self.tensors.items()
        }
        return {**self._header(), "tensors": tensors}

    def as_text(self) -> str:
        """A line for each tensor: its path, its axes and their sizes."""
        widest = max(map(len, self.tensors), default=0)
        return "\n".join(
            f"{path:<{widest}}  " + ", ".join(f"{n} {s:,}" for n, s in zip(self.axes[path], array.shape, strict=True))
            for path, array in self.tensors.items()
        )

    def _header(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "mirada": __version__,
            "text": self.text,
            "output": self.output,
            "score": self.score,
            "model": dict(self.model),
            "without": list(self.without),
            "notes": list(self.notes),
            "tokens": {
                name: {
                    "text": row.text,
                    "pieces": list(row.pieces),
                    "ids": list(row.ids),
                    "spans": [None if span is None else list(span) for span in row.spans],
                }
                for name, row in self.tokens.items()
            },
        }

    def to_bytes(self) -> bytes:
        """The content of its file."""
        header = {**self._header(), "axes": {path: list(names) for path, names in self.axes.items()}}
        metadata = {METADATA: json.dumps(header, ensure_ascii=False)}
        return bytes(save({path: np.ascontiguousarray(array) for path, array in self.tensors.items()}, metadata))

    def save(self, path: str | Path) -> None:
        """Write it to a .safetensors file."""
        where = Path(path)
        check_ending(where)
        write_output(where, self.to_bytes())

    @staticmethod
    def load(path: str | Path) -> Trace:
        """Read a file that `save` has written."""
        where = Path(path)
        if where.is_file() and os.path.getsize(where) > MAX_FILE:
            raise DataError(f"{where}: is larger than {MAX_FILE // 2**30} GiB, which no trace is")
        return _loaded(read_content(where, DataError), where)


def check_ending(path: Path, option: str = "") -> None:
    """Refuse a file name without the ending of traces."""
    if path.suffix != ".safetensors":
        raise UsageError(f"{option}{path}: a trace is a .safetensors file; name it {path.stem}.safetensors")


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────

Place = Annotated[int, Field(ge=0)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    text: str
    pieces: list[str]
    ids: list[Place]
    spans: list[Annotated[list[Place], Field(min_length=2, max_length=2)] | None]


class _Header(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    format: int
    mirada: str
    text: str
    output: str | None
    score: float | None
    model: dict[str, Any]
    without: list[str]
    notes: list[str]
    tokens: dict[str, _Row]
    axes: dict[str, list[str]]


def _loaded(content: bytes, where: Path) -> Trace:
    length = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + length]).get("__metadata__", {})  # `read_content` has checked it
    if METADATA not in metadata:
        raise DataError(f"{where}: is not a trace (its metadata have no {METADATA}); `mirada trace` writes them")
    if len(metadata[METADATA]) > SMALL_FILE:
        raise DataError(f"{where}: is damaged (its metadata are too large)")
    version = load_json(metadata[METADATA], dict[str, Any], where, DataError).get("format")
    if isinstance(version, int) and version > FORMAT:
        raise DataError(f"{where}: has format {version}, this version of Mirada reads up to {FORMAT}; upgrade it")
    header: _Header = load_json(metadata[METADATA], _Header, where, DataError)
    rows = {name: _tokens(name, row, where) for name, row in header.tokens.items()}
    found = load_tensors(content, where, DataError, loose="")
    axes = {path: tuple(names) for path, names in header.axes.items()}
    _check(found, axes, rows, where)
    arrays = {path: found[path].numpy() for path in axes}
    facts = header.text, header.output, header.score, header.model, tuple(header.without), tuple(header.notes)
    return Trace(arrays, axes, rows, *facts)


def _tokens(name: str, row: _Row, where: Path) -> Tokens:
    spans = [None if span is None else (span[0], span[1]) for span in row.spans]
    fits = len(spans) == len(row.pieces) and len(row.ids) in (0, len(row.pieces))
    if not fits or not all(span is None or span[0] <= span[1] <= len(row.text) for span in spans):
        raise DataError(f"{where}: is damaged (the tokens {shown(name)!r} do not fit their text)")
    return Tokens(tuple(row.pieces), tuple(row.ids), tuple(spans), row.text)


def _check(found: Mapping[str, Tensor], axes: Mapping[str, Axes], rows: Mapping[str, Tokens], where: Path) -> None:
    """Refuse tensors whose names, types, sizes or values are not those of a trace."""
    if found.keys() != axes.keys():
        odd = sorted(found.keys() ^ axes.keys())[0]
        raise DataError(f"{where}: is damaged (the tensor {shown(odd)!r} has no axes, or the axes no tensor)")
    for path, tensor in found.items():
        sizes = {name: len(rows[name]) for name in axes[path] if name in rows}
        fits = len(axes[path]) == tensor.ndim and all(
            sizes.get(name, size) == size for name, size in zip(axes[path], tensor.shape, strict=True)
        )
        if tensor.dtype not in (torch.float32, torch.int64) or not fits:
            raise DataError(f"{where}: is damaged (the tensor {shown(path)!r} does not fit its axes)")
        values = tensor if tensor.is_floating_point() else tensor.new_zeros(0)
        if path.endswith("masked_scores"):  # −∞ is what hides
            values = values[~torch.isneginf(values)]
        if not torch.isfinite(values).all():
            raise DataError(f"{where}: is damaged ({shown(path)!r} has values that are not finite numbers)")

"""Attention weights of every layer, head and token, as data and as pictures.

    a = model.attend("El gato ve el tren.")
    a["decoder.cross"]                   # an AttentionMap: weights [layer, head, query, key], its tokens on both sides
    a["decoder.cross"].words().mean()    # [query, key] between words, the average over layers and heads
    a.save("look.svg")                   # .png .svg .pdf .html .json .npz

In `decoder.self` the queries are the tokens that the decoder chose, the keys those that it was fed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import numpy as np

from mirada.errors import UsageError
from mirada.inspection.trace import Image, Trace
from mirada.inspection.words import Tokens, Weights, merge
from mirada.predictions import Drawable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WEIGHTS = ("*.self.weights", "*.cross.weights", "attention.weights")
"""The paths of attention weights."""
_WEIGHTS = re.compile(r"(?:(.+)\.(\d+)\.(\w+)|(\w+))\.weights")
NAMES = {"cross": ("decoder.cross", "attention"), "encoder": ("encoder.self",), "decoder": ("decoder.self",)}
"""Short names of parts."""
MAIN = ("decoder.cross", "attention", "decoder.self", "encoder.self")
"""The parts in the order of preference for showing one."""


@dataclass(frozen=True, eq=False, repr=False)
class AttentionMap(Drawable):
    """The attention weights of one part of a model, or of some of its layers and heads."""

    axes: ClassVar[tuple[str, ...]] = ("layer", "head", "query", "key")
    name: str
    """decoder.cross, encoder.self, decoder.self, or attention."""
    weights: Weights  # [L, H, Q, K], each row sums to 1
    queries: Tokens
    keys: Tokens
    layers: tuple[int, ...] = ()
    """The numbers of the layers, counted from 0."""
    heads: tuple[int, ...] = ()
    """The numbers of each layer's heads."""
    image: Image | None = None
    """The image whose patches are the keys."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", self.layers or tuple(range(self.weights.shape[0])))
        object.__setattr__(self, "heads", self.heads or tuple(range(self.weights.shape[1])))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Weights:
        return np.array(self.weights, dtype=dtype, copy=copy)

    def __getitem__(self, place: Any) -> Any:
        return self.weights[place]

    def __repr__(self) -> str:
        return f"<AttentionMap {self.name}: {self.weights.shape} [layer, head, query, key]>"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the weights."""
        return self.weights.shape

    def mean(self) -> Weights:
        """The average over all layers and heads, [Q, K]."""
        return np.asarray(self.weights.mean(axis=(0, 1)))

    def select(self, layer: int | None = None, head: int | None = None) -> AttentionMap:
        """The weights of one layer, of one head, or both."""
        found = self
        if layer is not None:
            at = _place(layer, self.layers, f"layer {layer}: {self.name} has layers")
            found = replace(found, weights=found.weights[at : at + 1], layers=(layer,))
        if head is not None:
            at = _place(head, self.heads, f"head {head}: {self.name} has heads")
            found = replace(found, weights=found.weights[:, at : at + 1], heads=(head,))
        return found

    def words(self) -> AttentionMap:
        """The weights between words: summed over the tokens of a key, averaged over those of a query."""
        weights = merge(self.weights, self.queries.words(), self.keys.words())
        return replace(self, weights=weights, queries=self.queries.merged(), keys=self.keys.merged())

    def as_dict(self) -> dict[str, Any]:
        """The tokens and the weights as plain lists."""
        return {
            "axes": list(self.axes),
            "layers": list(self.layers),
            "heads": list(self.heads),
            "queries": list(self.queries.pieces),
            "keys": list(self.keys.pieces),
            "weights": np.round(self.weights.astype(np.float64), 6).tolist(),
        }

    def draw(self, path: str | Path | BinaryIO, kind: str = "heads") -> None:
        """Write a picture: `heads`, `matrix` or `lines`."""
        self._alone().draw(path, kind)

    def _alone(self) -> Attention:
        return Attention({self.name: self}, {"source": self.keys.pieces}, self.keys.text, image=self.image)


def _place(number: int, known: tuple[int, ...], what: str) -> int:
    if number not in known:
        raise UsageError(f"{what} {known[0]} to {known[-1]}" if len(known) > 1 else f"{what[:-1]} {known[0]} alone")
    return known.index(number)


@dataclass(frozen=True, eq=False, repr=False)
class Attention(Drawable):
    """The attention of a model while it read a text and chose its output."""

    parts: Mapping[str, AttentionMap]
    """By name: decoder.cross, encoder.self, decoder.self; `attention` of a recurrent translator."""
    tokens: Mapping[str, tuple[str, ...]]
    """By side: `source`; for a model that generates also `target`, and `input`, the tokens that its decoder was fed."""
    text: str
    """The text that it read."""
    output: str | None = None
    """The text that it chose, or the target it was given."""
    score: float | None = None
    """The score of the output, if the model chose it."""
    others: tuple[Attention, ...] = ()
    """The other hypotheses of an n-best list, best first."""
    without: tuple[str, ...] = ()
    """The parts that were switched off."""
    image: Image | None = None
    notes: tuple[str, ...] = field(default=())

    def __getitem__(self, name: str) -> AttentionMap:
        """A part by its name, or its short name: cross, encoder, decoder."""
        for known in (name, *NAMES.get(name, ())):
            if known in self.parts:
                return self.parts[known]
        there = "this model has" if len(self.parts) > 1 else "its only part is"
        raise UsageError(f"part {name!s:.40}: {there} {', '.join(self.parts)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __repr__(self) -> str:
        said = f"{self.text!r}" + ("" if self.output is None else f" → {self.output!r}")
        return f"<Attention {said}: {', '.join(f'{name} {part.shape}' for name, part in self.parts.items())}>"

    @property
    def source(self) -> list[str]:
        """The tokens that were read."""
        return list(self.tokens["source"])

    @property
    def target(self) -> list[str]:
        """The tokens that were chosen; none by a model that only reads."""
        return list(self.tokens.get("target", ()))

    @property
    def hypotheses(self) -> tuple[Attention, ...]:
        """All of an n-best list, this one first."""
        return (self, *self.others)

    @property
    def main(self) -> AttentionMap:
        """The most informative part: cross-attention if there is any."""
        return next((self.parts[name] for name in MAIN if name in self.parts), next(iter(self.parts.values())))

    @property
    def weights(self) -> Weights:
        """The weights of the main part, [L, H, Q, K]."""
        return self.main.weights

    @property
    def mean(self) -> Weights:
        """The average over the layers and heads of the main part, [Q, K]."""
        return self.main.mean()

    def select(
        self, part: str | None = None, layer: int | None = None, head: int | None = None, words: bool = False
    ) -> Attention:
        """Select a part, layer or head in all hypotheses (by default the main part), or merge tokens into words."""
        whole = part is None and layer is None and head is None
        one = self.main if part is None else self[part]
        chosen = self.parts if whole else {one.name: one}
        chosen = {name: one.select(layer, head) for name, one in chosen.items()}
        found = {name: one.words() if words else one for name, one in chosen.items()}
        others = tuple(other.select(part, layer, head, words) for other in self.others)
        return replace(self, parts=found, others=others)

    def as_dict(self) -> dict[str, Any]:
        """The texts, the tokens and the weights as plain lists."""
        found: dict[str, Any] = {"text": self.text, "output": self.output, "score": self.score}
        found |= {"without": list(self.without), "tokens": {side: list(row) for side, row in self.tokens.items()}}
        found |= {"parts": {name: part.as_dict() for name, part in self.parts.items()}}
        return {**found, "hypotheses": [other.as_dict() for other in self.others]} if self.others else found

    def as_text(self) -> str:
        """A table of the most attended keys of each query, by the average over layers and heads."""
        from mirada.inspection.saving import table

        return "\n\n".join(table(each) for each in self.hypotheses)

    def figure(self, kind: str = "heads") -> Figure:
        """Draw the main part: a heat map for each head, the `matrix` of their average, or `lines`."""
        from mirada.inspection.drawing import picture

        return picture(self, kind)

    def draw(self, path: str | Path | BinaryIO, kind: str = "heads") -> None:
        """Write a picture of the main part to a file: .png, .svg or .pdf."""
        from mirada.inspection.drawing import draw

        draw(self, path, kind)

    def save(self, path: str | Path, kind: str = "heads") -> None:
        """Write a file by its ending: a picture (.png, .svg, .pdf), a page (.html), or data (.json, .npz)."""
        from mirada.inspection.saving import save_attention

        save_attention(self, Path(path), kind)

    def _repr_html_(self) -> str:
        from mirada.inspection.saving import notebook_frame

        return notebook_frame(self)


def attention_of(trace: Trace, image: Image | None = None) -> Attention:
    """The attention weights of a trace, with the layers of each part stacked."""
    layers: dict[str, list[str]] = {}
    for path in trace:
        if found := _WEIGHTS.fullmatch(path):
            layers.setdefault(found[4] or f"{found[1]}.{found[3]}", []).append(path)
    parts = {}
    for name, paths in layers.items():
        _, query, key = trace.axes[paths[0]]
        numbers = tuple(int(found[2] or 0) for found in map(_WEIGHTS.fullmatch, paths) if found)
        weights = np.stack([trace[path] for path in paths])  # [L, H, Q, K]
        seen = image if key == "source" else None
        parts[name] = AttentionMap(name, weights, trace.tokens[query], trace.tokens[key], numbers, image=seen)
    rows = {name: trace.tokens[name].pieces for name in ("source", "target", "input") if name in trace.tokens}
    texts = trace.text, trace.output, trace.score
    return Attention(parts, rows, *texts, without=trace.without, image=image, notes=trace.notes)


def joined(members: Sequence[Attention]) -> Attention:
    """The attention of several models on the same tokens: their layers one after another.

    Where they differ in heads, every head is a layer of its own.
    """
    parts: dict[str, AttentionMap] = {}
    for name in dict.fromkeys(name for member in members for name in member.parts):
        found = [member.parts[name] for member in members if name in member.parts]
        weights = [part.weights for part in found]
        if len({one.shape[1] for one in weights}) > 1:
            weights = [one.reshape(-1, 1, *one.shape[2:]) for one in weights]  # [L·H, 1, Q, K]
        parts[name] = AttentionMap(name, np.concatenate(weights), found[0].queries, found[0].keys)
    return replace(members[0], parts=parts)

"""The names of the axes of recorded tensors.

    head, layer, width, head_width, inner      of the model
    vocabulary, label, value                   what its logits are over
    source, target, input, word, gap, …        rows of tokens: see `Trace.tokens`

Row t of a decoder reads the token `input`[t] and chooses `target`[t].
"""

from __future__ import annotations

from collections.abc import Container

from torch import Tensor

Axes = tuple[str, ...]

SCORES = ("raw_scores", "scores", "masked_scores", "weights")


def without_batch(path: str, tensor: Tensor) -> Tensor:
    """A tensor of a batch of one sentence without the axis B."""
    if path == "bridge.h":  # [L, B, D]
        return tensor[:, 0]
    if path.startswith("features.") or (path == "positions.vectors" and tensor.ndim == 2):
        return tensor
    return tensor[0] if tensor.ndim and tensor.shape[0] == 1 else tensor


def axes_of(path: str, axes: int, rows: Container[str], outputs: Axes) -> Axes:
    """The names of a tensor's axes (without B); `rows` are the rows of tokens there are, `outputs` the logits' axes."""
    found = _named(path.split("."), axes, rows, outputs)
    return found if len(found) == axes else tuple(f"axis {number}" for number in range(axes))


def _named(path: list[str], axes: int, rows: Container[str], outputs: Axes) -> Axes:
    first, name, owner = path[0], path[-1], path[-2] if len(path) > 1 else ""
    decodes = first in ("decoder", "target", "attention", "output") and "target" in rows
    side = "target" if decodes else "source"
    if name in ("logits", "probabilities"):
        return outputs
    if owner in ("self", "cross") or first == "attention":
        key = "input" if decodes and owner == "self" else "source"
        if name in SCORES:
            return "head", side, key
        if name in ("q", "heads"):
            return "head", side, "head_width"
        if name in ("k", "v"):
            return "head", key, "head_width"
    if first == "bridge":
        return "layer", "width"
    if first == "positions":
        return ("position", "width") if axes == 2 else ("width",)
    if first == "features":
        return ("feature",)
    last = "inner" if owner == "feed_forward" and name != "outer" else "width"
    return (last,) if axes == 1 else (side, last)

"""A published model in Mirada's terms, and what the architectures share on the way there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import nn

from mirada import config as configuration
from mirada.config import Section, Values
from mirada.data.images.format import Format
from mirada.data.tokenizer import Tokenizer
from mirada.errors import ConfigError, DataError
from mirada.exchange.checkpoint import Checkpoint

S = TypeVar("S", bound=Section)

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "swish": "silu",
    "silu": "silu",
}
"""Published names, and ours."""


@dataclass(frozen=True)
class Imported:
    """A published model in Mirada's terms."""

    model_type: str
    """As config.json calls it."""
    task: str
    """Which of Mirada's tasks it is for."""
    settings: Values
    """The configuration's section `model`."""
    network: nn.Module
    tokenizer: Tokenizer | None = None
    target: Tokenizer | None = None
    """Of a translator whose two languages have a tokenizer each."""
    labels: tuple[str, ...] = ()
    images: Format | None = None
    """What a classifier of images is told of pixels."""
    languages: tuple[str | None, str | None] = (None, None)
    """Of a translator: from, to."""
    notes: tuple[str, ...] = ()
    """What a person should know: parts that the checkpoint does not have."""
    untrained: tuple[str, ...] = ()
    """The same for a program: the network's parts that are random."""


def build_settings(source: Checkpoint, kind: type[S], values: Mapping[str, Any]) -> S:
    """The section `model`, checked as if a person had written it."""
    try:
        built: S = configuration.build({"model": kind}, {"model": dict(values)})["model"]
    except ConfigError as error:
        raise DataError(f"{source.settings.path}: does not describe a model that Mirada can build ({error})") from None
    return built


def labels_of(source: Checkpoint) -> tuple[str, ...]:
    """The names of the classes, a name for every row of the classifier; equal names get their number behind them.

    Without any names they are LABEL_0, LABEL_1, … as in `transformers`.
    """
    s, count = source.settings, (*source.shape("classifier.weight"), 0)[0]
    named, told = s.values.get("id2label"), s.values.get("num_labels")
    if named is None:
        if told is not None and told != count:
            raise DataError(f"{source.where}: classifier.weight has {count} rows; {s.path.name} has num_labels={told}")
        return tuple(f"LABEL_{number}" for number in range(count))
    if not isinstance(named, dict) or named.keys() != {str(number) for number in range(count)}:
        many = f"{len(named):,} names" if isinstance(named, dict) else repr(named)[:40]
        raise DataError(f"{s.path}: id2label should name the classes 0 to {count - 1} of classifier.weight, not {many}")
    labels = [str(named[str(number)]) for number in range(count)]
    found = tuple(f"{name} ({i})" if labels.count(name) > 1 else name for i, name in enumerate(labels))
    if len(set(found)) < count:
        raise DataError(f"{s.path}: id2label has equal names for different classes")
    return found


def prefix_of(source: Checkpoint, prefix: str) -> str:
    """The models of a family put the same tensors below a name of their own, or not."""
    return prefix if any(name.startswith(prefix) for name in source.names) else ""

"""An imported model, and what the readers of the architectures share."""

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
from mirada.exchange.checkpoint import Checkpoint, CheckpointConfig

S = TypeVar("S", bound=Section)

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "swish": "silu",
    "silu": "silu",
}
"""Mirada's activations by their names in config.json."""


@dataclass(frozen=True)
class ImportedModel:
    """A published model as Mirada's network, settings and tokenizer."""

    model_type: str
    """The `model_type` of config.json."""
    task: str
    settings: Values
    """The configuration's section `model`."""
    network: nn.Module
    tokenizer: Tokenizer | None = None
    target: Tokenizer | None = None
    """The target tokenizer of a translator, if it differs from the source's."""
    labels: tuple[str, ...] = ()
    images: Format | None = None
    """The image size and pixel scale of an image classifier."""
    languages: tuple[str | None, str | None] = (None, None)
    """Source and target language of a translator."""
    notes: tuple[str, ...] = ()
    """Messages for the user, such as parts that the checkpoint does not have."""
    untrained: tuple[str, ...] = ()
    """The network's parts that the checkpoint does not have, and that are random."""


def model_settings(checkpoint: Checkpoint, kind: type[S], values: Mapping[str, Any]) -> S:
    """Build the section `model`, with the same checks as for settings that a person wrote."""
    try:
        built: S = configuration.build({"model": kind}, {"model": dict(values)})["model"]
    except ConfigError as error:
        raise DataError(
            f"{checkpoint.config.path}: does not describe a model that Mirada can build ({error})"
        ) from None
    return built


def encoder_settings(config: CheckpointConfig) -> Values:
    """The settings of an encoder, under the names that BERT and ViT share in config.json."""
    return {
        "width": config.integer("hidden_size"),
        "heads": config.integer("num_attention_heads"),
        "layers": config.integer("num_hidden_layers"),
        "feed_forward": config.integer("intermediate_size"),
        "activation": config.choice("hidden_act", ACTIVATIONS, "gelu"),
        "eps": config.number("layer_norm_eps", 1e-12),
    }


def class_labels(checkpoint: Checkpoint) -> tuple[str, ...]:
    """The labels of id2label, one per row of the classifier; equal names get their number appended.

    Without id2label they are LABEL_0, LABEL_1, … as in `transformers`.
    """
    config, count = checkpoint.config, (*checkpoint.shape("classifier.weight"), 0)[0]
    named, expected = config.values.get("id2label"), config.values.get("num_labels")
    if named is None:
        if expected is not None and expected != count:
            raise DataError(
                f"{checkpoint.weights}: classifier.weight has {count} rows; {config.path.name} has "
                f"num_labels={expected}"
            )
        return tuple(f"LABEL_{number}" for number in range(count))
    if not isinstance(named, dict) or named.keys() != {str(number) for number in range(count)}:
        many = f"{len(named):,} names" if isinstance(named, dict) else repr(named)[:40]
        raise DataError(
            f"{config.path}: id2label should name the classes 0 to {count - 1} of classifier.weight, not {many}"
        )
    labels = [str(named[str(number)]) for number in range(count)]
    found = tuple(f"{name} ({i})" if labels.count(name) > 1 else name for i, name in enumerate(labels))
    if len(set(found)) < count:
        raise DataError(f"{config.path}: id2label has equal names for different classes")
    return found


def tensor_prefix(checkpoint: Checkpoint, prefix: str) -> str:
    """The prefix of the tensor names: models with a head have one, bare models have none."""
    return prefix if any(name.startswith(prefix) for name in checkpoint.names) else ""

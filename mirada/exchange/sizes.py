"""The sizes of published models, counted on networks that are built without allocating memory.

Papers and lecture notes round their figures or count something else; `note` explains the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from mirada.contracts import Sizes
from mirada.models.bert import Bert, BertConfig
from mirada.models.gpt import GPT, GPTConfig
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.models.vit import ViT, ViTConfig


@dataclass(frozen=True)
class Published:
    """A published model: its printed sizes, and how to build it."""

    name: str
    year: int
    layers: str
    width: int
    heads: int
    context: int
    """The longest input in tokens (for a ViT: patches and the class token); 0 if unlimited."""
    vocabulary: int
    """Tokens, or for a ViT classes."""
    note: str
    build: Callable[[], nn.Module]

    def parameters(self) -> int:
        """The number of parameters; shared ones count once."""
        with torch.device("meta"):
            return sum(parameter.numel() for parameter in self.build().parameters())


def _transformer(name: str, width: int, heads: int, feed_forward: int, note: str) -> Published:
    config = TransformerConfig(
        width=width,
        heads=heads,
        feed_forward=feed_forward,
        encoder_layers=6,
        decoder_layers=6,
        norm="post",
        max_length=256,
    )
    return Published(
        name, 2017, "6+6", width, heads, 0, 37_000, note, partial(Transformer, config, Sizes(37_000, 37_000))
    )


def _gpt(
    name: str, year: int, layers: int, width: int, heads: int, context: int, vocabulary: int, note: str
) -> Published:
    config = GPTConfig(
        width=width, heads=heads, layers=layers, max_length=context, norm="post" if year == 2018 else "pre"
    )
    build = partial(GPT, config, Sizes(vocabulary, vocabulary, causal=True))
    return Published(name, year, str(layers), width, heads, context, vocabulary, note, build)


def _bert(name: str, layers: int, width: int, heads: int, note: str) -> Published:
    config = BertConfig(width=width, heads=heads, layers=layers, max_length=512)
    build = partial(Bert, config, Sizes(30_522, 0))
    return Published(name, 2019, str(layers), width, heads, 512, 30_522, note, build)


def _vit(name: str, layers: int, width: int, heads: int, note: str) -> Published:
    config = ViTConfig(width=width, heads=heads, layers=layers, patch=16)
    build = partial(ViT, config, Sizes(3, 1000, numeric_inputs=True, shape=(3, 1, 224, 224)))
    return Published(name, 2021, str(layers), width, heads, 197, 1000, note, build)


PUBLISHED = [
    _transformer("Transformer base", 512, 8, 2048, "the paper says 65 M: its vocabulary is about 37,000"),
    _transformer("Transformer big", 1024, 16, 4096, "the paper says 213 M"),
    _gpt("GPT", 2018, 12, 768, 12, 512, 40_478, "usually given as 117 M"),
    _gpt("GPT-2 small", 2019, 12, 768, 12, 1024, 50_257, "the paper says 117 M, its authors later 124 M"),
    _gpt("GPT-2 medium", 2019, 24, 1024, 16, 1024, 50_257, "the paper says 345 M, its authors later 355 M"),
    _gpt("GPT-2 large", 2019, 36, 1280, 20, 1024, 50_257, "the paper says 762 M, its authors later 774 M"),
    _gpt("GPT-2 XL", 2019, 48, 1600, 25, 1024, 50_257, "the paper says 1,542 M, its authors later 1.5 B"),
    _bert("BERT base", 12, 768, 12, "the paper says 110 M; counted without its pre-training heads"),
    _bert("BERT large", 24, 1024, 16, "the paper says 340 M; counted without its pre-training heads"),
    _gpt("GPT-3", 2020, 96, 12_288, 96, 2048, 50_257, "the paper says 175.0 B, notes 175,000 M: rounded up"),
    _vit("ViT-B/16", 12, 768, 12, "the paper says 86 M; counted with a head for 1,000 classes"),
]
"""Published models, by year."""


def sizes() -> list[dict[str, Any]]:
    """Every published model with its exact number of parameters."""
    return [_row(model) for model in PUBLISHED]


def _row(model: Published) -> dict[str, Any]:
    row = {key: value for key, value in asdict(model).items() if key not in ("build", "note")}
    return {**row, "parameters": model.parameters(), "note": model.note}

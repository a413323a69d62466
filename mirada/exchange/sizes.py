"""The sizes of published models, counted on networks that are built without allocating memory.

Papers and lecture notes round their figures or count something else; `note` explains the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn

from mirada.contracts import Sizes
from mirada.models.bert import Bert, BertConfig
from mirada.models.gpt import GPT, GPTConfig
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.models.vit import ViT, ViTConfig
from mirada.tensors import outline


class Published(NamedTuple):
    """A published model: its printed sizes, and how to build it."""

    build: Callable[[Published], nn.Module]
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

    def parameters(self) -> int:
        """The number of parameters; shared ones count once."""
        with outline():
            return sum(parameter.numel() for parameter in self.build(self).parameters())

    @property
    def sizes(self) -> dict[str, Any]:
        """The width, heads and layers of a stack."""
        return {"width": self.width, "heads": self.heads, "layers": int(self.layers)}


def _transformer(m: Published) -> nn.Module:
    layers: dict[str, Any] = {"encoder_layers": 6, "decoder_layers": 6, "feed_forward": 4 * m.width}
    config = TransformerConfig(width=m.width, heads=m.heads, norm="post", max_length=256, **layers)
    return Transformer(config, Sizes(m.vocabulary, m.vocabulary))


def _gpt(m: Published) -> nn.Module:
    config = GPTConfig(max_length=m.context, norm="post" if m.year == 2018 else "pre", **m.sizes)
    return GPT(config, Sizes(m.vocabulary, m.vocabulary, causal=True))


def _bert(m: Published) -> nn.Module:
    return Bert(BertConfig(max_length=m.context, **m.sizes), Sizes(m.vocabulary, 0))


def _vit(m: Published) -> nn.Module:
    return ViT(ViTConfig(patch=16, **m.sizes), Sizes(3, m.vocabulary, numeric_inputs=True, shape=(3, 1, 224, 224)))


PUBLISHED = [
    Published(*row)
    for row in (
        (_transformer, "Transformer base", 2017, "6+6", 512, 8, 0, 37_000, "the paper says 65 M: about 37,000 tokens"),
        (_transformer, "Transformer big", 2017, "6+6", 1024, 16, 0, 37_000, "the paper says 213 M"),
        (_gpt, "GPT", 2018, "12", 768, 12, 512, 40_478, "usually given as 117 M"),
        (_gpt, "GPT-2 small", 2019, "12", 768, 12, 1024, 50_257, "the paper says 117 M, its authors later 124 M"),
        (_gpt, "GPT-2 medium", 2019, "24", 1024, 16, 1024, 50_257, "the paper says 345 M, its authors later 355 M"),
        (_gpt, "GPT-2 large", 2019, "36", 1280, 20, 1024, 50_257, "the paper says 762 M, its authors later 774 M"),
        (_gpt, "GPT-2 XL", 2019, "48", 1600, 25, 1024, 50_257, "the paper says 1,542 M, its authors later 1.5 B"),
        (_bert, "BERT base", 2019, "12", 768, 12, 512, 30_522, "the paper says 110 M; without pre-training heads"),
        (_bert, "BERT large", 2019, "24", 1024, 16, 512, 30_522, "the paper says 340 M; without pre-training heads"),
        (_gpt, "GPT-3", 2020, "96", 12_288, 96, 2048, 50_257, "the paper says 175.0 B, notes 175,000 M: rounded up"),
        (_vit, "ViT-B/16", 2021, "12", 768, 12, 197, 1000, "the paper says 86 M; with a head for 1,000 classes"),
    )
]
"""Published models, by year."""


def sizes() -> list[dict[str, Any]]:
    """Every published model with its exact number of parameters."""
    return [
        {**{key: value for key, value in model._asdict().items() if key != "build"}, "parameters": model.parameters()}
        for model in PUBLISHED
    ]

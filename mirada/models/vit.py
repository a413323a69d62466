"""ViT: an image, or a video, read as a sequence of patches (Dosovitskiy et al. 2021).

[class], patches ─ linear + position ─ encoder ×N ─ norm ─┬─ h_class: a class for the whole
                                                          └─ h_1 … h_N: a vector for every patch

z_0 = [x_class; W x_1; …; W x_N] + P,   z' = MSA(LN(z)) + z,   z = MLP(LN(z')) + z',   y = LN(z_L)_class   (eq. 1–4)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from mirada.config import Values
from mirada.contracts import SequenceBatch, SequenceEncoder, Sizes
from mirada.models.architecture import Architecture, Variant
from mirada.nn.blocks import Dropout, Headed, LayerConfig, Stack
from mirada.nn.initialisation import initialise
from mirada.nn.patches import Patches, suggest_patch
from mirada.parts import OutputHead, Role, active_switches


class ViTConfig(Headed):
    """Sizes and choices of a Vision Transformer."""

    name: Literal["vit"] = "vit"
    width: int = Field(64, ge=2, le=16384)
    """D, the size of every vector that flows through the model."""
    heads: int = Field(4, ge=1)
    layers: int = Field(3, ge=1, le=256)
    feed_forward: int | None = Field(None, ge=1, le=131072)
    """The inner size of the feed-forward layers. Default: 4 D."""
    patch: int | None = Field(None, ge=1, le=1024)
    """The side of a patch in pixels. Default: a quarter of the image's longer side, from 2 to 16."""
    frames: int | None = Field(None, ge=1, le=1024)
    """The depth of a video patch in frames. Default: 2 if the number of frames is even and at least 4, otherwise 1."""
    pool: Literal["class", "mean"] = "class"
    """How an image is pooled into one vector: the class token's, or the mean of all patches."""
    activation: Literal["gelu", "gelu_tanh", "relu"] = "gelu"
    eps: float = Field(1e-12, gt=0)
    """Added to the variance in every normalization."""
    dropout: float | None = Field(0.1, ge=0, lt=1)
    """Dropout rate; null: depends on the number of epochs."""

    def patch_for(self, height: int, width: int) -> int:
        """The side of a patch for images of this size."""
        return self.patch or suggest_patch(height, width)

    def frames_for(self, frames: int) -> int:
        """The depth of a patch for videos of so many frames."""
        return self.frames or (2 if frames >= 4 and frames % 2 == 0 else 1)

    def patches(self, shape: tuple[int, ...]) -> int:
        """N, of pixels [C, F, H, W]."""
        _, frames, height, width = shape
        patch = self.patch_for(height, width)
        return (frames // self.frames_for(frames)) * (height // patch) * (width // patch)


def _sizes(width: int, heads: int, layers: int) -> Values:
    return {"model": {"width": width, "heads": heads, "layers": layers}}


PRESETS: dict[str, Values] = {
    "tiny": _sizes(32, 4, 2),
    "small": _sizes(64, 4, 3),
    "base": _sizes(768, 12, 12),
    "big": _sizes(1024, 16, 24),
}


class ViT(SequenceEncoder):
    """Patches with a class token before them and learned positions, a pre-norm encoder stack, and an output."""

    output: OutputHead
    honours = frozenset({"positions"})
    roles: ClassVar[Mapping[str, Role]] = {"class_token": "embedding", "positions": "embedding"}

    def __init__(self, config: ViTConfig, sizes: Sizes):
        super().__init__()
        c = self.config = config
        channels, frames, height, width = sizes.shape
        self.patches = Patches(channels, c.patch_for(height, width), c.width, c.frames_for(frames))
        self.class_token = nn.Parameter(torch.randn(1, 1, c.width) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, 1 + c.patches(sizes.shape), c.width) * 0.02)
        self.dropout = Dropout(c.dropout or 0.0)
        inner, dropout = c.feed_forward or 4 * c.width, c.dropout or 0.0
        self.encoder = Stack(LayerConfig(c.width, c.heads, inner, dropout, "pre", c.activation, c.eps), c.layers)
        self.output = OutputHead(c.width, sizes.outputs)
        initialise(self)
        self.name_parts()

    def states(self, batch: SequenceBatch) -> Tensor:
        """A vector for the class token and for every patch, [B, 1+N, D]."""
        x = self.patches(batch.inputs)  # [B, C, F, H, W] -> [B, N, D]
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1)  # [B, 1+N, D]
        self.record("embeddings", x)
        if active_switches().positions:
            self.record("positions.vectors", self.positions)
            x = x + self.positions
        x = self.dropout(x)
        self.record("inputs", x)
        h: Tensor = self.encoder(x)
        return h

    def encode(self, batch: SequenceBatch) -> Tensor:
        """A vector for every patch [B, N, D], row by row, frame after frame."""
        return self.states(batch)[:, 1:]

    def pool(self, batch: SequenceBatch) -> Tensor:
        h = self.states(batch)
        pooled = h[:, 0] if self.config.pool == "class" else h[:, 1:].mean(1)  # [B, D]
        self.record("pooled", pooled)
        return pooled


ARCHITECTURES = {
    "vit": Architecture(
        2021,
        "Dosovitskiy et al., An Image is Worth 16x16 Words",
        "softmax(Q Kᵀ / √d_k) V over patches",
        {"image_classification": Variant(ViTConfig, ViT, PRESETS)},
    )
}

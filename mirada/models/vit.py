"""ViT: a picture, or a video, read as a sequence of patches (Dosovitskiy et al. 2021).

[class], patches ─ linear + position ─ encoder ×N ─ norm ─┬─ h_class: a class for the whole
                                                          └─ h_1 … h_N: a vector for every patch

z_0 = [x_class; W x_1; …; W x_N] + P,   z' = MSA(LN(z)) + z,   z = MLP(LN(z')) + z',   y = LN(z_L)_class   (eq. 1–4)
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from mirada.blocks import Dropout, Encoder, EncoderLayer, Patches
from mirada.config import Section, Values
from mirada.contracts import ALL_ON, Reader, Reading, Sizes, Switches, Tape

SMALLEST, LARGEST = 2, 16
"""Of the patches that are chosen by the size of the picture, in pixels."""


class ViTConfig(Section):
    """Sizes and choices of a Vision Transformer."""

    name: Literal["vit"] = "vit"
    width: int = Field(128, ge=2, le=16384)
    """D, the size of every vector that flows through the model."""
    heads: int = Field(4, ge=1)
    layers: int = Field(4, ge=1, le=256)
    feed_forward: int | None = Field(None, ge=1, le=131072)
    """The inner size of the two-layer perceptron; 4 D unless given."""
    patch: int | None = Field(None, ge=1, le=1024)
    """The side of a patch in pixels. Unless given, a quarter of the picture's longer side, from 2 to 16: on a few
    thousand small pictures, few large patches learned faster and better than many small ones."""
    frames: int = Field(1, ge=1, le=1024)
    """The depth of a patch of a video, in frames."""
    pool: Literal["class", "mean"] = "class"
    """What a picture is classified by: the vector of the class token, or the mean of all patches."""
    activation: Literal["gelu", "gelu_tanh", "relu"] = "gelu"
    eps: float = Field(1e-12, gt=0)
    """Of the normalisations."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Unless given, by how often the data will be seen: none for a few epochs, up to 0.2 for many."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> ViTConfig:
        if self.width % self.heads:
            raise ValueError(f"model.width={self.width} cannot be split into model.heads={self.heads} equal heads")
        return self

    def patch_for(self, height: int, width: int) -> int:
        """The side of a patch for pictures of this size; the same for a size that is rounded down to whole patches."""
        return self.patch or min(LARGEST, max(SMALLEST, max(height, width) // 4))

    def patches(self, shape: tuple[int, ...]) -> int:
        """N, of pixels [C, F, H, W]."""
        _, frames, height, width = shape
        patch = self.patch_for(height, width)
        return (frames // self.frames) * (height // patch) * (width // patch)


def _sizes(width: int, heads: int, layers: int) -> Values:
    return {"model": {"width": width, "heads": heads, "layers": layers}}


PRESETS: dict[str, Values] = {
    "tiny": _sizes(64, 4, 3),
    "small": _sizes(128, 4, 4),
    "base": _sizes(768, 12, 12),
    "big": _sizes(1024, 16, 24),
}


class ViT(Reader):
    """Patches with a class token before them and learned positions, a pre-norm encoder stack, and an output."""

    output: nn.Linear

    def __init__(self, config: ViTConfig, sizes: Sizes):
        super().__init__()
        c = self.config = config
        channels, _, height, width = sizes.shape
        self.patches = Patches(channels, c.patch_for(height, width), c.width, c.frames)
        # Tables of vectors, not matrices: with an axis more, Muon leaves them alone.
        self.class_token = nn.Parameter(torch.randn(1, 1, c.width) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, 1 + c.patches(sizes.shape), c.width) * 0.02)
        self.dropout = Dropout(c.dropout or 0.0)
        inner, dropout = c.feed_forward or 4 * c.width, c.dropout or 0.0
        layers = [EncoderLayer(c.width, c.heads, inner, dropout, "pre", c.activation, c.eps) for _ in range(c.layers)]
        self.encoder = Encoder(layers, nn.LayerNorm(c.width, c.eps))
        self.output = nn.Linear(c.width, sizes.outputs)
        self._initialise()
        self.name_parts()

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def states(self, batch: Reading, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        """A vector for the class token and for every patch, [B, 1+N, D]."""
        x = self.patches(batch.inputs)  # [B, C, F, H, W] -> [B, N, D]
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1)  # [B, 1+N, D]
        x = self.dropout(x + self.positions if switches.positions else x)
        h: Tensor = self.encoder(x, None, tape, switches)
        return h

    def read(self, batch: Reading, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        """A vector for every patch [B, N, D], row by row, frame after frame."""
        return self.states(batch, tape, switches)[:, 1:]

    def pool(self, batch: Reading, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        h = self.states(batch, tape, switches)
        return h[:, 0] if self.config.pool == "class" else h[:, 1:].mean(1)  # [B, D]

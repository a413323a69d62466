"""Images and videos as sequences of patches."""

from __future__ import annotations

from torch import Tensor, nn

from mirada.parts import Part


def suggest_patch(height: int, width: int) -> int:
    """The side of a patch for images of this size: a quarter of the longer side, from 2 to 16 pixels.

    A size that is rounded down to whole patches gives the same.
    """
    return min(16, max(2, max(height, width) // 4))


class Patches(Part):
    """Pixels as a sequence: squares of p × p (and t frames deep, of a video), each times one matrix.

    x_i = W · pixels_i + b        (Dosovitskiy et al. 2021, §3.1: a convolution whose stride is its size)
    """

    def __init__(self, channels: int, patch: int, width: int, frames: int = 1):
        super().__init__()
        self.patch, self.frames = patch, frames
        self.linear = nn.Linear(channels * frames * patch * patch, width)

    def forward(self, pixels: Tensor) -> Tensor:
        """From [B, C, F, H, W] to [B, N, D], row by row, frame after frame; the patch must divide what is given."""
        b, c, f, h, w = pixels.shape
        t, p = self.frames, self.patch
        assert f % t == h % p == w % p == 0, "images are resized before they come here"
        cut = pixels.view(b, c, f // t, t, h // p, p, w // p, p)
        return self.linear(cut.permute(0, 2, 4, 6, 1, 3, 5, 7).reshape(b, (f // t) * (h // p) * (w // p), -1))

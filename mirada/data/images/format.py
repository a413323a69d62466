"""The format of a network's images: size, colours, and the mean and standard deviation of the pixels."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import AfterValidator, BaseModel, Field, FiniteFloat
from torch import Tensor

from mirada.data.images.pixels import Pixels, Scale, fit, is_grey
from mirada.data.sources import DataSection
from mirada.errors import BundleError, ConfigError
from mirada.parsing import Malformed, check, parse_json

PatchFor = Callable[[int, int], int]
"""How large a patch is in images of a height and width."""
MAX_PIXELS = 2**26
"""The most pixels of an image or a video."""
MAX_ACROSS = 16
"""Patches along a side, above which images are made smaller unless their size is given: attention is N²."""


@dataclass(frozen=True)
class Format:
    """How pixels are normalized: x = (byte / 255 − mean) / std, each channel by itself."""

    shape: tuple[int, int, int, int]  # C, F, H, W
    mean: tuple[float, ...]
    std: tuple[float, ...]
    scale: Scale | None = None
    """The numbers that were black and white, if the data was not bytes."""

    def tensor(self, pixels: Pixels) -> Tensor:
        """From bytes [B, F, H, W, C] to numbers [B, C, F, H, W]."""
        x = torch.from_numpy(pixels.astype(np.float32)).permute(0, 4, 1, 2, 3)
        mean, std = (torch.tensor(values).view(1, -1, 1, 1, 1) for values in (self.mean, self.std))
        return ((x / 255 - mean) / std).contiguous()

    def fit(self, pixels: Pixels) -> Pixels:
        """An image in the network's colours and size."""
        channels, _, height, width = self.shape
        return fit(pixels, channels, height, width)

    @property
    def text(self) -> str:
        """The size and colours in words: 28×28, grey."""
        channels, frames, height, width = self.shape
        return f"{f'{frames} frames of ' if frames > 1 else ''}{width}×{height}, {'grey' if channels == 1 else 'rgb'}"

    def to_json(self, labels: list[str]) -> str:
        return json.dumps({"labels": labels, **asdict(self)})

    @classmethod
    def from_json(cls, text: str | bytes, where: str | Path = "pictures.json") -> tuple[list[str], Format]:
        """Labels and format."""
        try:
            found: _About = check(_About, parse_json(text, surrogates=True))
            if not len(found.mean) == len(found.std) == found.shape[0]:
                raise Malformed("its shape does not fit its means")
            if math.prod(found.shape) > MAX_PIXELS:
                raise Malformed(f"images of {found.shape} are larger than any that are taken")
        except Malformed as fault:
            raise BundleError(f"{where}: does not describe images ({fault})") from None
        return found.labels, cls(found.shape, found.mean, found.std, found.scale)


def _names(labels: list[Any]) -> list[Any]:
    if not all(isinstance(label, str) for label in labels) or len(set(labels)) < len(labels):
        raise ValueError("labels are different texts")
    return labels


Side = Annotated[int, Field(ge=1, le=16_384)]
Spread = Annotated[FiniteFloat, Field(ge=1e-6)]


class _About(BaseModel):
    """What pictures.json says."""

    labels: Annotated[list[Any], AfterValidator(_names)]  # names of folders, which need not be Unicode
    shape: tuple[Annotated[int, Field(ge=1, le=4)], Side, Side, Side]
    mean: tuple[FiniteFloat, ...]
    std: tuple[Spread, ...]
    scale: tuple[FiniteFloat, FiniteFloat] | None


class Appearance:
    """The sizes and colours of images, as one after another is read."""

    def __init__(self) -> None:
        self._heights, self._widths = Counter[int](), Counter[int]()
        self.coloured, self._animated = False, 0

    def see(self, pixels: Pixels, animated: bool) -> None:
        """Note the size and colours of one more image [F, H, W, C]."""
        self._heights[pixels.shape[1]] += 1
        self._widths[pixels.shape[2]] += 1
        self.coloured = self.coloured or not is_grey(pixels)
        self._animated += animated

    @property
    def usual(self) -> tuple[int, int]:
        """The medians of heights and widths: a few odd ones do not change them."""
        return _median(self._heights), _median(self._widths)

    def notes(self, height: int, width: int) -> list[str]:
        """What a person should know when they are resized."""
        low, high = (f"{pick(self._widths)}×{pick(self._heights)}" for pick in (min, max))
        found = []
        if {low, high} != {f"{width}×{height}"}:
            sizes = low if low == high else f"{low} to {high}"
            found.append(f"images of {sizes} are resized to {width}×{height} [--set data.size=…]")
        if self._animated:
            found.append(f"{self._animated:,} animated images: the first frame of each is used")
        return found


def _median(counts: Counter[int]) -> int:
    return sorted(counts.elements())[(counts.total() - 1) // 2]


class FormatConfig(DataSection):
    """The size and colours that images are converted to."""

    size: int | None = Field(None, ge=1, le=4096)
    """Resize every image to size × size. Default: unchanged if all have the same size, in whole patches; otherwise the
    median height and width, rounded down to whole patches, at most 16 patches per side."""
    colour: Literal["auto", "grey", "rgb"] = "auto"
    """auto: grey if every image is."""

    def check(self, patch_for: PatchFor) -> None:
        """Refuse a size that cannot be cut into patches."""
        if self.size is not None and self.size % (patch := patch_for(self.size, self.size)):
            near = max(patch, self.size // patch * patch)
            raise ConfigError(
                f"data.size={self.size} cannot be cut into patches of {patch}×{patch}: set data.size={near}, "
                "or model.patch"
            )

    def choose(self, found: Appearance, patch_for: PatchFor) -> tuple[int, int, int]:
        """The shape C, H, W that every image gets."""
        channels = 3 if self.colour == "rgb" or (self.colour == "auto" and found.coloured) else 1
        if self.size:
            return channels, self.size, self.size
        patch, longer = patch_for(*found.usual), max(found.usual)
        most = min(longer, MAX_ACROSS * patch)
        height, width = (max(patch, side * most // longer // patch * patch) for side in found.usual)
        return channels, height, width


def moments(pixels: Pixels) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel, of values from 0 to 1."""
    many = max(1, 2**20 // pixels[0].size)
    total = squares = np.zeros(pixels.shape[-1], dtype=np.int64)  # whole numbers: no order of adding matters
    for begin in range(0, len(pixels), many):
        values = pixels[begin : begin + many].reshape(-1, pixels.shape[-1]).astype(np.int64)
        total, squares = total + values.sum(0), squares + (values**2).sum(0)
    count = pixels[..., 0].size
    mean = total / (255 * count)
    std = np.sqrt(np.maximum(squares / (255**2 * count) - mean**2, 0)).clip(min=1 / 255)  # all pixels may be alike
    return tuple(mean.tolist()), tuple(std.tolist())

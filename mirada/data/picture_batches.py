"""Pictures as a network gets them: bytes as numbers, in batches of one size, shuffled and shifted by seed and epoch."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from mirada.contracts import Reading, Rows
from mirada.data.picture_format import Format
from mirada.data.pixels import Pixels

FEWEST_IN_BATCH = 8


@dataclass(frozen=True)
class Pictures:
    """Pictures with their labels, and where each comes from."""

    pixels: Pixels  # [N, F, H, W, C]
    labels: list[str]
    places: list[str]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, chosen: slice) -> Pictures:
        return Pictures(self.pixels[chosen], self.labels[chosen], self.places[chosen])

    def dump(self) -> str:
        """A line of JSON each, the pixels as base64."""
        return "".join(
            json.dumps([place, label, pixels.shape, base64.b64encode(pixels.tobytes()).decode()]) + "\n"
            for place, label, pixels in zip(self.places, self.labels, self.pixels, strict=True)
        )

    @classmethod
    def load(cls, text: str) -> Pictures:
        rows = [json.loads(line) for line in text.split("\n")[:-1]]
        pixels = [np.frombuffer(base64.b64decode(row[3]), dtype=np.uint8).reshape(row[2]) for row in rows]
        return cls(
            np.stack(pixels) if pixels else np.zeros((0, 1, 1, 1, 1), np.uint8),
            [r[1] for r in rows],
            [r[0] for r in rows],
        )


@dataclass
class PictureBatches:
    """The training part in batches of one size, shuffled and shifted by seed and epoch.

    A row of an epoch is e·N + i, so that `load` knows which shift picture i has in epoch e: a function of both alone.
    """

    pixels: Pixels  # [N, F, H, W, C]
    truth: Rows  # [N] the number of each one's label
    format: Format
    fingerprint: str
    patches: int
    """In a picture."""
    budget: int
    """The most patches in a batch."""
    seed: int
    shift: bool = False
    flip: bool = False

    def __post_init__(self) -> None:
        self._planned: tuple[int, list[Rows]] | None = None
        self._drawn: tuple[int, npt.NDArray[np.int8]] | None = None

    @property
    def tokens(self) -> int:
        return len(self.truth) * self.patches

    def epoch(self, epoch: int) -> list[Rows]:
        if self._planned is None or self._planned[0] != epoch:
            n = len(self.truth)
            batches = -(-n // max(FEWEST_IN_BATCH, self.budget // self.patches))
            order = np.random.default_rng([self.seed, epoch]).permutation(n) + epoch * n
            self._planned = epoch, np.array_split(order, batches)
        return self._planned[1]

    def load(self, rows: Rows) -> Reading:
        n = len(self.truth)
        epoch, row = int(rows[0]) // n, rows % n
        pixels = self.pixels[row]
        if self.shift:
            pixels = self._moved(pixels, self._shifts(epoch)[row])
        return Reading(
            inputs=self.format.tensor(pixels),
            lengths=torch.full((len(row),), self.patches),
            truth=torch.from_numpy(self.truth[row]),
            rows=torch.from_numpy(row),
        )

    def _shifts(self, epoch: int) -> npt.NDArray[np.int8]:
        """Of every picture in an epoch [N, 3]: down, to the right, and whether it is mirrored."""
        if self._drawn is None or self._drawn[0] != epoch:
            random = np.random.default_rng([self.seed, epoch, 1])
            most = 1 if min(self.format.shape[2:]) < 16 else 2
            shifts = random.integers(-most, most, (len(self.truth), 3), dtype=np.int8, endpoint=True)
            shifts[:, 2] = random.integers(2, size=len(shifts)) if self.flip else 0
            self._drawn = epoch, shifts
        return self._drawn[1]

    def _moved(self, pixels: Pixels, shifts: npt.NDArray[np.int8]) -> Pixels:
        """Each picture [B, F, H, W, C] shifted; the pixels at its edge fill the gap."""
        b, f, h, w, _ = pixels.shape
        down, right, mirrored = shifts.T[:, :, None]  # each [B, 1]
        rows = (np.arange(h) - down).clip(0, h - 1)  # [B, H]
        columns = (np.arange(w) - right).clip(0, w - 1)  # [B, W]
        columns = np.where(mirrored, columns[:, ::-1], columns)
        which, frame = np.arange(b)[:, None, None, None], np.arange(f)[:, None, None]
        moved: Pixels = pixels[which, frame, rows[:, None, :, None], columns[:, None, None, :]]
        return moved

    def padding(self, epoch: int = 0) -> float:
        return 0.0

"""How a model sees a series: on one scale, as features of each step, in windows to train on.

    x_t      the scaled values, C of them at each step
    x̂_{t+1}  the naive forecast: x_t; with a season of p steps x_t + x_{t+1−p} − x_{t−p}, the change of one season ago
    y_t      (x_t − x̂_t) / d, what a model is to forecast: by how much the naive forecast misses, d being its usual miss

A model that says 0 is the naive forecast, and what it learns has a size of about 1, whatever the series.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mirada.contracts import SequenceBatch
from mirada.errors import DataError
from mirada.tasks.forecasting.table import Numbers, fingerprint_of

MIN_MISS = 1e-4
"""d has at least this size: smaller differences of scaled values drown in the rounding of 32-bit numbers."""

RECENT = 32
"""Steps whose mean stands for the present level, where there is no season."""


def features(x: Tensor, d: Tensor, period: int | None = None) -> Tensor:
    """What a model sees at each step t, for K = p or 32; zero where there is no past:

    (x_t − mean of the last K) / d√K    (x_t − x_{t−1}) / d    (x_{t+1−p} − x_t) / d√p    (x_{t+1−p} − x_{t−p}) / d

    x_{t+1−p} is the sibling, one season ago, of the value to forecast. All are differences, since the level itself
    takes values that no training set had, once a series grows.
    """
    K = period or RECENT
    change = _change(x)  # [.., t, C]
    parts = [(x - _recent_mean(x, K)) / (d * math.sqrt(K)), change / d]
    if period:
        known = torch.arange(x.shape[-2], device=x.device)[:, None] >= period - 1  # [t, 1]
        sibling = torch.where(known, _earlier(x, period - 1) - x, 0.0)
        parts += [sibling / (d * math.sqrt(period)), _earlier(change, period - 1) / d]
    return torch.cat(parts, dim=-1)  # [.., t, F]  F = 2C, or 4C with a season


def naive_next(x: Tensor, period: int | None = None) -> Tensor:
    """x̂_{t+1} at every step t: [.., t, C]."""
    return x + _earlier(_change(x), period - 1) if period else x


def _change(x: Tensor) -> Tensor:
    """x_t − x_{t−1}, zero at the first step."""
    return torch.cat([torch.zeros_like(x[..., :1, :]), x[..., 1:, :] - x[..., :-1, :]], dim=-2)


def _recent_mean(x: Tensor, K: int) -> Tensor:
    """The mean of the last K values, or of all where there are fewer; summed up in 64 bits, since series are long.

    MPS has no 64-bit numbers: only the few steps of a simulated path get there, and 32 bits do for them.
    """
    wide = x.dtype if x.device.type == "mps" else torch.float64
    total = torch.cat([torch.zeros_like(x[..., :1, :]), x], dim=-2).cumsum(-2, dtype=wide)  # [.., t+1, C]
    end = torch.arange(1, x.shape[-2] + 1, device=x.device)
    begin = (end - K).clamp(min=0)
    return ((total[..., 1:, :] - total[..., begin, :]) / (end - begin)[:, None]).to(x.dtype)


def _earlier(x: Tensor, steps: int) -> Tensor:
    """The values `steps` steps before, zero where there are none."""
    return torch.cat([torch.zeros_like(x[..., :steps, :]), x[..., : max(0, x.shape[-2] - steps), :]], dim=-2)


@dataclass(frozen=True)
class Frame:
    """The scaling that turns a series into what a model sees, and back."""

    mean: Numbers  # [C]
    std: Numbers  # [C]
    miss: Numbers  # [C] d
    period: int | None

    @classmethod
    def fit(cls, values: Numbers, period: int | None) -> Frame:
        """Fitted on the training set [N, C] only, so that nothing is known of the rest."""
        mean, std = values.mean(axis=0), values.std(axis=0)
        std = np.where(std > 1e-12 * np.abs(mean), std, 1.0)  # what never changes has std 0, but for rounding
        x = torch.from_numpy((values - mean) / std)
        error = (x[1:] - naive_next(x, period)[:-1]).square().mean(0).sqrt().numpy()
        return cls(mean, std, np.maximum(error, MIN_MISS), period)

    @property
    def columns(self) -> int:
        return len(self.miss)

    @cached_property
    def width(self) -> int:
        """F, the number of features."""
        return self.features(torch.zeros(1, self.columns)).shape[-1]

    @property
    def look_back(self) -> int:
        """Steps that the features of one step look at."""
        return (self.period or RECENT) + 1

    @cached_property
    def d(self) -> Tensor:
        return torch.from_numpy(self.miss).float()  # [C]

    def scale(self, values: Numbers) -> Tensor:
        """(x − mean) / std."""
        return torch.from_numpy((values - self.mean) / self.std).float()  # [.., C]

    def unscale(self, x: Tensor) -> Numbers:
        return x.cpu().double().numpy() * self.std + self.mean  # [.., C]

    def features(self, x: Tensor) -> Tensor:
        return features(x, self.d.to(x.device), self.period)  # [.., t, F]

    def misses(self, x: Tensor) -> Tensor:
        """y_t at every step of x [N, C]; zero at the first."""
        return torch.cat([torch.zeros_like(x[:1]), (x[1:] - naive_next(x, self.period)[:-1]) / self.d])

    def next(self, x: Tensor, y: Tensor) -> Tensor:
        """x_{t+1} [R, C] after x [R, t, C], when the naive forecast misses by y [R, C]."""
        return naive_next(x[:, -self.look_back :], self.period)[:, -1] + self.d.to(x.device) * y


@dataclass
class Windows:
    """Windows of a series [N, C] to train on: at each step of one, the next value is to be forecast.

    Epoch e is the same list of batches whenever it is asked for; its windows lie on a grid of their own.
    """

    values: Numbers  # [N, C]: the training set, nothing else
    frame: Frame
    length: int
    """Steps in a window; their last truth is one step further."""
    stride: int
    """Steps from one window's start to the next one's."""
    batch: int
    """Windows in a batch."""
    seed: int

    def __post_init__(self) -> None:
        assert min(self.length, self.stride, self.batch) >= 1, "windows need a length, a stride and a batch size"
        if len(self.values) <= self.length:
            raise DataError(
                f"the training set has {len(self.values):,} steps, too few for windows of {self.length:,} and the "
                f"step after them; bring more data, or --set data.window={max(1, len(self.values) // 2)}"
            )
        x = self.frame.scale(self.values)
        self._features = self.frame.features(x)  # [N, F]: a window sees the season before it began
        self._misses = self.frame.misses(x)  # [N, C]

    def epoch(self, epoch: int) -> list[npt.NDArray[np.int64]]:
        """The starts of every batch's windows, in the order they are trained on."""
        random = np.random.default_rng([self.seed, epoch])
        end = len(self.values) - self.length  # a window that starts here would need a truth that is not there
        starts = np.arange(random.integers(min(self.stride, end)), end, self.stride, dtype=np.int64)
        random.shuffle(starts)
        return [starts[begin : begin + self.batch] for begin in range(0, len(starts), self.batch)]

    def load(self, rows: npt.NDArray[np.int64]) -> SequenceBatch:
        """The windows that start at the given steps."""
        steps = torch.from_numpy(rows)[:, None] + torch.arange(self.length)  # [B, T]
        return SequenceBatch(
            inputs=self._features[steps],  # [B, T, F]
            lengths=torch.full((len(rows),), self.length),
            truth=self._misses[steps + 1],  # [B, T, C]
            before=fed_back(self._misses[steps]),  # [B, T, 2C]
            rows=torch.from_numpy(rows),
        )

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint_of(self.values)

    @cached_property
    def tokens(self) -> int:
        """Steps in an epoch (the first; others may have a window more or less)."""
        return self.length * sum(map(len, self.epoch(0)))

    def padding(self, epoch: int = 0) -> float:
        return 0.0


def fed_back(y: Tensor) -> Tensor:
    """The input of a Jordan network from its last step, in training and in use: the true y [.., C], no spread."""
    return torch.cat([y, torch.zeros_like(y)], dim=-1)  # [.., 2C]

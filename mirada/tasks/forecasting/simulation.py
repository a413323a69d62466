"""Simulates how a series may continue, along many paths at once: each value is drawn from the predicted distribution.

    y_{t+1} = mean + spread · ε,   x_{t+1} = x̂_{t+1} + d · y_{t+1}       (x̂ the naive forecast: see `windows`)

The network reads the history once and then runs step by step along each path (`StepwiseEncoder`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mirada.contracts import SequenceBatch, Step, StepwiseEncoder
from mirada.parts import next_step
from mirada.tasks.forecasting.table import Numbers
from mirada.tasks.forecasting.windows import Frame, fed_back
from mirada.training.losses import DEGREES_OF_FREEDOM, mean_and_spread, negative_log_likelihood

WARM_UP = 4
"""Windows of the history that a network without a limited context reads before it forecasts."""
ROWS = 4096
"""Paths that are simulated at the same time."""
STEPS = 65_536
"""Steps in the contexts of all paths that are simulated at the same time."""


def draw_noise(samples: int, steps: int, columns: int, seed: int) -> Tensor:
    """ε [S, H, C], the same for the first steps however many follow.

    Every draw is there with both signs, so that the mean over all paths has little noise of its own.
    """
    shape = (steps, (samples + 1) // 2, columns)
    half = np.random.default_rng(seed).standard_t(DEGREES_OF_FREEDOM, shape)
    return torch.from_numpy(np.concatenate([half, -half], axis=1)[:, :samples]).float().transpose(0, 1)


class Forecaster:
    """A network with all that it needs to forecast."""

    def __init__(self, network: StepwiseEncoder, frame: Frame, window: int, device: torch.device):
        self.network, self.frame, self.window, self.device = network, frame, window, device
        self.known = max(WARM_UP * window, frame.look_back)
        """Steps before an origin that are used, at most."""
        self.warm_up = WARM_UP * window if network.context is None else window - window // 4
        """The steps of those that the network reads: a limited context must have room for the steps to come."""

    @torch.inference_mode()
    def paths(self, values: Numbers, origins: Sequence[int] | npt.NDArray[np.int64], noise: Tensor) -> Numbers:
        """Paths [O, S, H, C] from the last known steps `origins` of a series [N, C], one for each noise of [S, H, C].

        All origins have the same noises, so that each has the paths it would have alone.
        """
        x = self.frame.scale(values)  # [N, C]
        seen, y = self.frame.features(x), self.frame.misses(x)
        found = np.empty((len(origins), *noise.shape))
        for places, samples in self._groups(np.asarray(origins), len(noise)):
            ends = torch.as_tensor(np.asarray(origins)[places])
            steps = ends[:, None] + 1 - torch.arange(min(self.known, int(ends[0]) + 1), 0, -1)  # [O', L]
            step = self.network.start(self._batch(seen, y, steps[:, -self.warm_up :]), context=self.window)
            simulated = self._simulate(step, x[steps].to(self.device), noise[samples].to(self.device))  # [O', S', H, C]
            found[places, samples] = self.frame.unscale(simulated)
        return found

    def history(self, values: Numbers) -> tuple[SequenceBatch, list[int]]:
        """The last steps of a series [N, C] as the network reads them before it forecasts, and which they are."""
        x = self.frame.scale(values)
        steps = torch.arange(max(0, len(values) - self.warm_up), len(values))
        return self._batch(self.frame.features(x), self.frame.misses(x), steps[None]), steps.tolist()

    def _batch(self, seen: Tensor, y: Tensor, steps: Tensor) -> SequenceBatch:
        """The given steps [B, T] of a series as inputs."""
        lengths = torch.full((len(steps),), steps.shape[1])
        return SequenceBatch(seen[steps], lengths, before=fed_back(y[steps])).to(self.device)

    @torch.inference_mode()
    def negative_log_likelihood(self, values: Numbers, first: int, most: int) -> float:
        """The mean of −log p of the values from step `first` on, each after at least half a window that is known.

        They are predicted in groups of half a window, `most` of them, evenly spaced.
        """
        x = self.frame.scale(values)
        seen, y = self.frame.features(x), self.frame.misses(x)
        half = max(1, self.window // 2)
        groups = torch.arange(first, len(x), half)  # [B] the first step of each
        groups = groups[:: math.ceil(len(groups) / most)]
        ends = (groups + half).clamp(max=len(x))
        steps = ends[:, None] - 1 - torch.arange(self.window, 0, -1)  # [B, T] from each the next value is forecast
        mean, spread = mean_and_spread(self.network.output(self.network.encode(self._batch(seen, y, steps))))
        found = negative_log_likelihood(y[steps + 1].to(self.device), mean, spread)  # [B, T, C]
        return found[(steps + 1 >= groups[:, None]).to(self.device)].mean().item()

    def _groups(self, origins: npt.NDArray[np.int64], samples: int) -> Iterator[tuple[list[int], slice]]:
        """Origins and samples to simulate at the same time: as many steps are known of each."""
        groups = defaultdict(list)
        for place, origin in enumerate(origins.tolist()):
            groups[min(self.known, origin + 1)].append(place)
        rows = ROWS if self.network.context is None else max(1, STEPS // self.window)
        size = max(1, rows // samples)
        for group in groups.values():
            for begin in range(0, len(group), size):
                for first in range(0, samples, rows):
                    yield group[begin : begin + size], slice(first, first + rows)

    def _simulate(self, step: Step, history: Tensor, noise: Tensor) -> Tensor:
        """Paths [O, S, H, C] after histories [O, L, C], from what the network says after them."""
        O, (S, H, C) = len(history), noise.shape
        rows = torch.arange(O, device=self.device).repeat_interleave(S)  # [R]  R = O · S
        recent = history[rows, -self.frame.look_back :]  # [R, n, C]
        outputs, state = step.logits[rows], step.state.select(rows)
        path = []
        for t in range(H):
            mean, spread = mean_and_spread(outputs)  # [R, C]
            y = mean + spread * noise[:, t].repeat(O, 1)
            path.append(self.frame.next(recent, y))
            recent = torch.cat([recent, path[-1][:, None]], 1)[:, -self.frame.look_back :]
            if t + 1 < H:
                next_step()
                outputs, state, _ = self.network.step(self.frame.features(recent)[:, -1], state, fed_back(y))
        return torch.stack(path, 1).view(O, S, H, C)

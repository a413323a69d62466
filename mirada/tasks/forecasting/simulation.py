"""Simulates how a series may go on, along many paths at once: each value is drawn from what the network says of it.

    y_{t+1} = mean + spread · ε,   x_{t+1} = x̂_{t+1} + d · y_{t+1}       (x̂ the naive forecast: `data.series.windows`)

A recurrent network carries its state along each path, a Transformer the keys and values of the last steps.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mirada.contracts import SequenceBatch, SequenceEncoder
from mirada.models.encoder import TransformerEncoder
from mirada.models.rnn import RecurrentEncoder
from mirada.nn.blocks import EncoderLayer, KeyValues, future_mask
from mirada.nn.recurrent import Memory
from mirada.tasks.forecasting.table import Numbers
from mirada.tasks.forecasting.windows import Frame, fed_back
from mirada.training.losses import FREEDOM, mean_and_spread, surprise

WARM_UP = 4
"""Windows of the history that a recurrent network reads before it forecasts."""
ROWS = 4096
"""Paths that are simulated at the same time."""
STEPS = 65_536
"""Steps that a Transformer remembers at the same time, of all paths together."""


def draw_noise(samples: int, steps: int, columns: int, seed: int) -> Tensor:
    """ε [S, H, C], the same for the first steps however many follow.

    Every draw is there with both signs, so that the mean over all paths has little noise of its own.
    """
    shape = (steps, (samples + 1) // 2, columns)
    half = np.random.default_rng(seed).standard_t(FREEDOM, shape)
    return torch.from_numpy(np.concatenate([half, -half], axis=1)[:, :samples]).float().transpose(0, 1)


class Forecaster:
    """A network with all that it needs to forecast."""

    def __init__(self, network: SequenceEncoder, frame: Frame, window: int, device: torch.device):
        self.network, self.frame, self.window, self.device = network, frame, window, device
        self.known = max(WARM_UP * window, frame.look_back)
        """Steps that are looked at before an origin, at most."""

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
            warm = steps[:, -WARM_UP * self.window :]
            walk = self._begin(seen[warm].to(self.device), fed_back(y[warm]).to(self.device))
            simulated = self._simulate(walk, x[steps].to(self.device), noise[samples].to(self.device))  # [O', S', H, C]
            found[places, samples] = self.frame.scaler.undo(simulated.cpu().double().numpy())
        return found

    @torch.inference_mode()
    def surprise(self, values: Numbers, first: int, most: int) -> float:
        """The mean of −log p of the values from step `first` on, each after at least half a window that is known.

        They are looked at in groups of half a window, `most` of them, evenly spaced.
        """
        x = self.frame.scale(values)
        seen, y = self.frame.features(x), self.frame.misses(x)
        half = max(1, self.window // 2)
        groups = torch.arange(first, len(x), half)  # [B] the first step of each
        groups = groups[:: math.ceil(len(groups) / most)]
        ends = (groups + half).clamp(max=len(x))
        steps = ends[:, None] - 1 - torch.arange(self.window, 0, -1)  # [B, T] from each the next value is forecast
        batch = SequenceBatch(seen[steps], torch.full((len(steps),), self.window), before=fed_back(y[steps])).to(
            self.device
        )
        mean, spread = mean_and_spread(self.network.output(self.network.read(batch)))
        found = surprise(y[steps + 1].to(self.device), mean, spread)  # [B, T, C]
        return found[(steps + 1 >= groups[:, None]).to(self.device)].mean().item()

    def _groups(self, origins: npt.NDArray[np.int64], samples: int) -> Iterator[tuple[list[int], slice]]:
        """Origins and samples to simulate at the same time: as many steps are known of each."""
        groups = defaultdict(list)
        for place, origin in enumerate(origins.tolist()):
            groups[min(self.known, origin + 1)].append(place)
        rows = ROWS if isinstance(self.network, RecurrentEncoder) else max(1, STEPS // self.window)
        size = max(1, rows // samples)
        for group in groups.values():
            for begin in range(0, len(group), size):
                for first in range(0, samples, rows):
                    yield group[begin : begin + size], slice(first, first + rows)

    def _begin(self, inputs: Tensor, before: Tensor) -> Walk:
        if isinstance(self.network, RecurrentEncoder):
            return _Carrying(self.network, inputs, before)
        assert isinstance(self.network, TransformerEncoder)
        return _Remembering(self.network, inputs, self.window)

    def _simulate(self, walk: Walk, history: Tensor, noise: Tensor) -> Tensor:
        """Paths [O, S, H, C] after histories [O, L, C]."""
        O, (S, H, C) = len(history), noise.shape
        rows = torch.arange(O, device=self.device).repeat_interleave(S)  # [R]  R = O · S
        recent = history[rows, -self.frame.look_back :]  # [R, n, C]
        outputs = walk.split(rows)
        path = []
        for t in range(H):
            mean, spread = mean_and_spread(outputs)  # [R, C]
            y = mean + spread * noise[:, t].repeat(O, 1)
            path.append(self.frame.next(recent, y))
            recent = torch.cat([recent, path[-1][:, None]], 1)[:, -self.frame.look_back :]
            if t + 1 < H:
                outputs = walk.go(self.frame.features(recent)[:, -1:], fed_back(y)[:, None])
        return torch.stack(path, 1).view(O, S, H, C)


class Walk(Protocol):
    """A network on its way along paths, all of the same length."""

    def split(self, rows: Tensor) -> Tensor:
        """Go on with these rows [R]; what the network says of their next values [R, 2C]."""
        ...

    def go(self, inputs: Tensor, before: Tensor) -> Tensor:
        """What it says after one more step: its features [R, 1, F] and what came true there [R, 1, 2C]."""
        ...


class _Carrying:
    """Carries the state of a recurrent network."""

    def __init__(self, network: RecurrentEncoder, inputs: Tensor, before: Tensor):
        self.network = network
        self.state: Memory | None = None
        self.outputs = self.go(inputs, before)

    def split(self, rows: Tensor) -> Tensor:
        assert self.state is not None
        self.state = self.state.select(rows)
        return self.outputs[rows]

    def go(self, inputs: Tensor, before: Tensor) -> Tensor:
        h, self.state = self.network.advance(inputs, self.state, feedback=before)
        outputs: Tensor = self.network.output(h[:, -1])
        return outputs


class _Remembering:
    """Remembers the keys and values of a Transformer's steps; of a full window it reads the last ¾ again.

    So a step costs a few steps' work and not a window's, and no position lies beyond those that were trained.
    """

    def __init__(self, network: TransformerEncoder, inputs: Tensor, window: int):
        self.network, self.window, self.kept = network, window, window - window // 4
        self.seen = inputs  # [R, t, F]
        self.past: list[KeyValues] = []  # of each layer
        self.outputs = self._read_again()

    def split(self, rows: Tensor) -> Tensor:
        self.seen = self.seen[rows]
        self.past = [past.select(rows) for past in self.past]
        return self.outputs[rows]

    def go(self, inputs: Tensor, before: Tensor) -> Tensor:
        self.seen = torch.cat([self.seen, inputs], 1)
        return self._advance(inputs) if self.past[0].length < self.window else self._read_again()

    def _read_again(self) -> Tensor:
        self.seen = self.seen[:, -self.kept :]
        self.past = []
        return self._advance(self.seen)

    def _advance(self, inputs: Tensor) -> Tensor:
        """What the network says after the next steps [R, T, F]."""
        length = self.past[0].length if self.past else 0
        mask = future_mask(inputs.shape[1], length, inputs.device)
        h = self.network.positions(self.network.numbers(inputs), length)  # [R, T, D]
        present = []
        for n, layer in enumerate(self.network.encoder.layers):
            assert isinstance(layer, EncoderLayer)
            past = self.past[n] if self.past else None
            h, kept = _attend(layer, h, past, mask)
            present.append(kept)
        self.past = present
        outputs: Tensor = self.network.output(self.network.encoder.final_norm(h[:, -1]))
        return outputs


def _attend(layer: EncoderLayer, x: Tensor, past: KeyValues | None, mask: Tensor) -> tuple[Tensor, KeyValues]:
    """A layer's output for x [R, T, D], and the keys and values of all steps so far."""
    present: KeyValues

    def attend(y: Tensor) -> Tensor:
        nonlocal present
        new = layer.self_.remember(y)
        present = past.append(new) if past else new
        attended: Tensor = layer.self_(y, present, mask)
        return attended

    x = layer.add_self(x, attend)
    return layer.add_feed_forward(x, layer.feed_forward), present

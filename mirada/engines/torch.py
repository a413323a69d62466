"""The PyTorch engine: decodes with a network that generates step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn

from mirada.contracts import EOS, Batch, GenerativeNetwork, Generator, State, Step
from mirada.data.batching import collate, collate_pairs
from mirada.decoding import Hypothesis, decode, decode_steps
from mirada.engines import AttentionWeights, Engine, GenerationSettings
from mirada.parts import check_switches, recording
from mirada.precision import arithmetic

UNLIKELY = -1e4
"""The logit of an end where texts have none: never chosen, but what the length limit can still force."""

Collate = Callable[[Sequence[Any], Sequence[Sequence[int]]], Batch]
"""Makes a batch of sources, and of prefixes that have the same length."""


class TorchEngine(Engine):
    """Generates with a network on a device; the sources of a call are computed as one batch."""

    def __init__(
        self, network: Generator, device: torch.device, collate: Collate = collate, precision: str = "float32"
    ):
        self.network, self.device, self._collate, self.precision = network, device, collate, precision

    def generate(
        self, sources: Sequence[Any], prefixes: Sequence[Sequence[int]], settings: GenerationSettings
    ) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in sources]
        by_length = sorted(range(len(sources)), key=lambda row: len(prefixes[row]))
        for _, rows in groupby(by_length, key=lambda row: len(prefixes[row])):
            chosen = list(rows)
            batch = self._batch([sources[row] for row in chosen], [prefixes[row] for row in chosen])
            limits = [settings.limits[row] for row in chosen]
            network, config = self._restricted(settings, limits), settings.decode
            if settings.free_end and not config.sample:  # all of them, since they are ranked again
                config = config.model_copy(update={"n_best": config.beam * max(limits)})
            with arithmetic(self.precision, self.device):
                results = decode(network, batch, config, limits, attention=settings.attention)
            for row, hypotheses in zip(chosen, results, strict=True):
                found[row] = _ranked(hypotheses, len(prefixes[row]), settings.limits[row], settings)
        return found

    @torch.inference_mode()
    def score(self, sources: Sequence[Any], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        assert isinstance(self.network, GenerativeNetwork)
        check_switches(self.network)
        batch = collate_pairs(sources, targets).to(self.device)
        with arithmetic(self.precision, self.device):
            logits = self.network(batch)
        log_p = logits.float().log_softmax(-1).gather(2, batch.target_output.unsqueeze(2)).squeeze(2)  # [B, T]
        return [row[: len(target) + 1] for row, target in zip(log_p.tolist(), targets, strict=True)]

    @torch.inference_mode()
    def attention(self, sources: Sequence[Any], targets: Sequence[Sequence[int]]) -> AttentionWeights | None:
        assert isinstance(self.network, GenerativeNetwork)
        check_switches(self.network)
        batch = collate_pairs(sources, targets).to(self.device)
        with recording("decoder.*.cross.weights", "attention.weights") as recorder:
            self.network.hidden(batch)
        layers = [weights.float().mean(1) for weights in recorder.tensors.values()]  # [B, T, S] each
        if not layers:
            return None
        mean = torch.stack(layers).mean(0).cpu().numpy()
        sizes = zip(targets, sources, strict=True)
        return [mean[row, : len(target) + 1, : len(source) + 1] for row, (target, source) in enumerate(sizes)]

    def stream(self, source: Any, prefix: Sequence[int], settings: GenerationSettings) -> Iterator[int]:
        if settings.decode.width > 1:
            yield from super().stream(source, prefix, settings)
            return
        network = self._restricted(settings, settings.limits)
        steps = decode_steps(network, self._batch([source], [prefix]), settings.decode, settings.limits)
        while True:
            with arithmetic(self.precision, self.device):  # not active in the caller
                chosen = next(steps, None)
            if chosen is None:
                return
            yield int(chosen)

    def _batch(self, sources: Sequence[Any], prefixes: Sequence[Sequence[int]]) -> Batch:
        if isinstance(self.network, nn.Module):
            check_switches(self.network)
        return self._collate(sources, prefixes).to(self.device)

    def _restricted(self, settings: GenerationSettings, limits: Sequence[int]) -> Generator:
        network = _Unrepeated(self.network, settings.no_repeat_ngram) if settings.no_repeat_ngram else self.network
        if not (settings.suppressed or settings.endless or settings.free_end):
            return network
        return _Restricted(network, settings, max(limits))


def _ranked(hypotheses: list[Hypothesis], prefix: int, limit: int, settings: GenerationSettings) -> list[Hypothesis]:
    """The n best; where the end is free at the limit, it does not count in the length that scores are divided by."""
    if not settings.free_end:
        return hypotheses
    penalty = settings.decode.length_penalty
    scored = [
        replace(each, score=each.log_probability / min(len(each.tokens) - prefix + 1, limit - 1) ** penalty)
        for each in hypotheses
    ]
    return sorted(scored, key=lambda each: -each.score)[: settings.decode.n_best]


class _Restricted:
    """A generator with suppressed tokens, without an end, or with an end that is free at the limit."""

    def __init__(self, network: Generator, settings: GenerationSettings, limit: int):
        self.network, self.settings = network, settings
        self.left = limit - 1 if settings.free_end else -1

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        step = self._restrict(self.network.start(batch, attention=attention))
        self.size = step.logits.shape[-1]
        return step

    def step(self, tokens: Tensor, state: State) -> Step:
        self.left -= 1
        if not self.left:  # only the end can follow, so the last token need not be read
            logits = torch.full((len(tokens), self.size), -torch.inf, device=tokens.device)
            logits[:, EOS] = 0.0
            return Step(logits, state)
        return self._restrict(self.network.step(tokens, state))

    def _restrict(self, step: Step) -> Step:
        logits = step.logits.clone()
        if self.settings.suppressed:
            logits[:, list(self.settings.suppressed)] = -torch.inf
        if self.settings.endless:
            logits[:, EOS] = UNLIKELY
        return step._replace(logits=logits)


@dataclass(frozen=True)
class _History:
    """The state of a generator and the tokens so far."""

    state: State
    tokens: Tensor  # [R, t] after BOS

    def select(self, rows: Tensor) -> _History:
        return _History(self.state.select(rows), self.tokens.index_select(0, rows))


class _Unrepeated:
    """A generator that repeats no n-gram of `size` tokens."""

    def __init__(self, network: Generator, size: int):
        self.network, self.size = network, size

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        return self._blocked(self.network.start(batch, attention=attention), batch.target[:, 1:])

    def step(self, tokens: Tensor, state: State) -> Step:
        assert isinstance(state, _History)
        return self._blocked(self.network.step(tokens, state.state), torch.cat([state.tokens, tokens[:, None]], 1))

    def _blocked(self, step: Step, history: Tensor) -> Step:
        logits, before = step.logits, self.size - 1
        if history.shape[1] >= self.size:
            windows = history.unfold(1, self.size, 1)  # [R, t − size + 1, size]
            again = (windows[..., :before] == history[:, None, history.shape[1] - before :]).all(-1)  # [R, …]
            row, place = again.nonzero(as_tuple=True)
            logits = logits.index_put((row, windows[row, place, -1]), logits.new_tensor(-torch.inf))
        return step._replace(logits=logits, state=_History(step.state, history))

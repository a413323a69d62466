"""The training loop and Muon, written down plainly: what the real ones are held against."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from mirada.contracts import Batch, Loss, Plan
from mirada.data.batching import Batches
from mirada.data.corpus import write_corpus
from mirada.parts import OutputHead
from mirada.training.config import TrainConfig

WORDS = 10


class Words(nn.Module):
    """From each word to the next one; float64, so that two ways to compute the same agree to the last digits."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 6)
        self.inner = nn.Linear(6, 5)
        self.output = OutputHead(5, WORDS)
        draw = torch.Generator().manual_seed(seed)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.5, generator=draw)
        self.double()


def next_word(model: nn.Module, batch: Batch) -> Loss:
    """−Σ log p over the real words of the targets."""
    assert isinstance(model, Words)
    logits = model.output(torch.tanh(model.inner(model.embedding(batch.target_input))))
    real = batch.target_output != 0
    return Loss(nn.functional.cross_entropy(logits[real], batch.target_output[real], reduction="sum"), int(real.sum()))


def corpus_of(folder: Path, seed: int = 0, sentences: int = 60, budget: int = 60) -> Batches:
    """Batches of random sentences, of quite different sizes."""
    chance = np.random.default_rng(seed)
    ids = [chance.integers(4, WORDS, size=chance.integers(1, 12)).tolist() for _ in range(sentences)]

    def encode(texts: object) -> list[list[int]]:
        return [ids[int(text)] for text in texts]  # type: ignore[attr-defined]

    rows = [(str(number), str(number), number) for number in range(sentences)]
    corpus = write_corpus(folder, rows, encode, encode, vocabulary=WORDS, longest=50, too_long=lambda i, n: None)
    return Batches(corpus, budget=budget, seed=3)


@dataclass
class Trained:
    """What the reference loop leaves behind, step by step."""

    losses: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    averages: list[list[Tensor]] = field(default_factory=list)


def train(model: nn.Module, optimizers: list[torch.optim.Optimizer], batches: Plan[Batch], c: TrainConfig) -> Trained:
    """`c.steps` steps, linear decay, λΣW², clipping, accumulation and the running average of the weights."""
    assert c.steps is not None
    found, parameters, step, epoch = Trained(), list(model.parameters()), 0, 0
    average = [p.detach().clone() for p in parameters]
    while step < c.steps:
        plan = batches.epoch(epoch)
        for begin in range(0, len(plan), c.accumulate):
            losses = [next_word(model, batches.load(rows)) for rows in plan[begin : begin + c.accumulate]]
            mean = torch.stack([loss.total for loss in losses]).sum() / sum(loss.count for loss in losses)
            mean = mean + c.penalty * torch.stack([p.square().sum() for p in parameters if p.ndim > 1]).sum()
            model.zero_grad()
            mean.backward()
            gradients = [p.grad for p in parameters if p.grad is not None]
            norm = math.sqrt(sum(float(gradient.square().sum()) for gradient in gradients))
            for gradient in gradients:
                gradient.mul_(c.clip / norm if c.clip and norm > c.clip else 1.0)
            found.norms.append(norm)
            found.losses.append(mean.item())
            rise = max(min(1.0, (step + 1) / c.warmup) if c.warmup else 1.0, min(1.0, 10 * step / c.steps))
            found.rates.append(c.lr * rise * (1 - step / c.steps))
            for optimizer in optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = found.rates[-1]
                optimizer.step()
            window = max(1.0, c.average * step)
            average = [a + (p.detach() - a) / window for a, p in zip(average, parameters, strict=True)]
            found.averages.append(average)
            step += 1
            if step == c.steps:
                break
        epoch += 1
    return found


class Muon(torch.optim.Optimizer):
    """Jordan et al. 2024, one matrix at a time; sized as in Liu et al. 2025, equation 4."""

    def __init__(self, parameters: list[Tensor], weight_decay: float = 0.0, beta: float = 0.95):
        super().__init__(parameters, {"lr": 0.0})
        self.weight_decay, self.beta = weight_decay, beta

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for w in group["params"]:
                m = self.state[w].get("m", torch.zeros_like(w))
                self.state[w]["m"] = m = self.beta * m + (1 - self.beta) * w.grad
                u = (1 - self.beta) * w.grad + self.beta * m  # Nesterov: a look ahead
                x = u / (u.norm() + 1e-7)
                for _ in range(5):
                    s = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
                    polynomial = -4.7750 * s + 2.0315 * s @ s
                    x = 3.4445 * x + (polynomial @ x if x.shape[0] <= x.shape[1] else x @ polynomial)
                w.copy_(w - group["lr"] * self.weight_decay * w - group["lr"] * 0.2 * math.sqrt(max(w.shape)) * x)

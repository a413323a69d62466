"""Training in tokens per second, next to a MarianMTModel of the same sizes: same batches, optimizer and loss.

Each is trained in float32 and with bfloat16 products. The four alternate, a few steps each, so that changes in the
machine's speed affect all. The last lines are the default recipe (Muon) of the `small` preset.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from bench.peer import SIZES, VOCABULARY, batches, marian, ours
from mirada.contracts import PAD, Batch, Loss
from mirada.models.transformer import PRESETS
from mirada.precision import arithmetic
from mirada.training.config import TrainConfig
from mirada.training.losses import TargetTokenLoss
from mirada.training.optimizers import Optimizers

ROUNDS, STEPS = 5, 4
CPU = torch.device("cpu")
Step = Callable[[Batch], None]
objective = TargetTokenLoss(0.1)


def transformers_loss(model: Any, batch: Batch) -> Loss:
    logits = model(
        input_ids=batch.source, attention_mask=batch.source_mask, decoder_input_ids=batch.target_input
    ).logits
    total = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), batch.target_output.flatten(), ignore_index=PAD, reduction="sum", label_smoothing=0.1
    )
    return Loss(total, batch.target_output.numel())


def stepper(model: Any, loss: Callable[[Any, Batch], Loss], precision: str, muon: bool = False) -> Step:
    """A function that trains a model on one batch."""
    model.train()
    adamw = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    both = Optimizers(model, TrainConfig.model_validate({"precision": precision})) if muon else None

    def step(batch: Batch) -> None:
        with arithmetic(precision, CPU):
            found = loss(model, batch)
        found.total.backward()
        if both is None:
            adamw.step()
        else:
            both.step(1e-4)
        model.zero_grad()

    return step


def main() -> None:
    plan, _ = batches()
    runs = plan.epoch(0)
    small = SIZES.model_copy(update=PRESETS["small"]["model"])
    steppers = {
        f"{name}, {precision}": stepper(make(), loss, precision)
        for precision in ("float32", "bfloat16")
        for name, make, loss in (("mirada", ours, objective), ("transformers", marian, transformers_loss))
    }
    for precision in ("float32", "bfloat16"):
        steppers[f"preset small, Muon, {precision}"] = stepper(ours(small, VOCABULARY), objective, precision, muon=True)
    speeds: dict[str, list[float]] = {name: [] for name in steppers}
    for round_ in range(ROUNDS + 1):
        chosen = [plan.load(rows) for rows in runs[round_ * STEPS : (round_ + 1) * STEPS]]
        for name, step in steppers.items():
            began = time.perf_counter()
            for batch in chosen:
                step(batch)
            if round_:  # the first round warms up
                speeds[name].append(sum(batch.tokens for batch in chosen) / (time.perf_counter() - began))
    for name, found in speeds.items():
        print(f"{name:34} {statistics.median(found):8,.0f} tokens/s")
    ratio(speeds, "mirada, float32", "transformers, float32")
    ratio(speeds, "mirada, bfloat16", "transformers, float32")
    ratio(speeds, "mirada, bfloat16", "transformers, bfloat16")
    ratio(speeds, "preset small, Muon, bfloat16", "preset small, Muon, float32")


def ratio(speeds: dict[str, list[float]], one: str, other: str) -> None:
    """Print the ratio of two speeds with its spread over the rounds."""
    found = [a / b for a, b in zip(speeds[one], speeds[other], strict=True)]
    print(f"{one} : {other}   ratio {statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f})")

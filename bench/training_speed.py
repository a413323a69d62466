"""Training in tokens per second, next to a MarianMTModel of the same sizes: same batches, optimizer and loss.

The two alternate, a few steps each, so that changes in the machine's speed affect both.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from bench.peer import batches, marian, ours
from mirada.contracts import PAD, Batch
from mirada.training.losses import TargetTokenLoss

ROUNDS, STEPS = 5, 4


def main() -> None:
    plan, _ = batches()
    runs = plan.epoch(0)
    models = {"mirada": ours(), "transformers": marian()}
    optimizers = {name: torch.optim.AdamW(model.parameters(), 1e-4, fused=True) for name, model in models.items()}
    objective = TargetTokenLoss(0.1)

    def mirada_loss(batch: Batch) -> torch.Tensor:
        return objective(models["mirada"], batch).total

    def transformers_loss(batch: Batch) -> torch.Tensor:
        logits = models["transformers"](
            input_ids=batch.source, attention_mask=batch.source_mask, decoder_input_ids=batch.target_input
        ).logits
        return torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), batch.target_output.flatten(), ignore_index=PAD, reduction="sum", label_smoothing=0.1
        )

    losses: dict[str, Callable[[Batch], torch.Tensor]] = {"mirada": mirada_loss, "transformers": transformers_loss}
    seconds = dict.fromkeys(models, 0.0)
    tokens = 0
    for round_ in range(ROUNDS + 1):
        chosen = [plan.load(rows) for rows in runs[round_ * STEPS : (round_ + 1) * STEPS]]
        for name, model in models.items():
            model.train()
            began = time.perf_counter()
            for batch in chosen:
                losses[name](batch).backward()
                optimizers[name].step()
                optimizers[name].zero_grad()
            if round_:  # the first round warms up
                seconds[name] += time.perf_counter() - began
        tokens += sum(batch.tokens for batch in chosen) if round_ else 0
    for name, spent in seconds.items():
        print(f"{name:14} {tokens / spent:8,.0f} tokens/s")
    print(f"ratio {seconds['transformers'] / seconds['mirada']:.2f}")

"""Beam search (beam 5, batches of similar length) in sentences per second, next to `generate` of a MarianMTModel.

Both models are untrained and have the same sizes. Each hypothesis runs to the same length, so that both do the same
number of steps on the same sentences. Ours is laid out as `mirada.load` does it.
"""

from __future__ import annotations

import time

import torch

from bench.peer import SIZES, VOCABULARY, batches, marian, ours
from mirada.contracts import EOS
from mirada.data.batching import collate, similar
from mirada.decoding import DecodeConfig, decode
from mirada.nn.blocks import lay_out

SENTENCES, LENGTH, ROUNDS = 64, 20, 3


def main() -> None:
    plan, _ = batches(pairs=2000)
    side = plan.corpus.source
    ids = [side.ids[side.offsets[row] : side.offsets[row + 1]].tolist() for row in range(SENTENCES)]
    groups = list(similar([len(row) for row in ids], 1000))
    mine, theirs = ours(SIZES.model_copy(update={"output_bias": True})).eval(), marian().eval()
    with torch.no_grad():  # suppress EOS, so that no hypothesis ends early
        mine.output.bias[EOS] = theirs.final_logits_bias[0, EOS] = -1000
    lay_out(mine)
    config = DecodeConfig(beam=5)
    seconds = {"mirada": 0.0, "transformers": 0.0}
    for round_ in range(ROUNDS + 1):
        for group in groups:
            batch = collate([ids[number] for number in group])
            began = time.perf_counter()
            found = decode(mine, batch, config, [LENGTH] * len(group))
            middle = time.perf_counter()
            with torch.inference_mode():
                other = theirs.generate(
                    input_ids=batch.source,
                    attention_mask=batch.source_mask,
                    num_beams=5,
                    max_new_tokens=LENGTH,
                    min_new_tokens=LENGTH,
                )
            assert all(len(best.tokens) + 1 == LENGTH for [best] in found)  # and EOS, which the limit forced
            assert other.shape[1] - 1 == LENGTH  # without BOS
            if round_:
                seconds["mirada"] += middle - began
                seconds["transformers"] += time.perf_counter() - middle
    for name, spent in seconds.items():
        print(f"{name:14} {ROUNDS * SENTENCES / spent:8.1f} sentences/s (vocabulary {VOCABULARY:,})")
    print(f"ratio {seconds['transformers'] / seconds['mirada']:.2f}")

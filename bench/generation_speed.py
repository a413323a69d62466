"""Generation in tokens per second: an imported GPT-2 (124 M random weights) next to `generate` of a GPT2LMHeadModel.

Both use the same weights, prompts, float32 and threads, a key-value cache and greedy decoding, and must generate the
same text. They alternate, so that changes in the machine's speed affect both. The time includes reading the prompt.

Generating a token reads all weights from memory once. The time for that alone (a sum over as many numbers) is printed
too: it bounds the speed for a single text in float32.
"""

from __future__ import annotations

import json
import random
import statistics
import string
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mirada.contracts import Batch
from mirada.decoding import DecodeConfig, decode
from mirada.device import keep_memory
from mirada.exchange import import_checkpoint, vocabulary
from mirada.exchange.checkpoint import CheckpointConfig
from mirada.loading import load

TOKENS, ROUNDS = 100, 6  # the first round warms up
CASES = ((1, 16), (1, 256), (4, 16))
"""Batch size and prompt length of each case."""


def main() -> None:
    keep_memory()
    with tempfile.TemporaryDirectory(prefix="mirada-bench-") as folder:
        theirs = save(Path(folder) / "published")
        import_checkpoint(Path(folder) / "published", Path(folder) / "bundle")
        ours = load(Path(folder) / "bundle", device="cpu", threads=torch.get_num_threads())
        order = vocabulary.gpt2(
            Path(folder) / "published", CheckpointConfig(Path(folder) / "published/config.json")
        ).order
    parameters = sum(weight.numel() for weight in theirs.parameters())
    seconds = reading_seconds(parameters)
    print(
        f"{torch.get_num_threads()} threads, {parameters:,} parameters; reading them takes {1000 * seconds:.1f} ms, "
        f"so at most {1 / seconds:.1f} tokens/s for one text"
    )
    for texts, length in CASES:
        prompts = ["".join(random.Random(row).choices(string.ascii_lowercase, k=length)) for row in range(texts)]
        compare(ours, theirs, order, prompts)


def compare(ours: Any, theirs: Any, order: Tensor, prompts: list[str]) -> None:
    """Continue the same prompts with both models, alternately."""
    before = torch.tensor([ours.preprocessor.codec.before(prompt) for prompt in prompts])  # [B, T]
    speeds: dict[str, list[float]] = {"mirada": [], "transformers": []}
    for round_ in range(ROUNDS):
        mine, seconds = timed(lambda: write(ours, prompts, before))
        found, their_seconds = timed(lambda: generate(theirs, order[before]))
        if order[torch.tensor(mine)].tolist() != found.tolist():
            sys.exit("the two models generate different texts")
        if round_:
            speeds["mirada"].append(found.numel() / seconds)
            speeds["transformers"].append(found.numel() / their_seconds)
    print(f"batch of {len(prompts)}, prompts of {before.shape[1]} tokens, {TOKENS} generated")
    for name, each in speeds.items():
        print(f"    {name:14} {statistics.median(each):6.1f} tokens/s")
    ratios = sorted(a / b for a, b in zip(*speeds.values(), strict=True))
    print(f"    ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)


def write(ours: Any, prompts: list[str], before: Tensor) -> list[list[int]]:
    """Call what `mirada generate` calls; for several prompts, the decoding loop below it."""
    if len(prompts) == 1:
        return [list(ours.generate(prompts[0], tokens=TOKENS, beam=1).tokens)]
    batch = Batch(before[:, :0], before)
    found = decode(ours.network, batch, DecodeConfig(beam=1), [TOKENS + 1] * len(prompts))  # + 1: EOS
    return [best.tokens[before.shape[1] - 1 :] for (best,) in found]


@torch.inference_mode()
def generate(theirs: Any, ids: Tensor) -> Tensor:
    # without EOS it always generates all tokens
    written: Tensor = theirs.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=TOKENS,
        do_sample=False,
        use_cache=True,
        eos_token_id=None,
        pad_token_id=0,
    )
    return written[:, ids.shape[1] :]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    return call(), time.perf_counter() - began


def reading_seconds(numbers: int) -> float:
    """The time to read that many numbers from memory."""
    some = torch.ones(numbers)
    return min(timed(some.sum)[1] for _ in range(5))


def save(folder: Path) -> Any:
    """Save a GPT-2 with random weights in Hugging Face's layout; each letter is a token."""
    import transformers
    from tokenizers import pre_tokenizers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.manual_seed(1)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).eval()
    with torch.no_grad():
        model.transformer.wpe.weight.mul_(50)  # so that the text varies
        model.transformer.wte.weight[-1] = 0  # <|endoftext|> has logit 0 and is never chosen
    model.save_pretrained(folder)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = [*letters, *(f"word {number}" for number in range(len(letters), 50256)), "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: id for id, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return model

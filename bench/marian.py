"""A translator trained with Hugging Face transformers and SentencePiece by the plain recipe: a peer from raw text.

A joint BPE vocabulary, a MarianMTModel of 3+3 layers and width 256, AdamW with warm-up and linear decay, label
smoothing, batches of similar length, float32. SentencePiece is installed in the benchmarks' cache, not in Mirada's
environment. Run it as a process of its own, so that nothing else is in its memory and threads:

    python -m bench.marian TRAIN.tsv MINUTES FOLDER THREADS
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.packages import importable
from bench.peer import VOCABULARY, marian
from bench.training_speed import transformers_loss
from mirada.contracts import BOS, EOS, PAD
from mirada.data.batching import by_length, collate, collate_pairs, cut, similar

PACKAGE = "sentencepiece==0.2.1"
RATE, WARMUP, CLIP, BATCH = 1e-3, 400, 1.0, 4000
LONGEST = 250
"""Tokens of the longest sentence that is trained on; the model has 512 positions."""

Pair = tuple[list[int], list[int]]


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """The first two columns of a tab-separated file, gzipped or not."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    return [(row[0], row[1]) for row in rows]


def learn(texts: Sequence[str], prefix: Path, vocabulary: int, threads: int) -> Any:
    """Learn a joint BPE vocabulary and open it; its first ids are those of Mirada."""
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_prefix=str(prefix),
        model_type="bpe",
        vocab_size=vocabulary,
        num_threads=threads,
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
        unk_id=EOS + 1,
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")


def train(
    train_tsv: Path, minutes: float, folder: Path, threads: int, vocabulary: int = VOCABULARY, seed: int = 1
) -> dict[str, Any]:
    """Train for so many minutes, tokenization included, and save model and vocabulary in a folder."""
    importable(PACKAGE)  # its installation takes none of the time
    began = time.perf_counter()
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    texts = read_pairs(train_tsv)
    pieces = learn([text for pair in texts for text in pair], folder / "sentencepiece", vocabulary, threads)
    sources, targets = (pieces.encode(list(side), num_threads=threads) for side in zip(*texts, strict=True))
    pairs = [pair for pair in zip(sources, targets, strict=True) if max(map(len, pair)) <= LONGEST]
    prepared = time.perf_counter() - began
    model = marian(vocabulary=vocabulary).train()
    optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.0, fused=True)
    spent, warm, steps, tokens = 0.0, 0.0, 0, 0
    for chosen in batches(pairs, seed):
        batch = collate_pairs([pairs[row][0] for row in chosen], [pairs[row][1] for row in chosen])
        loss = transformers_loss(model, batch).total / int((batch.target_output != PAD).sum())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        if (steps < WARMUP and spent < 0.5) or steps == 0:  # a short budget is not all warm-up
            share, warm = (steps + 1) / WARMUP, spent
        else:
            share = min((steps + 1) / WARMUP, 1.0) * (1 - spent) / (1 - warm)
        for group in optimizer.param_groups:
            group["lr"] = RATE * share
        optimizer.step()
        optimizer.zero_grad()
        steps, tokens = steps + 1, tokens + batch.tokens
        spent = (time.perf_counter() - began) / (60 * minutes)
        if spent >= 1:
            break
        if steps % 100 == 0:
            print(f"transformers: step {steps:,}, {spent:.0%}, loss {loss.item():.3f}", file=sys.stderr, flush=True)
    model.save_pretrained(folder)
    figures = {"steps": steps, "tokens": tokens, "prepared": round(prepared, 1)}
    figures |= {"seconds": round(time.perf_counter() - began, 1), "parameters": model.num_parameters()}
    (folder / "run.json").write_text(json.dumps(figures) + "\n")
    return figures


def batches(pairs: Sequence[Pair], seed: int) -> Iterator[np.ndarray[Any, Any]]:
    """Rows of one batch after another, epoch after epoch."""
    source, target = (np.array([len(pair[side]) + 1 for pair in pairs], dtype=np.int32) for side in (0, 1))
    for epoch in count():
        random = np.random.default_rng([seed, epoch])
        runs = cut(source, target, by_length(source, target, random.permutation(len(pairs))), BATCH)
        yield from (runs[number] for number in random.permutation(len(runs)))


@torch.inference_mode()
def translate(folder: Path, sentences: Sequence[str], beam: int = 5) -> list[str]:
    """Translate with a model that `train` saved, sentences of similar length together."""
    importable(PACKAGE)
    import sentencepiece
    import transformers

    model: Any = transformers.MarianMTModel.from_pretrained(folder).eval()
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    rows = [ids[:LONGEST] for ids in pieces.encode(list(sentences))]
    found = [""] * len(rows)
    for group in similar([len(ids) for ids in rows], 2000):
        batch = collate([rows[number] for number in group])
        longest = min(2 * batch.source.shape[1] + 10, 500)
        out = model.generate(
            input_ids=batch.source, attention_mask=batch.source_mask.long(), num_beams=beam, max_new_tokens=longest
        )
        for number, ids in zip(group, out.tolist(), strict=True):
            found[number] = pieces.decode([id for id in ids if id > EOS])
    return found


if __name__ == "__main__":
    tsv, for_minutes, into, number_of_threads = sys.argv[1:]
    train(Path(tsv), float(for_minutes), Path(into), int(number_of_threads))

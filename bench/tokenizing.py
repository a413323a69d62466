"""Subwords in sentences per second, next to SentencePiece's BPE: learning, encoding and decoding on one thread.

    python -m bench tokenizing [PAIRS.tsv.gz] [--vocabulary 8000] [--rounds 5]

Same texts and vocabulary size; without a file, 50,000 pairs of the built-in corpus. Both normalize what they read. They
alternate; the processor's time is taken, which other programs change little. Encoding begins with nothing remembered of
earlier texts each time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ["RAYON_NUM_THREADS"] = "1"  # the threads of `tokenizers`, read when it first works

from bench.marian import PACKAGE, learn, read_pairs
from bench.packages import importable
from mirada import builtin
from mirada.data.normalize import normalize
from mirada.data.tokenizer import Tokenizer

Timed = tuple[float, Any]


def timed(work: Callable[[], Any]) -> Timed:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def ours(texts: list[str], vocabulary: int, folder: Path) -> list[Timed]:
    learning = timed(lambda: Tokenizer.learn(texts, vocabulary, normalized=True))
    file = folder / "tokenizer.json"
    file.write_text(learning[1].to_json(), encoding="utf-8")
    fresh = Tokenizer.load(file)
    encoding = timed(lambda: fresh.encode(texts))
    return [learning, encoding, timed(lambda: fresh.decode(encoding[1]))]


def theirs(texts: list[str], vocabulary: int, folder: Path) -> list[Timed]:
    learning = timed(lambda: learn(texts, folder / "sentencepiece", vocabulary, threads=1))
    encoding = timed(lambda: learning[1].encode(texts, num_threads=1))
    return [learning, encoding, timed(lambda: learning[1].decode(encoding[1], num_threads=1))]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench tokenizing")
    parser.add_argument("pairs", type=Path, nargs="?", help="sentence pairs, tab-separated, gzipped or not")
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    importable(PACKAGE)
    if options.pairs:
        texts = [text for pair in read_pairs(options.pairs) for text in pair]
    else:
        texts = [text for pair in builtin.training("es", "en", 50_000) for text in (pair.source, pair.targets[0])]
    systems = {"mirada": ours, "sentencepiece": theirs}
    seconds: dict[str, list[list[float]]] = {name: [] for name in systems}
    tokens: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="mirada-bench-") as folder:
        for _ in range(options.rounds):
            for name, run in systems.items():
                found = run(texts, options.vocabulary, Path(folder))
                seconds[name].append([spent for spent, _ in found])
                if name == "mirada":
                    assert found[2][1] == list(map(normalize, texts)), "every text must survive the round trip"
                tokens[name] = sum(map(len, found[1][1])) / len(texts)
    lengths = ", ".join(f"{name} {length:.2f}" for name, length in tokens.items())
    print(f"{len(texts):,} sentences, vocabulary {options.vocabulary:,}, one thread; tokens a sentence: {lengths}")
    for number, what in enumerate(("learning", "encoding", "decoding")):
        mine, peer = ([spent[number] for spent in seconds[name]] for name in systems)
        ratios = sorted(b / a for a, b in zip(mine, peer, strict=True))
        print(
            f"{what:9} mirada {len(texts) / statistics.median(mine):10,.0f} sentences/s   sentencepiece "
            f"{len(texts) / statistics.median(peer):10,.0f}   "
            f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )

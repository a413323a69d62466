"""Read 200,000 damaged files of all formats: each gives a result or a one-line error; no stack trace, hang or loss."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

from tests import fuzzing

FILES, BLOCK, FIRST_SEED = 200_000, 1000, 1_000_000


def block(number: int) -> Counter[str]:
    with tempfile.TemporaryDirectory(prefix="mirada-fuzz-") as folder:
        seeds = range(FIRST_SEED + number * BLOCK, FIRST_SEED + (number + 1) * BLOCK)
        return Counter(fuzzing.trial(Path(folder), seed) for seed in seeds)


def main() -> None:
    total: Counter[str] = Counter()
    with Pool(os.cpu_count()) as pool:
        for done in pool.imap_unordered(block, range(FILES // BLOCK)):
            total += done
            if total.total() % 20_000 == 0:
                print(f"{total.total():,} files: {total['read']:,} read, {total['refused']:,} refused", flush=True)

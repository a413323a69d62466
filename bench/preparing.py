"""Seconds, pairs a second and peak memory of preparing sentence pairs: `python -m bench preparing PAIRS.tsv.gz en pt`.

Pin it to one core to compare (`RAYON_NUM_THREADS=1 taskset -c 1 …`).
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from mirada.data.checks import CheckConfig
from mirada.data.preparation import prepare
from mirada.data.sources import DataConfig
from mirada.data.tokenizer import TokenizerConfig
from mirada.tasks.translation.data import TranslationData


def main(arguments: Sequence[str]) -> None:
    if not arguments:
        sys.exit("name a file of sentence pairs, and its languages: python -m bench preparing pairs.tsv en pt")
    pairs, source, target, *_ = [*arguments, None, None]
    assert pairs is not None
    data = DataConfig(files=(pairs,), source_language=source, target_language=target)
    task = TranslationData({"data": data, "check": CheckConfig(), "tokenizer": TokenizerConfig()})
    with tempfile.TemporaryDirectory() as folder:
        began, worked = time.perf_counter(), time.process_time()
        report = prepare(task, Path(folder), lambda what, done, total: None).about
        seconds, worked = time.perf_counter() - began, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{report.read:,} pairs: {seconds:.1f} s ({worked:.1f} s of the processor)")
    print(f"{report.read / seconds:,.0f} pairs/s, {report.read / worked:,.0f} by processor time")
    print(f"peak memory {peak:,.0f} MiB; data id {report.fingerprint[:16]}")

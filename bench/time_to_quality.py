"""BLEU and chrF++ by minutes of training from raw text, next to transformers' plain recipe (`bench/marian.py`).

    python -m bench time_to_quality TRAIN DEV --from en --to pt --minutes 5,10,15,30 [--peer 30] [--threads 1]
        [--out DIR] [-- more options of `mirada train`]

The first half of DEV is `mirada train --dev`; the second, which no choice was made on, is translated with beam 5 and
scored. Minutes include everything from the raw files to the trained model: reading, checks, tokenization. Each run
adds a row to DIR/runs.jsonl when it is done, so that runs can be made one at a time; the last line compares all of
DIR's. In brackets: the 95 % interval of BLEU over resampled test sentences, and what it means for the ratio.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sacrebleu.metrics.bleu import BLEU

from bench import marian
from bench.command import mirada
from mirada.api import load
from mirada.metrics.translation import bleu_tokenizer, chrf

Row = dict[str, Any]
RESAMPLED = 1000


def main(arguments: Sequence[str]) -> None:
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    options = parsed(given[:end])
    options.out.mkdir(parents=True, exist_ok=True)
    dev, test = halves(options.dev, options.out)
    for minutes in filter(None, options.minutes.split(",")):
        add(options, ours(options, float(minutes), dev, test, given[end + 1 :]), test)
    for minutes in filter(None, options.peer.split(",")):
        add(options, peer(options, float(minutes), test), test)
    compare([json.loads(line) for line in (options.out / "runs.jsonl").open(encoding="utf-8")])


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench time_to_quality")
    parser.add_argument("train", type=Path, help="sentence pairs, tab-separated, gzipped or not")
    parser.add_argument("dev", type=Path, help="sentence pairs in the same format")
    parser.add_argument("--from", dest="source", required=True)
    parser.add_argument("--to", dest="target", required=True)
    parser.add_argument("--minutes", default="", help="one run of Mirada per number: 5,10,15,30")
    parser.add_argument("--peer", default="", help="one run of the peer per number: 30")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("time-to-quality"))
    return parser.parse_args(arguments)


def halves(file: Path, folder: Path) -> tuple[Path, Path]:
    """The dev set in two files: to choose by, and to score."""
    pairs = ["\t".join(pair) + "\n" for pair in marian.read_pairs(file)]
    dev, test = folder / "dev.tsv", folder / "test.tsv"
    dev.write_text("".join(pairs[: len(pairs) // 2]), encoding="utf-8")
    test.write_text("".join(pairs[len(pairs) // 2 :]), encoding="utf-8")
    return dev, test


def ours(options: argparse.Namespace, minutes: float, dev: Path, test: Path, more: list[str]) -> Row:
    bundle, began = options.out / f"mirada-{minutes:g}", time.perf_counter()
    words = ["--from", options.source, "--to", options.target, "--threads", str(options.threads), *more]
    mirada("train", options.train, "--dev", dev, "--minutes", f"{minutes:g}", "--out", bundle, "--overwrite", *words)
    seconds = time.perf_counter() - began
    model = load(bundle, threads=options.threads)
    found = model.translate([source for source, _ in marian.read_pairs(test)], beam=5)
    return {
        "system": "mirada",
        "minutes": minutes,
        "seconds": round(seconds, 1),
        "parameters": model.parameters,
        "steps": model.card["training"]["steps"],
        "dev": {score["name"]: round(score["value"], 2) for score in model.card["scores"]["scores"]},
        "options": more,
        "translations": [translation.text for translation in found],
    }


def peer(options: argparse.Namespace, minutes: float, test: Path) -> Row:
    folder, began = options.out / f"transformers-{minutes:g}", time.perf_counter()
    command = [sys.executable, "-m", "bench.marian", options.train, str(minutes), folder, str(options.threads)]
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": str(options.threads)})
    seconds = time.perf_counter() - began
    figures = json.loads((folder / "run.json").read_text())
    return {
        "system": "transformers",
        "minutes": minutes,
        "seconds": round(seconds, 1),
        "parameters": figures["parameters"],
        "steps": figures["steps"],
        "options": [],
        "translations": marian.translate(folder, [source for source, _ in marian.read_pairs(test)]),
    }


def add(options: argparse.Namespace, row: Row, test: Path) -> None:
    """Score a run, print it and keep it."""
    references = [target for _, target in marian.read_pairs(test)]
    kind = bleu_tokenizer(options.target, [[text] for text in references])
    texts = row.pop("translations")
    score = BLEU(tokenize=kind, force=True).corpus_score(texts, [references], n_bootstrap=RESAMPLED)
    row |= {"BLEU": round(score.score, 2), "±": round(score._ci, 2)}
    row |= {"chrF++": round(chrf(texts, [[text] for text in references]), 2), "threads": options.threads}
    name = f"{row['system']}-{row['minutes']:g}"
    (options.out / f"{name}.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    with (options.out / "runs.jsonl").open("a", encoding="utf-8") as file:
        print(json.dumps(row, ensure_ascii=False), file=file, flush=True)
    print(
        f"{row['system']:12} {row['minutes']:4g} minutes ({row['seconds']:,.0f} s)   BLEU {row['BLEU']:.1f} "
        f"(± {row['±']:.1f})   chrF++ {row['chrF++']:.1f}   {row['steps']:,} steps, {row['parameters']:,} parameters",
        flush=True,
    )


def compare(rows: Sequence[Row]) -> None:
    """For each run of the peer: in how many minutes Mirada reaches its BLEU."""
    for theirs in (row for row in rows if row["system"] == "transformers"):
        like = [row for row in rows if row["system"] == "mirada" and row["threads"] == theirs["threads"]]
        if not like:
            continue
        most, middle, least = (minutes_to(like, theirs["BLEU"] + sign * theirs["±"]) for sign in (1, 0, -1))
        if middle is None:
            print(f"mirada does not reach BLEU {theirs['BLEU']:.1f} in these runs")
            continue
        lowest = "?" if most is None else f"{theirs['minutes'] / most:.1f}"
        at_most = "at most " if middle == min(row["minutes"] for row in like) else ""
        print(
            f"mirada reaches BLEU {theirs['BLEU']:.1f} after {at_most}{middle:.1f} minutes, transformers after "
            f"{theirs['minutes']:g}   ratio {theirs['minutes'] / middle:.1f} "
            f"({lowest} to {theirs['minutes'] / (least or middle):.1f})"
        )


def minutes_to(rows: Sequence[Row], bleu: float) -> float | None:
    """Minutes to a BLEU, between the measured ones on a line over log(minutes); the fewest measured if that will do."""
    before: tuple[float, float] | None = None
    for minutes, found in sorted((row["minutes"], row["BLEU"]) for row in rows):
        if found >= bleu:
            if before is None:
                return float(minutes)
            share = (bleu - before[1]) / (found - before[1])
            return math.exp(math.log(before[0]) + share * math.log(minutes / before[0]))
        before = minutes, found
    return None

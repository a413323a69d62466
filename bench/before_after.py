"""The default recipe (preset small, Muon, automatic precision) in tokens per second, next to an earlier revision.

    python -m bench before_after REVISION [--pairs PAIRS.tsv --from en --to pt] [--rounds 3] [--steps 40] [--threads 1]

Both trees run `mirada train` on the same pairs with the same seed, 2,000 subwords and batches of 4,000 tokens, in
processes of their own, in turns. The speed is that of the run's own log between its first and its last logged step,
without validation.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.revisions import HERE, checked_out, start, write_builtin

BATCH = 4000


def speed(tree: Path, options: argparse.Namespace, out: Path) -> tuple[float, str]:
    """Tokens per second of a short training, and what it trained on."""
    settings = {"tokenizer.vocabulary": 2000, "train.batch_tokens": BATCH}
    settings |= {"train.validate_every": 10**6, "train.final_sentences": 1}
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    words += ["--from", options.source, "--to", options.target, "--threads", str(options.threads)]
    process = start(
        tree, "train", options.pairs, "--preset", options.preset, "--steps", str(options.steps), "--out", out, *words
    )
    said, _ = process.communicate()
    if process.returncode:
        sys.exit(f"{tree}: training failed:\n{said}")
    (log,) = out.rglob("log.jsonl")
    steps = [
        event for event in map(json.loads, log.read_text(encoding="utf-8").splitlines()) if event["kind"] == "step"
    ]
    tokens = sum(event["tokens"] for event in steps[1:])
    card = json.loads((out / "card.json").read_text(encoding="utf-8"))["training"]
    about = f"{card['steps']} steps, {card['tokens']:,} tokens, {card.get('precision', 'float32')}"
    return tokens / (steps[-1]["seconds"] - steps[0]["seconds"]), about


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench before_after")
    parser.add_argument("revision")
    parser.add_argument("--pairs", type=Path, help="a file of sentence pairs; the built-in corpus otherwise")
    parser.add_argument("--from", dest="source", default="es")
    parser.add_argument("--to", dest="target", default="en")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--preset", default="small")
    options = parser.parse_args(arguments)
    with checked_out(options.revision) as before, tempfile.TemporaryDirectory(prefix="mirada-bench-") as folder:
        options.pairs = (options.pairs or write_builtin(Path(folder) / "pairs.tsv", 20_000)).absolute()
        trees = {options.revision: before, "this tree": HERE}
        speeds: dict[str, list[float]] = {name: [] for name in trees}
        for round_ in range(options.rounds):
            for number, (name, tree) in enumerate(trees.items()):
                found, about = speed(tree, options, Path(folder) / f"{round_}-{number}")
                speeds[name].append(found)
                print(f"{name:12} {found:8,.0f} tokens/s   {about}", flush=True)
    ratios = sorted(a / b for b, a in zip(*speeds.values(), strict=True))
    middle = {name: statistics.median(found) for name, found in speeds.items()}
    print(
        f"{options.revision} {middle[options.revision]:,.0f} tokens/s, this tree {middle['this tree']:,.0f} tokens/s   "
        f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    )

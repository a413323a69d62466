"""Seconds from `mirada train FILE …` to its first step, and of `mirada translate` from the shell; where they go.

    python -m bench start [PAIRS.tsv.gz --from en --to pt] [--beside REVISION] [--bundle BUNDLE] [--rounds 3]

Every run is a process of its own. "cold": nothing is in Mirada's cache, so that bfloat16 is tried; "cached": it has
been. What is before the first line of the run's log is the import of PyTorch and Mirada; the phases are the log's own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.revisions import HERE, checked_out, environment, start, write_builtin

Seconds = dict[str, float]
SENTENCE = "Todos los niños leen un libro en casa."
SPLIT = """
import json, sys, time
clock = time.perf_counter
began = clock(); import mirada; from mirada import load
imported = clock(); model = load(sys.argv[1])
loaded = clock(); model.translate(sys.argv[2])
print(json.dumps({"import": imported - began, "load": loaded - imported, "translate": clock() - loaded}))
"""


def first_step(tree: Path, options: argparse.Namespace, folder: Path, cache: Path) -> Seconds:
    """Start a training and stop it after its first step: seconds by phase, and "total"."""
    words = ["--minutes", str(options.minutes), "--threads", str(options.threads)]
    words += ["--from", options.source, "--to", options.target]
    began = time.perf_counter()
    process = start(tree, "train", options.pairs, "--out", folder / "bundle", *words, MIRADA_CACHE=str(cache))
    try:
        while not (events := logged(folder)) or events[-1]["kind"] != "step":
            if process.poll() is not None:
                sys.exit(f"training ended before its first step:\n{process.communicate()[0]}")
            time.sleep(0.02)
        total = time.perf_counter() - began
    finally:
        process.kill()
        process.communicate()
    inside = events[-1]["seconds"]
    phases = {event["phase"]: event["seconds"] for event in events if event["kind"] == "timing"}
    rest = inside - sum(phases.values())
    return {"import": total - inside, **phases, "the rest, and the first step": rest, "total": total}


def logged(folder: Path) -> list[dict[str, Any]]:
    """The whole lines of the log below a folder, up to the first step."""
    events = []
    for log in folder.rglob("log.jsonl"):  # none yet, or one
        for line in log.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                events.append(json.loads(line))
                if events[-1]["kind"] == "step":
                    break
    return events


def translation(tree: Path, bundle: Path) -> Seconds:
    """`mirada translate` of one sentence: "total"; and the same through the library, by phase."""
    began = time.perf_counter()
    process = start(tree, "translate", bundle, SENTENCE)
    said, _ = process.communicate()
    total = time.perf_counter() - began
    command = [sys.executable, "-c", SPLIT, str(bundle), SENTENCE]
    split = subprocess.run(command, cwd=tree, env=environment(tree), capture_output=True, text=True)
    if process.returncode or split.returncode:
        sys.exit(f"{tree}: translating failed:\n{said}{split.stderr}")
    phases: Seconds = json.loads(split.stdout.splitlines()[-1])
    return {**phases, "Python and the command line": total - sum(phases.values()), "total": total}


def show(name: str, runs: Sequence[Seconds]) -> None:
    totals = [run["total"] for run in runs]
    print(f"{name}: {statistics.median(totals):.2f} s ({min(totals):.2f} to {max(totals):.2f})")
    for phase in dict.fromkeys(phase for run in runs for phase in run if phase != "total"):
        print(f"{statistics.median(run.get(phase, 0.0) for run in runs):10.2f} s  {phase}")
    sys.stdout.flush()


def ratio(name: str, before: Sequence[Seconds], after: Sequence[Seconds]) -> None:
    found = sorted(b["total"] / a["total"] for b, a in zip(before, after, strict=True))
    print(f"ratio {statistics.median(found):.2f} ({found[0]:.2f} to {found[-1]:.2f})   {name}")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench start")
    parser.add_argument("pairs", type=Path, nargs="?", help="sentence pairs (default: 50,000 of the built-in corpus)")
    parser.add_argument("--from", dest="source", default="es")
    parser.add_argument("--to", dest="target", default="en")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--beside", help="an earlier revision")
    parser.add_argument("--bundle", type=Path, help="a translator (default: one trained for a few steps)")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="mirada-bench-") as name:
        folder = Path(name)
        options.pairs = (options.pairs or write_builtin(folder / "pairs.tsv", 50_000)).absolute()
        if options.beside:
            with checked_out(options.beside) as before:
                compare({"this tree": HERE, options.beside: before}, options, folder)
        else:
            compare({"this tree": HERE}, options, folder)


def compare(trees: dict[str, Path], options: argparse.Namespace, folder: Path) -> None:
    """Run everything in each tree by turns, and print it."""
    trainings: dict[str, list[Seconds]] = {f"{name}, {state}": [] for name in trees for state in ("cold", "cached")}
    for round_ in range(options.rounds):
        for number, (name, tree) in enumerate(trees.items()):
            for state in ("cold", "cached"):
                run = folder / f"{round_}-{number}-{state}"
                run.mkdir()
                cache = folder / f"cache-{round_}-{number}"
                trainings[f"{name}, {state}"].append(first_step(tree, options, run, cache))
    for name, runs in trainings.items():
        show(f"to the first step, {name}", runs)
    given = options.bundle and options.bundle.absolute()
    bundles = {
        name: given or translator(tree, folder / f"few-{number}") for number, (name, tree) in enumerate(trees.items())
    }
    translations: dict[str, list[Seconds]] = {name: [] for name in trees}
    for _ in range(options.rounds):
        for name, tree in trees.items():
            translations[name].append(translation(tree, bundles[name]))
    for name, runs in translations.items():
        show(f"translating a sentence, {name}", runs)
    for name in list(trees)[1:]:
        for state in ("cold", "cached"):
            ratio(
                f"to the first step, {state}, {name} : this tree",
                trainings[f"{name}, {state}"],
                trainings[f"this tree, {state}"],
            )
        ratio(f"translating a sentence, {name} : this tree", translations[name], translations["this tree"])


def translator(tree: Path, folder: Path) -> Path:
    """A small translator that a tree has hardly trained: it takes as long as any to open."""
    folder.mkdir()
    pairs = write_builtin(folder / "few.tsv", 3000)
    words = ("--from", "es", "--to", "en", "--preset", "tiny", "--steps", "20", "--out", folder / "few")
    process = start(tree, "train", pairs, *words)
    said, _ = process.communicate()
    if process.returncode:
        sys.exit(f"{tree}: training failed:\n{said}")
    return folder / "few"

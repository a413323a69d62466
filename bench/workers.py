"""Training with N threads in one process, next to N processes of one thread each that sum their gradients.

    python -m bench workers [--processes 2] [--rounds 3] [--steps 15] [--tokens 4000] [--preset small]

The default recipe (Muon) in float32 and bfloat16, with nothing else running and beside a program that keeps one core
busy. A step has the same number of tokens for both: one batch, or one of an N-th of it for each process. Both run
`training.loop`, the processes with the `Workers` below: PyTorch's gloo over the loopback interface. They take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as gloo
from torch import nn

from mirada.device import cores
from mirada.training.loop import Event, Training
from mirada.training.workers import Workers

T = TypeVar("T")
WARMUP = 3
"""Steps that are not timed."""


class GlooWorkers(Workers):
    """Processes of this machine that meet in a file."""

    def __init__(self, rank: int, count: int, meeting: Path):
        self.rank, self.count = rank, count
        gloo.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=count)

    def sum_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
        flat = torch.cat([grad.flatten() for grad in grads])  # one message for all
        gloo.all_reduce(flat)
        parts = flat.split([grad.numel() for grad in grads])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)

    def sum(self, *values: float) -> tuple[float, ...]:
        summed = torch.tensor(values, dtype=torch.float64)
        gloo.all_reduce(summed)
        return tuple(summed.tolist())

    def any(self, flag: bool) -> bool:
        return self.sum(float(flag))[0] > 0

    def from_first(self, compute: Callable[[], T]) -> T:
        box: list[Any] = [None, None]
        if self.first:
            try:
                box[0] = compute()
            except Exception as error:
                box[1] = error
        gloo.broadcast_object_list(box, src=0)
        if box[1] is not None:
            raise box[1]
        found: T = box[0]
        return found


# ── a child process ───────────────────────────────────────────────────────────────────────────────────────────────────


def train(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Train for some steps; returns the figures of each."""
    from bench.peer import SIZES, VOCABULARY, batches, ours
    from bench.training_speed import objective
    from mirada.contracts import Validation
    from mirada.models.transformer import PRESETS
    from mirada.training.config import TrainConfig

    torch.manual_seed(1)  # the same weights everywhere
    network = ours(SIZES.model_copy(update=PRESETS[job["preset"]]["model"]), VOCABULARY)
    plan, _ = batches(pairs=4000, tokens=job["tokens"])
    settings = {name: job[name] for name in ("steps", "precision", "accumulate")}
    steps: list[dict[str, Any]] = []

    def listen(event: Event) -> None:
        if event.kind == "step":
            steps.append({**event.figures, "clock": time.perf_counter()})

    with tempfile.TemporaryDirectory(prefix="mirada-bench-") as folder:
        Training(
            network,
            objective,
            plan,
            lambda network, size: Validation(0.0, "none"),
            TrainConfig.model_validate({**settings, "validate_every": job["steps"], "average": 0}),
            Path(folder),
            torch.device("cpu"),
            listen,
            time.monotonic(),
            GlooWorkers(job["rank"], job["count"], Path(job["meeting"])) if job["count"] > 1 else None,
        ).run()
    return steps


def child() -> None:
    """Train, and print tokens per second after the first steps."""
    steps = train(json.loads(sys.argv[1]))
    print(sum(step["tokens"] for step in steps[WARMUP:]) / (steps[-1]["clock"] - steps[WARMUP - 1]["clock"]))


# ── the parent ────────────────────────────────────────────────────────────────────────────────────────────────────────

CHILD = "import mirada, bench.workers; bench.workers.child()"  # mirada before torch


def measured(processes: int, threads: int, **job: Any) -> float:
    """Tokens per second of processes that train together."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GOMP_", "OMP_"))}
    environment = {**inherited, "OMP_NUM_THREADS": str(threads)}
    with tempfile.TemporaryDirectory(prefix="mirada-bench-") as folder:
        given = {**job, "count": processes, "accumulate": 1, "meeting": f"{folder}/meeting"}
        started = [
            subprocess.Popen(
                [sys.executable, "-c", CHILD, json.dumps({**given, "rank": rank})],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(processes)
        ]
        said = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        sys.exit("a process failed; see its output above")
    return float(said[0].split()[-1])


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench workers")
    parser.add_argument("--processes", type=int, default=max(2, cores()))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--preset", default="small")
    options = parser.parse_args(arguments)
    count, job = options.processes, {"steps": options.steps + WARMUP, "preset": options.preset}
    print(f"{cores()} cores; preset {options.preset}, {options.tokens:,} tokens a step, {options.rounds} rounds")
    for busy in (False, True):
        for precision in ("float32", "bfloat16"):
            speeds: list[tuple[float, float]] = []
            with ExitStack() as stack:
                if busy:
                    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
                    stack.callback(other.kill)
                for _ in range(options.rounds):
                    one = measured(1, count, tokens=options.tokens, precision=precision, **job)
                    many = measured(count, 1, tokens=options.tokens // count, precision=precision, **job)
                    speeds.append((one, many))
            ratios = sorted(many / one for one, many in speeds)
            print(
                f"{'one core busy' if busy else 'quiet'}, {precision:8}   1 process, {count} threads "
                f"{statistics.median(one for one, _ in speeds):8,.0f} tokens/s   {count} processes, 1 thread each "
                f"{statistics.median(many for _, many in speeds):8,.0f}   "
                f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
                flush=True,
            )

"""Training while another program keeps one core busy, next to the same with nothing else running.

    python -m bench busy

Each line is a process of its own, since OpenMP reads its environment when PyTorch is imported: threads that wait as
Mirada sets them (`GOMP_SPINCOUNT`), as OpenMP has them by default, and a single thread.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

SECONDS = 6.0
CHILD = "import mirada, bench.busy; bench.busy.train()"  # mirada before torch


def train() -> None:
    """Train for a few seconds and print the speed: what a child process does."""
    from bench.peer import batches, ours
    from bench.training_speed import objective, stepper

    plan, _ = batches(pairs=2000)
    step = stepper(ours(), objective, "float32")
    loaded = [plan.load(rows) for rows in plan.epoch(0)[:8]]
    step(loaded[0])
    began, tokens, number = time.perf_counter(), 0, 0
    while (elapsed := time.perf_counter() - began) < SECONDS:
        batch = loaded[number % len(loaded)]
        step(batch)
        tokens, number = tokens + batch.tokens, number + 1
    print(tokens / elapsed)


def measured(threads: int, **environment: str) -> float:
    """Tokens per second of a training in a process with this environment."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GOMP_", "OMP_"))}
    given = {**inherited, "OMP_NUM_THREADS": str(threads), **environment}
    done = subprocess.run([sys.executable, "-c", CHILD], env=given, capture_output=True, check=True, text=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    quiet = measured(cores)
    print(f"{cores} threads, nothing else running       {quiet:8,.0f} tokens/s", flush=True)
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for name, threads, environment in (
            (f"{cores} threads", cores, {}),
            (f"{cores} threads, spinning", cores, {"OMP_WAIT_POLICY": "active"}),
            ("1 thread", 1, {}),
        ):
            found = measured(threads, **environment)
            print(f"{name + ', one core busy':36} {found:8,.0f} tokens/s   {found / quiet:.2f} of quiet", flush=True)
    finally:
        other.kill()

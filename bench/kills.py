"""Twenty kills −9 at random moments: the run always resumes, and ends equal to one that nothing disturbed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests import toy

KILLS, STEPS = 20, 160


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="mirada-bench-"))
    pairs = toy.write(folder / "pairs.tsv", toy.pairs(1500))
    settings = [*toy.SETTINGS, "train.checkpoint_every=3", "model.dropout=0.1"]
    options = [part for setting in settings for part in ("--set", setting)]
    base = [sys.executable, "-m", "mirada.cli", "train"]

    def start(out: Path) -> list[str]:
        return [*base, str(pairs), "--out", str(out), "--steps", str(STEPS), *options]

    began = time.monotonic()
    subprocess.run(start(folder / "whole"), check=True, capture_output=True)
    once = time.monotonic() - began
    chance = random.Random()
    kills = runs = 0
    while kills < KILLS:
        runs += 1
        out = folder / f"killed-{runs}"
        while True:
            command = [*base, "--resume", str(out)] if (out / "config.yaml").exists() else [*start(out), "--overwrite"]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if kills < KILLS:
                try:
                    process.wait(chance.uniform(0.3, 0.6 * once))
                except subprocess.TimeoutExpired:
                    process.kill()
            _, errors = process.communicate()
            if process.returncode == 0:
                break
            assert process.returncode == -signal.SIGKILL, errors.decode()
            kills += 1
        for name in ("model.safetensors", f"run/checkpoints/step-{STEPS:08d}.safetensors"):
            same = (out / name).read_bytes() == (folder / "whole" / name).read_bytes()
            print(f"run {runs}, {kills} kills so far, {name}: {'equal' if same else 'DIFFERENT'}", flush=True)
            assert same

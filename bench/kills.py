"""Send 200 kill -9: every run resumes and ends like an uninterrupted one, and an existing bundle stays usable.

The moments are random: the first second of the process, the first writes to the folder, the writing of a checkpoint,
the writing and moving of the bundle, or any. Every second run replaces a finished bundle (`--overwrite`); after each
kill that bundle is loaded and translates. `python -m bench.kills 60` sends fewer kills.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import mirada
from mirada import config as configuration
from tests import toy

KILLS, STEPS, KILLS_A_RUN = 200, 60, 8
COMMAND = [sys.executable, "-m", "mirada.cli", "train"]
SENTENCE = "el gato rojo ve el tren"


def snapshot(folder: Path) -> set[str]:
    """The paths of everything in a folder, even while it changes."""
    try:
        return {str(path) for path in folder.rglob("*")}
    except OSError:
        return set()


def moments(out: Path, once: float) -> dict[str, tuple[Callable[[], bool], float]]:
    """Kinds of moments: the event to wait for, and the longest delay of the kill after it in seconds."""
    there, checkpoints = snapshot(out), snapshot(out / "run" / "checkpoints")
    return {
        "the first second": (lambda: True, 1.0),
        "the first writes": (lambda: snapshot(out) != there, 0.1),
        "a checkpoint": (lambda: bool(snapshot(out / "run" / "checkpoints") - checkpoints), 0.03),
        "the bundle": (lambda: any((out / name).exists() for name in ("bundle.partial", "bundle.new")), 0.03),
        "any moment": (lambda: True, once),
    }


def has_begun(out: Path) -> bool:
    """Whether the run in the folder has begun, so that it is resumed and not started again."""
    found = (out / name / "config.yaml" for name in ("run.next", "run"))
    return any(path.exists() and configuration.read(path)["train"]["steps"] == STEPS for path in found)


def main(kills: int = KILLS) -> None:
    folder = Path(tempfile.mkdtemp(prefix="mirada-bench-"))
    pairs = toy.write(folder / "pairs.tsv", toy.pairs(1500))
    settings = [*toy.SETTINGS, "train.checkpoint_every=3", "model.dropout=0.1"]
    options = [part for setting in settings for part in ("--set", setting)]

    def start(out: Path, steps: int = STEPS) -> list[str]:
        return [*COMMAND, str(pairs), "--out", str(out), "--steps", str(steps), *options]

    subprocess.run(start(folder / "old", 12), check=True, capture_output=True)
    began = time.monotonic()
    subprocess.run(start(folder / "whole"), check=True, capture_output=True)
    once = time.monotonic() - began
    usable = {mirada.load(folder / name).translate(SENTENCE).text for name in ("old", "whole")}
    chance, kinds, runs = random.Random(), Counter[str](), 0
    while kinds.total() < kills:
        runs += 1
        out, here, replaces = folder / f"killed-{runs}", 0, runs % 2 == 0
        if replaces:
            shutil.copytree(folder / "old", out)
        while True:
            command = [*COMMAND, "--resume", str(out)] if has_begun(out) else [*start(out), "--overwrite"]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if kinds.total() < kills and here < KILLS_A_RUN:
                kind, (happens, later) = chance.choice(list(moments(out, once).items()))
                while process.poll() is None and not happens():
                    time.sleep(0.0005)
                time.sleep(chance.uniform(0, later))
                process.kill()
            _, errors = process.communicate()
            if process.returncode == 0:
                break
            assert process.returncode == -signal.SIGKILL, errors.decode()
            kinds[kind] += 1
            here += 1
            if replaces or (out / "card.json").exists() or (out / "bundle.new").exists():
                assert mirada.load(out).translate(SENTENCE).text in usable
        for name in ("model.safetensors", f"run/checkpoints/step-{STEPS:08d}.safetensors"):
            assert (out / name).read_bytes() == (folder / "whole" / name).read_bytes(), f"{out / name}: is different"
        left = {path.name for path in out.iterdir()} - {path.name for path in (folder / "whole").iterdir()}
        assert not left, left
        what = "replaced a bundle, which was usable after every kill" if replaces else "was new"
        print(
            f"run {runs} {what}: {here} kills, then equal to the undisturbed one ({kinds.total()} so far)", flush=True
        )
        shutil.rmtree(out)
    print(f"{kinds.total()} kills in {runs} runs: " + ", ".join(f"{count} in {kind}" for kind, count in kinds.items()))
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))

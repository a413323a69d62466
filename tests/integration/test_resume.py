"""A run that is interrupted, killed or starved of disk space ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mirada
from mirada.errors import Interrupted, TrainingError
from mirada.training.loop import Event
from tests import toy

STEPS = 45


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "mirada.cli", *map(str, arguments)]


def settings() -> list[str]:
    every = ["train.checkpoint_every=4", "train.average=0.1", "model.dropout=0.1"]
    return [part for setting in [*toy.SETTINGS, *every] for part in ("--set", setting)]


def train_command(pairs: Path, out: Path) -> list[str]:
    return command("train", pairs, "--out", out, "--steps", STEPS, *settings())


@pytest.fixture(scope="module")
def whole(toy_tsv: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a run that nothing disturbed."""
    out = tmp_path_factory.mktemp("whole") / "bundle"
    subprocess.run(train_command(toy_tsv, out), check=True, capture_output=True)
    return out


def weights(bundle: Path) -> bytes:
    return (bundle / "model.safetensors").read_bytes()


def checkpoint(bundle: Path) -> bytes:
    """The last state of the run: weights, average and the optimiser's memory."""
    return (bundle / "run" / "checkpoints" / f"step-{STEPS:08d}.safetensors").read_bytes()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_request_in_the_middle_of_an_epoch(
    stop: signal.Signals, toy_tsv: Path, tmp_path: Path, whole: Path
) -> None:
    def interrupt(event: Event) -> None:
        if event.kind == "step" and event.figures["step"] in (7, 18):
            os.kill(os.getpid(), stop)

    changed = {**toy.TINY, "model": {**toy.TINY["model"], "dropout": 0.1}}
    changed["train"] = {**toy.TINY["train"], "checkpoint_every": 4, "average": 0.1}
    out = tmp_path / "bundle"
    with pytest.raises(Interrupted, match=f"mirada train --resume {out}"):
        mirada.train(toy_tsv, out=out, steps=STEPS, settings=changed, listen=interrupt)
    assert mirada.load(out).card["training"]["finished"] is False  # usable meanwhile
    with pytest.raises(Interrupted):
        mirada.train(resume=out, listen=interrupt)
    model = mirada.train(resume=out)
    assert model.card["training"]["finished"] is True
    assert checkpoint(out) == checkpoint(whole)
    assert weights(out) == weights(whole)


def test_five_kills_at_random_moments(toy_tsv: Path, tmp_path: Path, whole: Path) -> None:
    chance = random.Random(2024)
    out = tmp_path / "bundle"
    killed = 0
    for _ in range(40):
        # Before its configuration is there nothing has begun; afterwards --resume always has to work.
        begun = any(out.glob("run*/config.yaml"))
        process = subprocess.Popen(
            command("train", "--resume", out) if begun else train_command(toy_tsv, out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        if killed < 5:
            _wait_for_a_moment(process, out, chance)
            process.kill()
        _, errors = process.communicate()
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, errors.decode()
        killed += 1
    assert killed == 5
    assert checkpoint(out) == checkpoint(whole)
    assert weights(out) == weights(whole)


def _wait_for_a_moment(process: subprocess.Popen[bytes], out: Path, chance: random.Random) -> None:
    """Until something new is on the disk, then a random instant more."""
    folder = out / "run" / "checkpoints"
    before = set(folder.glob("*"))
    deadline = time.monotonic() + 60
    wanted = chance.random() < 0.8  # sometimes even before the first checkpoint
    while wanted and set(folder.glob("*")) == before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(chance.random() * 0.3)


def test_a_damaged_checkpoint_is_noticed_and_the_one_before_it_used(toy_tsv: Path, tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "bundle"
    shutil.copytree(whole, out)
    folder = out / "run" / "checkpoints"
    last = max(folder.glob("*.safetensors"))
    content = bytearray(last.read_bytes())
    content[len(content) // 2] ^= 1
    last.write_bytes(content)
    notes: list[str] = []
    mirada.train(resume=out, listen=lambda event: notes.append(str(event.figures.get("text"))))
    assert any("damaged" in note and "checksum" in note for note in notes)
    assert checkpoint(out) == checkpoint(whole)


def test_checkpoints_that_do_not_belong_to_the_data_are_refused(toy_tsv: Path, tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "bundle"
    shutil.copytree(whole, out)
    about = out / "run" / "data" / "corpus" / "corpus.json"
    about.write_text(json.dumps({**json.loads(about.read_text()), "fingerprint": "0" * 64}))
    report = out / "run" / "data" / "prepared.json"
    report.write_text(json.dumps({**json.loads(report.read_text()), "files": {}}))  # no checksums, as it was
    with pytest.raises(TrainingError, match="other data"):
        mirada.train(resume=out, steps=STEPS + 10)


def test_a_full_disk_stops_training_and_keeps_the_last_checkpoint(toy_tsv: Path, tmp_path: Path, whole: Path) -> None:
    """On a real file system that is really full: a tmpfs in a mount namespace of its own."""
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine allows no mount namespace")
    disk, out = tmp_path / "disk", tmp_path / "disk" / "bundle"
    disk.mkdir()
    train, resume = " ".join(train_command(toy_tsv, out)), " ".join(command("train", "--resume", out))
    kept = f"{tmp_path}/kept.safetensors"
    script = f"""
        set -u
        mount -t tmpfs -o size=64m tmpfs {disk} || exit 99
        ( until ls {out}/run/checkpoints/step-*.json >/dev/null 2>&1; do sleep 0.01; done
          cat /dev/zero > {disk}/filler 2>/dev/null ) &
        {train} ; echo "first $?"
        wait
        rm {disk}/filler
        {resume} ; echo "second $?"
        cp {out}/run/checkpoints/step-{STEPS:08d}.safetensors {kept}
    """
    done = subprocess.run(["unshare", "-rm", "bash", "-c", script], check=False, capture_output=True, text=True)
    assert "first 1" in done.stdout, done.stderr
    assert "second 0" in done.stdout, done.stderr
    failure = next(line for line in done.stderr.splitlines() if line.startswith("mirada: "))
    assert "No space left on device" in failure
    assert "resume" in failure
    assert "Traceback" not in done.stderr
    assert Path(kept).read_bytes() == checkpoint(whole)


def test_a_raised_budget_goes_on(toy_tsv: Path, tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "bundle"
    shutil.copytree(whole, out)
    assert mirada.train(resume=out, steps=STEPS + 10).card["training"]["steps"] == STEPS + 10

"""The life of a training folder: begun, killed, resumed, replaced, looked at, handed on; nothing good is ever lost."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import mirada
from mirada import config as configuration
from mirada.errors import Interrupted, MiradaError
from mirada.training.loop import Event
from tests import toy
from tests.command import refused, run

SETTINGS: dict[str, Any] = {
    "model": {"width": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 16, "dropout": 0.0},
    "tokenizer": {"vocabulary": 300},
    "train": {"batch_tokens": 800, "threads": 1, "validate_sentences": 4, "checkpoint_every": 1},
    "data": {"hold_out": 8},
}
OPTIONS = [
    part
    for section, settings in SETTINGS.items()
    for key, value in settings.items()
    for part in ("--set", f"{section}.{key}={value}")
]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.write(tmp_path_factory.mktemp("lifecycle") / "pairs.tsv", toy.pairs(120))


@pytest.fixture(scope="module")
def small(pairs: Path) -> Path:
    """A finished bundle with its run, of two steps."""
    out: Path = mirada.train(pairs, out=pairs.with_name("small"), steps=2, settings=SETTINGS).path
    return out


@pytest.fixture
def bundle(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "bundle"))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def translation(folder: Path) -> str:
    text: str = mirada.load(folder).translate("el gato ve el tren").text
    return text


class Seen:
    """Translates with a bundle at every event of a training that will replace it."""

    def __init__(self, bundle: Path):
        self.bundle = bundle
        self.found: list[tuple[str, str]] = []

    def __call__(self, event: Event) -> None:
        self.found.append((event.kind, translation(self.bundle)))

    def check(self, old: str) -> None:
        """It was the old one while it trained; then the new one, before that is scored."""
        last = max(place for place, (kind, _) in enumerate(self.found) if kind == "step")
        assert {text for _, text in self.found[: last + 1]} == {old}
        assert {text for _, text in self.found} <= {old, translation(self.bundle)}


class TestOverwrite:
    def test_a_refused_command_loses_nothing(self, bundle: Path, pairs: Path, tmp_path: Path) -> None:
        before = files(bundle)
        (tmp_path / "bad.tsv").write_bytes(b"el gato\tthe \xff cat\n" * 20)
        (tmp_path / "few.tsv").write_text("el gato\tthe cat\n")
        wrong: list[tuple[list[object], int]] = [
            ([tmp_path / "mistyped.tsv"], 1),
            ([tmp_path / "bad.tsv"], 1),
            ([tmp_path / "few.tsv"], 1),
            ([pairs, "--set", "model.width=7"], 2),
            ([pairs, "--base", tmp_path / "none"], 1),
            ([pairs, "--device", "quantum"], 2),
        ]
        for arguments, code in wrong:
            refused("train", *arguments, "--out", bundle, "--overwrite", "--steps", 2, code=code)
            assert files(bundle) == before, arguments

    def test_the_old_bundle_is_there_until_the_new_one_is_whole(self, bundle: Path, pairs: Path) -> None:
        old, seen = translation(bundle), Seen(bundle)
        again = mirada.train(pairs, out=bundle, overwrite=True, steps=3, settings=SETTINGS, listen=seen)
        seen.check(old)
        assert again.card["training"]["steps"] == 3

    def test_an_interrupted_training_does_not_replace_a_finished_bundle(self, bundle: Path, pairs: Path) -> None:
        def stop(event: Event) -> None:
            if event.kind == "step":
                signal.raise_signal(signal.SIGINT)

        before = (bundle / "card.json").read_bytes()
        with pytest.raises(Interrupted, match=f"--resume {bundle}"):
            mirada.train(pairs, out=bundle, overwrite=True, steps=4, settings=SETTINGS, listen=stop)
        assert (bundle / "card.json").read_bytes() == before
        assert mirada.train(resume=bundle).card["training"]["steps"] == 4

    def test_a_bundle_can_be_trained_further_in_its_own_place(self, bundle: Path, pairs: Path) -> None:
        settings = {"train": {"threads": 1, "batch_tokens": 800, "validate_sentences": 4}, "data": {"hold_out": 8}}
        again = mirada.train(pairs, base=bundle, out=bundle, overwrite=True, steps=1, settings=settings)
        assert again.card["base"]["path"] == bundle.name


class TestResume:
    def test_a_refused_one_leaves_the_bundle_as_it_is(self, bundle: Path) -> None:
        about = bundle / "run" / "data" / "corpus" / "corpus.json"
        about.write_text(json.dumps({**json.loads(about.read_text()), "fingerprint": "0" * 64}))
        report = bundle / "run" / "data" / "prepared.json"
        report.write_text(json.dumps({**json.loads(report.read_text()), "files": {}}))  # no checksums, as it was
        old = translation(bundle)
        refused("train", "--resume", bundle, "--set", "model.width=8", code=2)
        assert "other data" in refused("train", "--resume", bundle, "--steps", 4)
        assert translation(bundle) == old

    def test_the_bundle_is_usable_meanwhile(self, bundle: Path) -> None:
        old, seen = translation(bundle), Seen(bundle)
        mirada.train(resume=bundle, steps=4, listen=seen)
        seen.check(old)
        assert mirada.load(bundle).card["training"]["steps"] == 4

    def test_a_finished_training_says_so(self, bundle: Path) -> None:
        before = files(bundle)
        done = run("train", "--resume", bundle)
        assert done.returncode == 0
        lines = done.stderr.splitlines()
        assert "finished (2 steps)" in lines[0]
        assert lines[0].endswith(f"mirada train --resume {bundle} --steps 4")
        assert len(lines) == 2  # and where the bundle is
        assert files(bundle) == before

    def test_a_raised_budget_that_was_killed_is_not_finished(self, bundle: Path) -> None:
        def kill(event: Event) -> None:
            if event.kind == "resumed":
                raise KeyboardInterrupt

        with pytest.raises(Interrupted):
            mirada.train(resume=bundle, steps=5, listen=kill)
        assert mirada.train(resume=bundle).card["training"]["steps"] == 5

    def test_one_that_replaces_an_equal_one_is_not_finished_before_its_own_bundle_is_there(
        self, bundle: Path, pairs: Path
    ) -> None:
        def stop(event: Event) -> None:
            if event.kind == "validation":  # trained, not written
                raise KeyboardInterrupt

        old = translation(bundle)
        with pytest.raises(Interrupted):
            mirada.train(pairs, out=bundle, overwrite=True, steps=2, seed=9, settings=SETTINGS, listen=stop)
        assert translation(bundle) == old
        assert mirada.train(resume=bundle).config["train"]["seed"] == 9

    def test_a_damaged_bundle_is_written_anew(self, bundle: Path) -> None:
        old = translation(bundle)
        (bundle / "model.safetensors").write_bytes(b"")
        mirada.train(resume=bundle)
        assert translation(bundle) == old

    def test_a_bundle_without_its_run_cannot_be_resumed(self, bundle: Path) -> None:
        shutil.rmtree(bundle / "run")
        before = files(bundle)
        assert "run was deleted" in refused("train", "--resume", bundle, "--steps", 9)
        assert files(bundle) == before


class TestInfo:
    def test_an_unfinished_training_shows_what_is_there(self, pairs: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        shown: list[str] = []

        def stop(event: Event) -> None:
            if event.kind == "preparing" and not shown:
                shown.append(run("info", out).stdout)
            if event.kind == "step" and event.figures["step"] == 2:
                raise KeyboardInterrupt

        with pytest.raises(Interrupted):
            mirada.train(pairs, out=out, steps=4, settings=SETTINGS, listen=stop)
        assert "data is not prepared yet" in shown[0]
        said = run("info", out).stdout
        assert "transformer" in said
        assert str(pairs) in said
        assert "not finished: 1 steps" in said
        assert f"mirada train --resume {out}" in said
        about = json.loads(run("info", out, "--json").stdout)
        assert about["training"]["finished"] is False
        assert about["training"]["steps"] == 1
        assert about["config"]["train"]["steps"] == 4

    @pytest.mark.parametrize(
        "data", ["data: {files: 3}", "data: {target: {a: 1}, source: [2]}", "data:", "model: {name: [x]}"]
    )
    def test_an_altered_configuration_is_shown_as_it_is(self, data: str, tmp_path: Path) -> None:
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "config.yaml").write_text(f"{data}\n")
        for how in ([], ["--json"]):
            assert run("info", tmp_path, *how).returncode == 0


class TestHandedOn:
    def test_without_paths_and_without_text(self, tmp_path: Path) -> None:
        """Every kind of report that quotes: findings of the data, and what a translation lost."""
        rows = [*toy.pairs(100), *toy.pairs(10), ("el gato 77 ve", "the cat sees"), ("https://a.example/x ve", "sees")]
        data = toy.write(tmp_path / "pairs.tsv", rows)
        dev = toy.write(
            tmp_path / "dev.tsv", [("el tren 41 ve https://a.example/secreto", "41 https://a.example/secreto")]
        )
        mirada.train(data, dev=dev, out=tmp_path / "out", steps=1, settings=SETTINGS)
        out = shutil.copytree(tmp_path / "out", tmp_path / "mine", ignore=shutil.ignore_patterns("run", "data"))
        card = json.loads((out / "card.json").read_text())
        assert any(part["lost"] for part in card["scores"]["damage"])
        assert card["data"]["findings"]
        for name, content in files(out).items():
            assert str(tmp_path).encode() not in content, name
            assert b"secreto" not in content, name
            assert b"el gato" not in content, name
        assert translation(out) == translation(tmp_path / "out")
        again = mirada.train(data, base=out, out=tmp_path / "tuned", steps=1, settings={"train": {"threads": 1}})
        assert "old" not in again.card["base"]["before"]  # there is no dev set of the base's to compare on


def test_an_empty_name_is_not_the_current_folder(pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for more in ([], ["--overwrite"]):
        assert '--out "": is empty' in refused("train", pairs, "--out", "", *more, code=2)
    with pytest.raises(MiradaError, match="Name a directory"):
        mirada.train(pairs, out="", settings=SETTINGS)
    assert list(tmp_path.iterdir()) == []


class TestAnotherProcess:
    @staticmethod
    def start(*arguments: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "mirada.cli", "train", *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @staticmethod
    def kill_when(process: subprocess.Popen[bytes], path: Path) -> None:
        while not path.exists():
            assert process.poll() is None
            time.sleep(0.001)
        process.kill()
        process.wait()

    @staticmethod
    def is_training(run: Path, steps: int) -> bool:
        try:
            return f"steps: {steps}" in (run / "config.yaml").read_text() and any((run / "checkpoints").glob("*.json"))
        except FileNotFoundError:
            return False

    def test_a_folder_that_is_trained_in_is_left_alone(self, bundle: Path, pairs: Path) -> None:
        process = self.start(pairs, "--out", bundle, "--overwrite", "--steps", 100_000, *OPTIONS)
        old = translation(bundle)
        try:
            while not self.is_training(bundle / "run", steps=100_000):
                assert process.poll() is None
                time.sleep(0.01)
            for options in (["--overwrite"], []):
                said = refused("train", pairs, "--out", bundle, "--steps", 1, *options, code=2)
                assert "another process is training in it" in said
            assert "another process" in refused("train", "--resume", bundle, code=2)
            assert translation(bundle) == old
            assert process.poll() is None
        finally:
            process.kill()
            process.wait()
        assert mirada.train(resume=bundle, steps=1).path == bundle  # the lock went with the process

    def test_a_kill_in_the_first_second_is_no_dead_end(self, pairs: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        self.kill_when(self.start(pairs, "--out", out, "--steps", 2, *OPTIONS), out)
        if any(out.glob("run*/config.yaml")):
            model = mirada.train(resume=out)
        else:
            assert f"start it again with --out {out}" in refused("train", "--resume", out)
            model = mirada.train(pairs, out=out, steps=2, settings=SETTINGS)
        assert model.card["training"]["steps"] == 2

    def test_a_kill_while_a_bundle_is_replaced(self, bundle: Path, pairs: Path) -> None:
        old = translation(bundle)
        command = (pairs, "--out", bundle, "--overwrite", "--steps", 3, *OPTIONS)
        self.kill_when(self.start(*command), bundle / "bundle.partial")
        assert mirada.load(bundle).card["training"]["steps"] in (2, 3)
        assert translation(bundle) == old or mirada.load(bundle).card["training"]["steps"] == 3
        assert mirada.train(resume=bundle).card["training"]["steps"] == 3


def test_run_and_bundle_have_one_configuration(small: Path) -> None:
    kept, handed = (configuration.read(path) for path in (small / "run" / "config.yaml", small / "config.yaml"))
    assert [Path(path).name for path in kept["data"].pop("files")] == handed["data"].pop("files")
    assert kept == handed

"""The command line as a person uses it, good input and bad."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import refused, run, spawn


def test_train_translate_evaluate_info(tmp_path: Path) -> None:
    rows = toy.pairs(400)
    source, target = tmp_path / "train.es.gz", tmp_path / "train.en"
    source.write_bytes(gzip.compress("".join(f"{s}\r\n" for s, _ in rows).encode()))
    target.write_text("\ufeff" + "".join(f"{t}\n" for _, t in rows), encoding="utf-8")
    options = [part for setting in toy.SETTINGS for part in ("--set", setting)]
    done = spawn(
        "train", "--source", source, "--target", target, "--out", tmp_path / "b", "--steps", 20, "--from", "es", "--to",
        "en", *options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "held out" in done.stderr
    assert "estimate:" in done.stderr
    assert {p.name for p in (tmp_path / "b").iterdir()} == {
        "model.safetensors", "tokenizer.json", "profile.json", "config.yaml", "card.json", "curves.png", "data", "run",
    }  # fmt: skip
    assert {p.name for p in (tmp_path / "b" / "data").iterdir()} == {
        "attention.safetensors", "dev.jsonl", "excluded.tsv",
    }  # fmt: skip
    assert {p.name for p in (tmp_path / "b" / "run").iterdir()} >= {"config.yaml", "log.jsonl", "data", "checkpoints"}
    about = json.loads(spawn("info", tmp_path / "b", "--json").stdout)
    assert about["languages"] == {"source": "es", "target": "en"}
    assert about["data"]["training"] + about["data"]["dev"] == 400
    assert about["config"]["train"]["steps"] == 20
    assert "es → en" in spawn("info", tmp_path / "b").stdout


def test_translate_keeps_lines_in_place(trained: TranslationModel, tmp_path: Path) -> None:
    given = "el gato ve el tren\n\nel lobo ve el libro\r\n"
    expected = "the cat sees the train\n\nthe wolf sees the book\n"
    assert run("translate", trained.path, text=given).stdout == expected
    (tmp_path / "in.txt").write_text(given, encoding="utf-8", newline="")
    assert run("translate", trained.path, "--file", tmp_path / "in.txt", "--out", tmp_path / "out.txt").returncode == 0
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == expected
    assert "exists" in refused("translate", trained.path, "hola", "--out", tmp_path / "out.txt", code=2)


def test_translate_arguments_and_n_best(trained: TranslationModel) -> None:
    assert run("translate", trained.path, "el gato ve el tren").stdout == "the cat sees the train\n"
    lines = run("translate", trained.path, "el gato ve el tren", "--n-best", 3).stdout.splitlines()
    assert len(lines) == 3
    assert lines[0].split("\t")[2] == "the cat sees the train"
    sampled = ["translate", trained.path, "el gato", "--sample", "--seed", 3, "--temperature", 2]
    assert run(*sampled).stdout == run(*sampled).stdout


def test_a_line_that_is_too_long_is_named(trained: TranslationModel) -> None:
    done = run("translate", trained.path, text="el gato ve el tren\n" + "x" * 1_000_000 + "\n😀\n")
    assert done.returncode == 1
    assert done.stdout.splitlines()[:2] == ["the cat sees the train", ""]
    assert len(done.stdout.splitlines()) == 3
    assert "line 2" in done.stderr
    assert "at most 255" in done.stderr


def test_evaluate(trained: TranslationModel, tmp_path: Path) -> None:
    test = toy.write(tmp_path / "test.tsv", toy.pairs(1560)[1500:])
    assert "BLEU" in run("evaluate", trained.path, test).stdout
    result = json.loads(run("evaluate", trained.path, test, "--json").stdout)
    assert result["size"] == 60
    assert result["scores"][0]["value"] > 80


def test_a_pipe_that_closes_early_is_no_error(trained: TranslationModel) -> None:
    shell = f"yes 'el gato ve el tren' | head -2000 | {sys.executable} -m mirada.cli translate {trained.path} | head -1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, check=False, text=True)
    assert done.stdout == "the cat sees the train\n"
    assert "Traceback" not in done.stderr


class TestBadInput:
    def train(self, tmp_path: Path, *arguments: object, code: int = 1) -> str:
        said = refused("train", *arguments, "--out", tmp_path / "out", "--steps", 2, code=code)
        assert not (tmp_path / "out" / "card.json").exists()
        return said

    def test_files_of_different_length(self, tmp_path: Path) -> None:
        rows = toy.pairs(100)
        (tmp_path / "a").write_text("".join(f"{s}\n" for s, _ in rows))
        (tmp_path / "b").write_text("".join(f"{t}\n" for _, t in rows[:40] + rows[41:]))
        said = self.train(tmp_path, "--source", tmp_path / "a", "--target", tmp_path / "b")
        assert "100" in said
        assert "99" in said
        assert "near line" in said

    def test_not_utf8(self, tmp_path: Path) -> None:
        (tmp_path / "a.tsv").write_bytes(b"hola\thello\nni\xf1o\tchild\n")
        said = self.train(tmp_path, tmp_path / "a.tsv")
        assert "a.tsv, line 2" in said
        assert "iconv" in said

    @pytest.mark.parametrize("content", [b"", b"\n\n\n", b"hola\thello\n"])
    def test_too_little(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "a.tsv").write_bytes(content)
        assert "at least 20" in self.train(tmp_path, tmp_path / "a.tsv")

    def test_missing_and_random(self, tmp_path: Path) -> None:
        assert "missing.tsv" in self.train(tmp_path, tmp_path / "missing.tsv")
        (tmp_path / "noise.tsv").write_bytes(bytes(range(256)) * 40)
        assert "noise.tsv" in self.train(tmp_path, tmp_path / "noise.tsv")

    def test_no_data_and_no_out(self, toy_tsv: Path, tmp_path: Path) -> None:
        assert "no data" in self.train(tmp_path, code=2)
        assert "--out" in refused("train", toy_tsv, code=2)

    def test_an_out_that_exists_is_not_touched(self, toy_tsv: Path, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "precious.txt").write_text("mine")
        said = refused("train", toy_tsv, "--out", tmp_path / "out", code=2)
        assert "not a bundle" in said
        assert "choose another name" in said
        assert "--overwrite" not in said  # it would not help
        assert "not a bundle" in refused("train", toy_tsv, "--out", tmp_path / "out", "--overwrite", code=2)
        assert [p.name for p in (tmp_path / "out").iterdir()] == ["precious.txt"]

    def test_settings(self, toy_tsv: Path, tmp_path: Path) -> None:
        said = self.train(
            tmp_path, toy_tsv, "--set", "train.warmpu=3", "--set", "model.width=ten", "--set", "modle.x=1", code=2
        )
        assert "did you mean train.warmup?" in said
        assert "model.width='ten'" in said
        assert "did you mean model?" in said
        assert "did you mean tiny?" in self.train(tmp_path, toy_tsv, "--preset", "tny", code=2)
        assert "transformer" in self.train(tmp_path, toy_tsv, "--model", "transfomer", code=2)
        assert "heads" in self.train(tmp_path, toy_tsv, "--set", "model.heads=3", code=2)
        assert "model.tie=output" in self.train(tmp_path, toy_tsv, "--set", "tokenizer.joint=false", code=2)
        assert "--device" in self.train(tmp_path, toy_tsv, "--device", "quantum", code=2)

    def test_wrong_use(self) -> None:
        assert run("train", "--minuts", "3").returncode == 2
        assert run("fly").returncode == 2

    def test_bundles(self, trained: TranslationModel, tmp_path: Path) -> None:
        import shutil

        assert "no such directory" in refused("translate", tmp_path / "none", "hola")
        copy = tmp_path / "copy"
        shutil.copytree(trained.path, copy)
        card = json.loads((copy / "card.json").read_text())
        (copy / "card.json").write_text(json.dumps({**card, "format": 99}))
        assert "newer" in refused("translate", copy, "hola")
        (copy / "card.json").write_text(json.dumps(card))
        weights = copy / "model.safetensors"
        whole = weights.read_bytes()
        weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        assert "altered or damaged" in refused("translate", copy, "hola")
        weights.unlink()
        assert "model.safetensors" in refused("translate", copy, "hola")
        (copy / "card.json").unlink()
        assert "--resume" in refused("translate", copy, "hola")
        assert "no training to resume" in refused("train", "--resume", tmp_path / "none")
        assert "cannot change" in refused("train", "--resume", trained.path, "--set", "model.width=12", code=2)

    def test_input_that_is_not_utf8(self, trained: TranslationModel) -> None:
        assert "line 2" in refused("translate", trained.path, text=b"el gato\nni\xf1o\n")

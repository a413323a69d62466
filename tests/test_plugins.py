"""A task, a model and a reader of another distribution, installed beside Mirada and used from the command line."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import toy

ROOT = Path(__file__).parent.parent
QUICK = ("--set", "train.batch_tokens=400", "--set", "train.lr=0.05", "--threads", "1")


class Program:
    """`mirada …` in a process of its own, with the distribution on its path."""

    def __init__(self, site: Path, folder: Path):
        self.site, self.folder = site, folder

    def __call__(self, *arguments: object, code: int = 0, text: str = "") -> str:
        path = os.pathsep.join(map(str, (self.site, ROOT)))
        done = subprocess.run(
            [sys.executable, "-m", "mirada.cli", *map(str, arguments)],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def mirada(tmp_path_factory: pytest.TempPathFactory) -> Program:
    source = tmp_path_factory.mktemp("source") / "plugins"
    shutil.copytree(ROOT / "tests" / "plugins", source)
    site = tmp_path_factory.mktemp("site")
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", *offline, "--target", site, source],
        check=True,
        capture_output=True,
    )
    assert (site / "mirada_toys-1.0.dist-info" / "entry_points.txt").exists()
    return Program(site, tmp_path_factory.mktemp("work"))


def words(count: int, seed: int) -> str:
    chance = random.Random(seed)
    found = ["".join(chance.choice("aeiouwxyz") for _ in range(chance.randint(1, 6))) for _ in range(count)]
    return "".join(f"{word} {sum(letter in 'aeiou' for letter in word)}\n" for word in found)


@pytest.fixture(scope="module")
def trained(mirada: Program) -> Path:
    (mirada.folder / "words.txt").write_text(words(600, 0) + "\n7x 3\n")
    (mirada.folder / "test.txt").write_text(words(60, 1))
    mirada("train", "words.txt", "--task", "counting", "--out", "counter", "--steps", 300, *QUICK)
    return mirada.folder / "counter"


class TestTask:
    def test_check(self, mirada: Program, trained: Path) -> None:
        found = json.loads(mirada("check", "words.txt", "--task", "counting", "--json"))
        assert found["read"] == 602
        reasons = {finding["kind"]: finding["count"] for finding in found["findings"]}
        assert reasons["blank"] == 1
        assert reasons["not_a_word"] == 1
        assert reasons["duplicate"] > 0

    def test_bad_data_is_refused_with_file_and_line(self, mirada: Program) -> None:
        (mirada.folder / "bad.txt").write_text("casa 2\ngato dos\n")
        said = mirada("train", "bad.txt", "--task", "counting", "--out", "bad", code=1)
        assert "bad.txt, line 2: 'dos'" in said

    def test_train_and_its_own_verb(self, mirada: Program, trained: Path) -> None:
        answers = [json.loads(line) for line in mirada("count", trained, "axe", "xyz", "--json").splitlines()]
        assert answers == [{"word": "axe", "vowels": 2}, {"word": "xyz", "vowels": 0}]
        assert mirada("count", trained, text="axe\nwa\n").splitlines() == ["axe\t2", "wa\t1"]

    def test_evaluate_and_info(self, mirada: Program, trained: Path) -> None:
        scores = {
            score["name"]: score["value"]
            for score in json.loads(mirada("evaluate", trained, "test.txt", "--json"))["scores"]
        }
        assert scores["accuracy"] > 60
        about = mirada("info", trained)
        assert "counting" in about
        assert "sum" in about

    def test_a_resumed_run_equals_an_uninterrupted_one(self, mirada: Program, trained: Path) -> None:
        train = ("train", "words.txt", "--task", "counting", "--out", "part", *QUICK)
        mirada(*train, "--steps", 30)
        mirada("train", "--resume", "part", "--steps", 300)
        assert mirada("count", "part", "aaaxo") == mirada("count", trained, "aaaxo")

    def test_compare(self, mirada: Program, trained: Path) -> None:
        mirada(
            "compare", "words.txt", "--task", "counting", "--models", "sum", "--steps", 20, "--out", "report", *QUICK
        )
        assert "sum" in (mirada.folder / "report" / "report.html").read_text(encoding="utf-8")

    def test_help_and_settings_list_it(self, mirada: Program) -> None:
        assert "count" in mirada("--help")
        assert "data.duplicates" in mirada("settings", "--task", "counting")


def test_model_for_a_built_in_task(mirada: Program) -> None:
    rows = [(f"muy {word} {number}", label) for number in range(40) for word, label in (("bueno", "+"), ("malo", "-"))]
    table = "text,label\n" + "".join(f"{text},{label}\n" for text, label in rows)
    (mirada.folder / "reviews.csv").write_text(table)
    mirada("train", "reviews.csv", "--task", "classification", "--model", "sum", "--out", "mood", "--steps", 40, *QUICK)
    assert json.loads(mirada("classify", "mood", "muy bueno", "--json"))["label"] == "+"
    assert "sum" in mirada("models")


def test_reader_for_a_built_in_task(mirada: Program) -> None:
    pairs = toy.pairs(100)
    (mirada.folder / "pairs.arrows").write_text("".join(f"{source} => {target}\n" for source, target in pairs))
    found = json.loads(mirada("check", "pairs.arrows", "--json"))
    assert found["read"] == 100
    unnamed = "# arrows => flechas\n" + (mirada.folder / "pairs.arrows").read_text()
    (mirada.folder / "unnamed").write_text(unnamed)
    assert json.loads(mirada("check", "unnamed", "--json"))["read"] == 101

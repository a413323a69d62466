"""Pairs of texts as a person meets them: which of two things is named first decides, for any reader and for BERT."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

import mirada
from mirada.errors import InputError, UsageError
from mirada.tasks.classification.model import ClassificationModel
from mirada.tasks.masked_lm.model import MaskedLanguageModel
from tests import reviews
from tests.command import refused, run

THINGS = ["sol", "luna", "mar", "pan"]
COLUMNS = "first,second,label"


def rows(count: int, seed: int = 0) -> list[tuple[str, str, str]]:
    """Distinct pairs; the same words, but "sí" is in the first text or in the second."""
    chance = random.Random(seed)
    found: dict[tuple[str, str], str] = {}
    while len(found) < count:
        a, b = (" ".join(chance.choice(THINGS) for _ in range(3)) for _ in range(2))
        found.setdefault(*((f"{a} sí", b), "first") if len(found) % 2 else ((a, f"{b} sí"), "second"))
    return [(*pair, label) for pair, label in found.items()]


def write(path: Path, pairs: list[tuple[str, str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([("first", "second", "label"), *pairs])
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("pairs") / "pairs.csv", rows(200))


@pytest.fixture(scope="module")
def lstm(table: Path, tmp_path_factory: pytest.TempPathFactory) -> ClassificationModel:
    out = tmp_path_factory.mktemp("lstm") / "pairs"
    settings = {"model": {"width": 16, "dropout": 0.0}, "train": reviews.SMALL["train"]}
    columns = COLUMNS.split(",")
    model: ClassificationModel = mirada.train(
        table, task="classification", columns=columns, out=out, steps=100, settings=settings
    )
    return model


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> MaskedLanguageModel:
    folder = tmp_path_factory.mktemp("mine")
    (folder / "text.txt").write_text("\n\n".join(f"{a}. {b}." for a, b, _ in rows(60)), encoding="utf-8")
    sizes = {"width": 32, "heads": 2, "layers": 1, "dropout": 0.0, "norm": "pre", "max_length": 32}
    settings = {"model": sizes, "tokenizer": {"unit": "words"}, "data": {"length": 16}, "train": {"threads": 1}}
    model: MaskedLanguageModel = mirada.train(
        folder / "text.txt", task="masked_lm", out=folder / "bert", steps=20, settings=settings
    )
    return model


def test_a_reader_learns_which_of_two_it_is(lstm: ClassificationModel) -> None:
    assert lstm.card["scores"]["scores"][0]["value"] >= 95
    found = lstm.classify([("sol mar sí", "pan luna"), ("pan luna", "sol mar sí"), "mar sí\tmar"])
    assert [answer.label for answer in found] == ["first", "second", "first"]
    assert lstm.classify("mar\tmar sí").label == "second"
    assert lstm.evaluate([(("mar", "mar sí"), "second"), ("mar\tpan sí", "first")]).scores[0].value == 50
    again = mirada.load(lstm.path)
    assert again.classify("mar\tmar sí").probabilities == lstm.classify("mar\tmar sí").probabilities


def test_bert_is_taught_with_segments(mine: MaskedLanguageModel, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "taught"
    options: list[Any] = ["--task", "classification", "--columns", COLUMNS, "--steps", 60, "--threads", 1]
    done = run("train", table, *options, "--base", mine.path, "--out", out, "--set", "train.lr=0.01")
    assert done.returncode == 0, done.stderr
    assert "labels: first 90, second 90; data: 180 pairs" in done.stderr
    assert "weights are copied from the base" in done.stderr
    model = mirada.load(out)
    assert model.card["scores"]["scores"][0]["value"] >= 95
    before = model.probabilities(["sol sí\tpan"])[0]
    model.network.segments.weight.data[1] = model.network.segments.weight.data[0]
    assert not before.equal(model.probabilities(["sol sí\tpan"])[0])
    assert "classifies pairs" in refused("classify", out, "sol sí pan")
    wide = run("classify", out, "sol " * 90 + "sí\tpan")
    assert "line 1: 63 tokens in all were not read, the model takes fewer" in wide.stderr
    assert wide.stdout.startswith(("first", "second"))


def test_the_verbs(lstm: ClassificationModel, table: Path, tmp_path: Path) -> None:
    lines = [f"{a}\t{b}" for a, b, _ in rows(700, seed=1)]
    (tmp_path / "lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = run("classify", lstm.path, "--file", tmp_path / "lines.txt")
    assert len(done.stdout.splitlines()) == 700
    assert json.loads(run("classify", lstm.path, "--json", "mar\tmar sí").stdout)["label"] == "second"
    lines[600] = "mar sin nada"
    (tmp_path / "lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert refused("classify", lstm.path, "--file", tmp_path / "lines.txt") == (
        "mirada: line 601: has no tab: 'mar sin nada'; the model classifies pairs: write the first text, a tab, and "
        "the second; its line is left empty"
    )
    done = run("classify", lstm.path, "a\tb\tc", "mar\tmar sí", "--json")
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["problem"].startswith("has 2 tabs")
    assert (done.returncode, second["label"]) == (1, "second")
    scores = json.loads(run("evaluate", lstm.path, table, "--json").stdout)
    assert scores["size"] == 200
    assert "180 pairs" in run("info", lstm.path).stdout
    assert "two texts and their label are read" in refused(
        "evaluate", lstm.path, table, "--columns", "first,label", code=2
    )


def test_a_base_of_the_other_kind_is_refused(lstm: ClassificationModel, table: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--columns first,label: .* by the base"):
        mirada.train(table, base=lstm.path, columns=["first", "label"], out=tmp_path / "x", steps=1)
    assert not (tmp_path / "x").exists()
    single = reviews.write(tmp_path / "reviews.csv", reviews.rows(40))
    bag = mirada.train(single, task="classification", model="bag", out=tmp_path / "bag", steps=1)
    with pytest.raises(InputError, match=r"text 2 is a pair: .*; the model classifies single texts"):
        bag.classify(["sí", ("sí", "no")])
    assert bag.classify("sí\tno").label in ("good", "bad")  # a tab is white space to it


def test_a_bag_says_why(table: Path, tmp_path: Path) -> None:
    bag = mirada.train(
        table, task="classification", model="bag", columns=COLUMNS.split(","), out=tmp_path / "bag", steps=2
    )
    assert dict(bag.classify("mar sí\tpan", why=True).reasons).keys() == {"mar", "sí", "pan"}

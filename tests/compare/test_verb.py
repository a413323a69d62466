"""`mirada compare` as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path

from tests import toy
from tests.command import refused, run
from tests.compare.conftest import HEAD, opinions


def test_the_verb_writes_the_report(tmp_path: Path) -> None:
    texts = toy.write(tmp_path / "texts.tsv", [HEAD, *opinions()[:60]])
    quick = ["model.width=8", "model.features=50", "train.threads=1"]
    settings = [part for setting in quick for part in ("--set", setting)]
    names, out = "bag,memoryless", tmp_path / "report"
    asked = ["--task", "classification", "--models", names, "--steps", 2, "--out", out]
    done = run("compare", texts, *asked, *settings)
    assert done.returncode == 0, done.stderr
    assert f"the report is {out / 'report.html'}" in done.stderr
    assert "classified best" in done.stderr
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert [result["name"] for result in report["models"]] == names.split(",")
    assert report["task"] == "classification"


def test_bad_input_gets_one_line(tmp_path: Path) -> None:
    pairs = toy.write(tmp_path / "pairs.tsv", toy.pairs(30))
    assert "Name a directory" in refused("compare", pairs, "--steps", 2, code=2)

"""`mirada compare` as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path

from tests import toy
from tests.integration.test_cli import refused, run


def test_the_verb_writes_the_report(tmp_path: Path) -> None:
    pairs = toy.write(tmp_path / "pairs.tsv", toy.pairs(120))
    quick = ["model.width=16", "tokenizer.vocabulary=300", "train.batch_tokens=800", "train.threads=1"]
    settings = [part for setting in quick for part in ("--set", setting)]
    names = "seq2seq-gru+dot,transformer"
    done = run("compare", pairs, "--models", names, "--steps", 3, "--out", tmp_path / "report", *settings)
    assert done.returncode == 0, done.stderr
    assert f"the report is {tmp_path / 'report' / 'report.html'}" in done.stderr
    report = (tmp_path / "report" / "report.json").read_text(encoding="utf-8")
    assert all(name in report for name in names.split(","))
    assert json.loads(report)


def test_bad_input_gets_one_line(tmp_path: Path) -> None:
    pairs = toy.write(tmp_path / "pairs.tsv", toy.pairs(30))
    assert "Name a directory" in refused("compare", pairs, "--steps", 2, code=2)
    assert "--minutes 5" in refused("compare", pairs, "--out", tmp_path / "r", code=2)
    assert "no such model" in refused("compare", pairs, "--out", tmp_path / "r", "--steps", 2, "--models", "x", code=2)

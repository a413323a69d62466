"""The progress that long jobs print."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirada.cli import progress
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import run

ROWS = toy.pairs(60, seed=5)


def test_progress_is_shown_when_it_takes_long(
    trained: TranslationModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "in.txt"
    file.write_text("".join(f"{source}\n" for source, _ in ROWS), encoding="utf-8")
    assert "lines/s" not in run("translate", trained.path, "--file", file).stderr
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    said = run("translate", trained.path, "--file", file, "--out", tmp_path / "out.txt").stderr
    assert "of 60 lines, " in said
    assert "lines/s" in said
    assert "lines/s" in run("translate", trained.path, text="el gato\n").stderr
    assert " of " not in run("translate", trained.path, text="el gato\n").stderr


def test_progress_of_alignments(trained: TranslationModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    file = toy.write(tmp_path / "pairs.tsv", ROWS)
    said = run("align", trained.path, file, "--out", tmp_path / "out.txt").stderr
    assert "of 60 pairs, " in said
    assert "pairs/s" in said


def test_no_progress_when_the_program_is_quiet(trained: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert run("translate", trained.path, text="el gato ve el tren\n" * 3, cwd=None).stderr != ""
    assert run("--quiet", "translate", trained.path, text="el gato ve el tren\n" * 3).stderr == ""

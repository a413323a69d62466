"""`mirada evaluate`: test sets of two files, and in other languages than the model's."""

from __future__ import annotations

import json
from pathlib import Path

from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import refused, run

ROWS = toy.pairs(60, seed=5)
ENGLISH = [f"The committee has decided to meet again on day {number} of the month." for number in range(10)]
FRENCH = [f"Le comité a décidé de se réunir de nouveau le jour {number} du mois." for number in range(10)]


def write_tmx(path: Path, rows: list[tuple[str, str]]) -> Path:
    """A memory that says es and fr."""
    units = "".join(
        f'<tu><tuv xml:lang="es"><seg>{s}</seg></tuv><tuv xml:lang="fr"><seg>{t}</seg></tuv></tu>' for s, t in rows
    )
    path.write_text(f'<tmx version="1.4"><header srclang="es"/><body>{units}</body></tmx>')
    return path


def lines(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def test_evaluate_takes_two_files(trained: TranslationModel, tmp_path: Path) -> None:
    source = lines(tmp_path / "test.es", [s for s, _ in ROWS])
    target = lines(tmp_path / "test.en", [t for _, t in ROWS])
    other = lines(tmp_path / "test.2.en", ["?"] * len(ROWS))
    pair = toy.write(tmp_path / "test.tsv", ROWS)
    by_pairs = json.loads(run("evaluate", trained.path, pair, "--json").stdout)
    by_files = json.loads(run("evaluate", trained.path, "--source", source, "--target", target, "--json").stdout)
    assert by_files == by_pairs
    several = run("evaluate", trained.path, "--source", source, "--target", target, "--target", other, "--json")
    assert json.loads(several.stdout)["size"] == 60, several.stderr
    assert "needs data.target" in refused("evaluate", trained.path, "--source", source, code=2)
    assert "there is no test set" in refused("evaluate", trained.path, code=2)


def test_evaluate_says_that_the_languages_are_others(trained: TranslationModel, tmp_path: Path) -> None:
    other = toy.write(tmp_path / "test.tsv", list(zip(ENGLISH, FRENCH, strict=True)))
    done = run("evaluate", trained.path, other, "--beam", 1)
    assert "the test set does not fit the model: its sources are in en, and it translates from es" in done.stdout
    assert "the test set does not fit the model: its references are in fr, and it translates into en" in done.stdout
    done = run("evaluate", trained.path, other, "--beam", 1, "--json")
    assert len(json.loads(done.stdout)["notes"]) == 2
    assert "its references are in fr" in done.stderr
    asked = run(
        "evaluate", trained.path, write_tmx(tmp_path / "m.tmx", ROWS[:3]), "--from", "es", "--to", "fr", "--json"
    )
    assert "its references are in fr, and it translates into en" in asked.stderr
    fitting = run("evaluate", trained.path, toy.write(tmp_path / "good.tsv", ROWS))
    assert "does not fit" not in fitting.stdout

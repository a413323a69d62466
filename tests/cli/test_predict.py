"""Verbs that predict something for each line: text or JSON, shared by tasks, registered from a task's folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from mirada import cli, tasks
from mirada.cli import predict
from mirada.cli.app import app
from mirada.cli.predict import Lines, predicts
from mirada.predictions import Prediction
from mirada.tasks.translation.model import TranslationModel
from tests.command import refused, run


def rows(*arguments: object, text: str = "") -> list[dict[str, Any]]:
    done = run(*arguments, "--json", text=text)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_json_is_what_the_library_returns(trained: TranslationModel) -> None:
    texts = ["el gato ve el tren", "", "el lobo ve el libro"]
    found = rows("translate", trained.path, "--n-best", 2, text="".join(f"{text}\n" for text in texts))
    expected = [translation.as_dict() for translation in trained.translate(texts, n_best=2)]
    assert [row["translation"] for row in found] == [row["translation"] for row in expected]
    assert list(found[0]) == list(expected[0])
    assert found[0]["score"] == pytest.approx(expected[0]["score"], abs=1e-4)
    assert len(found[0]["alternatives"]) == 2


def test_a_problem_is_in_the_json(trained: TranslationModel) -> None:
    done = run("translate", trained.path, "x" * 100_000, "el gato ve el tren", "--json")
    assert done.returncode == 1
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["translation"] == ""
    assert first["problem"] in done.stderr
    assert second["translation"] == "the cat sees the train"
    assert "problem" not in second


def test_neighbours_as_json(trained: TranslationModel) -> None:
    found = rows("neighbours", trained.path, "gato", "perro", "--count", 3)
    assert [row["word"] for row in found] == ["gato", "perro"]
    assert found[0] == trained.neighbours("gato", 3).as_dict()


def test_json_and_text_are_different_jobs(trained: TranslationModel, tmp_path: Path) -> None:
    file, out = tmp_path / "in.txt", tmp_path / "out.txt"
    file.write_bytes(b"el gato\n" * 512 + b"ni\xf1o\n")
    command = ["translate", trained.path, "--file", file, "--out", out, "--beam", 1]
    assert run(*command).returncode == 1
    assert "512 results for another json" in refused(*command, "--json", code=2)


# --- verbs that tasks register ---


@dataclass(frozen=True)
class Length(Prediction):
    """The length of a text."""

    length: int

    def values(self) -> dict[str, Any]:
        return {"length": self.length}

    def __str__(self) -> str:
        return str(self.length)


@pytest.fixture
def verbs() -> Iterator[None]:
    """Verbs that a test registers are gone afterwards."""
    commands, known = list(app.registered_commands), {verb: dict(found) for verb, found in predict._VERBS.items()}
    yield
    app.registered_commands = commands
    predict._VERBS.clear()
    predict._VERBS.update(known)


@pytest.mark.usefixtures("verbs")
def test_a_few_lines_make_a_verb(trained: TranslationModel, tmp_path: Path) -> None:
    @predicts(app, "translation")
    def measure(
        model: Any, lines: Lines, double: Annotated[bool, typer.Option("--double", help="Count twice.")] = False
    ) -> Iterable[Prediction]:
        """Measure texts."""
        return [Length(len(text) * (1 + double)) for text in lines.texts]

    assert run("measure", trained.path, "one", "three").stdout == "3\n5\n"
    assert rows("measure", trained.path, "--double", text="one\n") == [{"length": 6}]
    assert run("measure", trained.path, "one", "--out", tmp_path / "out").returncode == 0
    assert (tmp_path / "out").read_text() == "3\n"
    said = run("measure", "--help").stdout
    assert "Measure texts." in said
    assert "--double" in said


@pytest.mark.usefixtures("verbs")
def test_the_bundle_decides_whose_verb_it_is(trained: TranslationModel) -> None:
    @predicts(app, "translation")
    def classify(model: Any, lines: Lines) -> Iterable[Prediction]:
        """Classify by length."""
        return [Length(len(text)) for text in lines.texts]

    assert run("classify", trained.path, "three").stdout == "5\n"
    assert refused("classify", trained.path, "three", "--why", code=2).startswith("mirada: --why: ")


def test_a_bundle_of_another_task_is_refused(trained: TranslationModel) -> None:
    for verb in ("classify", "tag", "generate", "caption"):
        assert f"use it with: mirada translate {trained.path}" in refused(verb, trained.path, "text", code=2)


def test_commands_that_cannot_be_loaded_are_named_and_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "broken_task"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "command.py").write_text("import no_such_module\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(tasks, "packages", lambda: {"broken": "broken_task"})
    cli.register_tasks()
    assert "the commands of the task broken (broken_task) cannot be loaded" in capsys.readouterr().err

"""What all verbs share: --version, how much is printed, and arguments that are empty."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import mirada
from mirada.cli.app import PANELS, app
from mirada.errors import counted
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import refused, run

VERBS = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]


def test_the_version() -> None:
    for arguments in (["--version"], ["--quiet", "--version"], ["--version", "train"]):
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (0, f"mirada {mirada.__version__}\n")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_how_much_it_prints(verb: str) -> None:
    said = run(verb, "--help").stdout
    assert "--verbose" in said
    assert "--quiet" in said


def corpus(folder: Path, before: list[str], after: list[str]) -> str:
    done = run(*before, "corpus", "es-en", "--pairs", 3, "--out", folder / f"{len(list(folder.iterdir()))}.tsv", *after)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return done.stderr


def test_flags_stand_before_the_verb_or_after_it(tmp_path: Path) -> None:
    assert "wrote 3 pairs" in corpus(tmp_path, [], [])
    for flag in ("--quiet", "-q"):
        assert corpus(tmp_path, [flag], []) == corpus(tmp_path, [], [flag]) == ""
    for flag in ("--verbose", "-v"):
        for said in (corpus(tmp_path, [flag], []), corpus(tmp_path, [], [flag])):
            assert "wrote 3 pairs" in said
            assert said.splitlines()[-1].startswith("mirada corpus: ")
            assert said.endswith(" s\n")
    assert "wrote 3 pairs" in corpus(tmp_path, [], [])  # nothing is left of an earlier call


def test_quiet_and_verbose_contradict_each_other(tmp_path: Path) -> None:
    for arguments in (["-q", "-v", "models"], ["-q", "models", "-v"], ["models", "-v", "-q"]):
        assert "contradict" in refused(*arguments, code=2)


def test_a_quiet_training_prints_its_result(tmp_path: Path) -> None:
    pairs = toy.write(tmp_path / "pairs.tsv", toy.pairs(60))
    settings = [part for setting in toy.SETTINGS for part in ("--set", setting)]
    loud = run("train", pairs, "--out", tmp_path / "loud", "--steps", 2, *settings)
    assert "estimate: " in loud.stderr
    quiet = run("train", pairs, "--out", tmp_path / "quiet", "--steps", 2, *settings, "--quiet")
    assert quiet.returncode == 0, quiet.stderr
    *_, last = quiet.stderr.splitlines()
    assert last.startswith("the bundle is in ")
    for noise in ("data: ", "forecast: ", "step ", "reading"):
        assert noise not in quiet.stderr


def test_errors_are_printed_in_any_case(tmp_path: Path) -> None:
    assert "there is no such directory" in refused("--quiet", "info", tmp_path / "none")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["translate", "", "hola"], "bundle"),
        (["info", ""], "bundle"),
        (["check", ""], "pairs"),
        (["check", "a.tsv", ""], "pairs"),
        (["check", "--source", "", "--target", "b"], "--source"),
        (["check", "a.tsv", "--list", ""], "--list"),
        (["translate", "b", "--file", ""], "--file"),
        (["translate", "b", "hola", "--out="], "--out"),
        (["train", "a.tsv", "--task", "", "--out", "b"], "--task"),
        (["train", "a.tsv", "--from", "", "--out", "b"], "--from"),
        (["train", "a.tsv", "--dev", "", "--out", "b"], "--dev"),
        (["train", "a.tsv", "--columns", "", "--out", "b"], "--columns"),
        (["train", "--resume", ""], "--resume"),
        (["compare", "a.tsv", "--models", "", "--out", "b"], "--models"),
        (["import", "a", "--out", ""], "--out"),
        (["forecast", "a", ""], "table"),
        (["neighbours", "a", "b", "--picture", ""], "--picture"),
    ],
)
def test_an_empty_name_is_no_name(arguments: list[str], name: str) -> None:
    assert refused(*arguments, code=2).startswith(f'mirada: {name} "": is empty; ')


def test_empty_texts_are_texts(trained: TranslationModel) -> None:
    done = run("translate", trained.path, "", "--prefix", "")
    assert (done.returncode, done.stdout) == (0, "\n")


def test_help_is_grouped() -> None:
    said = run("--help").stdout
    places = [said.index(f"─ {panel} ─") for panel in PANELS[:-1]]
    assert places == sorted(places)
    assert PANELS[-1] not in said  # every verb has its group
    assert run().stdout == said


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["translate"], ["'bundle'", "mirada translate --help"]),
        (["translate", "b", "--bem", "3"], ["--bem", "--beam", "mirada translate --help"]),
        (["translate", "b", "--beam", "many"], ["--beam many: must be a whole number"]),
        (["train", "--minutes=x"], ["--minutes x: must be a number", "mirada train --help"]),
        (["transalte", "b"], ["'transalte'", "'translate'", "mirada --help"]),
        (["--loud"], ["--loud", "mirada --help"]),
        (["corpus", "es-en"], ["--out"]),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], names: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    (said,) = done.stderr.splitlines()
    assert said.startswith("mirada: ")
    assert all(name in said for name in names)


def test_shells_complete_verbs_and_options() -> None:
    def completed(words: str, number: int) -> list[str]:
        environment = {"_MIRADA_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(number)}
        program = "import sys; sys.argv[0] = 'mirada'; from mirada.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.split()

    assert completed("mirada trans", 1) == ["translate"]
    assert "--beam" in completed("mirada translate --be", 2)


def test_no_help_text_is_a_riddle() -> None:
    for verb in VERBS:
        said = " ".join(run(verb, "--help").stdout.replace("│", " ").split())
        assert " Of " not in said, verb
        assert "> … " not in said, verb


def test_messages_name_options_that_there_are() -> None:
    program: Any = typer.main.get_command(app)
    commands = [program, *program.commands.values()]
    there = {name for command in commands for option in command.params for name in option.opts}
    there |= {"--help", "--wrap", "--ink", "--line", "--paper"}  # pandoc's, and colours of a page
    for path in Path(mirada.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            assert {*re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)} <= there, path


def test_one_thing_and_several() -> None:
    assert [counted(number, "thread") for number in (0, 1, 1200)] == ["0 threads", "1 thread", "1,200 threads"]


def test_a_model_of_one_thread_says_so(trained: TranslationModel) -> None:
    assert "with 1 thread in float32\n" in run("info", trained.path).stdout

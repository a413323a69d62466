"""Every command of the README runs, in the order it stands there, on the toy language; those of the docs exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from mirada.cli.app import app
from tests import toy
from tests.command import run

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_commands_and_python(tmp_path: Path) -> None:
    toy.write(tmp_path / "pairs.tsv", toy.pairs(300))
    toy.write(tmp_path / "test.tsv", toy.pairs(20, seed=1))
    (tmp_path / "in.txt").write_text("el gato ve el tren\n", encoding="utf-8")
    quick = [part for setting in toy.SETTINGS for part in ("--set", setting)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    commands = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    assert len(commands) >= 6
    for command in commands:
        program, verb, *rest = shlex.split(command)
        assert program == "mirada"
        # The same command with a budget of a few steps and a tiny model.
        rest = [re.sub(r"^--minutes$", "--steps", part) for part in rest]
        if verb == "train" and "--resume" not in rest:
            rest += quick
        said = run(verb, *rest, cwd=tmp_path)
        assert said.returncode == 0, f"{command}\n{said.stderr}"
    for script in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "attention.png").stat().st_size > 1000


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        *(
            f"docs/{name}.md"
            for name in (
                "alignment",
                "benchmarks",
                "command-line",
                "data",
                "documents",
                "explore",
                "look-inside",
                "more-data",
                "tasks",
                "terminology",
                "training",
            )
        ),
    ],
)
def test_every_command_on_every_page_is_one_that_the_program_takes(page: str) -> None:
    text = (Path(__file__).parent.parent / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:console|sh)\n(.*?)```", text, re.DOTALL)
    commands = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ mirada ")]
    commands += re.findall(r"`(mirada \w+ [^`…-][^`…]*)`", text)
    assert commands
    for command in commands:
        _, verb, *rest = shlex.split(command.replace("$'", "'"), comments=True)
        program: Any = get_command(app)
        program.commands[verb].make_context(verb, rest)  # an unknown option or a missing argument raises


def test_the_tree_names_what_there_is() -> None:
    tree = README.split("## The source tree")[1].split("```")[1]
    package = Path(__file__).parent.parent / "mirada"
    named = set(re.findall(r"\b(\w+(?:\.py|(?=/)))", tree))
    present = {path.name for path in package.iterdir()} - {"__pycache__", "py.typed", "__init__.py"}
    assert present <= named, present - named

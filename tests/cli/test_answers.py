"""Answers that go to a file: always whole lines, and continued by the same command after an interruption."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import refused, run

LINES = [source for source, _ in toy.pairs(1700)]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def expected(trained: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A file, and its translation without an interruption."""
    folder = tmp_path_factory.mktemp("expected")
    (folder / "in.txt").write_text("".join(f"{line}\n" for line in LINES))
    done = run("translate", trained.path, "--file", folder / "in.txt", "--out", folder / "out.txt", "--beam", 1)
    assert done.returncode == 0, done.stderr
    assert names(folder) == ["in.txt", "out.txt"]
    return folder / "in.txt", (folder / "out.txt").read_text()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_translation_is_continued(
    trained: TranslationModel, expected: tuple[Path, str], tmp_path: Path, how: signal.Signals
) -> None:
    file, whole = expected
    out, partial = tmp_path / "out.txt", tmp_path / "out.txt.partial"
    command = ["translate", str(trained.path), "--file", str(file), "--out", str(out), "--beam", "1", "--threads", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "mirada.cli", *command],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test run in the background ignores it
    )
    while process.poll() is None and not (partial.exists() and partial.stat().st_size):
        time.sleep(0.01)
    process.send_signal(how)
    _, said = process.communicate()
    assert not out.exists(), said
    there = partial.read_text()
    assert there.endswith("\n")
    assert whole.startswith(there)
    if how == signal.SIGINT:
        assert process.returncode == 130
        lines = there.count("\n")
        assert lines == json.loads((tmp_path / "out.txt.partial.json").read_text())["done"]
        assert said.splitlines()[-1] == (
            f"mirada: interrupted after {lines:,} of 1,700 lines, kept in {partial}; run the same command to continue"
        )
    assert "Traceback" not in said
    done = run(*command)
    assert done.returncode == 0, done.stderr
    if how == signal.SIGINT:
        assert f"continuing {partial} after {lines:,} lines" in done.stderr
    assert out.read_text() == whole
    assert names(tmp_path) == ["out.txt"]


@pytest.fixture
def begun(trained: TranslationModel, tmp_path: Path) -> tuple[list[object], Path]:
    """A command that failed at its second chunk, and the file it failed at."""
    file = tmp_path / "in.txt"
    file.write_bytes("".join(f"{line}\n" for line in LINES[:512]).encode() + b"ni\xf1o\n")
    command = ["translate", trained.path, "--file", file, "--out", tmp_path / "out.txt", "--beam", 1]
    done = run(*command)
    assert done.returncode == 1
    assert (
        f"stopped after 512 of 513 lines, kept in {tmp_path / 'out.txt.partial'}; run the same command" in done.stderr
    )
    assert "in.txt, line 513: not UTF-8" in done.stderr
    assert "--set" not in done.stderr  # a setting of training
    assert names(tmp_path) == ["in.txt", "out.txt.partial", "out.txt.partial.json"]
    return command, file


def test_a_mended_file_is_continued(begun: tuple[list[object], Path], tmp_path: Path) -> None:
    command, file = begun
    file.write_bytes(file.read_bytes().replace(b"ni\xf1o", b"el gato ve el tren"))
    assert run(*command).returncode == 0
    assert (tmp_path / "out.txt").read_text().splitlines()[512:] == ["the cat sees the train"]


def test_what_belongs_to_another_job_is_not_continued(begun: tuple[list[object], Path], tmp_path: Path) -> None:
    command, file = begun
    partial = (tmp_path / "out.txt.partial").read_bytes()
    assert "has 512 results for another beam; finish it with the command" in refused(*command[:-1], 2, code=2)
    file.write_text("other\n" * 600)
    assert "has 512 results for other lines" in refused(*command, code=2)
    file.write_text("too few\n")
    assert "has 512 results for other lines" in refused(*command, code=2)
    assert (tmp_path / "out.txt.partial").read_bytes() == partial
    for record in ("", "[]", '{"job": {}}', "[" * 10_000):
        (tmp_path / "out.txt.partial.json").write_text(record)
        assert "there is no record of what it is" in refused(*command, code=2)
    (tmp_path / "out.txt.partial.json").unlink()
    assert "there is no record of what it is" in refused(*command, code=2)


def test_a_failure_before_the_first_answer_leaves_nothing(trained: TranslationModel, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"ni\xf1o\n")
    refused("translate", trained.path, "--file", tmp_path / "in.txt", "--out", tmp_path / "out.txt")
    assert names(tmp_path) == ["in.txt"]


def test_failures_before_an_interruption_still_count(trained: TranslationModel, tmp_path: Path) -> None:
    file, out = tmp_path / "in.txt", tmp_path / "out.txt"
    file.write_bytes(b"x" * 100_000 + b"\n" + b"el gato\n" * 511 + b"ni\xf1o\n")
    command = ["translate", trained.path, "--file", file, "--out", out, "--beam", 1]
    assert run(*command).returncode == 1
    file.write_bytes(file.read_bytes().replace(b"ni\xf1o", b"el lobo"))
    assert run(*command).returncode == 1  # the first line is empty still
    assert out.read_text().startswith("\n")
    assert len(out.read_text().splitlines()) == 513


def test_two_processes_do_not_write_one_file(trained: TranslationModel, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    process = subprocess.Popen(
        [sys.executable, "-m", "mirada.cli", "translate", str(trained.path), "--out", str(out)], stdin=subprocess.PIPE
    )
    try:
        while process.poll() is None and not (tmp_path / "out.txt.partial.json").exists():
            time.sleep(0.01)
        assert "another process is writing it" in refused("translate", trained.path, "el gato", "--out", out, code=2)
        process.communicate(b"el gato ve el tren\n")
        assert out.read_text() == "the cat sees the train\n"
    finally:
        process.kill()
        process.wait()

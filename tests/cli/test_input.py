"""Standard input is answered as it arrives; files of other formats are refused by name."""

from __future__ import annotations

import select
import subprocess
import sys
from pathlib import Path

import pytest

from mirada.cli import input as given
from mirada.tasks.translation.model import TranslationModel
from tests.command import refused, run


def test_a_line_on_a_slow_pipe_is_answered_at_once(trained: TranslationModel) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mirada.cli", "translate", str(trained.path), "--threads", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for source, target in (("el gato ve el tren", "the cat sees the train"), ("el lobo", "the wolf")) * 2:
            process.stdin.write(f"{source}\n".encode())
            assert select.select([process.stdout], [], [], 120)[0], "no answer while the pipe is open"
            assert process.stdout.readline().decode().startswith(target[:7])
        process.stdin.write(b"el perro ve el")  # a line that never ends is still a line
        process.stdin.close()
        assert process.stdout.read().decode().startswith("the dog sees")
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()


def test_lines_before_a_bad_one_are_answered(trained: TranslationModel) -> None:
    done = run("translate", trained.path, text=b"\xef\xbb\xbfel gato ve el tren\r\nni\xf1o\nel lobo\n")
    assert done.returncode == 1
    assert done.stdout == "the cat sees the train\n"
    assert "standard input, line 2: byte 2 is not UTF-8" in done.stderr


def test_a_line_without_end_is_refused(trained: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirada.data.text.LONGEST_LINE", 2**20)
    said = refused("translate", trained.path, text=b"el gato\n" + b"a" * (2**20 + given.READ))
    assert "standard input, line 2: longer than 1 MiB" in said


def test_other_formats_are_refused_by_name(trained: TranslationModel, tmp_path: Path) -> None:
    memory, out = tmp_path / "app.xlf", tmp_path / "out.xlf"
    memory.write_text('<xliff version="1.2">\n</xliff>\n')
    said = refused("translate", trained.path, "--file", memory, "--out", out, code=2)
    assert "is XLIFF, not lines of text" in said
    assert not out.exists()
    done = run("translate", trained.path, "--file", memory, "--out", out, "--as-text")
    assert done.returncode == 0, done.stderr
    assert len(out.read_text().splitlines()) == 2
    compiled = tmp_path / "app.mo"
    compiled.write_bytes(b"\xde\x12\x04\x95")
    assert f"msgunfmt {compiled} -o {tmp_path / 'app.po'}" in refused(
        "translate", trained.path, "--file", compiled, code=2
    )
    assert "no such file" in refused("translate", trained.path, "--file", tmp_path / "none")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_lines_are_counted_in_either_encoding(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_bytes("el gato\nla Ċ\nel lobo\n".encode(encoding))
    found = given.Input(None, file)
    assert found.total == sum(map(len, found)) == 3

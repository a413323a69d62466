"""Files that commands write: whole when they have their name, and not there after a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mirada.cli.output import new_file
from mirada.errors import UsageError
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import refused, run


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_packed_name_is_refused(trained: TranslationModel, tmp_path: Path) -> None:
    said = refused("translate", trained.path, "el gato", "--out", tmp_path / "out.txt.gz", code=2)
    assert f"write {tmp_path / 'out.txt'}" in said


def test_a_list_of_a_check_that_fails_is_not_left_behind(tmp_path: Path) -> None:
    pairs, listed = tmp_path / "pairs.tsv", tmp_path / "left.tsv"
    pairs.write_text("not a pair\n")
    refused("check", pairs, "--list", listed)
    assert names(tmp_path) == ["pairs.tsv"]
    toy.write(pairs, [*toy.pairs(30), ("el gato", "")])
    assert run("check", pairs, "--list", listed).returncode == 0
    assert listed.read_text().split("\t")[1] == "31"
    assert "exists already" in refused("check", pairs, "--list", listed, code=2)


def test_a_corpus_that_fails_leaves_nothing(tmp_path: Path) -> None:
    files = ["--out", tmp_path / "c.tsv", "--alignments", tmp_path / "c.align"]
    refused("corpus", "es-en", "--pairs", 10**9, *files, code=2)
    assert names(tmp_path) == []


def test_a_new_file_is_whole_or_not_there(tmp_path: Path) -> None:
    def interrupted() -> None:
        with new_file(tmp_path / "a.txt", "--out") as sink:
            sink.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert names(tmp_path) == []
    with new_file(tmp_path / "a.txt", "--out") as sink:
        sink.write("whole\n")
    assert (tmp_path / "a.txt").read_bytes() == b"whole\n"
    with pytest.raises(UsageError, match="cannot be written"), new_file(tmp_path / "none" / "a", "--out"):
        pass


@pytest.mark.parametrize(
    ("streams", "encoding", "code", "said"),
    [
        ("<&- >&- 2>&-", "utf-8", 0, ""),
        (">&-", "utf-8", 0, ""),
        (">/dev/full", "utf-8", 1, "mirada: standard output: No space left on device\n"),
        (">/dev/null", "ascii", 0, ""),
    ],
)
def test_standard_streams_may_be_closed_full_or_plain(streams: str, encoding: str, code: int, said: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m mirada.cli models {streams}', sys.executable],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": encoding},
    )
    assert (done.returncode, done.stderr) == (code, said)


def test_images_are_all_there_or_none(tmp_path: Path) -> None:
    out = tmp_path / "images"
    for wrong in (["--count", 0], ["--count", 10**12], ["--count", 10**12, "--moving"], ["--seed", -1]):
        assert " ".join(map(str, wrong[:2])) in refused("shapes", "--out", out, *wrong, code=2)
    assert names(tmp_path) == []
    assert run("shapes", "--out", out, "--count", 2).returncode == 0
    assert names(out) == ["000001.png", "000002.png", "scenes.tsv"]

"""`mirada explore`: the page it writes, and what it is refused with."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirada import TranslationModel
from tests.command import refused, run
from tests.explorer.pages import PageFile


def test_it_writes_the_page_and_says_so(trained: TranslationModel, tmp_path: Path) -> None:
    out = tmp_path / "toy.html"
    done = run("explore", trained.path, "--out", out, "--sentence", "el gato ve el tren")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert f"wrote {out}, " in done.stderr
    assert "105,728 parameters), weights in float32" in done.stderr
    assert PageFile(out).entries[0]["sentence"] == "el gato ve el tren"
    half = tmp_path / "half.html"
    assert "weights in float16" in run("explore", trained.path, "--out", half, "--precision", "float16").stderr
    assert half.stat().st_size < out.stat().st_size
    recorded = tmp_path / "recorded.html"
    done = run("explore", trained.path, "--out", recorded, "--trace", "el gato", "--trace", "el tren", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert [one["text"] for one in PageFile(recorded).entries[0]["recorded"]] == ["el gato", "el tren"]


def test_it_is_refused_in_one_line(trained: TranslationModel, tmp_path: Path) -> None:
    out = tmp_path / "x.html"
    assert "which model?" in refused("explore", "--out", out, code=2)
    assert "where should the page go?" in refused("explore", trained.path, code=2)
    assert "no such directory" in refused("explore", tmp_path / "none", "--out", out)
    assert "is a page; name it x.html" in refused("explore", trained.path, "--out", tmp_path / "x.txt", code=2)
    out.write_text("mine")
    assert "exists already" in refused("explore", trained.path, "--out", out, code=2)
    assert out.read_text() == "mine"
    long = refused("explore", trained.path, "--out", tmp_path / "y.html", "--sentence", "el gato " * 300)
    assert "one sentence at a time" in long
    assert not (tmp_path / "y.html").exists()
    assert "--sentence" in refused("explore", trained.path, "--out", tmp_path / "y.html", "--sentence", "", code=2)


def test_a_folder_that_cannot_be_written(trained: TranslationModel) -> None:
    out = Path("/proc/x.html")
    assert refused("explore", trained.path, "--out", out, code=2).startswith(f"mirada: --out {out}: cannot be written")


@pytest.mark.parametrize("name", ["explore"])
def test_the_help_names_it(name: str) -> None:
    assert name in run("--help").stdout

"""The end of `mirada demo`: the pictures, and the page in which the model runs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from mirada import TranslationModel, builtin, demo
from mirada.console import Console
from mirada.errors import UsageError
from tests.command import refused
from tests.explorer.pages import PageFile


def test_it_ends_with_the_model_in_a_page(trained: TranslationModel, tmp_path: Path) -> None:
    said = io.StringIO()
    with Console(out=said) as console:
        demo.look_inside(trained, tmp_path, console)
    page = tmp_path / "translator.html"
    assert f"open {page} (" in said.getvalue()
    (entry,) = PageFile(page).entries
    assert entry["sentence"] == "El animal no cruzó la calle porque estaba demasiado cansado."
    assert (tmp_path / "attention.png").stat().st_size > 1000


def test_it_replaces_an_earlier_demonstration_and_nothing_else(tmp_path: Path) -> None:
    parts = {"train": builtin.test("es", "en", 30), "dev": builtin.test("es", "en", 10)}
    demo.write_corpus(tmp_path / "demo", parts)
    (tmp_path / "demo" / "es-en").mkdir()
    demo.write_corpus(tmp_path / "demo", parts)
    assert (tmp_path / "demo" / "train.tsv").read_text().count("\n") == 30
    for name in ("train.tsv", "dev.tsv", "es-en"):
        mine = tmp_path / f"my {name}"
        mine.mkdir()
        (mine / name).write_text("mine")
        with pytest.raises(UsageError, match=f"has a {name}, which is not of this demonstration"):
            demo.write_corpus(mine, parts)
        assert [path.name for path in mine.iterdir()] == [name]
        assert (mine / name).read_text() == "mine"


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be written" in refused("demo", "--out", tmp_path / "file", code=2)
    assert "--minutes 0" in refused("demo", "--out", tmp_path / "out", "--minutes", 0, code=2)
    assert not (tmp_path / "out").exists()

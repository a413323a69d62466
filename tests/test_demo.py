"""The end of `mirada demo`: the pictures, and the page in which the model runs."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

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


def corpus(train: int, dev: int) -> dict[str, list[builtin.Example]]:
    return {"train": builtin.test("es", "en", train), "dev": builtin.test("es", "en", dev)}


def began_training(out: Path, **changes: object) -> None:
    """A bundle as the demonstration leaves it when it is interrupted."""
    data = {"files": [str(out / "train.tsv")], "dev": [str(out / "dev.tsv")]}
    (out / "es-en" / "run").mkdir(parents=True)
    (out / "es-en" / "run" / "config.yaml").write_text(yaml.safe_dump({**demo.SETTINGS, "data": data, **changes}))


def test_it_replaces_an_earlier_demonstration_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    demo.write_corpus(out, corpus(30, 10))
    began_training(out)
    demo.write_corpus(out, corpus(20, 12))  # the built-in corpus has changed
    assert (out / "train.tsv").read_text().count("\n") == 20
    (out / "train.tsv").write_text("mine")
    with pytest.raises(UsageError, match=r"train\.tsv in it is not of this demonstration"):
        demo.write_corpus(out, corpus(30, 10))
    assert (out / "train.tsv").read_text() == "mine"
    for name in ("train.tsv", "dev.tsv", "es-en", "attention.png", "demo.json"):
        mine = tmp_path / f"my {name}"
        mine.mkdir()
        (mine / name).write_text("mine")
        with pytest.raises(UsageError, match=f"{name} in it is not of this demonstration"):
            demo.write_corpus(mine, corpus(30, 10))
        assert [path.name for path in mine.iterdir()] == [name]
        assert (mine / name).read_text() == "mine"


def test_a_file_that_was_being_written_is_replaced(tmp_path: Path) -> None:
    with suppress(KeyboardInterrupt), demo.Written(tmp_path).writing("attention.png") as picture:
        picture.write_text("half")
        raise KeyboardInterrupt
    demo.write_corpus(tmp_path, corpus(30, 10))
    with demo.Written(tmp_path).writing("attention.png") as picture:
        picture.write_text("whole")
    demo.write_corpus(tmp_path, corpus(30, 10))
    (tmp_path / "attention.png").write_text("mine")
    with pytest.raises(UsageError, match=r"attention\.png in it is not"):
        demo.write_corpus(tmp_path, corpus(30, 10))


def test_a_demonstration_of_a_version_without_a_record_is_recognized_by_its_bundle(tmp_path: Path) -> None:
    def earlier(name: str, lines: int = 30, **changes: object) -> Path:
        (out := tmp_path / name).mkdir()
        (out / "train.tsv").write_text("el gato\tthe cat\n" * lines)
        (out / "translator.html").write_text("the page")
        began_training(out, **changes)
        return out

    demo.write_corpus(out := earlier("same"), corpus(30, 10))
    assert "gato\tthe cat\n" * 2 not in (out / "train.tsv").read_text()
    for mine in (earlier("edited", lines=31), earlier("own", tokenizer={"vocabulary": 500}), earlier("other", data={})):
        with pytest.raises(UsageError, match=r"train\.tsv in it is not of this demonstration"):
            demo.write_corpus(mine, corpus(30, 10))


def test_a_bundle_of_ones_own_is_kept(tmp_path: Path) -> None:
    demo.write_corpus(tmp_path, corpus(30, 10))
    with demo.Written(tmp_path).writing("es-en") as bundle:
        bundle.mkdir()
        (bundle / "card.json").write_text("{}")
    demo.write_corpus(tmp_path, corpus(30, 10))
    (bundle / "card.json").write_text('{"task": "translation"}')
    with pytest.raises(UsageError, match="es-en in it is not"):
        demo.write_corpus(tmp_path, corpus(30, 10))


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be written" in refused("demo", "--out", tmp_path / "file", code=2)
    assert "--minutes 0" in refused("demo", "--out", tmp_path / "out", "--minutes", 0, code=2)
    assert not (tmp_path / "out").exists()

"""Files of a folder that cannot be read, or hold nothing: all of them are named, and can be left out."""

from __future__ import annotations

from pathlib import Path

import pytest

import mirada
from mirada.data.readers import Wanted
from mirada.data.sources import PairFiles
from mirada.errors import DataError
from tests import toy
from tests.command import run
from tests.data.readers.catalog_files import HEADER

ROWS = toy.pairs(40)


def catalog(path: Path, rows: list[tuple[str, str]], language: str = "en", end: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = "".join(f'\nmsgid "{source}"\nmsgstr "{target}"\n' for source, target in rows)
    path.write_text(HEADER % ("UTF-8", language) + entries + end)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Good catalogs around one that is broken at its end and one that is broken at its beginning."""
    catalog(tmp_path / "po" / "a.po", ROWS[:20])
    catalog(tmp_path / "po" / "b.po", ROWS[20:25], end='msgstr "again"\n')
    catalog(tmp_path / "po" / "c.po", ROWS[25:])
    (tmp_path / "po" / "d.po").write_bytes(b"\0")
    return tmp_path / "po"


def test_all_broken_files_of_a_folder_are_listed(folder: Path) -> None:
    with pytest.raises(DataError) as caught:
        list(PairFiles([str(folder)], Wanted(target_language="en")))
    first, *faults = str(caught.value).splitlines()
    assert first == f"{folder}: 2 files cannot be read; repair them, or leave them out: --set data.broken_files=skip"
    assert sorted(fault.strip().partition(", line")[0] for fault in faults) == [
        str(folder / "b.po"),
        str(folder / "d.po"),
    ]


def test_a_fault_that_only_reading_finds_lists_the_later_ones_too(folder: Path) -> None:
    (folder / "d.po").unlink()
    catalog(folder / "e.po", ROWS[:1], end="garbage\n")
    files = PairFiles([str(folder)], Wanted(target_language="en"))
    with pytest.raises(DataError, match="2 files cannot be read") as caught:
        list(files)
    assert str(folder / "b.po") in str(caught.value)
    assert str(folder / "e.po") in str(caught.value)


def test_broken_files_of_a_folder_are_skipped_when_asked(folder: Path) -> None:
    files = PairFiles([str(folder)], Wanted(target_language="en"), skip_broken=True)
    assert [pair.fields[0] for pair in files] == [source for source, _ in (*ROWS[:20], *ROWS[25:])]
    assert [note.partition(", line")[0] for note in files.notes] == [
        f"{folder}: skipped a file that cannot be read: {folder / name}" for name in ("d.po", "b.po")
    ]


def test_a_named_file_is_never_skipped_and_some_must_be_left(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(DataError, match=r"b\.po, line"):
        list(PairFiles([str(folder / "b.po")], skip_broken=True))
    for name in ("a.po", "c.po"):
        (folder / name).unlink()
    with pytest.raises(DataError, match="2 files cannot be read"):
        PairFiles([str(folder)], skip_broken=True)


def test_check_and_train_name_what_they_pass_over(folder: Path, tmp_path: Path) -> None:
    catalog(folder / "empty.po", [])
    catalog(folder / "untranslated.po", [("nada", "")])
    catalog(folder / "de.po", ROWS[:1], language="de")
    options = [folder, "--from", "es", "--to", "en", "--set", "data.broken_files=skip"]
    said = run("check", *options).stdout
    settings = [part for setting in toy.SETTINGS for part in ("--set", setting)]
    trained = run("train", *options, "--out", tmp_path / "out", "--steps", 2, *settings)
    assert trained.returncode == 0, trained.stderr
    for text in (said, trained.stderr):
        assert "1 catalog in another language skipped: de.po (de)" in text
        assert f"skipped a file that cannot be read: {folder / 'b.po'}, line" in text
        assert f"skipped a file that cannot be read: {folder / 'd.po'}, line" in text
        assert f"no usable data in {folder / 'empty.po'}, {folder / 'untranslated.po'}" in text
    assert mirada.load(tmp_path / "out").card["data"]["read"] == 36

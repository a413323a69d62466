"""`mirada translate` on gettext catalogs: one, a folder of them, broken ones, those in another language."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polib
import pytest

from mirada.cli import answers
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import refused, run

ROWS = toy.pairs(40)


def write(path: Path, *sources: str, language: str = "", packed: bool = False) -> Path:
    """A catalog of untranslated entries."""
    head = f'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nLanguage: {language}\\n"\n\n'
    content = head + "".join(f'msgid "{source}"\nmsgstr ""\n\n' for source in sources)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    return path


def texts(path: Path) -> list[str]:
    return [entry.msgstr for entry in polib.pofile(str(path))]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Catalogs in English, in German, of no known language, and a template."""
    folder = tmp_path / "locale"
    write(folder / "en" / "LC_MESSAGES" / "a.po", ROWS[0][0], ROWS[1][0], language="en")
    write(folder / "en" / "LC_MESSAGES" / "sub" / "b.po.gz", ROWS[1][0], language="en_GB", packed=True)
    write(folder / "de" / "LC_MESSAGES" / "a.po", ROWS[0][0])
    write(folder / "other.po", ROWS[2][0])
    write(folder / "app.pot", ROWS[2][0])
    return folder


def test_a_folder_is_filled_into_the_same_tree(trained: TranslationModel, tree: Path, tmp_path: Path) -> None:
    done = run("translate", trained.path, "--file", tree, "--out", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    found = {str(path.relative_to(tmp_path / "new")): texts(path) for path in (tmp_path / "new").rglob("*.po")}
    assert found == {
        "en/LC_MESSAGES/a.po": [ROWS[0][1], ROWS[1][1]],
        "en/LC_MESSAGES/sub/b.po": [ROWS[1][1]],
        "other.po": [ROWS[2][1]],
    }
    assert "skipped, in another language: de/LC_MESSAGES/a.po" in done.stderr
    assert "skipped, templates: app.pot" in done.stderr
    assert "filled 4 entries in 3 catalogs" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["locale", "new"]
    assert "exists already" in refused("translate", trained.path, "--file", tree, "--out", tmp_path / "new", code=2)
    assert "--out locale.new" in refused("translate", trained.path, "--file", tree, code=2)


def test_what_was_filled_as_json(trained: TranslationModel, tree: Path, tmp_path: Path) -> None:
    done = run("translate", trained.path, "--file", tree, "--out", tmp_path / "new", "--json")
    rows = {Path(row["file"]).name: row for row in map(json.loads, done.stdout.splitlines())}
    assert {name: (row["filled"], row["left"]) for name, row in rows.items()} == {
        "a.po": (2, 0),
        "b.po.gz": (1, 0),
        "other.po": (1, 0),
    }


def test_all_broken_catalogs_are_listed(trained: TranslationModel, tree: Path, tmp_path: Path) -> None:
    write(tree / "broken1.po").write_text('msgid "a"\nmsgstr "b\n')
    write(tree / "broken2.po").write_bytes(b"\0")
    command = ["translate", trained.path, "--file", tree, "--out", tmp_path / "new"]
    done = run(*command)
    assert done.returncode == 1
    assert f"{tree}: 2 files cannot be read; repair them, or leave them out: --skip-broken" in done.stderr
    assert f"{tree / 'broken1.po'}, line 2: neither" in done.stderr
    assert f"{tree / 'broken2.po'}, line 1: a NUL byte" in done.stderr
    assert not (tmp_path / "new").exists()
    done = run(*command, "--skip-broken")
    assert done.returncode == 0, done.stderr
    assert "skipped broken1.po, which cannot be read" in done.stderr
    assert "skipped broken2.po, which cannot be read" in done.stderr
    assert not (tmp_path / "new" / "broken1.po").exists()


def test_folders_with_nothing_to_fill(trained: TranslationModel, tmp_path: Path) -> None:
    out = tmp_path / "new"
    write(tmp_path / "a" / "app.pot", "el gato")
    assert "has no catalogs (.po) to fill; make a .po of a template" in refused(
        "translate", trained.path, "--file", tmp_path / "a", "--out", out
    )
    write(tmp_path / "b" / "x.po", ROWS[0][0], language="de")
    said = refused("translate", trained.path, "--file", tmp_path / "b", "--out", out)
    assert "no catalog is in en, the model's, but in de" in said
    assert run("translate", trained.path, "--file", tmp_path / "b", "--out", out, "--force").returncode == 0
    assert texts(out / "x.po") == [ROWS[0][1]]


def test_options_that_have_no_say(trained: TranslationModel, tmp_path: Path) -> None:
    path = write(tmp_path / "app.po", "el gato")
    assert "--prefix the" in refused("translate", trained.path, "--file", path, "--prefix", "the", code=2)
    assert "--keep-damaged: applies to" in refused("translate", trained.path, "el gato", "--keep-damaged", code=2)


def test_a_header_with_another_language_refuses(trained: TranslationModel, tmp_path: Path) -> None:
    path, out = write(tmp_path / "app.po", "el gato ve el tren", language="fr"), tmp_path / "out.po"
    command = ["translate", trained.path, "--file", path, "--out", out]
    said = refused(*command, code=2)
    assert "app.po: is in fr by its header, and the model translates into en" in said
    assert "--force" in said
    done = run(*command, "--force")
    assert done.returncode == 0
    assert "is in fr by its header" in done.stderr
    assert texts(out) == ["the cat sees the train"]


def test_a_path_or_texts_in_another_language_warn(trained: TranslationModel, tmp_path: Path) -> None:
    english = [f"The committee has decided to meet again on day {number} of the month." for number in range(8)]
    path = write(tmp_path / "de" / "LC_MESSAGES" / "app.po", *english)
    done = run("translate", trained.path, "--file", path, "--out", tmp_path / "out.po")
    assert done.returncode == 0, done.stderr
    assert f"{path}: is in de by its path, and the model translates into en" in done.stderr
    assert f"{path}: its texts look like en, and the model translates from es" in done.stderr


def test_lost_placeholders_leave_the_entry_empty(trained: TranslationModel, tmp_path: Path) -> None:
    path = write(tmp_path / "app.po", "el gato ve %(ファイル)s", "el gato ve el tren")
    out = tmp_path / "out.po"
    done = run("translate", trained.path, "--file", path, "--out", out)
    assert done.returncode == 0, done.stderr
    assert f"{path}, line 4: its translation lost %(ファイル)s; left empty" in done.stderr
    assert "filled 1 entry, marked fuzzy for review, 1 left empty" in done.stderr
    first, second = polib.pofile(str(out))
    assert (first.msgstr, first.fuzzy, second.msgstr) == ("", False, "the cat sees the train")
    done = run("translate", trained.path, "--file", path, "--out", tmp_path / "kept.po", "--keep-damaged")
    assert f"{path}, line 4: its translation lost %(ファイル)s; filled in anyway" in done.stderr
    kept = polib.pofile(str(tmp_path / "kept.po"))[0]
    assert kept.msgstr
    assert kept.fuzzy


def test_an_interrupted_filling_is_continued(
    trained: TranslationModel, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "new"
    command = ["translate", trained.path, "--file", tree, "--out", out]
    with monkeypatch.context() as patched:
        patched.setattr(answers._Partial, "finish", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        done = run(*command)
    assert done.returncode == 130
    assert f"interrupted after 3 of 3 lines, kept in {out}.partial; run the same command to continue" in done.stderr
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert f"continuing {out}.partial after 3 lines" in done.stderr
    assert texts(out / "other.po") == [ROWS[2][1]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["locale", "new"]

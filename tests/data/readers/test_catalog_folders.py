"""Which catalogs of a folder are read."""

import gzip
from pathlib import Path

import polib
import pytest

from mirada.data.readers import Wanted, catalogs
from mirada.data.readers.catalogs import choose
from mirada.errors import DataError, UsageError
from tests.data.readers import fault, write
from tests.data.readers.catalog_files import HEADER

# --- a folder ---


def folder(tmp_path: Path, *names: str, **languages: str) -> list[str]:
    """Writes catalogs, whose header may tell a language, and other files."""
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith((".mo", ".gmo")):
            write(tmp_path / name, polib_mo([]))
        else:
            write(tmp_path / name, HEADER % ("UTF-8", languages.get(name.partition(".")[0], "")))
    return sorted(str(tmp_path / name) for name in names)


def polib_mo(entries: list[tuple[str, str]], language: str = "") -> bytes:
    catalog = polib.POFile()
    catalog.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Language": language}
    catalog.extend(polib.POEntry(msgid=source, msgstr=target) for source, target in entries)
    content: bytes = catalog.to_binary()
    return content


def chosen(tmp_path: Path, names: list[str], source: str | None, target: str | None) -> tuple[list[str], list[str]]:
    files, notes = choose(
        str(tmp_path), folder(tmp_path, *names), Wanted(source_language=source, target_language=target)
    )
    return [str(Path(file).relative_to(tmp_path)) for file in files], notes


def test_catalogs_in_the_target_language_are_chosen(tmp_path: Path) -> None:
    names = ["de.po", "es.po", "es_MX.po", "fr.po", "it.po", "pt.po", "app.po", "pairs.tsv", "app.pot"]
    assert chosen(tmp_path, names, "en", "es") == (
        ["app.po", "es.po", "es_MX.po", "pairs.tsv"],
        [
            "4 catalogs in other languages skipped: de.po (de), fr.po (fr), it.po (it), pt.po (pt)",
            "1 template skipped: app.pot",
        ],
    )
    assert chosen(tmp_path, names, "en", "es_MX")[0] == ["app.po", "es_MX.po", "pairs.tsv"]
    assert chosen(tmp_path, names, "en", "pt_BR")[0] == ["app.po", "pairs.tsv", "pt.po"]
    assert chosen(tmp_path, names, "en", "ja")[0] == ["app.po", "pairs.tsv"]


def test_the_language_in_a_header_decides(tmp_path: Path) -> None:
    files = folder(tmp_path, "a.po", "de.po", "c.po", a="es", de="es_AR", c="fr")
    files.append(str(write(tmp_path / "d.mo", polib_mo([("x", "y")] * 3, "es"))))
    files.append(str(write(tmp_path / "e.mo.gz", gzip.compress(polib_mo([], "it")))))
    read_files, notes = choose(str(tmp_path), files, Wanted(target_language="es"))
    assert [Path(file).name for file in read_files] == ["a.po", "de.po", "d.mo"]
    assert notes == ["2 catalogs in other languages skipped: c.po (fr), e.mo.gz (it)"]


def test_a_long_or_damaged_beginning_leaves_the_path(tmp_path: Path) -> None:
    long = "# comment\n" * 10_000 + HEADER % ("UTF-8", "fr")
    files = [str(write(tmp_path / "de.po", long)), str(write(tmp_path / "es.po", "damage"))]
    files += [str(write(tmp_path / "es.mo", "damage")), str(tmp_path / "es" / "missing.es.po")]
    read_files, notes = choose(str(tmp_path), files, Wanted(target_language="es"))
    assert [Path(file).name for file in read_files] == ["es.po", "missing.es.po"]
    assert notes == [
        "1 catalog in another language skipped: de.po (de)",
        "1 .mo file next to a .po of the same name skipped: es.mo",
    ]


def test_only_the_beginning_of_catalogs_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogs, "whole", lambda path: pytest.fail("read it all"))
    entries = 'msgid "a"\nmsgstr "b"\n' * 20_000
    path = write(tmp_path / "a.po", HEADER % ("UTF-8", "es") + entries)
    assert choose(str(tmp_path), [str(path)], Wanted(target_language="es")) == ([str(path)], [])


def test_catalogs_in_the_source_language_are_read_backward(tmp_path: Path) -> None:
    both = ["de.po", "en.po", "es.po"]
    assert chosen(tmp_path, ["de.po", "es.po"], "es", "en") == (
        ["es.po"],
        ["1 catalog in another language skipped: de.po (de)"],
    )
    others = ["2 catalogs in other languages skipped: de.po (de), en.po (en)"]
    assert chosen(tmp_path, both, "es", "en") == (["es.po"], others)
    assert chosen(tmp_path, both, "en", "es") == (["es.po"], others)
    assert chosen(tmp_path, both, None, "en")[0] == ["en.po"]
    assert chosen(tmp_path, both, "es", "de")[0] == ["de.po"]
    assert chosen(tmp_path, ["en.po", "en_GB.po"], "en", "en_GB")[0] == ["en_GB.po"]


def test_compiled_catalogs_beside_their_source_are_left_out(tmp_path: Path) -> None:
    names = ["es.po", "es.mo", "es.gmo", "sub/es.mo", "app.es.po.gz", "app.es.mo"]
    assert chosen(tmp_path, names, "en", "es") == (
        ["app.es.po.gz", "es.po", "sub/es.mo"],
        ["3 .mo files next to a .po of the same name skipped: app.es.mo, es.gmo, es.mo"],
    )


def test_folders_where_nothing_fits(tmp_path: Path) -> None:
    def choose_error(source: str | None, target: str | None, *names: str) -> str:
        files, wanted = folder(tmp_path, *names), Wanted(source_language=source, target_language=target)
        kind = DataError if target else UsageError
        return fault(lambda: choose(str(tmp_path), files, wanted), kind)

    expected = f"{tmp_path}: no catalog is in es or en, but in de, fr; choose one: --to de"
    assert choose_error("en", "es", "de.po", "fr.po", "sub/de.po", "a.pot") == expected
    assert "only templates" in choose_error("en", "es", "a.pot")
    several = choose_error("en", None, "fr.po", "es.po", "pairs.tsv")
    assert several == f"{tmp_path}: has catalogs in 2 languages: es, fr; choose one: --to es"


def test_all_that_is_passed_over_is_named_up_to_a_bound(tmp_path: Path) -> None:
    names = [f"{number:03}/de.po" for number in range(60)]
    _, (note,) = chosen(tmp_path, [*names, "es.po"], "en", "es")
    assert note.startswith("60 catalogs in other languages skipped: 000/de.po (de), ")
    assert note.endswith("049/de.po (de) and 10 more")


def test_one_language_needs_no_choice(tmp_path: Path) -> None:
    assert chosen(tmp_path, ["pt_BR.po", "app.pt-br.po", "app.po"], None, None) == (
        ["app.po", "app.pt-br.po", "pt_BR.po"],
        [],
    )

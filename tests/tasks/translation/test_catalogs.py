"""What is filled into a catalog: nothing that lost, gained or reordered placeholders, or that cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirada.data.po import Catalog
from mirada.errors import UsageError
from mirada.tasks.translation.catalogs import check_language, damage, fill, lines_of
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.prediction import Translation

HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=%s\\nLanguage: %s\\n"\n\n'


def catalog(tmp_path: Path, *entries: str, charset: str = "UTF-8", language: str = "") -> Catalog:
    path = tmp_path / "app.po"
    path.write_text(HEADER % (charset, language) + "".join(f"{entry}\n" for entry in entries), encoding="utf-8")
    return Catalog(path)


@pytest.mark.parametrize(
    ("source", "translation", "said"),
    [
        ("%s de %d", "%s of %d", ""),
        ("%s de %d", "%d of %s", "changed the order of %s, %d"),
        ("%1$s de %2$d", "%2$d of %1$s", ""),
        ("%(a)s de %(b)d", "%(b)d of %(a)s", ""),
        ("{a} de {b}", "{b} of {a}", ""),
        ("100 %% de %d", "%d of 100 %%", ""),
        ("%s de %s", "%s", "lost %s"),
        ("<b>uno</b>", "<b>one", "lost </b>"),
        ("uno", "one {x}", "has {x}, which the text does not have"),
        ("uno", "one", ""),
    ],
)
def test_damage_to_placeholders(source: str, translation: str, said: str) -> None:
    found = damage(source, translation)
    assert found == (f"its translation {said}" if said else "")


def test_the_first_translation_that_keeps_all_is_taken(tmp_path: Path) -> None:
    found = catalog(tmp_path, 'msgid "%s de %d\\n"\n"uno"\nmsgstr ""')
    assert lines_of(found) == ["%s de %d", "uno"]
    best = Translation("%d of %s", alternatives=(("%d of %s", 0.0), ("%s of", 0.0), ("%s of %d", -1.0)))
    filling = fill(found, {"%s de %d": best, "uno": Translation("one")})
    assert (filling.filled, filling.left, filling.problems) == (1, 0, ())
    assert b'"%s of %d\\n"\n"one"' in filling.content


def test_a_damaged_line_leaves_all_of_its_entry_empty(tmp_path: Path) -> None:
    found = catalog(tmp_path, 'msgid "%s\\n"\n"uno"\nmsgstr ""', 'msgid "uno"\nmsgid_plural "%d"\nmsgstr[0] ""')
    translated = {"%s": Translation("x"), "uno": Translation("one"), "%d": Translation("y")}
    filling = fill(found, translated)
    assert filling.content == Path(found.path).read_bytes()
    assert (filling.filled, filling.left) == (0, 2)
    assert filling.problems == (
        (4, "its translation lost %s; left empty"),
        (7, "its translation lost %d; left empty"),
    )
    kept = fill(found, translated, keep_damaged=True)
    assert (kept.filled, kept.left) == (2, 0)
    assert b'#, fuzzy\nmsgid "%s\\n"' in kept.content


def test_what_the_charset_lacks_leaves_one_entry_empty(tmp_path: Path) -> None:
    found = catalog(tmp_path, 'msgid "a"\nmsgstr ""', 'msgid "b"\nmsgstr ""', charset="ISO-8859-1")
    filling = fill(found, {"a": Translation("Łódź"), "b": Translation("ñ")})
    assert (filling.filled, filling.left) == (1, 1)
    ((line, problem),) = filling.problems
    assert line == 4
    assert "cannot be written in ISO-8859-1" in problem
    assert 'msgstr "ñ"'.encode("latin-1") in filling.content


def test_languages(tmp_path: Path) -> None:
    assert check_language(catalog(tmp_path, language="en_GB"), "es", "en") == []
    assert check_language(catalog(tmp_path, language="pt"), "es", "pt_BR") == []
    assert check_language(catalog(tmp_path, language="de"), "es", None) == []
    assert check_language(catalog(tmp_path), None, None) == []
    with pytest.raises(UsageError, match="is in de by its header"):
        check_language(catalog(tmp_path, language="de"), "es", "en")
    assert len(check_language(catalog(tmp_path, language="de"), "es", "en", force=True)) == 1


def test_the_library_says_what_is_doubtful(trained: TranslationModel, tmp_path: Path) -> None:
    found = catalog(tmp_path, 'msgid "el gato ve el tren"\nmsgstr ""', language="de")
    with pytest.raises(UsageError, match="--force"):
        trained.fill(found.path)
    filling = trained.fill(found.path, force=True)
    assert b"the cat sees the train" in filling.content
    assert "is in de by its header" in filling.doubts[0]

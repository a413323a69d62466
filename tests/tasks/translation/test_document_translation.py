"""Documents through a model: tags that it loses are put back or named; a toy model and the command line."""

from __future__ import annotations

import csv
import gzip
import json
import re
import zipfile
from pathlib import Path

import pytest

from mirada.cli import answers
from mirada.documents import read_document
from mirada.errors import UsageError
from mirada.tasks.translation.document_translation import assemble, texts_of, translate_texts
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.prediction import Translation
from tests.command import refused, run

WORDS = {"el": "the", "gato": "cat", "ve": "sees", "tren": "train", "aquí": "here", "{n}": "{n}"}


def tagless(texts: list[str]) -> list[Translation]:
    """A translator that loses all tags."""
    return [
        Translation(" ".join(WORDS.get(word, word) for word in re.sub(r"<[^<>]*>", "", text).split())) for text in texts
    ]


def through(path: Path, content: str) -> tuple[str, tuple[str, ...]]:
    path.write_text(content, encoding="utf-8")
    document = read_document(path)
    texts = texts_of(document)
    found = translate_texts(texts, tagless, document.markup)
    done = assemble(document, dict(zip(texts, found, strict=True)))
    return done.content.decode(), done.notes


@pytest.mark.parametrize(
    ("page", "translated", "note"),
    [
        ("<p>el <b>gato</b> ve", "<p>the <b>cat</b> sees", "check the position"),
        (
            '<p>el gato ve <a href="x">el tren</a> aquí',
            '<p>the cat sees <a href="x">the train</a> here',
            "check the position",
        ),
        ("<p>el <b>gato</b> ve el gato", "<p>the cat sees the cat", "the markup of 'gato' could not be placed"),
        ("<p>el gato <code>x</code> ve", "<p>the cat <code>x</code> sees", "check the position"),
    ],
)
def test_lost_tags(tmp_path: Path, page: str, translated: str, note: str) -> None:
    content, notes = through(tmp_path / "a.html", page)
    assert content == translated
    assert len(notes) == 1
    assert notes[0].startswith(f"line 1: {note}")


def test_the_best_that_keeps_its_tags_and_placeholders_is_taken() -> None:
    options = (("the cat {n}", -1.0), ("the <b>cat</b>", -2.0), ("a <b>cat</b> {n}", -3.0))
    (found,) = translate_texts(["el <b>gato</b> {n}"], lambda some: [Translation("", 0, options)] * len(some), True)
    assert (found.text, found.notes) == ("a <b>cat</b> {n}", ())
    (found,) = translate_texts(["el gato {n}"], lambda some: [Translation("the cat")] * len(some), False)
    assert found.notes == ("its translation lost {n}",)


def test_what_is_doubtful_is_said() -> None:
    def said(text: str, translation: str, *flags: str) -> tuple[str, ...]:
        options = ((translation, -1.0),)
        (found,) = translate_texts([text], lambda some: [Translation("", 0, options, flags=flags)] * len(some), True)
        return found.notes

    assert said("el gato a las 12:30", "the cat") == ("its translation lost a number, an address or similar",)
    assert said("el <b>gato</b> a las 12:30", "the <b>cat</b> at 12:30", "lost") == ()
    assert said("{n} gatos", "cats", "lost") == ("its translation lost {n}",)
    assert said("el gato", "ga ga ga", "repetition", "spelling") == ("its translation repeats itself",)


def test_a_pair_of_tags_that_encloses_nothing_is_placed_again() -> None:
    def translator(texts: list[str]) -> list[Translation]:
        made = {"el <a1>gato</a1> ve": "the <a1></a1>cat sees", "el gato ve": "the cat sees", "gato": "cat"}
        return [Translation(made[text]) for text in texts]

    options = (("the <b></b>cat at 12:30", -1.0), ("the <b>cat</b>", -2.0), ("a <b>cat</b> at 12:30", -3.0))
    (found,) = translate_texts(["el <b>gato</b> a las 12:30"], lambda some: [Translation("", 0, options)], True)
    assert (found.text, found.notes) == ("a <b>cat</b> at 12:30", ())
    (found,) = translate_texts(["el <a1>gato</a1> ve"], translator, True)
    assert (found.text, len(found.notes)) == ("the <a1>cat</a1> sees", 1)


def test_what_has_no_translation_stays(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>uno<p>dos")
    document = read_document(tmp_path / "a.html")
    texts = texts_of(document)
    found = [Translation("", problem="is too long"), Translation("two")]
    done = assemble(document, dict(zip(texts, found, strict=True)))
    assert done.content == b"<p>uno<p>two"
    assert (done.translated, done.left) == (1, 1)
    assert done.notes == ("line 1: is too long; it is left unchanged",)
    (empty,) = translate_texts(["uno"], lambda some: [Translation(" ")], True)
    assert empty.problem == "its translation is empty"


# --- a trained model ------------------------------------------------------------------------------------------------

PAGE = """<title>el gato ve el tren</title>
<p title="el perro sigue el tren">el gato ve el tren <!-- no -->
<pre>el gato</pre>
"""
TRANSLATED = """<title>the cat sees the train</title>
<p title="the dog follows the train">the cat sees the train <!-- no -->
<pre>el gato</pre>
"""


def test_from_python(trained: TranslationModel, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    done = trained.translate_document(tmp_path / "a.html", tmp_path / "b.html.gz")
    assert done.content.decode() == TRANSLATED == gzip.decompress((tmp_path / "b.html.gz").read_bytes()).decode()
    assert done.as_dict() == {"translated": 3, "left": 0}
    with pytest.raises(UsageError, match="exists already"):
        trained.translate_document(tmp_path / "a.html", tmp_path / "b.html.gz")
    (tmp_path / "a.csv").write_text("id,texto\n7,el gato ve el tren\n")
    assert (
        trained.translate_document(tmp_path / "a.csv", columns="texto").content
        == b"id,texto\n7,the cat sees the train\n"
    )
    (tmp_path / "a.po").write_text('msgid "el gato ve el tren"\nmsgstr ""\n')
    assert b'msgstr "the cat sees the train"' in trained.translate_document(tmp_path / "a.po").content
    (tmp_path / "a.txt").write_bytes(b"el gato ve el tren\r\n\r\n12\r\n")
    assert trained.translate_document(tmp_path / "a.txt").content == b"the cat sees the train\r\n\r\n12\r\n"


def test_from_the_command_line(trained: TranslationModel, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    command = ["translate", trained.path, "--file", tmp_path / "a.html", "--out", tmp_path / "b.html"]
    done = run(*command, "--json")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b.html").read_text() == TRANSLATED
    assert json.loads(done.stdout) == {"file": str(tmp_path / "a.html"), "translated": 3, "left": 0}
    assert "translated 3 segments" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]
    assert "b.html: exists already" in refused(*command, code=2)
    assert "--out a.en.html" in refused(*command[:4], code=2)
    assert "--prefix the" in refused(*command, "--prefix", "the", code=2)
    assert "--columns x: applies to tables" in refused("translate", trained.path, "hola", "--columns", "x", code=2)


def test_tables_and_archives_from_the_command_line(trained: TranslationModel, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,texto\n7,el gato ve el tren\n")
    command = ["translate", trained.path, "--file", tmp_path / "a.csv", "--out"]
    assert "--columns 1" in refused(*command, tmp_path / "b.csv", code=2)
    assert run(*command, tmp_path / "b.csv", "--columns", "texto,text").returncode == 0
    rows = list(csv.reader((tmp_path / "b.csv").open()))
    assert rows == [["id", "texto", "text"], ["7", "el gato ve el tren", "the cat sees the train"]]
    report = Path(__file__).parents[2] / "fixtures" / "documents" / "report.docx"
    done = run("translate", trained.path, "--file", report, "--out", tmp_path / "b.docx")
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / "b.docx") as archive:
        assert archive.testzip() is None
        assert b"El perro busca" not in archive.read("word/document.xml")


def test_an_interrupted_document_is_continued(
    trained: TranslationModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    out = tmp_path / "b.html"
    command = ["translate", trained.path, "--file", tmp_path / "a.html", "--out", out]
    with monkeypatch.context() as patched:
        patched.setattr(answers._Partial, "finish", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        done = run(*command)
    assert done.returncode == 130
    assert f"interrupted after 2 of 2 segments, kept in {out}.partial" in done.stderr
    done = run(*command)
    assert f"continuing {out}.partial after 2" in done.stderr
    assert out.read_text() == TRANSLATED
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]

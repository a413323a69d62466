"""DOCX and ODT, written by LibreOffice: paragraphs in their formatting; other parts stay."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mirada.documents import archive, read_document
from mirada.errors import DataError
from tests.documents.shouting import same, shout, shouted, texts

FOLDER = Path(__file__).parent.parent / "fixtures" / "documents"
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
BODY = [
    "El informe del gato",
    "El gato <g1>negro</g1> ve el <a2>tren rojo</a2> y sigue<x3/> al lobo.",
    "La lista",
    "El perro busca el libro.",
    "El lobo <g1>viejo</g1> tiene el barco.",
    "Nombre",
    "Valor",
    "El barco <g1>nuevo</g1>",
    "Tom & Jerry ven 3 < 4 trenes.",
    "Primera línea<br/>segunda línea, página",
]
NOTE, HEADER = "El perro tiene el <g1>libro</g1>.", "El libro del gato"


def parts(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        assert opened.testzip() is None
        return {name: opened.read(name) for name in opened.namelist()}


def runs(content: bytes) -> list[tuple[str, str]]:
    """The text of a Word document's part with its formatting, runs that look the same together."""
    found: list[tuple[str, str]] = []
    for paragraph in ElementTree.fromstring(content).iter(f"{W}p"):
        for run in paragraph.iter(f"{W}r"):
            style = run.find(f"{W}rPr")
            look = " ".join(sorted(one.tag for one in style)) if style is not None else ""
            text = "".join(one.text or "" if one.tag == f"{W}t" else f"[{one.tag}]" for one in run if one is not style)
            if found and found[-1][0] == look:
                found[-1] = look, found[-1][1] + text
            else:
                found.append((look, text))
        found.append(("", "\n"))
    return [(look, text.upper()) for look, text in found]


@pytest.mark.parametrize(("name", "expected"), [
    ("report.odt", [*BODY[:2], NOTE, *BODY[2:], HEADER]),
    ("report.docx", [*BODY, HEADER, NOTE]),
])  # fmt: skip
def test_segments(name: str, expected: list[str]) -> None:
    document = read_document(FOLDER / name)
    assert texts(document) == expected
    assert same(document) == (FOLDER / name).read_bytes()
    assert document.segments[1].place == "paragraph 2"


@pytest.mark.parametrize("name", ["report.odt", "report.docx"])
def test_only_text_changes(tmp_path: Path, name: str) -> None:
    before = parts((FOLDER / name).read_bytes())
    content = shouted(read_document(FOLDER / name))
    after = parts(content)
    assert list(after) == list(before)
    changed = {part for part in before if before[part] != after[part]}
    odt = {"content.xml", "styles.xml"}
    assert changed == (
        odt if name == "report.odt" else {f"word/{part}.xml" for part in ("document", "header1", "footnotes")}
    )
    if name == "report.odt":
        assert content[30:38] == b"mimetype"  # first, and not packed
    for part in changed:
        if name == "report.docx":
            assert runs(after[part]) == runs(before[part])
        else:
            one, other = (ElementTree.fromstring(some[part]) for some in (before, after))
            assert [(node.tag, node.attrib) for node in one.iter()] == [
                (node.tag, node.attrib) for node in other.iter()
            ]
            assert "".join(one.itertext()).upper().split() == "".join(other.itertext()).upper().split()
    (tmp_path / name).write_bytes(content)
    assert texts(read_document(tmp_path / name)) == [shout(text) for text in texts(read_document(FOLDER / name))]


def word(path: Path, body: str) -> Path:
    """A Word document of these paragraphs."""
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("word/document.xml", f"<w:document {space}><w:body>{body}</w:body></w:document>")
        out.writestr("word/media/a.png", b"\x89PNG")
    return path


def written(document: archive.ArchiveDocument, *translations: str) -> str:
    content = parts(document.write(translations))["word/document.xml"].decode()
    ElementTree.fromstring(content)
    return content.partition("<w:body>")[2].partition("</w:body>")[0]


def test_what_word_writes(tmp_path: Path) -> None:
    """Runs that editing has split, bookmarks, spelling marks, fields, deleted text and text boxes."""
    field = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    link = (
        field.format("begin")
        + '<w:r><w:instrText> HYPERLINK "http://x.y" </w:instrText></w:r>'
        + field.format("separate")
    )
    number = field.format("begin") + "<w:r><w:instrText>PAGE</w:instrText></w:r>" + field.format("separate")
    number += "<w:r><w:t>7</w:t></w:r>" + field.format("end")
    box = "<w:r><w:pict><w:txbxContent><w:p><w:r><w:t>caja</w:t></w:r></w:p></w:txbxContent></w:pict></w:r>"
    path = word(
        tmp_path / "a.docx",
        '<w:p w:rsidR="1"><w:pPr><w:jc/></w:pPr><w:bookmarkStart w:id="0"/><w:r w:rsidR="2"><w:t>el ga</w:t></w:r>'
        '<w:proofErr/><w:r><w:rPr><w:lang w:val="es"/></w:rPr><w:t xml:space="preserve">to </w:t></w:r>'
        '<w:bookmarkEnd w:id="0"/>'
        "<w:del><w:r><w:delText>no</w:delText></w:r></w:del>"
        f"{link}<w:r><w:rPr><w:u/></w:rPr><w:t>aquí</w:t></w:r>{field.format('end')}"
        f'<w:r><w:t xml:space="preserve"> en la página </w:t></w:r>{number}{box}'
        "<w:r><w:t>.</w:t><w:br/><w:t>fin</w:t></w:r></w:p>",
    )
    document = read_document(path)
    assert isinstance(document, archive.ArchiveDocument)
    first = "el gato <x1/><a2>aquí</a2> en la página <x3/><x4/>.<br/>fin"
    assert texts(document) == [first, "caja"]
    new = written(document, shout(first), "CAJA")
    assert new.startswith(
        '<w:p w:rsidR="1"><w:pPr><w:jc/></w:pPr><w:bookmarkStart w:id="0"/><w:r><w:t xml:space="preserve">EL GATO '
    )
    assert f'{link}<w:r><w:rPr><w:u/></w:rPr><w:t xml:space="preserve">AQUÍ</w:t></w:r>{field.format("end")}' in new
    assert number in new
    assert '<w:r><w:br/></w:r><w:r><w:t xml:space="preserve">FIN</w:t></w:r><w:bookmarkEnd w:id="0"/></w:p>' in new
    assert "<w:del><w:r><w:delText>no</w:delText></w:r></w:del>" in new
    assert ">CAJA</w:t>" in new


def test_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> str:
        with pytest.raises(DataError) as caught:
            read_document(path)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    good = (FOLDER / "report.docx").read_bytes()
    path = tmp_path / "a.docx"
    for content in (good[: len(good) // 2], b"PK\x03\x04", b"hola", b"", good[:200] + b"\0" * 400 + good[600:]):
        path.write_bytes(content)
        assert "a.docx: is not a Word document (DOCX), or it is damaged" in refused(path)
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("word/other.xml", "<a/>")
    assert "not a Word document (DOCX): the part with its text is missing" in refused(path)
    assert "the entity 'a' is not one of XML's own" in refused(word(path, "").with_name(_with_bomb(tmp_path)))
    assert "(word/document.xml), line 1, column" in refused(word(path, "<w:p>"))
    monkeypatch.setattr(archive, "LARGEST_PART", 10_000)
    assert "unpacks to more than" in refused(word(path, "<w:p/>" * 2000))


def _with_bomb(folder: Path) -> str:
    bomb = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><a>&b;</a>'
    with zipfile.ZipFile(folder / "bomb.docx", "w") as out:
        out.writestr("word/document.xml", bomb)
    return "bomb.docx"

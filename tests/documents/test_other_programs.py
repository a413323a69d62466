"""Other programs judge the documents: LibreOffice writes and reads DOCX and ODT, and a browser reads HTML."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from mirada.documents import read_document
from tests.documents.shouting import shouted, texts
from tests.documents.test_html import PAGE

LETTER = """<html><head><meta charset="utf-8"><title>carta</title></head><body>
<h1>El informe del gato</h1>
<p>El gato <b>negro</b> ve el <a href="https://example.com/a?b=1">tren rojo</a> y <i>sigue</i> al lobo.</p>
<ul><li>El perro busca el libro.</li><li>El lobo <u>viejo</u> tiene el barco.</li></ul>
<table border="1"><tr><td>Nombre</td><td>Valor</td></tr><tr><td>El barco</td><td>12,50 €</td></tr></table>
<p>Primera línea<br>segunda línea: ¿qué?</p>
</body></html>
"""


def convert(folder: Path, to: str, paths: Sequence[Path]) -> None:
    """Has LibreOffice write files in another format, next to themselves, with a profile of its own."""
    command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", to]
    done = subprocess.run([*command, "--outdir", folder, *paths], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_libreoffice_reads_what_was_translated_of_its_documents(tmp_path: Path) -> None:
    page = tmp_path / "letter.html"
    page.write_text(LETTER, encoding="utf-8")
    convert(tmp_path, "odt:writer8", [page])
    convert(tmp_path, "docx:MS Word 2007 XML", [tmp_path / "letter.odt"])
    loud = []
    for kind in ("odt", "docx"):
        document = read_document(tmp_path / f"letter.{kind}")
        assert len(texts(document)) == 8  # a cell with nothing but a price is none
        loud.append(tmp_path / f"loud-{kind}.{kind}")
        loud[-1].write_bytes(shouted(document))
    originals = [tmp_path / "letter.odt", tmp_path / "letter.docx"]
    for kind, original, translated in zip(("odt", "docx"), originals, loud, strict=True):
        convert(tmp_path, "txt:Text (encoded):UTF8", [translated])
        convert(tmp_path, "txt:Text (encoded):UTF8", [original])
        before = (tmp_path / "letter.txt").read_text(encoding="utf-8-sig")
        after = (tmp_path / f"loud-{kind}.txt").read_text(encoding="utf-8-sig")
        assert "El gato negro ve el tren rojo y sigue al lobo." in before
        assert after == before.upper()


NODES = """() => {
  const found = [];
  for (const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL); walker.nextNode();) {
    const node = walker.currentNode;
    found.push(node.nodeType === Node.ELEMENT_NODE
      ? [node.tagName, ...[...node.attributes].map(({name, value}) => `${name}=${value}`)]
      : [node.nodeName, (node.nodeValue ?? "").replace(/\\s+/g, " ").trim()]);
  }
  return found.filter(([name, text]) => name !== "#text" || text);
}"""
READ_BY_PEOPLE = ("title=", "alt=", "placeholder=", "content=", "value=")


def nodes(page: Page, content: bytes) -> list[list[str]]:
    """All elements with their attributes, and all texts, as the browser understands a page."""
    page.set_content(content.decode("utf-8"))
    found: list[list[str]] = page.evaluate(NODES)
    return found


def test_a_browser_sees_the_same_page_with_other_texts(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "page.html"
    path.write_text(PAGE, encoding="utf-8")
    page = browser.new_page()
    before, after = nodes(page, path.read_bytes()), nodes(page, shouted(read_document(path)))
    page.close()
    assert len(before) == len(after) > 40
    changed = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    for one, other in changed:
        assert [each.upper() for each in one] == [each.upper() for each in other]
        assert one[0] == other[0]
        if one[0] != "#text":
            kept = [each for each in one if not each.startswith(READ_BY_PEOPLE)]
            assert kept == [each for each in other if not each.startswith(READ_BY_PEOPLE)]
    assert (["#text", "El gato"], ["#text", "EL GATO"]) in changed
    untouched = [one for one, other in zip(before, after, strict=True) if one == other]
    for text in ("no tocar", "Mirada dos", "x = 1", 'var a = "hola <b>";'):
        assert ["#text", text] in untouched


@pytest.mark.parametrize("program", ["chromium", "soffice", "msgfmt"])
def test_the_makefile_installs_the_programs_that_judge(program: str) -> None:
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    assert f" {program}:" in makefile

"""TMX: units without the target language get a translation that says that a machine made it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from mirada.documents import Options
from mirada.documents.tmx import ORIGIN
from mirada.errors import DataError, UsageError
from tests.documents.shouting import opened, shouted, texts

ES_EN = Options((), "es", "en")
LANG = "{http://www.w3.org/XML/1998/namespace}lang"
TMX = """<?xml version="1.0" encoding="{encoding}"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="es"/><body>
  <tu tuid="1">
    <tuv xml:lang="es-ES"><seg>El gato <bpt i="1">&lt;b></bpt>negro<ept i="1">&lt;/b></ept> &amp; el perro</seg></tuv>
  </tu>
  <tu><tuv xml:lang="es"><seg>hecho</seg></tuv><tuv xml:lang="en-GB"><seg>done</seg></tuv></tu>
  <tu><tuv xml:lang="es"><seg>vacío <hi type="x">uno</hi></seg></tuv><tuv xml:lang="en-GB"><seg></seg></tuv></tu>
  <tu><tuv xml:lang="fr"><seg>rien</seg></tuv></tu>
</body></tmx>
"""


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "ISO-8859-1"])
def test_filling(tmp_path: Path, encoding: str) -> None:
    content = TMX.format(encoding=encoding).encode(encoding)
    document = opened(tmp_path / "a.tmx", content, ES_EN)
    assert texts(document) == ["El gato <g1>negro</g1> & el perro", 'vacío <hi type="x">uno</hi>']
    assert document.segments[0].place == "line 5"
    new = shouted(document)
    before, after = ElementTree.fromstring(content), ElementTree.fromstring(new)
    units = [[(one.get(LANG), "".join(one[-1].itertext())) for one in unit.iter("tuv")] for unit in after.iter("tu")]
    assert units == [
        [("es-ES", "El gato <b>negro</b> & el perro"), ("en-GB", "EL GATO <b>NEGRO</b> & EL PERRO")],
        [("es", "hecho"), ("en-GB", "done")],
        [("es", "vacío uno"), ("en-GB", "VACÍO UNO")],
        [("fr", "rien")],
    ]
    assert [prop.text for prop in after.iter("prop")] == ["MT", "MT"]
    text = new.decode(encoding)
    assert f'\n    <tuv xml:lang="en-GB" creationtool="Mirada" creationtoolversion="0.1.0">{ORIGIN}<seg>EL' in text
    assert len(list(before.iter("seg"))) + 1 == len(list(after.iter("seg")))


def test_faults(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    good = TMX.format(encoding="UTF-8")
    bomb = '<!DOCTYPE tmx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><tmx>&b;</tmx>'
    outside = '<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx>&a;</tmx>'
    for content, said in (
        (bomb, "line 1: the entity 'a' is not one of XML's own"),
        (outside, "line 1: the entity 'a' is not one of XML's own"),
        (good[:300], "line 7, column"),
        ("<a/>", "root element is a, not TMX"),
        ("<tmx>" + "<a>" * 2000, "more than 1000 deep"),
        (good.replace("es", "pt"), "has no text in es"),
        (good.encode("latin-1"), "line 8, column 34: not well-formed"),
    ):
        with pytest.raises(DataError) as caught:
            opened(path, content, ES_EN)
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="the model has no languages"):
        opened(path, good)

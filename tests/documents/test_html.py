"""HTML: blocks with inline tags, attributes that people read, and what stays as it is."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from mirada.errors import DataError
from tests.documents.shouting import opened, same, shouted, texts

PAGE = """<!DOCTYPE html>
<html lang="es"><head><title>Una p&aacute;gina &amp; más</title>
<META name="description" content="Lo que &quot;dice&quot;">
<style>p { color: red }</style><script>var a = "hola <b>";</script></head>
<body><!-- un comentario -->
<h1>Hola   <b>mundo</b></h1>
<p>El gato <a href="http://x.y/?a=1&amp;b=2" title='el "tren"'>ve el
   <i>tren</i></a> y <code>x = 1</code> a &lt; b.<br>Otra l&iacute;nea&nbsp;aquí <img src=a.png alt="un gato"> fin</p>
<ul><li>uno<li>dos <span translate="no">Mirada dos</span> tres</ul>
<pre>no  tocar</pre><textarea placeholder="escribe">no</textarea>
<input type=submit value="Enviar"><input value="no"><p>123 https://x.y</p>
<p><b>Todo</b></p><p>sin cerrar <i>nunca
</body></html>
"""


class Events(HTMLParser):
    """What a page consists of."""

    def __init__(self, page: str):
        super().__init__()
        self.found: list[Any] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, {name: value.upper() if value else value for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        self.found.append(tag)

    def handle_comment(self, data: str) -> None:
        self.found.append(data)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_blocks_attributes_and_what_is_kept(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.html", PAGE)
    assert texts(document) == [
        "Una página & más",
        'Lo que "dice"',
        "Hola <b>mundo</b>",
        """El gato <a href="http://x.y/?a=1&amp;b=2" title='el "tren"'>ve el <i>tren</i></a> y <x1/> a < b.""",
        'el "tren"',
        'Otra línea\xa0aquí <img src=a.png alt="un gato"> fin',
        "un gato",
        "uno",
        "dos <x1/> tres",
        "escribe",
        "Enviar",
        "Todo",
        "sin cerrar <i>nunca",
    ]
    assert [segment.place for segment in document.segments][:3] == ["line 2", "line 3", "line 6"]
    assert same(document) == PAGE.encode()


def test_only_text_changes(tmp_path: Path) -> None:
    new = shouted(opened(tmp_path / "a.html", PAGE)).decode()
    before, after = Events(PAGE), Events(new)
    assert after.found == before.found
    assert " ".join(after.text.split()).upper() == " ".join(before.text.split()).upper()
    assert """<a href="http://x.y/?a=1&amp;b=2" title='EL "TREN"'>VE EL <i>TREN</i></a> Y <code>x = 1</code>""" in new
    assert " A &lt; B.<br>" in new
    assert "OTRA LÍNEA&nbsp;AQUÍ" in new
    assert 'content="LO QUE &quot;DICE&quot;"' in new
    for kept in (
        'var a = "hola <b>";',
        "p { color: red }",
        "<!-- un comentario -->",
        ">Mirada dos<",
        "<pre>no  tocar</pre>",
    ):
        assert kept in new


def test_an_encoding_is_kept(tmp_path: Path) -> None:
    page = '<meta charset="iso-8859-1"><p>mañana</p>'
    document = opened(tmp_path / "a.html", page.encode("latin-1"))
    assert document.write(["el euro € mañana"]).decode("latin-1") == page.replace("mañana", "el euro \x80 mañana")
    assert document.write(["una nota ♪"]).decode("latin-1") == page.replace("mañana", "una nota &#9834;")
    assert same(opened(tmp_path / "b.html", "\ufeff<p>hola\r\nmundo</p>\r\n".encode("utf-16-le"))).startswith(
        b"\xff\xfe"
    )


def test_a_long_tag_is_shown_short(tmp_path: Path) -> None:
    page = f'<p>un <a href="http://x.y/{"z" * 200}">enlace</a> y <a href="/">otro</a> más</p>'
    document = opened(tmp_path / "a.html", page)
    assert texts(document) == ['un <a1>enlace</a1> y <a href="/">otro</a> más']
    assert shouted(document).decode() == page.replace("un ", "UN ").replace("enlace", "ENLACE").replace(
        " y ", " Y "
    ).replace("otro", "OTRO").replace("más", "MÁS")


def test_an_empty_element_is_not_lost(tmp_path: Path) -> None:
    assert texts(opened(tmp_path / "a.html", '<p>el <i class="icon"></i> gato <a id="x"></a>ve')) == [
        "el <x1/> gato <x2/>ve"
    ]


@pytest.mark.parametrize(
    "page", ["", "<p>uno <b>dos", "<p>a<a href='", "</b></p>hola", "<script>hola", "<!-- x", "<p>a<!", "a&b&c;"]
)
def test_pages_that_are_not_well_formed_stay(tmp_path: Path, page: str) -> None:
    assert same(opened(tmp_path / "a.html", page)) == page.encode()


def test_a_page_in_another_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a.html, line 2: not UTF-8: byte 0xf1"):
        opened(tmp_path / "a.html", "<p>\nma\xf1ana".encode("latin-1"))
    with pytest.raises(DataError, match="encoding is 'x-none'"):
        opened(tmp_path / "a.html", '<meta charset="x-none">a')

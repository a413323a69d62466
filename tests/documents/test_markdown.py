"""Markdown: blocks with inline markup as tags; code, targets, definitions and front matter stay."""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from mirada.documents import read_document
from mirada.errors import UsageError
from tests.documents.shouting import opened, same, shouted, texts

PAGE = r"""---
title: no tocar
---
# Título *uno* ##

Hola **mundo** y [aquí **fuerte**](http://x.y "un título") `code`  
otra \* línea &amp; ![una *foto*](i.png) con snake_case y 2 * 3.
Nota[^1] y <kbd>Ctrl</kbd> y <b>negrita</b> y <https://a.b> y [ref] y [otra][ref] fin.

> cita uno
> sigue ***todo*** y ~~tachado~~ aquí

- item **a**
  más
- [ ] tarea
1. primero

| A | B \| c |
|---|:--|
| uno | `x` dos |

    código

```python
hola = 1
```

[^1]: Nota al pie con texto.

[ref]: http://z.w "título"

Set
===

<div title="ay">Hola <b>x</b></div>
"""  # noqa: W291


def shape(page: str) -> list[Any]:
    """What a page consists of, apart from its texts."""
    found: list[Any] = []
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page):
        found.append((token.type, token.content if token.type in ("fence", "code_block") else ""))
        inner = [child for child in token.children or () if child.type not in ("text", "softbreak")]
        found += [(child.type, child.attrGet("href"), child.attrGet("src")) for child in inner]
        found += [child.content for child in inner if child.type in ("code_inline", "html_inline")]
    return found


def test_blocks(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.md", PAGE)
    assert texts(document) == [
        "Título <g1>uno</g1>",
        "Hola <g1>mundo</g1> y <a2>aquí <g3>fuerte</g3></a2>",
        "un título",
        "otra * línea & <x1/> con snake_case y 2 * 3. Nota<x2/> y <x3/> y <b>negrita</b> y <x4/> y <a5>ref</a5> y "
        "<a6>otra</a6> fin.",
        "una *foto*",
        "cita uno sigue <g1><g2>todo</g2></g1> y <g3>tachado</g3> aquí",
        "item <g1>a</g1> más",
        "tarea",
        "primero",
        "A",
        "B | c",
        "uno",
        "dos",
        "Nota al pie con texto.",
        "Set",
        "ay",
        "Hola <b>x</b>",
    ]
    assert document.segments[3].place == "line 7"
    assert same(document) == PAGE.encode()


def test_only_text_changes(tmp_path: Path) -> None:
    new = shouted(opened(tmp_path / "a.md", PAGE)).decode()
    assert shape(new) == shape(PAGE)
    assert 'Y [AQUÍ **FUERTE**](http://x.y "UN TÍTULO") `code`  \nOTRA * LÍNEA & ![UNA' in new
    assert " Y [REF][ref] Y [OTRA][ref] FIN." in new
    assert "> CITA UNO SIGUE ***TODO*** Y ~~TACHADO~~ AQUÍ\n" in new
    assert "| A | B \\| C |\n|---|:--|\n| UNO | `x` DOS |" in new
    assert new.startswith("---\ntitle: no tocar\n---\n# TÍTULO *UNO* ##\n")
    assert '[ref]: http://z.w "título"' in new


@pytest.mark.parametrize(
    ("translation", "written"),
    [
        ("1. one", "1\\. one"),
        ("- one", "\\- one"),
        ("* one", "\\* one"),
        ("    # one", "\\# one"),
        ("> one", "\\> one"),
        ("---", "\\---"),
        ("a *b* c_d _e_ [f] `g`", "a \\*b\\* c_d \\_e\\_ \\[f\\] \\`g\\`"),
        ("2 * 3 &lt;b> &amp;amp; & <", "2 * 3 \\<b> &amp;amp; & <"),
        ("two\nlines", "two lines"),
    ],
)
def test_a_translation_makes_no_markup(tmp_path: Path, translation: str, written: str) -> None:
    new = opened(tmp_path / "a.md", "uno\n\ndos\n").write([translation, None]).decode()
    assert new == f"{written}\n\ndos\n"
    assert [token.type for token in MarkdownIt().parse(new)] == ["paragraph_open", "inline", "paragraph_close"] * 2


@pytest.mark.parametrize(
    "page",
    [
        "a\r\n\r\n- b\r\n  c\r\n",
        "a\rb",
        "-\ta\n\n\t\tb\n",
        "* * *\n",
        "",
        "a **b",
        "|a|\n|-|\n|b|c|",
        "[a](",
        "\t- a\n",
    ],
)
def test_odd_pages_stay(tmp_path: Path, page: str) -> None:
    assert same(opened(tmp_path / "a.md", page)) == page.encode()


def test_hard_breaks_divide_segments(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.md", "uno **dos  \ntres** cuatro\\\ncinco\n")
    assert texts(document) == ["uno <x1/>dos", "tres<x1/> cuatro", "cinco"]
    assert shouted(document) == b"UNO **DOS  \nTRES** CUATRO\\\nCINCO\n"


EXTENDED = r"""# Título {#ancla .clase}

Una nota[^a], otra[^b] y otra[^c].

[^a]: La primera nota
sigue.
[^b]: La segunda.
[^c]: https://a.b/c

> [!WARNING]
> No abras la puerta.

::: tip
Esto es un aviso.
:::

!!! note "ojo"
    Esto también.

!!! Mira esto ahora !!!

Término
: Su definición.

El área es $\pi r^2$, cuesta $5 o $10 y dice `$` y `$` :smile: hoy.

$$
\int_a^b f * g * h
$$

{% include cabeza.html título="ay" %}
"""


def test_markdown_of_github_pandoc_and_site_generators(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.md", EXTENDED)
    assert texts(document) == [
        "Título",
        "Una nota<x1/>, otra<x2/> y otra<x3/>.",
        "La primera nota sigue.",
        "La segunda.",
        "No abras la puerta.",
        "Esto es un aviso.",
        "Esto también.",
        "!!! Mira esto ahora !!!",
        "Término",
        "Su definición.",
        "El área es <x1/>, cuesta $5 o $10 y dice <x2/> y <x3/> <x4/> hoy.",
    ]
    expected = EXTENDED.replace("nota\nsigue", "nota sigue")
    for text in texts(document):
        for words in re.split(r"<x\d/>", text):
            expected = expected.replace(words, words.upper())
    assert shouted(document).decode() == expected


def test_a_line_after_a_hard_break_begins_no_list(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.md", "uno  \ndos\n")
    assert document.write(["one", "- two"]) == b"one  \n\\- two\n"


def test_html_inside_of_a_line(tmp_path: Path) -> None:
    page = 'el <a id="x"></a>gato <span translate="no">el tren</span> <b>ve</b> fin\n'
    assert texts(opened(tmp_path / "a.md", page)) == ["el <x1/>gato <x2/> <b>ve</b> fin"]


def test_the_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("hola")
    whole = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name == "markdown_it":
            raise ImportError
        return whole(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UsageError, match=r"pip install 'mirada\[documents\]'"):
        read_document(tmp_path / "a.md")

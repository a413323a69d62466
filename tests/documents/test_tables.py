"""CSV, TSV and JSONL: chosen columns or fields, in place or into another one."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from mirada.documents import Options
from mirada.errors import DataError, MiradaError, UsageError
from tests.documents.shouting import opened, same, shouted, texts

CSV = 'id;texto;nota\r\n1;"Hola ""mundo""; sí";a1\r\n2;Adiós;\r\n3;;c3\r\n4;"dos\nlíneas";\r\n'


def columns(*names: str) -> Options:
    return Options(names)


def rows(content: bytes, delimiter: str = ";") -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter))


def test_a_column_in_place(tmp_path: Path) -> None:
    for name in ("texto", "2", "TEXTO"):
        document = opened(tmp_path / "a.csv", CSV, columns(name))
        assert texts(document) == ['Hola "mundo"; sí', "Adiós", "dos\nlíneas"]
        assert [segment.place for segment in document.segments] == ["line 2", "line 3", "line 5"]
        assert same(document) == CSV.encode()
    new = rows(document.write(['a "b"', "c;d", "e"]))
    assert new == [["id", "texto", "nota"], ["1", 'a "b"', "a1"], ["2", "c;d", ""], ["3", "", "c3"], ["4", "e", ""]]


def test_into_another_column(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.csv", CSV, columns("texto", "nota"))  # has it: only what is empty is filled
    assert texts(document) == ["Adiós", "dos\nlíneas"]
    assert [row[1:] for row in rows(shouted(document))[1:]] == [
        ['Hola "mundo"; sí', "a1"],
        ["Adiós", "ADIÓS"],
        ["", "c3"],
        ["dos\nlíneas", "DOS\nLÍNEAS"],
    ]
    (tmp_path / "a.csv").write_bytes(CSV.encode())


def test_into_a_new_column(tmp_path: Path) -> None:
    from mirada.documents import read_document

    (tmp_path / "a.csv").write_bytes(CSV.encode())
    document = read_document(tmp_path / "a.csv", columns("texto", "en"))
    new = rows(document.write(["A", None, "C"]))
    assert [row[3] for row in new] == ["en", "A", "", "", "C"]
    assert [row[:3] for row in new] == rows(CSV.encode())
    document = read_document(tmp_path / "a.csv", columns("texto=en", "nota=nota"))
    assert [row[1:] for row in rows(shouted(document))][1] == ['Hola "mundo"; sí', "A1", 'HOLA "MUNDO"; SÍ']


def test_a_quote_that_is_not_closed_is_refused_with_a_way_out_of_a_translation(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a.csv, line 2: .*never closed.*save it as TSV") as caught:
        opened(tmp_path / "a.csv", 'a,b\n"hola,x\n', Options(("a",)))
    assert "--set" not in str(caught.value)


def test_tsv_has_no_quotes(tmp_path: Path) -> None:
    content = 'es\ten\n"hola\tuno\nel "tren"\tdos\n'
    document = opened(tmp_path / "a.tsv", content, columns("es"))
    assert texts(document) == ['"hola', 'el "tren"']
    assert document.write(["a\tb\nc", '"']).decode() == 'es\ten\na b c\tuno\n"\tdos\n'


@pytest.mark.parametrize(
    ("name", "content", "chosen", "said"),
    [
        ("a.csv", CSV, (), "which columns should be translated? It has 1 'id', 2 'texto', 3 'nota'"),
        ("a.csv", CSV, ("text",), "has no column 'text' (is 'texto' meant?)"),
        ("a.csv", CSV, ("texto", "7"), "has no column 7"),
        ("a.csv", CSV, ("id", "texto", "nota"), "id=id,texto=texto,nota=nota"),
        ("a.csv", 'a;b\n1;"hola\n', ("b",), "line 2: the quote that opens the cell"),
        ("a.csv", "a;b\n1;2;3\n", ("a", "x"), "line 2: has 3 cells, and the first row 2"),
        ("a.jsonl", '{"t": "a"}\n', (), "which fields should be translated? It has 't'"),
        ("a.jsonl", '{"text": "a"}\n', ("texto",), "has no field 'texto' (is 'text' meant?)"),
        ("a.jsonl", '{"t": "a"}\n{"t": \n', ("t",), "line 2, column 6: not JSON"),
        ("a.jsonl", '["a"]\n', ("t",), "line 1: not an object"),
        ("a.jsonl", '{"t": "\\ud800"}\n', ("t",), "line 1: cannot be read (half of a surrogate pair)"),
        ("a.jsonl", '{"t": ' + "[" * 100_000 + "]" * 100_000 + "}", ("t",), "line 1: values are nested too deeply"),
        ("a.jsonl", '{"t": "a"}\n', ("t", "d.en"), "line 1: has no field 'd.en'"),
        ("a.html", "<p>a", ("t",), "--columns t: applies to tables"),
    ],
)
def test_faults(tmp_path: Path, name: str, content: str, chosen: tuple[str, ...], said: str) -> None:
    with pytest.raises(MiradaError) as caught:
        opened(tmp_path / name, content, columns(*chosen))
    assert isinstance(caught.value, DataError | UsageError)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


JSONL = '{"id": 1, "t": "Hola \\u00f1", "d": {"x": ["uno", "dos", 3], "en": null}}\n\n {"t" : "Adiós", "en": ""} \n'


def test_fields_in_place(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.jsonl", JSONL, columns("t"))
    assert texts(document) == ["Hola ñ", "Adiós"]
    assert same(document) == JSONL.encode()
    assert shouted(document).decode() == JSONL.replace("Hola \\u00f1", "HOLA \\u00d1").replace("Adiós", "ADIÓS")
    inner = opened(tmp_path / "a.jsonl", JSONL, columns("d.x"))
    assert shouted(inner).decode() == JSONL.replace("uno", "UNO").replace("dos", "DOS")


def test_into_another_field(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.jsonl", JSONL, columns("t", "en"))
    first, _, third = shouted(document).decode().split("\n")[:3]
    assert json.loads(first) == {**json.loads(JSONL.split("\n")[0]), "en": "HOLA Ñ"}
    assert json.loads(third) == {"t": "Adiós", "en": "ADIÓS"}

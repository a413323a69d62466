"""Tables that say which column of a row a model made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mirada.data.readers import Wanted, open_pairs
from mirada.errors import DataError

ROWS = "es\ten\tmirada:synthetic\nhola\thello\tes\nadiós\tgoodbye\t\nsí\tyes\ten\n"


def read(path: Path, content: str = ROWS, **wanted: Any) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    path.write_text(content, encoding="utf-8")
    return [(record.fields, record.marks) for record in open_pairs(str(path), Wanted(**wanted))]


@pytest.mark.parametrize(
    "wanted", [{}, {"header": False}, {"columns": ("Spanish", "English")}, {"columns": ("1", "2")}]
)
def test_the_made_side_is_marked(tmp_path: Path, wanted: dict[str, Any]) -> None:
    assert read(tmp_path / "more.tsv", **wanted) == [
        (("hola", "hello"), ("synthetic",)),
        (("adiós", "goodbye"), ()),
        (("sí", "yes"), ("synthetic_target",)),
    ]


def test_the_languages_decide_which_side_is_the_source(tmp_path: Path) -> None:
    found = read(tmp_path / "more.tsv", source_language="en", target_language="es")
    assert found[0] == (("hello", "hola"), ("synthetic_target",))
    assert found == read(tmp_path / "more.tsv", columns=("en", "es"))


def test_languages_that_nobody_knows_by_name_are_in_their_order(tmp_path: Path) -> None:
    assert read(
        tmp_path / "more.tsv",
        ROWS.replace("es\ten", "nah\tqaa").replace("\tes\n", "\tnah\n").replace("\ten\n", "\tqaa\n"),
    )[0] == (("hola", "hello"), ("synthetic",))


def test_csv_has_the_column_too(tmp_path: Path) -> None:
    assert read(tmp_path / "more.csv", "source,target,mirada:synthetic\nhola,hello,source\n") == [
        (("hola", "hello"), ("synthetic",))
    ]


def test_json_lines_have_the_key_too(tmp_path: Path) -> None:
    rows = ['{"es": "hola", "en": "hello", "mirada:synthetic": "es"}', '{"es": "sí", "en": "yes"}']
    languages = {"source_language": "es", "target_language": "en"}
    assert read(tmp_path / "more.jsonl", "\n".join(rows), **languages) == [
        (("hola", "hello"), ("synthetic",)),
        (("sí", "yes"), ()),
    ]
    with pytest.raises(DataError, match=r"line 1: '3' in the column mirada:synthetic"):
        read(tmp_path / "more.jsonl", rows[0].replace('"es"}', "123}"), **languages)


def test_without_the_header_nothing_is_marked(tmp_path: Path) -> None:
    rows = [f"mirada:synthetic {word}\tmirada:synthetic\tes" for word in ("uno", "dos", "tres")]
    assert all(not marks for _, marks in read(tmp_path / "pairs.tsv", "\n".join(rows) + "\n"))


def test_another_column_there_is_an_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"more\.tsv, line 3: 'fr' in the column mirada:synthetic.*es or en"):
        read(tmp_path / "more.tsv", ROWS.replace("goodbye\t\n", "goodbye\tfr\n"))

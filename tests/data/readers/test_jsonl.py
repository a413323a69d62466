"""JSON lines: objects, nested objects and arrays, values that are no texts, and files that are not JSON lines."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.data.readers import Wanted, open_pairs
from mirada.data.readers.jsonl import JsonLines
from mirada.data.records import Record
from mirada.errors import UsageError
from tests.data.readers import PACKERS, any_text, check_memory, fault, packed, texts, write

ANY = Wanted()
ES_EN = Wanted(source_language="es", target_language="en")


def read(tmp_path: Path, content: str, wanted: Wanted = ANY) -> list[Record]:
    return list(JsonLines(write(tmp_path / "data.jsonl", content), wanted))


def json_fault(tmp_path: Path, content: str, wanted: Wanted = ES_EN) -> str:
    path = write(tmp_path / "data.jsonl", content)
    message = fault(lambda: JsonLines(path, wanted))
    assert str(path) in message
    return message


# --- which keys ---


@pytest.mark.parametrize(
    ("line", "wanted", "about"),
    [
        ('{"id": 7, "en": "Hello", "es": "Hola"}', ES_EN, "keys 'es' and 'en'"),
        ('{"en-US": "Hello", "es_AR": "Hola"}', ES_EN, "keys 'es_AR' and 'en-US'"),
        ('{"English": "Hello", "español": "Hola"}', ES_EN, "keys 'español' and 'English'"),
        ('{"translation": {"en": "Hello", "es": "Hola"}}', ES_EN, "keys 'translation.es' and 'translation.en'"),
        ('{"target": "Hello", "source": "Hola"}', Wanted(), "keys 'source' and 'target'"),
        ('{"target": "Hello", "source": "Hola"}', ES_EN, "keys 'source' and 'target'"),
        ('{"src": "Hola", "tgt": "Hello"}', Wanted(), "keys 'src' and 'tgt'"),
        ('{"a": {"b.c": "Hola"}, "e": "Hello"}', Wanted(columns=("a.b.c", "e")), "keys 'a.b.c' and 'e'"),
        ('{"a": {"b": {"c": "Hola"}}, "e.f": "Hello"}', Wanted(columns=("a.b.c", "e.f")), "keys 'a.b.c' and 'e.f'"),
        ('["Hola", "Hello"]', Wanted(), "arrays of source and target"),
        ('[7, "Hello", "Hola"]', Wanted(columns=("3", "2")), "places 3 and 2 of arrays"),
    ],
)
def test_source_and_target_are_found(tmp_path: Path, line: str, wanted: Wanted, about: str) -> None:
    path = write(tmp_path / "data.ndjson", f"\n{line}\n")
    reader = open_pairs(str(path), wanted)
    assert list(reader) == [Record(("", ""), str(path), 1), Record(("Hola", "Hello"), str(path), 2)]
    assert list(reader) == list(reader)
    assert reader.about == f"JSON lines, {about}"


def test_keys_may_come_late_but_not_too_late(tmp_path: Path) -> None:
    late = '{"es": "a"}\n' * 99 + '{"es": "b", "en": "c"}\n'
    assert texts(read(tmp_path, late, ES_EN))[-1] == ("b", "c")
    assert texts(read(tmp_path, late, Wanted(columns=("es", "en"))))[98:] == [("a", ""), ("b", "c")]
    assert "no key 'en'" in json_fault(tmp_path, '{"es": "a"}\n' + late, Wanted(columns=("es", "en")))


def test_keys_that_are_not_there_are_named(tmp_path: Path) -> None:
    content = '{"id": 1, "text": {"es": "a", "English": "b"}, "x\\u001b": 1}\n'
    message = json_fault(tmp_path, content, Wanted(columns=("text.es", "text.english")))
    assert "no key 'text.english' (is 'text.English' meant?)" in message
    assert "it has 'id', 'text.es', 'text.English', 'x\\x1b'" in message
    path = write(tmp_path / "data.jsonl", content)
    message = fault(lambda: JsonLines(path, ES_EN), UsageError)
    assert "it has 'id', 'text.es'" in message
    assert "--columns" in message
    assert "--from es --to en" in message
    assert "--columns es:" in fault(lambda: JsonLines(path, Wanted(columns=("es",))), UsageError)


def test_arrays_have_numbers_not_keys(tmp_path: Path) -> None:
    for column in ("es", "0", "9" * 5000):
        assert "choose by number" in json_fault(tmp_path, '["a", "b"]\n', Wanted(columns=("1", column)))
    assert texts(read(tmp_path, '["a", "b"]\n', Wanted(columns=("2", "3")))) == [("b", "")]


# --- values ---


@pytest.mark.parametrize(
    ("line", "source", "targets", "problem"),
    [
        ('{"es": "a", "en": "b"}', "a", ("b",), ""),
        ('  {"es": " a\\n", "en": "\\u00f1\\ud83d\\ude00"} \r', " a\n", ("ñ😀",), ""),
        ('{"es": "a", "en": ["b", "c", "", "d", ""]}', "a", ("b", "c", "", "d"), ""),
        ('{"es": "a", "en": []}', "a", ("",), ""),
        ('{"es": "a", "en": [null, "b"]}', "a", ("", "b"), ""),
        ('{"es": null, "en": "b"}', "", ("b",), ""),
        ('{"es": "a"}', "a", ("",), ""),
        ("{}", "", ("",), ""),
        ('{"es": 7, "en": "b"}', "", ("b",), "not_text"),
        ('{"es": "a", "en": -1.5e3}', "a", ("",), "not_text"),
        ('{"es": "a", "en": NaN}', "a", ("",), "not_text"),
        ('{"es": "a", "en": false}', "a", ("",), "not_text"),
        ('{"es": "a", "en": 0}', "a", ("",), "not_text"),
        ('{"es": "a", "en": {}}', "a", ("",), "not_text"),
        ('{"es": ["a"], "en": "b"}', "", ("b",), "not_text"),
        ('{"es": "a", "en": ["b", ["c"]]}', "a", ("b",), "not_text"),
        (f'{{"es": "a", "en": {"1" * 5000}}}', "a", ("",), "not_text"),
        (f'{{"es": "a", "id": {"1" * 5000}, "en": "b"}}', "a", ("b",), ""),
        ('{"es": "a\\ud800", "en": "b"}', "a?", ("b",), "invalid_unicode"),
        ('{"es": "a", "en": ["b", "\\udc00\\ud800"]}', "a", ("b", "??"), "invalid_unicode"),
        ('{"es": "a", "x\\ud800": "\\ud800", "en": "b"}', "a", ("b",), ""),
        ('{"es": "a", "en": "b", "es": "c"}', "c", ("b",), "repeated_key"),
        ('{"es": "a", "en": "b", "x": 1, "x": 1}', "a", ("b",), ""),
        ('["a", "b"]', "", ("",), "not_object"),
        ('""', "", ("",), "not_object"),
        ("null", "", ("",), "not_object"),
    ],
)
def test_every_line_gives_a_pair(
    tmp_path: Path, line: str, source: str, targets: tuple[str, ...], problem: str
) -> None:
    path = str(tmp_path / "data.jsonl")
    pairs = read(tmp_path, '{"es": "x", "en": "y"}\n' + line + "\n \n", ES_EN)
    assert pairs[1:] == [Record((source, *targets), path, 2, problem), Record(("", ""), path, 3)]


def test_a_key_given_twice_counts_inside_of_objects_too(tmp_path: Path) -> None:
    wanted = Wanted(columns=("t.es", "t.en"))
    first = '{"t": {"es": "a", "en": "b"}}\n'
    for second in ('{"t": {"es": "a", "es": "c", "en": "b"}}', '{"t": {"es": "a"}, "t": {"en": "b"}}'):
        assert read(tmp_path, first + second, wanted)[1].problem == "repeated_key"


def test_arrays(tmp_path: Path) -> None:
    content = '["a", "b", "c", ""]\n[]\n["d"]\n["e", ["f", "g"], "h"]\n[1, "i"]\n{"source": "j", "target": "k"}\n'
    pairs = read(tmp_path, content)
    assert texts(pairs) == [("a", "b", "c"), ("", ""), ("d", ""), ("e", "f", "g", "h"), ("", "i"), ("", "")]
    assert [pair.problem for pair in pairs] == ["", "", "", "", "not_text", "not_array"]


def test_blank_files_are_left_to_later_checks(tmp_path: Path) -> None:
    assert texts(read(tmp_path, "")) == []
    assert texts(read(tmp_path, "\n \n")) == [("", "")] * 2


# --- files that are not JSON lines ---


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ('{"es": "a" "en": "b"}', ("line 3, column 12: not JSON", "Expecting ',' delimiter: '\"en\": \"b\"}'")),
        ('{"es": "a', ("line 3, column 8", "Unterminated string")),
        ('{"es": "a", "en": "b"} x', ("line 3, column 24", "Extra data: 'x'")),
        ('{"es": "a\tb"}', ("line 3, column 10", "control character")),
        ('{"es": "a",', ("line 3, column 12", "property name")),
        ("hola", ("line 3, column 1", "'hola'")),
        ("[" * 100_000, ("line 3: ", "too deep")),
        ('{"a":' * 100_000, ("line 3: ", "too deep")),
    ],
)
def test_what_is_not_json_is_located(tmp_path: Path, line: str, parts: tuple[str, ...]) -> None:
    message = json_fault(tmp_path, f'{{"es": "x", "en": "y"}}\n\n{line}\n')
    assert all(part in message for part in parts)
    assert "jq" not in message
    assert "jq" not in json_fault(tmp_path, '{"es" "a", "en": "b"}\n')


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ('[\n{"es": "a", "en": "b"},\n{"es": "c", "en": "d"}\n]\n', "`jq -c '.[]'`"),
        ('\n [{"es": "a", "en": "b"},\n{"es": "c", "en": "d"}]\n', "`jq -c '.[]'`"),
        ('[{"es": "a", "en": "b"}, {"es": "c", "en": "d"}]\n', "`jq -c '.[]'`"),
        ('[["a", "b"], ["c", "d"]]\n', "`jq -c '.[]'`"),
        ('{\n  "es": "a",\n  "en": "b"\n}\n', "`jq -c .`"),
        ('{"data": [\n{"es": "a", "en": "b"}]}\n', "`jq -c '.[][]'`"),
    ],
)
def test_a_document_of_several_lines_has_a_way_out(tmp_path: Path, content: str, hint: str) -> None:
    message = json_fault(tmp_path, content)
    assert hint in message
    assert f"line {1 if content[0] in '[{' else 2}:" in message


@pytest.mark.parametrize("line", ['"hola"', "7", "null", "true", '""'])
def test_other_values_are_refused_as_the_first(tmp_path: Path, line: str) -> None:
    assert "line 2: neither an object nor an array" in json_fault(tmp_path, f"\n{line}\n")


@packed
def test_memory_stays_flat(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    line = json.dumps({"es": "una frase " * 150, "en": ["a sentence " * 150]}) + "\n"
    path = write(tmp_path / "data.jsonl", pack(line.encode() * 3_000))
    check_memory(lambda: JsonLines(path, ES_EN), 3_000)


# --- any text ---

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ROWS = st.lists(st.tuples(TEXT, TEXT, TEXT.filter(bool)), min_size=1, max_size=8)


@any_text
@given(rows=ROWS, shape=st.sampled_from(["flat", "nested", "array"]), ascii_=st.booleans(), pack=st.booleans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]], shape: str, ascii_: bool, pack: bool
) -> None:
    values: list[object] = [list(row) for row in rows]
    if shape != "array":
        values = [{"en": [target, other], "es": source} for source, target, other in rows]
    if shape == "nested":
        values = [{"translation": value} for value in values]
    content = "".join(json.dumps(value, ensure_ascii=ascii_) + "\n" for value in values).encode()
    path = write(tmp_path_factory.getbasetemp() / "any.jsonl", PACKERS[pack](content))
    assert [(*text, "") if len(text) < 3 else text for text in texts(JsonLines(path, ES_EN))] == rows

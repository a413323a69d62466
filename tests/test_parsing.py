"""JSON and YAML that somebody altered: refused with the field, within bounds, or taken as plain values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from mirada.config import override, read
from mirada.errors import BundleError, ConfigError
from mirada.parsing import MAX_DEPTH, Malformed, load_json_lines, parse_json, parse_yaml, read_json
from tests.command import refused
from tests.tampering import BOMB


class Cake(BaseModel):
    layers: int = Field(ge=1)
    toppings: list[str] = []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), f"more than {MAX_DEPTH} deep"),
        ('{"a": 1, "a": 2}', "the key a twice"),
        ("9" * 5000, "not JSON"),
        (str(2**70), "71 bits"),
        (r'"\ud800"', "unpaired surrogate"),
        ("\0", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
    ],
)
def test_json_that_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        parse_json(text)


def test_json_in_a_shape_names_file_and_field(tmp_path: Path) -> None:
    path = tmp_path / "cake.json"
    path.write_text('{"layers": 2, "toppings": ["figs"]}')
    assert read_json(path, Cake, BundleError) == Cake(layers=2, toppings=["figs"])
    for content, field in (
        ("null", "it"),
        ('{"layers": 0}', "layers"),
        ('{"layers": 1, "toppings": [1]}', "toppings.0"),
    ):
        path.write_text(content)
        with pytest.raises(BundleError, match=rf"cake\.json: is damaged \({field}: "):
            read_json(path, Cake, BundleError)


def test_json_lines_name_the_line() -> None:
    assert load_json_lines('"a"\n"b"\n', str, "dev.jsonl", BundleError) == ["a", "b"]
    with pytest.raises(BundleError, match=r"dev\.jsonl line 2: is damaged"):
        load_json_lines('"a"\n1\n', str, "dev.jsonl", BundleError)
    with pytest.raises(BundleError, match="last line is cut"):
        load_json_lines('"a"\n"b', str, "dev.jsonl", BundleError)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BOMB, r"line 2: has an alias \(\*a\)"),
        ("a: &a\n  b: *a\n", "line 2: has an alias"),
        ("a: " + "[" * 9000, f"line 1: is nested more than {MAX_DEPTH} deep"),
        ("- " * 30_000, "nested more than"),
        (f"a: {'9' * 6000}", "is not valid YAML"),
        (f"a: {2**70}", "a number of 71 bits"),
        ("a: 1\nb: 2\na: 3\n", "line 1: has a duplicate key"),
        ('"a\\0b": 2\n', "should be a name"),
        ('train:\n  base: "a\\0b"\n', "has a NUL character"),
        ("1: 2\n", "1 should be a name"),
        ("a: !!binary eA==\n", "line 1: has a tag"),
        ("a: !!timestamp x\n", "line 1: has a tag"),
        ("a: 0b_\n", "is not valid YAML"),
        ("=: =\n", "is not valid YAML"),
        ('a: "\\ud800"\n', "is not valid YAML"),
    ],
)
def test_yaml_that_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"c\.yaml: .*{reason}"):
        read(tmp_path / "c.yaml")
    message = refused("train", "x.tsv", "--out", tmp_path / "out", "--config", tmp_path / "c.yaml", code=2)
    assert len(message) < 600


def test_a_date_is_the_text_it_is_written_as() -> None:
    assert parse_yaml("a: 2024-13-45\nb: 2024-01-02\n") == {"a": "2024-13-45", "b": "2024-01-02"}


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 9000, "*x", "&a [*a]", "!!binary eA==", "2024-13-45", "\0"])
def test_an_override_that_is_no_plain_value_is_text(value: str) -> None:
    assert override(f"data.columns={value}") == {"data": {"columns": value}}


def _directory(path: Path) -> None:
    path.mkdir()


def _zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)


@pytest.mark.parametrize("make", [_directory, os.mkfifo, _zeros, _loop, _sparse])
def test_what_is_no_small_regular_file_is_refused_unread(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "c.yaml"
    make(path)
    with pytest.raises(ConfigError, match=r"c\.yaml: (cannot be read|is larger than)"):
        read(path)

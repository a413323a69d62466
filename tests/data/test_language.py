"""Codes of languages: known ones and well-formed ones are taken, names and inventions are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirada.data.language import code_fault, primary
from tests import toy
from tests.command import refused


@pytest.mark.parametrize("tag", ["es", "pt-BR", "zh_TW", "zh-Hans-CN", "es-419", "sr@latin", "EN", "nah", "spa", "qaa"])
def test_well_formed_codes_are_taken(tag: str) -> None:
    assert code_fault(tag) == ""


@pytest.mark.parametrize(
    ("tag", "hint"),
    [
        ("english", "did you mean en?"),
        ("Español", "did you mean es?"),
        ("zz", "ISO 639-3"),
        ("swahili", "ISO 639-3"),
        ("e", "ISO 639-3"),
        ("", "ISO 639-3"),
        ("es en", "did you mean es?"),
        ("es\n", "did you mean es?"),
    ],
)
def test_other_words_are_refused_with_a_way_out(tag: str, hint: str) -> None:
    assert hint in code_fault(tag)
    assert code_fault(tag).isprintable()


def test_the_language_of_a_tag() -> None:
    assert [primary(tag) for tag in ("pt_BR", "por", "EN-us", "sr@latin", "nah")] == ["pt", "pt", "en", "sr", "nah"]


@pytest.mark.parametrize("verb", ["check", "train", "compare"])
def test_the_command_line_refuses_what_is_no_code(tmp_path: Path, verb: str) -> None:
    path = toy.write(tmp_path / "pairs.tsv", toy.pairs(30))
    out = () if verb == "check" else ("--out", tmp_path / "out")
    said = refused(verb, path, "--from", "english", "--to", "es", *out, code=2)
    assert "data.source_language: 'english' is not a language code; did you mean en?" in said
    assert "data.target_language: 'zz' is not" in refused(verb, path, "--from", "en", "--to", "zz", *out, code=2)
    assert not (tmp_path / "out").exists()

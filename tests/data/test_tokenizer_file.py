"""Tokenizers that somebody altered are refused before the library gets them: it would abort, or never end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mirada.data.tokenizer import Tokenizer
from mirada.errors import BundleError
from tests.tampering import PARTS

TEXTS = ["el gato ve el tren", "el perro rojo sigue 25 barcos"] * 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_text(Tokenizer.learn(TEXTS, 300).to_json(), encoding="utf-8")
    return tmp_path / "tokenizer.json"


def change(path: Path, part: str, value: Any) -> None:
    parts = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**parts, part: value}), encoding="utf-8")


CASES = [(part, value) for part in ("padding", "truncation", "post_processor") for value in PARTS[part]]
CASES += [("normalizer", value) for value in PARTS["normalizer"] if value["type"] not in ("NFKD", "Precompiled")]
CASES += [("pre_tokenizer", value) for value in PARTS["pre_tokenizer"][:2]]
CASES += [("decoder", value) for value in PARTS["decoder"][:3]]
CASES += [("added_tokens", value) for value in PARTS["added_tokens"][1:]]


@pytest.mark.parametrize(("part", "value"), CASES, ids=lambda value: str(value)[:30])
def test_a_part_that_could_end_the_process_is_refused(path: Path, part: str, value: Any) -> None:
    change(path, part, value)
    with pytest.raises(BundleError, match=r"tokenizer\.json: is not a tokenizer"):
        Tokenizer.load(path)


@pytest.mark.parametrize("id", [-1, 300, 10**6, 2**32 - 1, 2**40, 1.5, "7", None, 8])
def test_units_are_numbered_from_zero_without_gaps(path: Path, id: Any) -> None:
    parts = json.loads(path.read_text(encoding="utf-8"))
    parts["model"]["vocab"]["!"] = id  # 8 is another unit's
    path.write_text(json.dumps(parts), encoding="utf-8")
    with pytest.raises(BundleError, match=r"tokenizer\.json: is not a tokenizer"):
        Tokenizer.load(path)


@pytest.mark.parametrize("unit", ["subwords", "words", "characters", "symbols"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_what_is_learned_is_taken(tmp_path: Path, unit: Any, lowercase: bool) -> None:
    learned = Tokenizer.learn(TEXTS, 300, unit, lowercase, mask=True)
    (tmp_path / "t.json").write_text(learned.to_json(), encoding="utf-8")
    assert Tokenizer.load(tmp_path / "t.json").encode(TEXTS[:2]) == learned.encode(TEXTS[:2])

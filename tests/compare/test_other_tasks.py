"""Taggers and language models compared: nothing is theirs but how they are used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mirada.compare import compare
from tests import toy
from tests.compare.page_parts import Page, check_alone, check_order

TAGS = {"el": "DET", **dict.fromkeys(toy.NOUNS, "NOUN"), **dict.fromkeys(toy.ADJECTIVES, "ADJ")}


def _tagged() -> str:
    sentences = [source.split() for source, _ in toy.pairs(60)]
    return "\n".join("".join(f"{word}\t{TAGS.get(word, 'VERB')}\n" for word in words) for words in sentences)


@pytest.mark.parametrize(
    ("task", "models", "text", "sections", "images"),
    [
        ("tagging", ["memoryless", "jordan"], _tagged(), ["models", "curves", "time", "paths", "samples", "method"], 4),
        (
            "language_model",
            ["elman", "gru"],
            "".join(f"{source}\n" for source, _ in toy.pairs(150)),
            ["models", "curves", "time", "paths", "samples", "method"],
            4,
        ),
    ],
)
def test_a_page_for_every_task(
    task: str, models: list[str], text: str, sections: list[str], images: int, quick: None, tmp_path: Path
) -> None:
    (tmp_path / "data.txt").write_text(text, encoding="utf-8")
    settings = {"model": {"width": 8, "dropout": 0.0}, "train": {"batch_tokens": 400, "validate_every": 100}}
    found = compare(
        tmp_path / "data.txt", out=tmp_path / "out", task=task, models=models, steps=2, settings=settings, threads=1
    )
    assert json.loads(found.json.read_text(encoding="utf-8")) == found.as_dict()
    html = found.html.read_text(encoding="utf-8")
    page = Page(html)
    assert [*page.text] == ["", *sections]
    assert found.verdict in page.text[""]
    assert found.samples
    for result in found.models:
        assert result.inference_speed > 0
        assert [*result.speed_by_length] == [8, 16, 32, 64, 128]
        main_score = result.main_score
        assert f"{main_score.value:,.{main_score.digits}f}" in page.text["models"]
        assert all(result.name in page.text[section] for section in sections)
    check_alone(html)
    check_order(html, images)

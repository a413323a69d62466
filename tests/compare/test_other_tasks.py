"""Comparisons of tasks that need little of their own, or nothing: then all comes from the task itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mirada.compare import Comparison, compare
from tests import toy
from tests.compare.page_parts import Page, check_alone, check_order

TAGS = {"el": "DET", **dict.fromkeys(toy.NOUNS, "NOUN"), **dict.fromkeys(toy.ADJECTIVES, "ADJ")}


def _tagged() -> str:
    sentences = [source.split() for source, _ in toy.pairs(60)]
    return "\n".join("".join(f"{word}\t{TAGS.get(word, 'VERB')}\n" for word in words) for words in sentences)


def _checked(data: Path, task: str, models: list[str] | None, sections: list[str], **model: Any) -> Comparison:
    """A quick comparison whose page has these sections, with every model in each."""
    settings = {"model": model, "train": {"batch_tokens": 400, "validate_every": 100}}
    out = data.parent / "out"
    found = compare(data, out=out, task=task, models=models, steps=2, settings=settings, threads=1)
    assert json.loads(found.json.read_text(encoding="utf-8")) == found.as_dict()
    html = found.html.read_text(encoding="utf-8")
    page = Page(html)
    assert [*page.text] == ["", *sections]
    assert found.verdict in page.text[""]
    for result in found.models:
        assert result.inference_speed > 0
        score = result.all_scores[0]
        assert f"{score.value:,.{score.digits}f}" in page.text["models"]
        assert all(result.name in page.text[section] for section in sections)
    check_alone(html)
    check_order(html, images=3 + bool("time" in sections))
    return found


@pytest.mark.parametrize(
    ("task", "models", "text"),
    [
        ("tagging", ["memoryless", "jordan"], _tagged()),
        ("language_model", ["elman", "gru"], "".join(f"{source}\n" for source, _ in toy.pairs(150))),
    ],
)
def test_a_task_with_a_short_report(task: str, models: list[str], text: str, quick: None, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text(text, encoding="utf-8")
    sections = ["models", "curves", "time", "paths", "samples", "method"]
    found = _checked(tmp_path / "data.txt", task, models, sections, width=8, dropout=0.0)
    assert found.samples
    assert all([*result.speed_by_length] == [8, 16, 32, 64, 128] for result in found.models)


def test_a_task_without_a_report(quick: None, tmp_path: Path) -> None:
    documents = "\n\n".join(" ".join(source for source, _ in toy.pairs(9 * n + 9)[9 * n :]) for n in range(12))
    (tmp_path / "documents.txt").write_text(documents, encoding="utf-8")
    sections = ["models", "curves", "method"]
    found = _checked(tmp_path / "documents.txt", "masked_lm", None, sections, width=16, heads=2, layers=1)
    assert [result.name for result in found.models] == ["bert"]
    assert found.unit == "hidden words"


def test_samples_of_a_task_without_a_report_come_from_validation(quick: None, tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(256, size=(40, 8, 8), dtype=np.uint8)
    for number, image in enumerate(pixels):
        path = tmp_path / "images" / ("cats", "dogs")[number % 2] / f"{number // 2}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    sections = ["models", "curves", "confusion", "samples", "method"]
    found = _checked(tmp_path / "images", "image_classification", ["vit"], sections, width=16, heads=2, layers=1)
    assert {sample.text.split("/")[0] for sample in found.samples} == {"cats", "dogs"}
    assert all(sample.references == [sample.text.split("/")[0]] for sample in found.samples)
    assert str(tmp_path) not in found.html.read_text(encoding="utf-8")

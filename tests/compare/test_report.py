"""The page: whole, offline, escaped, with every section for every model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirada.compare import Comparison, charts, report
from mirada.compare.results import ModelResult
from tests.compare.conftest import HOSTILE, MODELS, Resumed
from tests.compare.page_parts import Page, check_alone, check_order

SECTIONS = ["models", "curves", "length", "time", "paths", "attention", "samples", "method"]


@pytest.fixture(scope="module")
def html(resumed: Resumed) -> str:
    return resumed.comparison.html.read_text(encoding="utf-8")


def test_every_section_has_every_model(html: str, resumed: Resumed) -> None:
    page = Page(html)
    assert [*page.text] == ["", *SECTIONS]
    for section in SECTIONS:
        for name in MODELS:
            assert name in page.text[section], section
    assert resumed.comparison.verdict in page.text[""]
    assert resumed.comparison.caution in page.text[""]
    assert "seq2seq-elman: no attention to show." in page.text["attention"]
    for result in resumed.comparison.models:
        assert f"{result.parameters:,}" in page.text["models"]
        assert f"{result.score():.1f}" in page.text["models"]
        assert f"{result.inference_speed:,.1f}" in page.text["models"]
        assert f"{result.speed_by_length[128]:,.0f}" in page.text["time"]
        for row in result.scores["by_length"]:
            assert f"{row['bleu']:.1f}" in page.text["length"]
        for answer in result.predictions:
            assert charts.printable(answer.text) in page.text["samples"]


def test_the_page_needs_nothing_else(html: str) -> None:
    check_alone(html)


def test_the_page_is_in_order(html: str) -> None:
    check_order(html, images=5 + 2)


def test_hostile_text_is_text(html: str, resumed: Resumed) -> None:
    page = Page(html)
    assert HOSTILE in page.text["samples"]
    assert HOSTILE in page.text["attention"]
    assert "<script" not in html
    comparison = resumed.comparison
    poisoned = replace(
        comparison,
        languages={"source": HOSTILE, "target": HOSTILE},
        preset=HOSTILE,
        software={HOSTILE: HOSTILE},
        summary=f"{HOSTILE}\x00\x1b\ud800",
        models=[_poisoned(result) for result in comparison.models],
    )
    rendered = report.render(poisoned)
    assert "<script" not in rendered
    assert {tag for tag, _ in Page(rendered).tags} == {tag for tag, _ in page.tags}
    rendered.encode("utf-8")


def _poisoned(result: ModelResult) -> ModelResult:
    found = result.details["attention"]
    look = found and replace(found, text=f"{HOSTILE}\ud800", source=[f"{HOSTILE} -->\x00"] * len(found.source))
    return replace(
        result,
        name=f"<b>{result.name}&",
        settings={HOSTILE: HOSTILE},
        predictions=[replace(answer, text=HOSTILE) for answer in result.predictions],
        details={"attention": look},
    )


def test_the_page_speaks_of_the_models_that_are_in_it(resumed: Resumed, classifiers: Resumed) -> None:
    def said(comparison: Comparison, section: str, *places: int) -> str:
        chosen = [comparison.models[place] for place in places]
        return Page(report.render(replace(comparison, models=chosen))).text[section]

    translators = resumed.comparison  # without attention, with it, and a Transformer
    assert "The bottleneck" in said(translators, "length", 0, 1, 2)
    assert "further than for the others" in said(translators, "length", 0, 2)
    assert "others" not in said(translators, "length", 0)
    assert "bottleneck" not in said(translators, "length", 1, 2)
    assert "on top of a recurrent network" in said(translators, "paths", 1, 2)
    assert "on top of a recurrent network" not in said(translators, "paths", 0, 2)
    bag, lstm, transformer = range(3)
    sentences = {
        bag: "A bag of words counts",
        lstm: "A recurrent network has to",
        transformer: "Self-attention reaches",
    }
    for kept in ((bag, lstm), (lstm, transformer), (bag, transformer)):
        text = said(classifiers.comparison, "length", *kept)
        assert [place for place, sentence in sentences.items() if sentence in text] == list(kept)


def test_the_verdict_in_words(resumed: Resumed) -> None:
    def scored(*values: float) -> Comparison:
        results = []
        for result, value in zip(resumed.comparison.models, values, strict=False):
            score = {"name": "BLEU", "value": value, "signature": ""}
            results.append(replace(result, scores={**result.scores, "scores": [score]}))
        return replace(resumed.comparison, models=results)

    elman, additive, transformer = MODELS
    assert scored(1.0, 30.0, 32.5).verdict == (
        f"{transformer} translated best: 32.5 BLEU, 2.5 more than {additive} and 31.5 more than {elman}."
    )
    assert scored(3.0, 2.0).verdict == f"{elman} translated best: 3.0 BLEU, 1.0 more than {additive}."
    assert scored(7.0, 7.04).verdict == f"{additive} and {elman} translated best, both with 7.0 BLEU."


def test_a_page_is_the_same_whenever_it_is_rendered(resumed: Resumed, html: str) -> None:
    assert report.render(resumed.comparison) == html

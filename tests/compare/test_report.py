"""The page: whole, offline, escaped, with every section for every model."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from mirada.compare import Comparison, pictures, report
from mirada.compare.results import Entrant
from tests.compare.conftest import HOSTILE, MODELS, Resumed

SECTIONS = ["models", "length", "time", "paths", "samples", "attention", "method"]
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """A page's tags, attributes, and the text of each section; complains about tags that are not closed."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self.section = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), f"<{tag}> has an attribute twice"
        if tag == "section":
            self.section = dict(attrs)["id"] or ""
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "section":
            self.section = ""

    def handle_data(self, data: str) -> None:
        self.text[self.section] = self.text.get(self.section, "") + data


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
    for entrant in resumed.comparison.entrants:
        assert f"{entrant.parameters:,}" in page.text["models"]
        assert f"{entrant.score():.1f}" in page.text["models"]
        assert f"{entrant.sentences_per_second:,.1f}" in page.text["models"]
        assert f"{entrant.speed_by_length[128]:,.0f}" in page.text["time"]
        for row in entrant.scores["by_length"]:
            assert f"{row['bleu']:.1f}" in page.text["length"]
        for translation in entrant.translations:
            assert pictures.printable(translation) in page.text["samples"]


def test_the_page_needs_nothing_else(html: str) -> None:
    page = Page(html)
    assert re.search(r"https?:|@import|url\((?!#)", html) is None
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base", "form")
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            assert (attributes.get(name) or "#").startswith(("#", "data:image/png;base64,"))
    assert ("meta", {"charset": "utf-8"}) in page.tags
    assert "prefers-color-scheme: dark" in html


def test_the_page_is_in_order(html: str) -> None:
    page = Page(html)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [href[1:] for _, attributes in page.tags if (href := attributes.get("href") or "").startswith("#")]
    assert set(targets) <= set(ids)
    names = [tag for tag, _ in page.tags]
    assert names.count("table") == names.count("caption") > 8
    assert names.count("svg") == names.count("figure") == 3 + 2
    assert all(attributes.get("aria-label") for tag, attributes in page.tags if tag == "svg")
    used = set(re.findall(r"var\((--\w+)\)", html))
    assert used <= set(re.findall(r"(--\w+):", html))
    assert not any(stand_in in html for stand_in in pictures._STAND_INS)


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
        attended=f"{HOSTILE}\x00\x1b\ud800",
        entrants=[_poisoned(entrant) for entrant in comparison.entrants],
    )
    rendered = report.render(poisoned)
    assert "<script" not in rendered
    assert {tag for tag, _ in Page(rendered).tags} == {tag for tag, _ in page.tags}
    rendered.encode("utf-8")


def _poisoned(entrant: Entrant) -> Entrant:
    look = entrant.attention
    return replace(
        entrant,
        name=f"<b>{entrant.name}&",
        settings={HOSTILE: HOSTILE},
        translations=[HOSTILE] * len(entrant.translations),
        attention=look and replace(look, source=[f"{HOSTILE} -->\x00"] * len(look.source)),
    )


def test_the_verdict_in_words(resumed: Resumed) -> None:
    def scored(*values: float) -> Comparison:
        entrants = []
        for entrant, value in zip(resumed.comparison.entrants, values, strict=False):
            score = {"name": "BLEU", "value": value, "signature": ""}
            entrants.append(replace(entrant, scores={**entrant.scores, "scores": [score]}))
        return replace(resumed.comparison, entrants=entrants)

    elman, additive, transformer = MODELS
    assert scored(1.0, 30.0, 32.5).verdict == (
        f"{transformer} translated best: 32.5 BLEU, 2.5 more than {additive} and 31.5 more than {elman}."
    )
    assert scored(3.0, 2.0).verdict == f"{elman} translated best: 3.0 BLEU, 1.0 more than {additive}."
    assert scored(7.0, 7.04).verdict == f"{additive} and {elman} translated best, with 7.0 BLEU both."


def test_a_picture_is_the_same_whenever_it_is_drawn(resumed: Resumed) -> None:
    entrants = resumed.comparison.entrants
    assert pictures.quality(entrants) == pictures.quality(entrants)

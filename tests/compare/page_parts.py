"""A report's page, taken apart, and what has to be true of every one."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from mirada.compare import charts as drawn

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


def check_alone(html: str) -> None:
    """The page loads nothing, from nowhere, and runs nothing."""
    page = Page(html)
    assert re.search(r"https?:|@import|url\((?!#)", html) is None
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base", "form")
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            assert (attributes.get(name) or "#").startswith(("#", "data:image/png;base64,"))
    assert ("meta", {"charset": "utf-8"}) in page.tags
    assert "prefers-color-scheme: dark" in html


def check_order(html: str, images: int) -> None:
    """Ids are single, links lead somewhere, tables and images say what they are, colours are the page's."""
    page = Page(html)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [href[1:] for _, attributes in page.tags if (href := attributes.get("href") or "").startswith("#")]
    assert set(targets) <= set(ids)
    names = [tag for tag, _ in page.tags]
    assert names.count("table") == names.count("caption") > 1
    assert names.count("svg") == names.count("figure") == images
    assert all(attributes.get("aria-label") for tag, attributes in page.tags if tag == "svg")
    used = set(re.findall(r"var\((--\w+)\)", html))
    assert used <= set(re.findall(r"(--\w+):", html))
    assert not any(stand_in in html for stand_in in drawn.STAND_INS)

"""The walk through a pass: its numbers are PyTorch's, each can be explained, and a keyboard is enough."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page, expect

import mirada
from mirada import TranslationModel
from tests import toy
from tests.web.test_explore import opened, reader

SENTENCE = "el gato ve el tren rojo"
READERS = {
    "classification transformer": "muy buena",
    "tagging gru": "Ana vive en Lima",
    "masked_lm bert": "el mar es [MASK].",
    "language_model gpt": "el mar",
}
SHOWN = (
    """() => Array.from(document.querySelectorAll(".walk [data-place]"), (cell) => [cell.dataset.place, cell.title])"""
)


@pytest.fixture(scope="module")
def page_file(trained: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("walk") / "toy.html"
    trained.explore(out, sentence=SENTENCE)
    return out


@pytest.fixture
def walk(page_file: Path, browser: Browser) -> Iterator[Page]:
    """The walk through the encoder, for the second token."""
    with opened(browser, page_file, "#view=walk&walk_token=1") as page:
        expect(page.locator(".walk-step").first).to_be_visible()
        yield page


def walked(page: Page) -> dict[str, float]:
    """Every number that the walk shows, by its place, after going through all steps with the keyboard."""
    steps = page.locator(".walk-step")
    expect(steps.first).to_be_visible()
    for number in range(steps.count()):
        if number:
            page.keyboard.press("n")
        expect(page.locator(".walk-step.current .walk-figure")).to_be_visible()
        expect(steps.nth(number)).to_have_class(re.compile("current"))
    expect(page.locator(".walk-figure")).to_have_count(steps.count())
    return {place: float(value.replace("Infinity", "inf") or "-inf") for place, value in page.evaluate(SHOWN)}


def placed(place: str) -> tuple[str, tuple[int, ...]]:
    """The path and the index that `encoder.0.self.q[0, 3, 5]` says."""
    path, _, index = place.rstrip("]").partition("[")
    return path, tuple(int(number) for number in index.split(","))


def same_as(trace: Mapping[str, Any], shown: dict[str, float]) -> set[str]:
    """Check numbers against those of PyTorch; returns the paths they are from."""
    paths = set()
    for place, value in shown.items():
        path, index = placed(place)
        expected = float(np.asarray(trace[path])[index])
        assert value == pytest.approx(expected, abs=1e-4) or value == expected, place
        paths.add(path)
    return paths


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
def test_the_numbers_of_the_walk_are_pytorch_s(
    part: str, page_file: Path, trained: TranslationModel, browser: Browser
) -> None:
    trace = trained.trace(SENTENCE)
    with opened(browser, page_file, f"#view=walk&walk_part={part}&walk_head=1&walk_matrices=true") as page:
        paths = same_as(trace, walked(page))
    stack = "encoder" if part == "encoder" else "decoder"
    attention = f"{stack}.0.{'cross' if part == 'cross' else 'self'}"
    inside = ["q", "k", "v", "raw_scores", "scores", "masked_scores", "weights", "heads", "output"]
    assert {f"{attention}.{name}" for name in inside} <= paths
    if part == "decoder":
        assert {"target.inputs", "decoder.0.feed_forward.activated", "decoder.output", "output.logits"} <= paths
        assert {"decoder.0.cross.weights", "probabilities"} <= paths


@pytest.mark.parametrize("attend", ["before", "after"])
def test_a_recurrent_model_is_walked_gate_by_gate(attend: str, browser: Browser, toy_tsv: Path, tmp_path: Path) -> None:
    settings = {
        "model": {"width": 32, "attend": attend},
        "tokenizer": toy.TINY["tokenizer"],
        "train": toy.TINY["train"],
    }
    model = mirada.train(
        toy_tsv, TranslationModel, model="seq2seq-lstm+additive", out=tmp_path / "lstm", steps=300, settings=settings,
        source_language="es", target_language="en",
    )  # fmt: skip
    model.explore(tmp_path / "lstm.html", sentence=SENTENCE)
    with opened(browser, tmp_path / "lstm.html", "#view=walk&walk_part=decoder&walk_matrices=true") as page:
        shown = walked(page)
        trace = model.trace(SENTENCE, page.locator(".output").inner_text())
        paths = same_as(trace, shown)
        cell = {f"decoder.0.forward.{symbol}" for symbol in ("i", "f", "candidate", "o", "c", "h")}
        assert (
            cell | {"bridge.h", "attention.scores", "attention.weights", "attention.context", "decoder.output"} <= paths
        )
        made = [page.locator(f"#step-alignment_{step} .signs math") for step in ("scores", "softmax")]
        assert made[0].last.text_content() == made[1].first.text_content() == "et"  # s_t is the state
        page.get_by_role("radio", name="Encoder").click()
        page.get_by_label("Direction").select_option("1")
        expect(page.locator(".walk-section h2").nth(1)).to_contain_text("←")
        assert "encoder.0.backward.c" in same_as(trace, walked(page))


@pytest.mark.parametrize("kind", READERS)
def test_models_that_read_are_walked(kind: str, browser: Browser, tmp_path: Path) -> None:
    model = reader(kind, tmp_path)
    sentence = READERS[kind]
    mirada.explore(model, out=tmp_path / "page.html", sentence=sentence)
    with opened(browser, tmp_path / "page.html", "#view=walk&walk_matrices=true") as page:
        shown = walked(page)
        expect(page.locator(".verdict .taken").first).to_be_visible()
    if kind.startswith("language_model"):  # it walks through the continuation that the page found
        assert "probabilities" in {placed(place)[0] for place in shown}
    else:
        assert any(path.endswith("output.logits") for path in same_as(model.trace(sentence), shown))


def test_a_number_shows_the_sum_that_made_it(walk: Page, trained: TranslationModel) -> None:
    trace = trained.trace(SENTENCE)
    walk.get_by_role("button", name="Weighted sum").click()
    cell = walk.locator("#step-self_sum td[data-place='encoder.0.self.heads[0, 1, 4]']")
    cell.click()
    panel = walk.get_by_role("complementary", name="How this number was computed")
    expect(panel.locator(".place")).to_have_text("encoder.0.self.heads[0, 1, 4]")
    expected = float(trace["encoder.0.self.heads"][0, 1, 4])
    assert float(panel.locator(".value-now").get_attribute("data-total") or "nan") == pytest.approx(expected, abs=1e-5)
    products = [float(text.replace("−", "-")) for text in panel.locator("td.product").all_inner_texts()]
    assert sum(products) == pytest.approx(expected, abs=0.001)
    expect(cell).to_have_class(re.compile("marked"))

    code = panel.locator(".torch code").inner_text()
    names = {"torch": torch, "trace": {path: torch.from_numpy(np.asarray(trace[path])) for path in trace.tensors}}
    assert float(eval(code, names)) == pytest.approx(expected, abs=1e-5)

    panel.locator(".jump").first.click()
    expect(panel.locator(".place")).to_contain_text("encoder.0.self.weights[0, 1, ")
    panel.locator(".jump").first.click()
    expect(panel.locator(".place")).to_contain_text("encoder.0.self.masked_scores[0, 1, ")
    panel.get_by_role("button", name="Show it in the walk").click()
    expect(walk.locator("#step-self_mask")).to_have_class(re.compile("current"))
    for _ in range(2):
        panel.get_by_role("button", name="Back to the previous number").click()
    expect(panel.locator(".place")).to_have_text("encoder.0.self.heads[0, 1, 4]")
    expect(panel.get_by_role("button", name="Back to the previous number")).to_be_disabled()


def test_a_weight_shows_the_exponentials_that_made_it(walk: Page, trained: TranslationModel) -> None:
    trace = trained.trace(SENTENCE)
    scores = np.asarray(trace["encoder.0.self.masked_scores"])[0, 1]
    walk.get_by_role("button", name="Softmax").click()
    walk.locator("#step-self_softmax td[data-place='encoder.0.self.weights[0, 1, 4]']").click()
    panel = walk.locator(".number-panel")
    expect(panel.locator("thead th")).to_have_text(["term", "e", "exp(e)"])
    terms = [[float(text.replace("−", "-")) for text in row.locator("td").all_inner_texts()]
             for row in panel.locator("tbody tr").all()]  # fmt: skip
    assert sorted(terms) == pytest.approx(np.array(sorted((e, np.exp(e)) for e in scores)), rel=1e-3, abs=1e-4)
    total, share = panel.locator("tfoot td").all_inner_texts()
    assert float(total) == pytest.approx(float(np.exp(scores).sum()), rel=1e-3)
    assert float(share) == pytest.approx(float(np.asarray(trace["encoder.0.self.weights"])[0, 1, 4]), abs=1e-4)
    expect(panel.locator("tfoot th").last).to_have_text("exp(e) / Σ")


def test_many_terms_are_shortened_and_add_up(walk: Page, trained: TranslationModel) -> None:
    expected = float(trained.trace(SENTENCE)["encoder.0.self.q"][0, 1, 3])
    walk.get_by_role("button", name="Query, key, value").click()
    walk.locator("td[data-place='encoder.0.self.q[0, 1, 3]']").first.click()
    panel = walk.locator(".number-panel")
    parts = ("td.product:visible", "tr.more td", "tr.bias td")

    def total() -> float:
        return sum(float(text.replace("−", "-")) for part in parts for text in panel.locator(part).all_inner_texts())

    expect(panel.locator("tbody tr:visible")).to_have_count(10)
    assert total() == pytest.approx(expected, abs=0.002)
    panel.get_by_role("button", name="more terms").click()
    expect(panel.locator("tbody tr:visible")).to_have_count(24)
    assert total() == pytest.approx(expected, abs=0.003)


def test_the_keyboard_is_enough(walk: Page) -> None:
    for key, current in (("n", 1), ("n", 2), ("n", 3), ("p", 2)):
        walk.keyboard.press(key)
        expect(walk.locator(".walk-step").nth(current)).to_be_focused()
    walk.wait_for_url(lambda url: "walk_step=norm_self" in url)
    expect(walk.locator(".walk-step.current td[data-place]").first).to_be_visible()
    for _ in range(20):  # past what comes before the numbers
        walk.keyboard.press("Tab")
        if walk.evaluate("document.activeElement.matches('td[data-place]')"):
            break
    for _ in range(30):  # further than there is room for: the window follows
        walk.keyboard.press("ArrowRight")
    focused = walk.locator("td:focus")
    place = focused.get_attribute("data-place") or ""
    assert placed(place)[1][1] == 30
    walk.keyboard.press("Enter")
    panel = walk.locator(".number-panel")
    expect(panel).to_be_focused()
    expect(panel.locator(".place")).to_have_text(place)
    expect(panel.locator(".value-now")).to_be_visible()
    walk.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(walk.locator("td:focus")).to_have_attribute("data-place", place)


CLICKED = """(cell) => {
  const top = (one) => one.getBoundingClientRect().top;
  const before = top(cell);
  cell.click();
  return top(document.querySelector("#step-self_qkv td.marked")) - before;
}"""


@pytest.mark.parametrize("which", [1, -1])
def test_a_clicked_number_stays_in_view_beside_the_panel(which: int, page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file, "#view=walk&walk_token=1") as page:
        page.set_viewport_size({"width": 1400, "height": 800})
        page.reload()
        expect(page.locator(".walk-step").first).to_be_visible()
        step = page.locator("#step-self_qkv")
        step.scroll_into_view_if_needed()
        table = step.locator("table").first
        expect(table).to_be_visible()
        columns = table.locator("thead th")
        before = columns.count()
        cell = table.locator("tbody td").nth(which)
        place = cell.get_attribute("data-place") or ""
        assert cell.evaluate(CLICKED) == pytest.approx(0, abs=2)  # it stays where it was
        panel = page.locator(".number-panel")
        expect(panel.locator(".value-now")).to_be_visible()
        assert columns.count() < before  # there is less room
        overflowing = "all => all.filter((one) => one.scrollWidth > one.clientWidth).length"
        assert step.locator(".grid-rows").evaluate_all(overflowing) == 0
        marked = table.locator("td.marked")
        expect(marked).to_have_attribute("data-place", place)
        now, beside = marked.bounding_box(), panel.bounding_box()
        assert now is not None
        assert beside is not None
        assert now["x"] + now["width"] < beside["x"]
        page.keyboard.press("Escape")
        expect(columns).to_have_count(before)
        expect(page.locator("td:focus")).to_have_attribute("data-place", place)
        expect(page.locator("td:focus")).to_be_in_viewport()


def test_a_link_restores_the_walk_in_another_language(page_file: Path, browser: Browser) -> None:
    link = "#view=walk&walk_part=decoder&walk_token=2&walk_step=cross_softmax&lang=es"
    with opened(browser, page_file, link) as page:
        step = page.locator("#step-cross_softmax")
        expect(step).to_be_focused()
        expect(step).to_be_in_viewport()
        expect(page.locator(".walk-controls").get_by_label("Token")).to_have_value("2")
        expect(page.get_by_role("button", name="Siguiente")).to_be_visible()
        expect(step.locator("tbody th").first).to_have_text("cat")


def test_it_fits_on_a_phone(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file, "#view=walk&walk_part=decoder") as page:
        page.set_viewport_size({"width": 320, "height": 640})
        page.reload()
        walked(page)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 320
        page.locator("td[data-place]").first.click()
        expect(page.locator(".number-panel .value-now")).to_be_visible()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 320


def test_every_text_is_there_in_three_languages() -> None:
    web = Path(mirada.__file__).parent / "web" / "i18n"
    keys = {
        language: re.findall(r'^  "([\w.]+)":', (web / f"walk_{language}.js").read_text(encoding="utf-8"), re.M)
        for language in ("en", "es", "pt")
    }
    assert keys["en"] == keys["es"] == keys["pt"]
    assert len(set(keys["en"])) == len(keys["en"]) > 150


@pytest.mark.parametrize("language", ["en", "es", "pt"])
def test_the_button_that_switches_on_is_not_named_as_the_state(language: str) -> None:
    text = (Path(mirada.__file__).parent / "web" / "i18n" / f"walk_{language}.js").read_text(encoding="utf-8")
    said = dict(re.findall(r'^  "([\w.]+)": "(.*)",$', text, re.M))
    assert said["switches.all_on"] != said["switches.before"]

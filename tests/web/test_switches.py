"""Parts switched off in the page: what it says then is what PyTorch says, and nothing before the part has changed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import mirada
from mirada import TranslationModel
from tests import toy
from tests.web.test_explore import opened, reader
from tests.web.test_walk import walked

SENTENCE = "el gato ve el tren rojo"
TRANSLATION = "the cat sees the red train"


@pytest.fixture(scope="module")
def page_file(trained: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("switches") / "toy.html"
    trained.explore(out, sentence=SENTENCE)
    return out


def log_probability(page: Page, side: str) -> float:
    """That of the original translation, as the page has it for one side."""
    return float(page.locator(f".{side} .original").get_attribute("data-log") or "nan")


def replayed(model: TranslationModel, *names: str) -> float:
    """log p of the original translation, replayed by PyTorch without some parts."""
    with mirada.without(*names):
        trace = model.trace(SENTENCE, TRANSLATION)
    ids = trace.tokens["target"].ids
    return sum(math.log(float(trace["probabilities"][t, id])) for t, id in enumerate(ids))


SWITCHED = {
    "scale": "Division by √dₖ",
    "future_mask": "Mask of later tokens",
    "positions": "Positions",
    "decoder.0.cross.1": "Cross-attention, layer 0: head 1",
    "encoder.0.add_feed_forward": "Residual around Feed-forward, layer 0",
    "decoder.0": "Decoder: Layer 0",
}


@pytest.mark.parametrize("name", SWITCHED)
def test_what_it_says_without_a_part_is_what_pytorch_says(
    name: str, page_file: Path, trained: TranslationModel, browser: Browser
) -> None:
    with mirada.without(name):
        expected = trained.translate(SENTENCE, recover=False).text  # the page searches once
    with opened(browser, page_file, "#view=switches") as page:
        expect(page.locator(".before .said")).to_have_text(TRANSLATION)
        assert log_probability(page, "before") == pytest.approx(replayed(trained), abs=2e-3)
        switch = page.get_by_role("switch", name=SWITCHED[name]).first
        expect(switch).to_be_checked()
        switch.click()
        expect(switch).not_to_be_checked()
        expect(page.locator(".after .said")).to_have_text(expected)
        expect(page.locator(".output")).to_have_text(expected)
        assert log_probability(page, "after") == pytest.approx(replayed(trained, name), abs=2e-3)
        lines = page.locator(".chances .amount")
        tall = lines.first.evaluate("one => one.offsetHeight")
        least = lines.last.evaluate("one => { one.textContent = '< 0.01 %'; return one.offsetHeight; }")
        assert least == tall  # in one line, too
        marked = page.locator(".after mark").all_inner_texts()
        assert set(marked) >= {word for word in expected.split() if word not in TRANSLATION.split()}
        page.get_by_role("button", name="All on", exact=True).click()
        expect(switch).to_be_checked()
        expect(page.locator(".after")).to_have_count(0)
        expect(page.locator(".output")).to_have_text(TRANSLATION)
        page.wait_for_url(lambda url: "switches=%7B" not in url)


def test_nothing_before_the_part_changes(page_file: Path, browser: Browser) -> None:
    walk = "#view=walk&walk_part=encoder&walk_head=1&walk_matrices=true"
    with opened(browser, page_file, walk) as page:
        before = walked(page)
    with opened(browser, page_file, walk + '&switches={"heads_off":[["encoder.0.self",1]]}') as page:
        after = walked(page)
        expect(page.locator("#step-self_sum .switched-off")).to_be_visible()
    changed = {place.partition("[")[0] for place in before if before[place] != after[place]}
    assert changed == {
        "encoder.0.self.heads", "encoder.0.self.output", "encoder.0.add_self.added", "encoder.0.add_self.output",
        "encoder.0.add_feed_forward.norm", "encoder.0.feed_forward.inner", "encoder.0.feed_forward.activated",
        "encoder.0.feed_forward.outer", "encoder.0.add_feed_forward.added", "encoder.0.add_feed_forward.output",
        "encoder.output",
    }  # fmt: skip
    heads = {place: value for place, value in after.items() if place.startswith("encoder.0.self.heads[1")}
    assert set(heads.values()) == {0.0}


def test_each_token_of_the_original_has_its_probability(
    page_file: Path, trained: TranslationModel, browser: Browser
) -> None:
    with mirada.without("positions"):
        trace = trained.trace(SENTENCE, TRANSLATION)
    ids = trace.tokens["target"].ids
    expected = [100 * float(np.asarray(trace["probabilities"])[t, id]) for t, id in enumerate(ids)]
    with opened(browser, page_file, '#view=switches&switches={"positions":false}') as page:
        cells = page.locator("td.without .amount")
        expect(cells).to_have_count(len(expected))
        for text, value in zip(cells.all_inner_texts(), expected, strict=True):
            assert percent(text) == pytest.approx(value, abs=0.06)


def percent(text: str) -> float:
    """A probability as the page writes it; 0 for what is less than the least that it writes."""
    number, unit = text.rsplit(" ", 1)
    assert unit == "%", text
    return 0.0 if number == "< 0.01" else float(number)


def test_probabilities_have_one_unit(page_file: Path, trained: TranslationModel, browser: Browser) -> None:
    expected = 100 * math.exp(replayed(trained, "encoder.0", "decoder.0"))
    assert 0 < expected < 0.01
    with opened(browser, page_file, '#view=switches&switches={"layers_off":["encoder.0","decoder.0"]}') as page:
        expect(page.locator(".after .original")).to_have_text("< 0.01 %")
        shown = page.locator(".switch-results").inner_text()
        assert "10⁻" not in shown
        amounts = page.locator(".amount").all_inner_texts()
        assert all(0 <= percent(text) <= 100 for text in amounts)
        page.get_by_label("Language").select_option("es")
        expect(page.locator(".after .original")).to_have_text("< 0,01 %")


def test_a_link_restores_the_switches_and_other_views_honour_them(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file, '#view=switches&switches={"layers_off":["encoder.0"],"scale":false}') as page:
        expect(page.get_by_role("switch", name="Encoder: Layer 0")).not_to_be_checked()
        expect(page.get_by_role("switch", name="Division by √dₖ")).not_to_be_checked()
        expect(page.locator(".switches [role=status]").first).to_have_text("2 switched off")
        page.get_by_role("tab", name="Walk").click()
        expect(page.locator(".walk-section h2").nth(1)).to_have_text("Layer 0 is switched off")
        page.get_by_role("radio", name="Decoder").click()
        expect(page.locator("#step-self_scale .switched-off")).to_be_visible()


def test_the_keyboard_is_enough_for_switches(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file, "#view=switches") as page:
        first = page.get_by_role("switch", name="Cross-attention, layer 0: head 0")
        first.focus()
        page.keyboard.press("ArrowRight")
        second = page.get_by_role("switch", name="Cross-attention, layer 0: head 1")
        expect(second).to_be_focused()
        expect(second).to_have_text("1")
        page.keyboard.press("Space")
        expect(second).not_to_be_checked()
        expect(second).to_be_focused()
        expect(page.locator(".after .said")).to_be_visible()


def test_switches_that_a_model_lacks_say_why(browser: Browser, toy_tsv: Path, tmp_path: Path) -> None:
    settings = {"model": {"width": 32}, "tokenizer": toy.TINY["tokenizer"], "train": toy.TINY["train"]}
    model = mirada.train(
        toy_tsv, TranslationModel, model="seq2seq-gru", out=tmp_path / "gru", steps=5, settings=settings,
        source_language="es", target_language="en",
    )  # fmt: skip
    model.explore(tmp_path / "gru.html", sentence=SENTENCE)
    with opened(browser, tmp_path / "gru.html", "#view=switches") as page:
        for name in ("Division by √dₖ", "Mask of later tokens", "Positions"):
            switch = page.get_by_role("switch", name=f"{name}. This model has no such part")
            expect(switch).to_be_disabled()
        expect(page.locator(".stack").first).to_contain_text("Recurrent layers have no parts")
        expect(page.locator(".before .said")).to_be_visible()


def test_a_model_that_reads_shows_its_answers_side_by_side(browser: Browser, tmp_path: Path) -> None:
    model = reader("classification transformer", tmp_path)
    mirada.explore(model, out=tmp_path / "page.html", sentence="sí, me gustó mucho")
    with opened(browser, tmp_path / "page.html", "#view=switches") as page:
        expect(page.locator(".before tr")).to_have_count(2)
        assert sorted(page.locator(".before th").all_inner_texts()) == ["bad", "good"]
        page.get_by_role("switch", name="Positions").click()
        expect(page.locator(".after tr")).to_have_count(2)


def test_the_bars_of_answers_are_seen_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    model = reader("tagging gru", tmp_path)
    mirada.explore(model, out=tmp_path / "page.html", sentence="Ana vive en Lima")
    with opened(browser, tmp_path / "page.html", "#view=switches") as page:
        page.set_viewport_size({"width": 340, "height": 640})
        expect(page.locator(".before tr")).to_have_count(4)
        bar = page.locator(".before .chance").first.bounding_box()
        assert bar is not None
        assert bar["width"] > 30


def test_the_switches_fit_on_a_phone(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file, '#view=switches&switches={"positions":false}&lang=pt') as page:
        page.set_viewport_size({"width": 320, "height": 640})
        expect(page.locator(".switch-now")).to_be_visible()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 320


OFF = '{"scale":false,"heads_off":[["decoder.0.cross",1]],"residual_off":["encoder.0.add_feed_forward"]}'
NAMES = [
    "Division by √dₖ",
    "Decoder: Cross-attention, layer 0: head 1",
    "Encoder: Residual around Feed-forward, layer 0",
]


def wait_until_it_fits(page: Page, width: int) -> None:
    """What is drawn for a wider window is drawn anew."""
    for _ in range(100):
        if page.evaluate("document.scrollingElement.scrollWidth") <= width:
            return
        page.wait_for_timeout(100)
    pytest.fail(f"the page is wider than {width} pixels")


def test_every_view_says_what_is_switched_off(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file) as page:
        notice = page.get_by_role("group", name="Parts switched off")
        expect(page.locator(".output")).to_have_text(TRANSLATION)
        expect(notice).to_be_hidden()
        page.evaluate(f"location.hash = '#switches={OFF}'")
        for tab in page.get_by_role("tab").all():
            tab.click()
            expect(tab).to_have_attribute("aria-selected", "true")
            expect(notice.locator("summary")).to_have_text("3 parts switched off")
        expect(notice.locator("summary")).to_have_attribute("title", "\n".join(NAMES))
        notice.locator("summary").focus()
        page.keyboard.press("Enter")
        expect(notice.get_by_role("listitem")).to_have_text(NAMES)
        page.set_viewport_size({"width": 320, "height": 640})
        wait_until_it_fits(page, 320)
        page.keyboard.press("Tab")
        expect(notice.get_by_role("button", name="Switch everything on")).to_be_focused()
        page.keyboard.press("Enter")
        expect(notice).to_be_hidden()
        expect(page.locator(".output")).to_have_text(TRANSLATION)
        expect(page.locator("[role=tab][aria-selected=true]")).to_be_focused()
        page.wait_for_url(lambda url: "switches=%7B" not in url)


def test_one_part_is_said_in_each_language(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file, '#view=attention&switches={"positions":false}') as page:
        for language, said in {"en": "1 part switched off", "es": "1 parte apagada", "pt": "1 parte desligada"}.items():
            page.locator(".settings select").first.select_option(language)
            expect(page.locator(".parts-off summary")).to_have_text(said)


@pytest.mark.parametrize(
    ("switches", "shown"),
    [
        ('{"layers_off":["encoder.7"]}', '"encoder.7"'),
        ('{"heads_off":[null]}', "null"),
        ('{"residual_off":[{"a":[]}]}', '{"a":[]}'),
        ('{"heads_off":[["encoder.0.add_self",0]]}', '["encoder.0.add_self",0]'),
    ],
)
def test_a_link_to_parts_that_are_not_there_has_a_way_out(
    switches: str, shown: str, page_file: Path, browser: Browser
) -> None:
    with opened(browser, page_file, f"#view=attention&switches={switches}") as page:
        expect(page.locator(".status.problem")).to_be_visible()
        expect(page.locator(".parts-off summary")).to_have_attribute("title", shown)
        page.get_by_role("button", name="Switch everything on").click()
        expect(page.locator(".output")).to_have_text(TRANSLATION)
        expect(page.locator(".status")).to_be_hidden()

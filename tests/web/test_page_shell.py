"""The page around the views: languages, keyboard, names for a screen reader, links, light and dark, narrow and wide."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import mirada
from mirada import TranslationModel
from tests import toy
from tests.web.browser import Site
from tests.web.test_explore import opened

SENTENCE = "el gato ve el tren rojo"
TRANSLATION = "the cat sees the red train"
CONTROLS = {"button", "link", "textbox", "combobox", "slider", "checkbox", "radio", "tab", "application", "spinbutton"}


@pytest.fixture(scope="module")
def page_file(trained: TranslationModel, tmp_path_factory: pytest.TempPathFactory, toy_tsv: Path) -> Path:
    """Two models in one page, so that every view is there."""
    folder = tmp_path_factory.mktemp("page")
    settings = {"model": {"width": 32}, "tokenizer": toy.TINY["tokenizer"], "train": toy.TINY["train"]}
    other = mirada.train(
        toy_tsv, TranslationModel, model="seq2seq-lstm+additive", out=folder / "lstm", steps=20, settings=settings,
        source_language="es", target_language="en",
    )  # fmt: skip
    mirada.explore(trained, other, out=folder / "two.html", sentence=SENTENCE)
    return folder / "two.html"


def views(page: Page) -> list[str]:
    """The views that the page has, by their names in the address."""
    expect(page.locator("[role=tab]").first).to_be_visible()
    return [(tab.get_attribute("id") or "").removeprefix("tab-") for tab in page.locator("[role=tab]").all()]


def shown(page: Page, view: str) -> None:
    page.locator(f"#tab-{view}").click()
    expect(page.locator(f"#tab-{view}")).to_have_attribute("aria-selected", "true")
    expect(page.locator("main.panel")).to_have_attribute("aria-busy", "false")
    expect(page.locator("main.panel")).not_to_be_empty()


def nameless(page: Page) -> list[str]:
    """The controls that a screen reader has no name for."""
    tree: dict[str, Any] = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    found = []
    for node in tree["nodes"]:
        role = node.get("role", {}).get("value", "")
        if role in CONTROLS and not node.get("ignored") and not str(node.get("name", {}).get("value", "")).strip():
            found.append(f"{role} {node.get('properties')}")
    return found


def test_every_control_has_a_name(page_file: Path, browser: Browser) -> None:
    for model in (0, 1):
        with opened(browser, page_file, f"#model={model}") as page:
            for view in views(page):
                shown(page, view)
                assert nameless(page) == [], view
            for part in ("encoder", "decoder", "gates"):
                page.goto(f"{page.url.split('#')[0]}#model={model}&view=attention&part={part}&figure=lines")
                expect(page.locator("main.panel")).to_have_attribute("aria-busy", "false")
                assert nameless(page) == [], part
            page.keyboard.press("Escape")
            page.get_by_role("button", name="Keyboard shortcuts").click()
            expect(page.locator("dialog")).to_be_visible()
            assert nameless(page) == []


def test_everything_is_done_by_keyboard(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file) as page:
        expect(page.locator(".output")).to_have_text(TRANSLATION)
        page.keyboard.press("/")
        expect(page.locator("#sentence")).to_be_focused()
        page.keyboard.press("Control+A")
        page.keyboard.type("el lobo ve el barco")
        expect(page.locator(".output")).to_have_text("the wolf sees the boat")
        page.keyboard.press("Tab")
        expect(page.locator("#tab-translate")).to_be_focused()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#tab-attention")).to_be_focused()
        expect(page.locator("#tab-attention")).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("radio", name="translation → sentence")).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.get_by_role("radio", name="translation → sentence")).to_be_focused()
        page.keyboard.press("w")
        expect(page.get_by_label("whole words")).to_be_checked()
        page.keyboard.press("1")
        expect(page.locator("#tab-translate")).to_have_attribute("aria-selected", "true")
        page.keyboard.press("?")
        expect(page.locator("dialog")).to_be_visible()
        page.get_by_label("Shortcuts are on").focus()
        page.keyboard.press("Space")
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_be_hidden()
        page.keyboard.press("2")
        page.keyboard.press("t")
        expect(page.locator("#tab-translate")).to_have_attribute("aria-selected", "true")


def test_the_focus_is_always_visible(page_file: Path, browser: Browser) -> None:
    outline = "() => { const one = document.activeElement; const style = getComputedStyle(one); " \
        "return one === document.body || style.outlineStyle !== 'none' || one.id === 'sentence'; }"  # fmt: skip
    with opened(browser, page_file) as page:
        expect(page.locator(".output")).to_have_text(TRANSLATION)
        for _ in range(40):
            page.keyboard.press("Tab")
            assert page.evaluate(outline), page.evaluate("document.activeElement.outerHTML")


def test_each_language_has_every_text(page: Page, site: Site) -> None:
    strings: dict[str, dict[str, str]] = page.evaluate(
        f"import('{site.url}/i18n/strings.js').then((module) => module.STRINGS)"
    )
    assert set(strings) == {"en", "es", "pt"}
    named = re.compile(r"\{\w+\}")
    for language, texts in strings.items():
        assert set(texts) == set(strings["en"]), language
        for key, text in texts.items():
            assert text.strip(), key
            assert sorted(named.findall(text)) == sorted(named.findall(strings["en"][key])), (language, key)


@pytest.mark.parametrize(
    ("locale", "language", "tab"), [("es-UY", "es", "Mirar"), ("pt-BR", "pt", "Olhar"), ("de-DE", "en", "Look")]
)
def test_it_speaks_the_browser_s_language(
    locale: str, language: str, tab: str, page_file: Path, browser: Browser
) -> None:
    context = browser.new_context(locale=locale)
    page = context.new_page()
    page.goto(page_file.as_uri())
    expect(page.get_by_role("tab", name=tab)).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == language
    page.locator(".settings select").first.select_option("en")
    expect(page.get_by_role("tab", name="Look")).to_be_visible()
    expect(page.locator(".output")).to_have_text(TRANSLATION)
    assert page.evaluate("document.documentElement.lang") == "en"
    context.close()


def test_a_link_restores_the_view(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file) as page:
        page.locator("#sentence").fill("el lobo negro sigue el gato")
        expect(page.locator(".output")).to_have_text("the black wolf follows the cat")
        shown(page, "attention")
        for name in ("within the sentence", "layer 0, head 1", "lines"):
            page.get_by_role("radio", name=name).click()
            expect(page.get_by_role("radio", name=name)).to_have_attribute("aria-checked", "true")
            expect(page.locator("main.panel")).to_have_attribute("aria-busy", "false")  # the controls are made anew
        page.get_by_label("whole words").check()
        page.get_by_label("Language").select_option("pt")
        expect(page.locator(".figure h2")).to_have_text("dentro da frase, camada 0, cabeça 1")
        expect(page.locator("main.panel")).to_have_attribute("aria-busy", "false")  # after which the status is emptied
        page.get_by_role("button", name="Copiar link").click()
        expect(page.locator(".status")).to_contain_text("link")
        page.wait_for_url(re.compile("lang=pt"))
        fragment = "#" + page.url.split("#")[1]
        title = page.locator(".figure h2").inner_text()
        words = page.locator(".words button").all_inner_texts()
    with opened(browser, page_file, fragment) as page:
        expect(page.locator(".figure h2")).to_have_text(title)
        expect(page.locator(".output")).to_have_text("the black wolf follows the cat")
        assert page.locator("#sentence").input_value() == "el lobo negro sigue el gato"
        expect(page.locator(".words button")).to_have_count(len(words))
        assert page.locator(".words button").all_inner_texts() == words


@pytest.mark.parametrize(
    "fragment",
    ["#layer=99&head=-7&part=nothing&view=nowhere&figure=none&token=5000", "#model=9&beam=abc&prefix=oh&switches=[]",
     "#best=400&step=1000&word=77&lang=xx",
     "#lang=toString&layer=0.5&switches={%22heads_off%22:5}", "#%E0%A4%A", "#text=%00%ED%A0%80&prefix=[999999999]"],
)  # fmt: skip
def test_a_broken_link_does_no_harm(fragment: str, page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file, fragment) as page:
        for view in views(page):
            page.locator(f"#tab-{view}").click()
            expect(page.locator(f"#tab-{view}")).to_have_attribute("aria-selected", "true")
            expect(page.locator("main.panel")).to_have_attribute("aria-busy", "false")
            if "toString" in fragment:
                expect(page.locator(".status")).to_have_text("")
        page.locator("#sentence").fill(SENTENCE)
        expect(page.locator(".output")).to_have_text(TRANSLATION)


def test_a_link_is_followed_while_the_sentence_has_the_focus(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file) as page:
        page.locator("#sentence").fill("el gato")
        page.evaluate("location.hash = '#text=el+lobo+negro+sigue+el+gato'")
        expect(page.locator(".output")).to_have_text("the black wolf follows the cat")
        expect(page.locator("#sentence")).to_have_value("el lobo negro sigue el gato")
        page.locator("#sentence").fill("")
        expect(page.locator(".output")).to_have_text(TRANSLATION)
        expect(page.locator("#sentence")).to_have_value("")


def test_what_fails_leaves_nothing_of_the_sentence_before(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file) as page:
        expect(page.locator(".output")).to_have_text(TRANSLATION)
        page.locator("#sentence").fill("gato " * 700)
        expect(page.locator(".status")).to_contain_text("shorten it")
        expect(page.locator(".output")).to_be_empty()
        expect(page.locator("main.panel")).to_be_empty()
        page.locator("#sentence").fill(SENTENCE)
        expect(page.locator(".output")).to_have_text(TRANSLATION)
        expect(page.locator(".tokens button").first).to_be_visible()
        expect(page.locator(".status")).to_be_hidden()


def test_the_address_is_written_seldom_and_ends_right(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file) as page:
        page.evaluate(
            "() => { window.written = 0; const replace = history.replaceState.bind(history);"
            "history.replaceState = (...given) => { window.written++; replace(...given); } }"
        )
        page.evaluate("() => { window.began = performance.now(); }")
        page.locator("#sentence").press_sequentially(" otra vez y otra vez y otra vez")
        page.wait_for_url(re.compile("otra\\+vez$"))
        written, passed = page.evaluate("[window.written, performance.now() - window.began]")
        assert 1 <= written <= 2 + passed / 300


def test_keys_are_harmless_before_the_model_is_open(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file, "#view=attention") as page:
        page.evaluate(
            "() => { for (const key of 'np[]{}') document.body.dispatchEvent("
            "new KeyboardEvent('keydown', {key, bubbles: true})); }"
        )
        expect(page.locator(".output")).to_have_text(TRANSLATION)


@pytest.mark.parametrize("width", [320, 360, 768, 1400])
def test_nothing_is_wider_than_the_screen(width: int, page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file) as page:
        page.set_viewport_size({"width": width, "height": 800})
        for view in views(page):
            shown(page, view)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        for fragment in ("part=gates&model=1", "part=cross&figure=lines", "part=encoder&figure=heads", "lang=es"):
            page.goto(f"{page.url.split('#')[0]}#view=attention&{fragment}")
            expect(page.locator("main.panel")).to_have_attribute("aria-busy", "false")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, fragment


@pytest.mark.parametrize("language", ["en", "es", "pt"])
def test_all_tabs_are_seen_on_a_phone(language: str, page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file, f"#lang={language}") as page:
        page.set_viewport_size({"width": 360, "height": 800})
        assert len(views(page)) == 6
        for tab in page.locator("[role=tab]").all():
            box = tab.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 360, tab.inner_text()
            expect(tab).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("language", ["en", "es", "pt"])
def test_no_button_of_the_header_stands_alone(language: str, page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file, f"#lang={language}") as page:
        expect(page.locator(".settings button")).to_have_count(2)
        for width in range(320, 800, 16):
            page.set_viewport_size({"width": width, "height": 800})
            tops = page.locator(".settings button").evaluate_all("all => all.map((one) => one.offsetTop)")
            assert tops[0] == tops[1], width


KEPT_WORKER = """window.Worker = class extends window.Worker {
  constructor(...given) { super(...given); window.made = this; }
};"""
DYING = "window.made.terminate(); window.made.dispatchEvent(new ErrorEvent('error', {message: 'out of memory'}));"


def test_a_model_whose_worker_died_says_so(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file) as page:
        page.add_init_script(KEPT_WORKER)
        page.reload()
        expect(page.locator(".output")).to_have_text(TRANSLATION)
        expect(page.locator(".proof summary")).to_contain_text("✓")
        page.evaluate(DYING)
        for text in ("el lobo ve el barco", "el gato sigue el tren"):  # now, and whatever is asked later
            page.locator("#sentence").fill(text)
            expect(page.locator(".status.problem")).to_contain_text("has stopped (out of memory); reload the page")
            expect(page.locator("main.panel")).to_have_attribute("aria-busy", "false")
            expect(page.locator(".output")).to_be_empty()
        page.wait_for_url(lambda url: "sigue" in url)
        page.reload()
        expect(page.locator(".output")).to_have_text("the cat follows the train")


CORNER = """(() => { const canvas = new OffscreenCanvas(1, 1);
    const context = canvas.getContext("2d", {willReadFrequently: true});
    context.drawImage(document.querySelector(".map canvas"), -2, -2);
    return context.getImageData(0, 0, 1, 1).data[0]; })()"""


def until(page: Page, holds: Callable[[], bool]) -> None:
    """Wait until something holds; the page's policy forbids Playwright's own way to."""
    for _ in range(600):
        if holds():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it never held")


def test_light_and_dark(page_file: Path, browser: Browser) -> None:
    def background() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    def corner() -> int:
        return int(page.evaluate(CORNER))

    with opened(browser, page_file, "#view=attention") as page:
        page.emulate_media(color_scheme="light")
        expect(page.locator(".map canvas").first).to_be_visible()
        until(page, lambda: corner() > 200)
        light = background()
        page.emulate_media(color_scheme="dark")
        until(page, lambda: corner() < 60)  # the map is drawn anew
        assert background() != light
        page.locator("[data-choice=theme] select").select_option("light")
        until(page, lambda: corner() > 200)
        assert background() == light


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    r, g, b = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_the_page(scheme: str, page_file: Path, browser: Browser) -> None:
    """A contrast of 4.5 at least (WCAG 2.2, 1.4.3)."""
    read = """() => { const probe = document.body.appendChild(document.createElement("span"));
        const names = ["ink", "soft", "accent", "mark", "paper", "panel", "tint", "on-accent"];
        return Object.fromEntries(names.map((name) => {
          probe.style.color = `var(--${name})`;
          return [name, getComputedStyle(probe).color];
        })); }"""
    with opened(browser, page_file) as page:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        colours = page.evaluate(read)
    pairs = [(text, ground) for text in ("ink", "soft", "accent", "mark") for ground in ("paper", "panel", "tint")]
    for text, ground in [*pairs, ("on-accent", "accent")]:
        light, dark = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (scheme, text, ground)

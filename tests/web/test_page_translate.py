"""Translating in the page: alternatives, the n-best, beam search step by step, notes on the sentence."""

from __future__ import annotations

import json
import math
from pathlib import Path
from urllib.parse import parse_qs

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from mirada import TranslationModel, load
from mirada.data.masking import spans
from mirada.decoding import DecodeConfig
from mirada.engines import GenerationSettings
from mirada.engines.torch import TorchEngine
from tests.web.browser import Site
from tests.web.test_explore import opened, reader

SENTENCE = "el gato ve el tren rojo"
TRANSLATION = "the cat sees the red train"


@pytest.fixture(scope="module")
def page_file(trained: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "toy.html"
    trained.explore(out, sentence=SENTENCE)
    return out


def decoded(model: TranslationModel, prefix: list[int]) -> str:
    """What Python's beam search makes of the sentence from a prefix on."""
    ids = model.source_tokenizer.encode([SENTENCE])
    limit = min(3 * len(ids[0]) + 20, model.config["model"]["max_length"] - len(prefix))
    engine = TorchEngine(model.network, torch.device("cpu"))
    ((best,),) = engine.generate(ids, [prefix], GenerationSettings(DecodeConfig(), [limit]))
    return model.target_tokenizer.decode([best.tokens])[0]


def numbers(page: Page, selector: str) -> list[float]:
    """The numbers that are shown there, once they are."""
    expect(page.locator(selector).first).to_be_visible()
    texts = [text.replace("−", "-") for text in page.locator(selector).all_inner_texts()]
    return [0.0 if text.startswith("<") else float(text) for text in texts]


def test_another_word_is_taken_and_the_rest_decoded_anew(
    page_file: Path, trained: TranslationModel, browser: Browser
) -> None:
    with opened(browser, page_file) as page:
        expect(page.locator(".output")).to_have_text(TRANSLATION)
        page.get_by_role("button", name="cat, probability").click()
        shares = numbers(page, ".alternative .number")
        assert shares == sorted(shares, reverse=True)
        assert 0.5 < sum(shares) <= 1.001
        assert "0.000" not in page.locator(".alternative .number").all_inner_texts()  # but < 0.001
        expect(page.locator(".alternative[aria-current]")).to_contain_text("cat")
        other = page.locator(".alternative:not([aria-current]):not(:disabled)").first
        piece = other.locator(".piece").inner_text()
        other.click()
        expect(page.locator(".tokens .forced")).to_have_count(2)
        expect(page.locator(".tokens .forced bdi").nth(1)).to_have_text(piece)
        page.wait_for_url(lambda url: "prefix=" in url)
        prefix = json.loads(parse_qs(page.url.split("#")[1])["prefix"][0])
        expected = decoded(trained, prefix)
        expect(page.locator(".output")).to_have_text(expected)
        page.get_by_role("button", name="Let the model choose").click()
        expect(page.locator(".output")).to_have_text(TRANSLATION)


def test_alternatives_have_the_probabilities_of_the_model(
    page_file: Path, trained: TranslationModel, browser: Browser
) -> None:
    expected = trained.translate(SENTENCE, beam=1, words=True)
    with opened(browser, page_file, "#beam=1") as page:
        expect(page.locator(".output")).to_have_text(expected.text)
        shown = numbers(page, ".tokens .token small")
        log_p = float(page.locator(".best tbody td.number").nth(1).inner_text().replace("−", "-"))
        product = 1.0
        for p in shown:
            product *= p
        assert product == pytest.approx(2.718281828**log_p, abs=0.03)
        assert float(page.locator(".best tbody td.number").first.inner_text().replace("−", "-")) == pytest.approx(
            trained.translate(SENTENCE, beam=1, n_best=1).alternatives[0][1], abs=1e-3
        )


def test_a_continuation_that_the_limit_cut_shows_its_own_probabilities(browser: Browser, tmp_path: Path) -> None:
    model = reader("language_model gpt", tmp_path)
    page_file = model.explore(tmp_path / "gpt.html", sentence="el tren").path
    with opened(browser, page_file, "#beam=1") as page:
        expect(page.locator(".best")).to_contain_text("cut at the length limit")
        tokens = page.locator(".tokens .token")
        assert "</s>" not in tokens.locator("bdi").all_inner_texts()
        first = numbers(page, ".tokens .token small")[0]
        tokens.first.click()
        taken = page.locator(".alternative[aria-current=true] .number")
        assert float(taken.inner_text()) == pytest.approx(first, abs=0.006)
        expect(page.locator(".candidates tbody tr").first).to_contain_text("cut at the length limit")
        log_p = float(page.locator(".best tbody td.number").nth(1).inner_text().replace("−", "-"))
        shown = numbers(page, ".tokens .token small")
        assert sum(map(math.log, shown)) == pytest.approx(log_p, rel=0.05)
        head = page.locator(".best thead th").filter(has_text="Score")
        assert head.evaluate("one => getComputedStyle(one).textAlign") == "end"  # above its numbers


def test_the_n_best_are_python_s(page_file: Path, trained: TranslationModel, browser: Browser) -> None:
    model = load(trained.path, engine="torch")  # CTranslate2 ends a search by another rule, which the last ranks show
    expected = model.translate(SENTENCE, beam=4, n_best=4).alternatives
    with opened(browser, page_file) as page:
        page.get_by_label("Beam size").select_option("4")
        rows = page.locator(".best tbody tr")
        expect(rows).to_have_count(4)
        assert rows.locator("button").all_inner_texts() == [
            text.strip() for text, _ in expected
        ]  # as a browser shows it
        assert numbers(page, ".best tbody td:nth-child(3)") == pytest.approx([score for _, score in expected], abs=1e-3)
        rows.nth(2).locator("button").click()
        expect(page.locator(".output")).to_have_text(expected[2][0])
        expect(rows.nth(2).locator("button")).to_be_focused()


def test_beam_search_is_gone_through_step_by_step(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file, "#beam=3") as page:
        counter, rows = page.locator(".beam output"), page.locator(".candidates tbody tr")
        expect(counter).to_contain_text("of")
        steps = int(counter.inner_text().split()[-1])
        slider = page.get_by_label("Search step")
        slider.fill("1")
        expect(counter).to_have_text(f"step 2 of {steps}")
        expect(rows).to_have_count(6)
        fates = [row.get_attribute("class") for row in rows.all()]
        assert fates.count("kept") == 3
        totals = numbers(page, ".candidates tbody td:nth-child(5)")
        assert totals == sorted(totals, reverse=True)
        expect(page.locator(".why")).to_contain_text("6 candidates; 3 kept")
        expect(rows.nth(fates.index("dropped"))).to_contain_text("only 3 continue")
        page.get_by_role("button", name="Previous step").click()
        expect(counter).to_have_text(f"step 1 of {steps}")
        page.get_by_role("button", name="Play").click()
        expect(counter).to_have_text(f"step {steps} of {steps}", timeout=30_000)
        assert "ended" in [row.get_attribute("class") for row in rows.all()]
        expect(page.get_by_role("button", name="Play")).to_be_visible(timeout=30_000)


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("el gato ve el tren", []),
        ("El gato ve. El perro sigue.", ["several sentences"]),
        ("el gato ve 12 trenes", ["numbers"]),
        ("EL GATO VE", ["capitals"]),
        ("el gato de a@b.es ve", ["addresses"]),
        ("el gato ve 🚂", ["emoji"]),
        ("¿EL GATO 3? VE {X} ☀️", ["several", "numbers", "addresses", "emoji", "capitals"]),
    ],
)
def test_it_says_what_the_page_does_not_treat(text: str, notes: list[str], page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file) as page:
        page.locator("#sentence").fill("El gato ve. EL PERRO VE 3 {trenes}.")
        expect(page.locator(".notes li")).to_have_count(3)
        page.locator("#sentence").fill(text)
        expect(page.locator(".notes li")).to_have_count(len(notes))
        for note, words in zip(page.locator(".notes li").all(), notes, strict=True):
            expect(note).to_contain_text(words)


def test_it_has_the_emoji_of_mirada_translate(page: Page, site: Site) -> None:
    letters = [chr(code) for code in [*range(0x2190, 0x2C00), *range(0x1EFFE, 0x1FB02)]]
    expected = [letter for letter in letters if any(span.kind == "emoji" for span in spans(letter))]
    noted = f"import('{site.url}/notes.js').then(({{notesOn}}) => LETTERS.filter((one) => NOTED))"
    script = noted.replace("LETTERS", json.dumps(letters)).replace("NOTED", "notesOn(one).includes('note.emoji')")
    assert page.evaluate(script) == expected


def test_a_sentence_that_cannot_be_read_gets_one_line(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file) as page:
        page.locator("#sentence").fill("el gato ve " * 200)
        expect(page.locator(".status.problem")).to_contain_text("shorten it")
        page.locator("#sentence").fill("")
        expect(page.locator(".output")).to_have_text(TRANSLATION)
        expect(page.locator(".status")).to_be_hidden()
        expect(page.locator("#sentence")).to_have_attribute("placeholder", SENTENCE)

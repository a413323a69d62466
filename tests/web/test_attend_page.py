"""The page that `mirada attend --out look.html` writes: what a person points at shows its weights, on a phone, too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from mirada import TranslationModel
from tests.inspection.test_attention import an_attention
from tests.web.test_explore import opened

SENTENCE = "el gato negro sigue el tren rojo"


@pytest.mark.parametrize("width", [320, 1200])
def test_what_is_pointed_at_says_where_it_looks(
    width: int, trained: TranslationModel, browser: Browser, tmp_path: Path
) -> None:
    found = trained.attend(SENTENCE)
    found.save(tmp_path / "look.html")
    with opened(browser, tmp_path / "look.html") as page:
        page.set_viewport_size({"width": width, "height": 800})
        queries, keys = page.locator("#queries li"), page.locator("#keys li")
        assert queries.all_inner_texts() == [piece.replace(" ", "▁") for piece in found.target]
        for place, weights in enumerate(found.mean):
            before = queries.nth(place).bounding_box()
            queries.nth(place).hover()  # it does not move away
            assert queries.nth(place).bounding_box() == before
            most = int(weights.argmax())
            said = f"looks at {keys.nth(most).inner_text()} {100 * weights[most]:.0f} %"
            expect(page.locator("#said")).to_contain_text(said)
            # a line for each weight of 1 % and more; the page holds thousandths, so that 0.95 % may count
            assert (weights >= 0.011).sum() <= page.locator("#lines line").count() <= (weights >= 0.009).sum()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width


def test_words_are_whole_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    found = an_attention(["because", "frightened"], ["porque", "demasiado"])
    found.save(tmp_path / "look.html")
    with opened(browser, tmp_path / "look.html") as page:
        page.set_viewport_size({"width": 320, "height": 800})
        words = page.locator("#look li")
        expect(words).to_have_count(4)
        assert words.evaluate_all("all => all.every((one) => one.scrollWidth <= one.clientWidth)")


def test_hypotheses_parts_heads_and_words_are_chosen(
    trained: TranslationModel, browser: Browser, tmp_path: Path
) -> None:
    found = trained.attend(SENTENCE, n_best=2)
    found.save(tmp_path / "look.html")
    with opened(browser, tmp_path / "look.html") as page:
        page.get_by_label("hypothesis").select_option("1")
        expect(page.locator("h1")).to_have_text(f"{SENTENCE} → {found.others[0].output}")
        page.get_by_label("part").select_option("encoder.self")
        page.get_by_label("head").select_option("1")
        page.get_by_label("words").check()
        weights = found.others[0].select("encoder", head=1, words=True).mean
        shades = page.locator("tbody td").evaluate_all("all => all.map(one => parseFloat(one.title.split(': ')[1]))")
        assert np.reshape(shades, weights.shape) == pytest.approx(100 * weights, abs=1)
        assert page.locator("tbody th").all_inner_texts() == [*SENTENCE.split(), "</s>"]

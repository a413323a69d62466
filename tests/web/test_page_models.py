"""Training, two models, gates over time, models that read a text, recorded sentences: each shows its own numbers."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import mirada
from mirada import ClassificationModel, TranslationModel, bundle
from mirada.inspection.snapshots import load_history
from tests import reviews, toy
from tests.web.recorded_pages import looks, recorded_page
from tests.web.test_explore import opened
from tests.web.test_page_look import table

SENTENCE = "el gato ve el tren rojo"
TRANSLATION = "the cat sees the red train"


@pytest.fixture(scope="module")
def lstm(toy_tsv: Path, tmp_path_factory: pytest.TempPathFactory) -> TranslationModel:
    settings = {"model": {"width": 32}, "tokenizer": toy.TINY["tokenizer"], "train": toy.TINY["train"]}
    out = tmp_path_factory.mktemp("lstm") / "lstm"
    return mirada.train(
        toy_tsv, TranslationModel, model="seq2seq-lstm+additive", out=out, steps=20, settings=settings,
        source_language="es", target_language="en",
    )  # fmt: skip


def test_training_is_dragged_through(trained: TranslationModel, browser: Browser, tmp_path: Path) -> None:
    trained.explore(tmp_path / "toy.html", sentence=SENTENCE)
    with opened(browser, tmp_path / "toy.html", "#view=training&place=0 1") as page:
        counter, slider = page.locator(".player output"), page.get_by_label("Training step")
        expect(counter).to_have_text("step 500 of 500")
        content = bundle.read_optional(trained.path, bundle.ATTENTION)
        assert content is not None
        history = load_history(content, "toy")
        texts = ["".join(pieces).removesuffix("</s>").strip() for pieces in (history.source, history.target)]
        expect(page.locator(".pair")).to_have_text(" → ".join(texts))  # not the sentence above
        rows, columns, last = table(page)
        assert rows[-1] == columns[-1] == "</s>"
        assert last.sum(1) == pytest.approx(1, abs=0.06)
        slider.fill("0")
        expect(counter).not_to_have_text("step 500 of 500")
        expect(page.locator(".figure h2")).to_contain_text("layer 0, head 1")
        first = table(page)[2]
        assert first.max(1).mean() < last.max(1).mean()  # from blur to alignment
        page.get_by_role("button", name="Next step").click()
        page.wait_for_url(lambda url: "moment=1" in url)
        expect(page.locator(".training > canvas")).to_have_attribute("aria-label", re.compile(r"on average: [\d.]+"))


def test_two_models_have_one_scale(
    trained: TranslationModel, lstm: TranslationModel, browser: Browser, tmp_path: Path
) -> None:
    mirada.explore(trained, lstm, out=tmp_path / "two.html", sentence=SENTENCE)
    with opened(browser, tmp_path / "two.html", "#view=compare&places=%7B%220%22%3A%22cross+0+1%22%7D") as page:
        expect(page.locator(".sides .made").first).to_have_text(TRANSLATION)
        expect(page.locator(".sides .made").nth(1)).to_have_text(lstm.translate(SENTENCE, recover=False).text)
        shown = []
        for side in page.locator(".sides > section").all():
            side.locator("details.table summary").click()
            expect(side.locator("tbody tr").first).to_be_visible()
            cells = [row.locator("td").all_inner_texts() for row in side.locator("tbody tr").all()]
            shown.append(np.array(cells, dtype=float))
        expected = trained.trace(SENTENCE).tensors["decoder.0.cross.weights"][1]
        assert shown[0] == pytest.approx(expected, abs=0.006)
        places = page.get_by_role("region", name=trained.path.name).get_by_label("Map")
        places.select_option("decoder 0 0")  # its rows are chosen, its columns were read
        expect(page.locator(".sides thead th").first).to_have_text("choosing ↓ looks at →")
        places.select_option("cross 0 1")
        expect(page.locator(".sides thead th").nth(1)).to_have_text("el")
        second = lstm.trace(SENTENCE, recover=False)
        assert shown[1] == pytest.approx(second.tensors["attention.weights"][0], abs=0.006)
        page.get_by_label("full contrast").check()
        largest = f"{max(matrix.max() for matrix in shown):.2f}"
        expect(page.get_by_label("full contrast")).to_be_checked()
        with page.expect_download() as one, page.expect_download() as other:
            for button in page.get_by_role("button", name="Save as SVG").all():
                button.click()
        for download in (one, other):
            assert f">{largest}  weight" in Path(download.value.path()).read_text(encoding="utf-8")


def test_models_of_one_name_are_numbered(trained: TranslationModel, browser: Browser, tmp_path: Path) -> None:
    other = shutil.copytree(trained.path, tmp_path / trained.path.name)
    mirada.explore(trained, other, out=tmp_path / "two.html", sentence=SENTENCE)
    names = [f"{trained.path.name} ({number})" for number in (1, 2)]
    off = "switches=%7B%22positions%22%3Afalse%7D"
    with opened(browser, tmp_path / "two.html", f"#view=compare&model=1&{off}") as page:
        expect(page.locator(".sides h2")).to_have_text(names)
        expect(page.get_by_role("combobox", name="Model").locator("option")).to_have_text(names)
        for name in names:
            expect(page.get_by_role("region", name=name)).to_be_visible()
        expect(page.locator(".sides .parts-off").first).to_be_hidden()
        expect(page.locator(".sides .parts-off").last).to_have_text("1 part switched off")
        expect(page.locator(".sides .made").first).to_have_text(TRANSLATION)


def test_gates_are_those_of_the_trace(lstm: TranslationModel, browser: Browser, tmp_path: Path) -> None:
    lstm.explore(tmp_path / "lstm.html", sentence=SENTENCE)
    gates = lstm.trace(SENTENCE, recover=False).tensors
    with opened(browser, tmp_path / "lstm.html", "#view=attention&part=gates&gate=encoder.0.backward+f") as page:
        expect(page.locator(".figure h2")).to_have_text("encoder, layer 0, ← backward: forget gate f")
        _, columns, numbers = table(page)
        assert columns[-1] == "</s>"
        assert numbers == pytest.approx(gates["encoder.0.backward.f"].T, abs=0.006)
        page.get_by_role("radio", name="decoder, layer 0, forward →: state h").click()
        expect(page.locator(".figure h2")).to_have_text("decoder, layer 0, forward →: state h")
        _, columns, numbers = table(page)
        assert columns[0] == "<s>"
        assert numbers == pytest.approx(gates["decoder.0.forward.h"].T, abs=0.006)


def test_a_class_is_predicted(browser: Browser, tmp_path: Path) -> None:
    file = reviews.write(tmp_path / "reviews.csv", reviews.rows(80))
    model = mirada.train(
        file, ClassificationModel, model="transformer", out=tmp_path / "bundle", steps=20, settings=reviews.SMALL
    )
    text = reviews.rows(3, seed=7)[0][0]
    model.explore(tmp_path / "page.html", sentence=text)
    expected = model.classify(text)
    with opened(browser, tmp_path / "page.html") as page:
        rows = page.locator(".bars li")
        expect(rows).to_have_count(2)
        expect(rows.first.locator("bdi")).to_have_text(expected.label)
        assert float(rows.first.locator(".number").inner_text()) == pytest.approx(
            expected.probabilities[expected.label], abs=1e-3
        )
        expect(page.locator(".output")).to_contain_text(expected.label)


def test_what_needs_the_weights_is_not_there(browser: Browser, tmp_path: Path) -> None:
    page_file = recorded_page(
        tmp_path / "page.html", [" el", " gato", "</s>"], [" a", " cat", "</s>"], looks(1, 2, 3, 3)
    )
    with opened(browser, page_file) as page:
        assert page.locator("[role=tab]").all_inner_texts() == ["Look", "Walk"]
        expect(page.locator(".whole")).to_have_text("el gato")  # a list cuts a long sentence
        expect(page.locator("footer")).to_contain_text("recorded from the model with PyTorch")
        expect(page.locator("footer")).not_to_contain_text("computed in your browser")
        expect(page.locator(".proof")).to_be_hidden()
        page.locator("#tab-attention").click()
        numbers = table(page)[2]
    with opened(browser, page_file, "#text=otra+cosa&view=translate&switches={%22scale%22:false}") as page:
        expect(page.locator("#sentence")).to_have_value("el gato")
        expect(page.locator(".output")).to_have_text("a cat")
        expect(page.locator("#tab-attention")).to_have_attribute("aria-selected", "true")
        expect(page.locator(".parts-off")).to_be_hidden()  # what was recorded has no switches
    assert numbers == pytest.approx(looks(1, 2, 3, 3)["decoder.0.cross.weights"].mean(0), abs=0.006)

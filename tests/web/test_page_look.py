"""Maps, lines and words of the page show the model's attention, and can be saved as pictures."""

from __future__ import annotations

import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from mirada import TranslationModel
from mirada.contracts import EOS
from tests import toy
from tests.web.recorded_pages import looks, recorded_page
from tests.web.test_explore import opened

SENTENCE = "el gato negro sigue el tren 42"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def page_file(trained: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "toy.html"
    trained.explore(out, sentence=SENTENCE)
    return out


@pytest.fixture(scope="module")
def weights(trained: TranslationModel) -> npt.NDArray[np.float32]:
    """[H, T, S] of the only layer's cross-attention, as PyTorch computes it."""
    return trained.trace(SENTENCE).tensors["decoder.0.cross.weights"]


def drawn(page: Page) -> dict[tuple[int, int], float]:
    """The lines on the page: their weights by row and column."""
    expect(page.locator(".lines path").first).to_be_attached()
    found = page.eval_on_selector_all(
        ".lines path", "all => all.map(one => [one.dataset.row, one.dataset.column, one.dataset.weight].map(Number))"
    )
    return {(int(row), int(column)): weight for row, column, weight in found}


def expected_lines(matrix: npt.NDArray[np.float32]) -> dict[tuple[int, int], float]:
    return {place: float(weight) for place, weight in np.ndenumerate(matrix) if weight >= 0.02}


def test_the_lines_of_a_word_are_its_weights(
    page_file: Path, weights: npt.NDArray[np.float32], browser: Browser
) -> None:
    with opened(browser, page_file, "#view=attention&part=cross&figure=lines&head=1") as page:
        assert drawn(page) == pytest.approx(expected_lines(weights[1]), abs=1e-4)
        page.locator("[data-word='row:2']").hover()
        expect(page.locator(".lines path:not([data-row='2'])")).to_have_count(0)
        row = {place: weight for place, weight in expected_lines(weights[1]).items() if place[0] == 2}
        assert drawn(page) == pytest.approx(row, abs=1e-4)
        strongest = int(weights[1, 2].argmax())
        share = page.locator(f"[data-word='column:{strongest}']").get_attribute("data-share")
        assert float(share or "nan") == pytest.approx(weights[1, 2, strongest], abs=0.006)
        page.locator(f"[data-word='column:{strongest}']").hover()
        expect(page.locator(f".lines path:not([data-column='{strongest}'])")).to_have_count(0)
        column = {place: weight for place, weight in expected_lines(weights[1]).items() if place[1] == strongest}
        assert drawn(page) == pytest.approx(column, abs=1e-4)


def test_the_lines_follow_the_keyboard(page_file: Path, weights: npt.NDArray[np.float32], browser: Browser) -> None:
    with opened(browser, page_file, "#view=attention&part=cross&figure=lines&head=0") as page:
        page.locator("[data-word='row:0']").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("[data-word='row:1']")).to_be_focused()
        expect(page.locator(".lines path:not([data-row='1'])")).to_have_count(0)
        expect(page.locator(".lines .unseen")).to_contain_text("→")
        page.keyboard.press("Enter")
        expect(page.locator("[data-word='row:1']")).to_be_focused()
        page.wait_for_url(lambda url: "token=1" in url)
        row = {place: weight for place, weight in expected_lines(weights[0]).items() if place[0] == 1}
        assert drawn(page) == pytest.approx(row, abs=1e-4)


def table(page: Page) -> tuple[list[str], list[str], npt.NDArray[np.float64]]:
    """The map as a table: labels of its rows and columns, and the numbers."""
    details = page.locator(".map details.table").locator("visible=true")
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    rows = details.locator("tbody tr")
    expect(rows.first).to_be_visible()
    numbers = [numbers_of(row) for row in rows.all()]
    columns = details.locator("thead th").all_inner_texts()[1:]
    return details.locator("tbody th").all_inner_texts(), columns, np.array(numbers)


def test_words_are_merged_as_in_python(page_file: Path, trained: TranslationModel, browser: Browser) -> None:
    expected = trained.attend(SENTENCE)["decoder.cross"].words()
    with opened(browser, page_file, "#view=attention&part=cross&words=true&head=0") as page:
        rows, columns, numbers = table(page)
    assert columns[-2:] == ["42", "</s>"]
    assert rows[-2:] == ["42", "</s>"]
    assert numbers == pytest.approx(np.asarray(expected)[0, 0], abs=0.006)


def test_a_mean_is_over_all_heads(page_file: Path, weights: npt.NDArray[np.float32], browser: Browser) -> None:
    with opened(browser, page_file, "#view=attention&part=cross") as page:
        page.get_by_role("radio", name="layer 0, mean of all heads").click()
        expect(page.locator(".figure h2")).to_contain_text("mean of all heads")
        assert table(page)[2] == pytest.approx(weights.mean(0), abs=0.006)


def test_attention_beside_leaving_words_out_as_in_python(
    page_file: Path, trained: TranslationModel, browser: Browser, tmp_path: Path
) -> None:
    text = next(text for text, _ in toy.pairs(20, seed=6) if cut_as_generated(trained, text))
    expected = trained.attribute(text, methods="leave-out", layer=0, head=1)
    with opened(browser, page_file, f"#view=attention&part=cross&head=1&text={text}") as page:
        page.get_by_role("radio", name="what it depends on").click()
        maps = page.locator(".rests > section")
        expect(maps).to_have_count(2)
        for shown, values in zip(maps.all(), (expected.attention, expected.measures["leave-out"]), strict=True):
            shown.locator("summary").click()
            rows = shown.locator("tbody tr")
            expect(rows).to_have_count(len(expected.target))
            assert tuple(shown.locator("tbody th").all_inner_texts()) == expected.target
            assert tuple(shown.locator("thead th").all_inner_texts()[1:]) == expected.source
            numbers = [numbers_of(row) for row in rows.all()]
            assert np.array(numbers) == pytest.approx(values, abs=0.006)
        correlations = page.locator(".rests > div tbody tr")
        rho = [numbers_of(row.locator("td.number"))[0] for row in correlations.all()]
        assert rho == pytest.approx(expected.correlation("leave-out"), abs=0.006)
        mean = f"ρ = {expected.mean_correlation('leave-out'):.2f}".replace("-", "−")
        expect(page.locator(".rests .summary")).to_contain_text(mean)
        svg = saved(page, maps.nth(1).get_by_role("button", name="Save as SVG"), tmp_path)
        assert "without →" in texts_of(svg)
        attention = texts_of(saved(page, maps.first.get_by_role("button", name="Save as SVG"), tmp_path))
        assert "1.00  weight" in attention or "1  weight" in attention  # not that a row sums to 1: </s> is left out
        page.get_by_label("full contrast").check()
        expect(page.get_by_label("full contrast")).to_be_checked()
        darker = texts_of(saved(page, maps.first.get_by_role("button", name="Save as SVG"), tmp_path))
        assert not {"1.00  weight", "1  weight"} & set(darker)  # but the largest weight that there is
        page.get_by_role("radio", name="layer 0, head 0").click()
        expect(page.locator(".figure h2")).to_contain_text("layer 0, head 0")
        expect(page.locator(".rests .summary")).not_to_contain_text(mean)
        page.get_by_role("radio", name="within the sentence").click()
        expect(page.get_by_role("radio", name="what it depends on")).to_have_count(0)


def cut_as_generated(model: TranslationModel, text: str) -> bool:
    """Whether a translation has the tokens that the model generates: Python cuts its text anew, the page does not."""
    trace = model.trace(text)
    (ids,) = model.target_tokenizer.encode([trace.output or ""])
    return [*ids, EOS] == list(trace.tokens["target"].ids)


def numbers_of(row: Locator) -> list[float]:
    """The numbers of a row of a table, or of a cell."""
    cells = row.locator("td")
    texts = cells.all_inner_texts() if cells.count() else row.all_inner_texts()
    return [float(text.replace("−", "-")) for text in texts]


OPENED_TABLE = """() => new Promise((drawn) => {
  document.querySelector(".map details").open = true;
  requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(drawn)));
})"""


def test_a_cell_is_read_by_pointer_and_by_keys(
    page_file: Path, weights: npt.NDArray[np.float32], browser: Browser
) -> None:
    with opened(browser, page_file, "#view=attention&part=cross&head=0") as page:
        stage = page.locator(".map .stage")
        stage.focus()
        for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
            page.keyboard.press(key)
        expect(page.locator(".tip")).to_contain_text(f"{weights[0, 1, 1]:.3f}")
        expect(page.locator(".map .unseen").first).to_contain_text(f"{weights[0, 1, 1]:.3f}")
        page.evaluate(OPENED_TABLE)  # the figure is higher, and its map the same: the cell is still pointed at
        expect(page.locator(".tip")).to_be_visible()
        band = page.locator(".band").first.bounding_box()
        assert band is not None
        page.keyboard.press("Escape")
        expect(page.locator(".tip")).to_be_hidden()
        page.mouse.move(band["x"] + band["width"] - 3, band["y"] + 3)
        expect(page.locator(".tip")).to_contain_text(f"{weights[0, 1, -1]:.3f}")
        page.mouse.click(band["x"] + band["width"] - 3, band["y"] + 3)
        expect(page.locator(".figure h2")).to_contain_text("Where each head looks")
        assert table(page)[2] == pytest.approx(weights[:, 1], abs=0.006)


@pytest.mark.parametrize(
    ("fragment", "place"),
    [("", "layer 2, mean of all heads"), ("&layer=0&head=0", "layer 0, head 0"), ("&head=1", "layer 0, head 1"),
     ("&layer=1", "layer 1, head 0"), ("&layer=-1&head=-1", "mean of all layers, mean of all heads")],
)  # fmt: skip
def test_it_looks_first_at_the_mean_of_the_last_layer(
    fragment: str, place: str, browser: Browser, tmp_path: Path
) -> None:
    page_file = recorded_page(tmp_path / "layers.html", [" el", "</s>"], [" the", "</s>"], looks(3, 2, 2, 2))
    with opened(browser, page_file, f"#view=attention{fragment}") as page:
        expect(page.locator(".figure h2")).to_have_text(f"translation → sentence, {place}")
        expect(page.locator(".grid [aria-checked=true]")).to_have_attribute("aria-label", place)
        page.get_by_role("radio", name="layer 0, head 0").click()
        page.wait_for_url(lambda url: "layer=0&head=0" in url)


def test_heads_are_chosen_by_arrow_keys(page_file: Path, browser: Browser) -> None:
    with opened(browser, page_file, "#view=attention&part=encoder") as page:
        page.get_by_role("radio", name="layer 0, mean of all heads").focus()
        page.keyboard.press("ArrowLeft")
        expect(page.get_by_role("radio", name="layer 0, head 1")).to_be_focused()
        expect(page.locator(".figure h2")).to_contain_text("layer 0, head 1")
        page.wait_for_url(lambda url: "head=1" in url)


def test_brackets_are_typed_with_alt_gr(page_file: Path, browser: Browser) -> None:
    """As on Spanish and Portuguese keyboards; Control and Alt are pressed then for some browsers."""
    pressed = """(keys) => document.body.dispatchEvent(
        new KeyboardEvent("keydown", {key: "}", bubbles: true, ...keys}))"""
    with opened(browser, page_file, "#view=attention&part=cross&head=0") as page:
        heading = page.locator(".figure h2")
        expect(heading).to_contain_text("layer 0, head 0")
        page.evaluate(pressed, {"ctrlKey": True})
        page.evaluate(pressed, {"metaKey": True, "altKey": True})
        page.evaluate(pressed, {"ctrlKey": True, "altKey": True, "modifierAltGraph": True})
        expect(heading).to_contain_text("layer 0, head 1")
        page.evaluate(pressed, {"altKey": True})
        expect(heading).to_contain_text("layer 0, mean of all heads")


def texts_of(svg: Path) -> list[str | None]:
    return [one.text for one in ElementTree.parse(svg).getroot().iter(f"{SVG}text")]


def saved(page: Page, button: Locator, folder: Path) -> Path:
    with page.expect_download() as download:
        button.click()
    out = folder / download.value.suggested_filename
    download.value.save_as(out)
    return out


@pytest.mark.parametrize("figure", ["map", "lines", "heads"])
def test_a_figure_is_saved_as_svg_and_png(figure: str, page_file: Path, browser: Browser, tmp_path: Path) -> None:
    with opened(browser, page_file, f"#view=attention&part=cross&figure={figure}") as page:
        expect(page.locator(".figure h2")).to_be_visible()
        rows, columns = len(SENTENCE.split()), len(SENTENCE.split())
        svg = saved(page, page.get_by_role("button", name="Save as SVG"), tmp_path)
        png = saved(page, page.get_by_role("button", name="Save as PNG"), tmp_path)
    root = ElementTree.parse(svg).getroot()
    assert root.tag == f"{SVG}svg"
    assert root.findtext(f"{SVG}title")
    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert "gato" in texts
    assert ("looks at" if figure == "lines" else "looks at →") in texts
    if figure == "map":
        assert len(list(root.iter(f"{SVG}rect"))) > rows * columns
    if figure == "lines":
        assert len(list(root.iter(f"{SVG}path"))) >= rows
    data = png.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert abs(width - 2 * float(root.attrib["width"])) <= 2
    assert abs(height - 2 * float(root.attrib["height"])) <= 2


def test_a_character_of_several_tokens_is_one_word(browser: Browser, tmp_path: Path) -> None:
    page_file = recorded_page(tmp_path / "bytes.html", [" a", " 你", "", "好", "", "</s>"], ["a"], looks(1, 1, 1, 6))
    with opened(browser, page_file, "#view=attention") as page:
        assert table(page)[1] == ["a", "你", "∅", "·好", "∅", "</s>"]
    with opened(browser, page_file, "#view=attention&words=true") as page:
        assert table(page)[1] == ["a", "你", "好", "</s>"]


def test_labels_of_other_scripts_are_whole(browser: Browser, tmp_path: Path) -> None:
    source = [" الكتاب", " على", " 👩‍👩‍👧", " 书", " Donaudampfschifffahrtsgesellschaftskapitän", "</s>"]
    target = [" a<b>&", " x\x07y", "</s>"]
    page_file = recorded_page(tmp_path / "scripts.html", source, target, looks(2, 2, 3, 6))
    with opened(browser, page_file, "#view=attention") as page:
        rows, columns, _ = table(page)
        svg = saved(page, page.get_by_role("button", name="Save as SVG"), tmp_path)
        page.set_viewport_size({"width": 320, "height": 800})
        page.reload()  # what is drawn anew for another width forgets which cell is pointed at
        expect(page.locator(".figure h2")).to_be_visible()
        page.locator(".map .stage").focus()
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        expect(page.locator(".tip")).to_contain_text(source[4].strip())
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        page.set_viewport_size({"width": 420, "height": 800})
        page.get_by_role("radio", name="lines").click()
        word = page.locator("[data-word='column:4']")
        expect(word).to_contain_text("…")
        expect(word).to_have_attribute("title", source[4].strip())
    assert columns == [piece.strip() for piece in source]
    assert rows == ["a<b>&", "x\ufffdy", "</s>"]
    texts = [one.text for one in ElementTree.parse(svg).getroot().iter(f"{SVG}text")]
    assert {"الكتاب", "👩‍👩‍👧", "a<b>&"} <= set(texts)


def test_space_has_a_label(browser: Browser, tmp_path: Path) -> None:
    source, target = [" el", "\n", " ", "gato", "</s>"], [" the", "\t", "cat", "\n", "</s>"]
    page_file = recorded_page(tmp_path / "space.html", source, target, looks(1, 2, 5, 5))
    with opened(browser, page_file, "#view=attention") as page:
        rows, columns, _ = table(page)
        assert columns == ["el", "↵", "␣", "gato", "</s>"]
        assert rows == ["the", "⇥", "cat", "↵", "</s>"]
    with opened(browser, page_file, "#view=attention&words=true") as page:
        rows, columns, _ = table(page)
        assert columns == ["el", "gato", "</s>"]
        assert rows == ["the", "cat", "↵", "</s>"]


def test_a_legend_is_whole_on_a_phone(page_file: Path, browser: Browser, tmp_path: Path) -> None:
    legends = {"en": "weight; a row sums to 1", "es": "peso; cada fila suma 1", "pt": "peso; cada linha soma 1"}
    with opened(browser, page_file, "#view=attention&part=cross") as page:
        page.set_viewport_size({"width": 320, "height": 800})
        for language, legend in legends.items():
            page.locator(".settings select").first.select_option(language)
            expect(page.locator("html")).to_have_attribute("lang", language)
            expect(page.locator(".map canvas")).to_be_visible()
            svg = saved(page, page.locator(".pictures button").first, tmp_path)
            texts = [text or "" for text in texts_of(svg)]
            assert legend in " ".join(texts)
            assert not any(text.endswith("…") for text in texts)
            below = [one for one in ElementTree.parse(svg).getroot().iter(f"{SVG}text") if (one.text or " ") in legend]
            height = float(ElementTree.parse(svg).getroot().attrib["height"])
            assert all(float(one.attrib["y"]) < height - 5 for one in below)


@pytest.mark.parametrize("language", ["en", "es", "pt"])
def test_the_names_of_small_maps_are_whole_on_a_phone(language: str, browser: Browser, tmp_path: Path) -> None:
    page_file = recorded_page(tmp_path / "heads.html", [" el", "</s>"], [" the", "</s>"], looks(2, 4, 2, 2))
    with opened(browser, page_file, f"#view=attention&lang={language}") as page:
        page.set_viewport_size({"width": 320, "height": 800})
        names = page.locator(".grid [role=radio] span")
        expect(names).to_have_count(15)
        assert names.evaluate_all("all => all.every((one) => one.scrollWidth <= one.clientWidth)")


COUNTED = """
for (const name of ["putImageData", "drawImage", "fillText"]) {
  const whole = CanvasRenderingContext2D.prototype[name];
  CanvasRenderingContext2D.prototype[name] = function (...given) {
    window.painted = (window.painted ?? 0) + 1;
    return whole.apply(this, given);
  };
}
0;
"""


def test_a_map_of_128_tokens_is_drawn_once(browser: Browser, tmp_path: Path) -> None:
    source, target = [[f" {name}{n}" for n in range(127)] + ["</s>"] for name in ("s", "t")]
    page_file = recorded_page(tmp_path / "large.html", source, target, looks(6, 8, 128, 128))
    with opened(browser, page_file, "#view=attention") as page:
        expect(page.locator(".grid button")).to_have_count(7 * 9)
        stage = page.locator(".map .stage")
        stage.scroll_into_view_if_needed()
        box = stage.bounding_box()
        assert box is not None
        page.evaluate(COUNTED)
        for step in range(1, 20):
            page.mouse.move(box["x"] + box["width"] * step / 20, box["y"] + 120 + 10 * step)
        expect(page.locator(".tip")).to_be_visible()
        assert page.evaluate("window.painted ?? 0") == 0  # pointing moves boxes over the map
        page.locator(".grid button").nth(10).click()
        expect(page.locator(".figure h2")).to_contain_text("layer 1, head 1")
        bitmaps = page.evaluate("window.painted")
        assert 0 < bitmaps < 500  # the large map and its labels; the 63 small ones stay

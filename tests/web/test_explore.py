"""The file that `mirada explore` writes, opened from the disk as a user does it: the model itself runs in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

import mirada
from mirada import TranslationModel
from mirada.explorer.entry import ARCHITECTURES
from tests import reviews, toy
from tests.command import run
from tests.integration import test_masked as masked
from tests.tasks.tagging import test_tagging as tagging
from tests.web.browser import Site

SENTENCES = [
    "el gato ve el tren",
    "el lobo negro busca el libro",
    "el perro sigue el barco rojo 42",
    "el tren tiene el gato",
]
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


@contextmanager
def opened(browser: Browser, path: Path, fragment: str = "") -> Iterator[Page]:
    """A file in a browser of its own; an error on the console, or any request, fails the test."""
    errors: list[str] = []

    def console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            errors.append(f"{message.type}: {message.text}")

    def request(request: Request) -> None:
        if not request.url.startswith(("data:", "blob:")) and request.url.partition("#")[0] != path.as_uri():
            errors.append(f"a request to {request.url}")

    context = browser.new_context(locale="en-GB", offline=True)
    page = context.new_page()
    page.set_default_timeout(120_000)  # nothing here takes a second, but other programs may use the cores
    page.on("console", console)
    page.on("pageerror", lambda error: errors.append(f"uncaught: {error}"))
    page.on("request", request)
    page.goto(path.as_uri() + fragment)
    yield page
    context.close()
    assert errors == []


def proven(page: Page) -> float:
    """The largest difference from PyTorch that the page found, once it says that it computes the same."""
    line = page.locator(".proof summary")
    expect(line).to_contain_text("✓", timeout=120_000)
    expect(page.locator(".proof.problem")).to_have_count(0)
    found = re.search(r"difference (?:(0)|([\d.]+) × 10⁻([⁰-⁹¹²³]+))\.", line.inner_text())
    assert found, line.inner_text()
    return 0.0 if found[1] else float(found[2]) * 10.0 ** -int(found[3].translate(RAISED))


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_a_translator_runs_in_the_page(
    precision: str, trained: TranslationModel, browser: Browser, tmp_path: Path
) -> None:
    out = tmp_path / "a page.html"
    done = run("explore", trained.path, "--out", out, "--sentence", SENTENCES[0], "--precision", precision)
    assert done.returncode == 0, done.stderr
    with opened(browser, out) as page:
        expect(page.locator(".output")).to_have_text("the cat sees the train", timeout=120_000)
        assert proven(page) < 1e-4
        said = run("translate", trained.path, *SENTENCES).stdout.splitlines()
        for sentence, translation in zip(SENTENCES, said, strict=True):
            page.locator("#sentence").fill(sentence)
            expect(page.locator(".output")).to_have_text(translation, timeout=120_000)
        assert proven(page) < 1e-4


def test_every_view_of_a_packed_model_opens(trained: TranslationModel, browser: Browser, tmp_path: Path) -> None:
    trained.explore(tmp_path / "toy.html", sentence=SENTENCES[0])
    with opened(browser, tmp_path / "toy.html") as page:
        expect(page.locator(".output")).to_have_text("the cat sees the train", timeout=120_000)
        tabs = page.locator("[role=tab]")
        names = tabs.all_inner_texts()
        assert {"Translate", "Look", "Walk", "Training"} <= set(names)
        for tab in tabs.all():
            tab.click()
            expect(tab).to_have_attribute("aria-selected", "true")
            expect(page.locator("main.panel")).not_to_be_empty()
            expect(page.locator(".status")).to_have_text("", timeout=120_000)


def test_recorded_sentences_are_shown_without_the_weights(
    trained: TranslationModel, browser: Browser, tmp_path: Path
) -> None:
    out = tmp_path / "recorded.html"
    traces = [part for sentence in SENTENCES[:2] for part in ("--trace", sentence)]
    assert run("explore", trained.path, "--out", out, *traces).returncode == 0
    with opened(browser, out) as page:
        expect(page.locator(".output")).to_have_text("the cat sees the train", timeout=120_000)
        page.locator("#sentence").select_option(SENTENCES[1])
        expect(page.locator(".output")).to_have_text(trained.translate(SENTENCES[1]).text, timeout=120_000)
        page.get_by_role("tab", name="Look").click()
        expect(page.locator("main.panel canvas").first).to_be_visible(timeout=120_000)
        expect(page.locator(".status")).to_have_text("", timeout=120_000)
        page.get_by_role("tab", name="Walk").click()
        page.locator(".walk-steps td[data-place]").first.click()
        expect(page.locator(".number-panel")).to_contain_text("only recorded sentences")


def test_two_models_are_compared(trained: TranslationModel, browser: Browser, toy_tsv: Path, tmp_path: Path) -> None:
    settings = {"model": {"width": 32}, "tokenizer": toy.TINY["tokenizer"], "train": toy.TINY["train"]}
    other = mirada.train(
        toy_tsv, TranslationModel, model="seq2seq-gru+additive", out=tmp_path / "gru", steps=20, settings=settings,
        source_language="es", target_language="en",
    )  # fmt: skip
    mirada.explore(trained, other, out=tmp_path / "two.html", sentence=SENTENCES[0])
    with opened(browser, tmp_path / "two.html") as page:
        expect(page.locator(".output")).to_have_text("the cat sees the train", timeout=120_000)
        assert proven(page) < 1e-4
        page.get_by_role("tab", name="Compare").click()
        expect(page.locator("main.panel canvas").first).to_be_visible(timeout=120_000)
        expect(page.locator(".status")).to_have_text("", timeout=120_000)
    with opened(browser, tmp_path / "two.html", "#model=1") as page:
        assert proven(page) < 1e-4


def documents(folder: Path) -> Path:
    """Texts with colours, as masked and causal language models learn from."""
    lines = [f"el {thing} es {colour}." for thing, colour in masked.COLOURS.items()]
    path = folder / "texts.txt"
    path.write_text("\n\n".join("\n".join(lines[n % 4 :] + lines[: n % 4]) for n in range(80)), encoding="utf-8")
    return path


def reader(kind: str, folder: Path) -> Any:
    """A model of another task that has learned next to nothing: its entry, not what it says, is of use."""
    task, name = kind.split()
    if task == "classification":
        file, settings = reviews.write(folder / "reviews.csv", reviews.rows(80)), reviews.SMALL
    elif task == "tagging":
        file, settings = tagging.write(folder / "tagged.conll", tagging.language(60)), tagging.TINY
    elif task == "masked_lm":
        file, settings = documents(folder), masked.SMALL
    else:
        file = documents(folder)
        settings = {
            "model": {"width": 32, "dropout": 0.0},
            "data": {"length": 16},
            "train": {"threads": 1, "warmup": 2},
        }
    return mirada.train(file, task=task, model=name, out=folder / "bundle", steps=3, settings=settings)


@pytest.mark.parametrize(
    "kind", ["classification lstm", "classification transformer", "tagging gru", "masked_lm bert", "language_model gpt"]
)
def test_models_of_other_tasks_run_in_the_page(kind: str, browser: Browser, tmp_path: Path) -> None:
    model = reader(kind, tmp_path)
    page_file = mirada.explore(model, out=tmp_path / "page.html")
    with opened(browser, page_file.path) as page:
        assert proven(page) < 1e-4
        if not kind.startswith("language_model"):  # this one may well continue with spaces
            expect(page.locator(".output")).not_to_be_empty(timeout=120_000)
        expect(page.locator(".status")).to_have_text("", timeout=120_000)


def test_the_engine_has_every_architecture_that_may_be_packed(page: Page, site: Site) -> None:
    def keys(module: str, name: str) -> set[str]:
        found: list[str] = page.evaluate(
            f"import('{site.url}/engine/{module}.js').then((module) => Object.keys(module.{name}))"
        )
        return set(found)

    translators = keys("transformer", "TRANSFORMERS") | keys("seq2seq", "SEQ2SEQS")
    readers = keys("rnn", "RECURRENT_ENCODERS") | keys("encoder", "TRANSFORMER_ENCODERS")
    readers |= keys("gpt", "GPTS") | keys("bert", "BERTS")
    assert ARCHITECTURES["translation"] <= translators
    for task in ARCHITECTURES.keys() - {"translation"}:
        assert ARCHITECTURES[task] <= readers

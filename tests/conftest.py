"""What many tests share: a small corpus, and a model trained on it until its choices are clear."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

import mirada
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.web.browser import CHROMIUM, FLAGS


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what is measured about the machine out of the user's cache."""
    os.environ["MIRADA_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def toy_tsv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,500 sentence pairs of the toy language."""
    return toy.write(tmp_path_factory.mktemp("toy") / "pairs.tsv", toy.pairs(1500))


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, toy_tsv: Path) -> TranslationModel:
    """A model that has learned the toy language; its bundle is at `trained.path`."""
    out = tmp_path_factory.mktemp("trained") / "bundle"
    return mirada.train(toy_tsv, out=out, steps=500, settings=toy.TINY, source_language="es", target_language="en")


@pytest.fixture(scope="session")
def both_ways(tmp_path_factory: pytest.TempPathFactory, toy_tsv: Path) -> TranslationModel:
    """A model of both directions that has learned next to nothing: its bundle, not what it says, is of use."""
    out = tmp_path_factory.mktemp("both") / "bundle"
    languages = {"source_language": "es", "target_language": "en", "direction": "both"}
    return mirada.train(toy_tsv, out=out, steps=12, settings=toy.TINY, **languages)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, with a fresh profile."""
    assert CHROMIUM is not None, "no chromium is installed: `make programs` installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()

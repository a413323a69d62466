"""Recurrent encoder–decoders compute the same in the page as in PyTorch: every cell, attention and place of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page
from safetensors.numpy import save

import mirada
from mirada.explorer.entry import entry_of
from mirada.explorer.weights import aliases_of, weights_file
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.web.browser import Site
from tests.web.networks import seq2seq
from tests.web.test_readers import check
from tests.web.test_reading import asked_each

CELLS = ["elman", "lstm", "gru"]
SENTENCES = [source for source, _ in toy.pairs(200, seed=5)]
SETTINGS: dict[str, Any] = {
    "model": {"width": 48, "attend": "before", "dropout": 0.0},
    "tokenizer": {"vocabulary": 340},
    "train": {"batch_tokens": 1500, "lr": 1e-2, "warmup": 20, "threads": 1},
}


@pytest.mark.parametrize("attend", ["before", "after"])
@pytest.mark.parametrize("attention", ["dot", "general", "additive"])
@pytest.mark.parametrize("cell", CELLS)
def test_with_attention(cell: str, attention: str, attend: str, lasting: Page, site: Site) -> None:
    for layers, bidirectional in ((1, True), (2, False), (2, True)):
        check(lasting, site, seq2seq(cell, attention, attend, layers=layers, bidirectional=bidirectional))


@pytest.mark.parametrize("cell", CELLS)
def test_without_attention(cell: str, lasting: Page, site: Site) -> None:
    for layers, bidirectional in ((1, True), (2, False), (3, True)):
        check(lasting, site, seq2seq(cell, layers=layers, bidirectional=bidirectional))


@pytest.mark.parametrize("tie", ["all", "output", "none"])
def test_embeddings_that_are_shared_or_not(tie: str, lasting: Page, site: Site) -> None:
    check(lasting, site, seq2seq("lstm", "additive", tie=tie))


# ── a trained one ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory, toy_tsv: Path) -> TranslationModel:
    """A model that has learned the toy language well enough to have clear choices."""
    return mirada.train(
        toy_tsv,
        TranslationModel,
        out=tmp_path_factory.mktemp("seq2seq") / "bundle",
        model="seq2seq-gru+additive",
        steps=200,
        settings=SETTINGS,
        source_language="es",
        target_language="en",
    )


@pytest.fixture(scope="module")
def taught_page(taught: TranslationModel, lasting: Page, site: Site) -> Page:
    """A page in which it is open."""
    entry = {**entry_of(taught, SENTENCES[0]), "aliases": aliases_of(taught.network)}
    program = "async (given) => (await import('/tests/sessions.js')).open(given)"
    said = lasting.evaluate(
        program, {"entry": entry, "weights": site.give("taught", weights_file(taught.network, "float32"))}
    )
    assert said["switches"] == []
    assert all(said[name] for name in ("hasEncoder", "hasDecoder", "generates"))
    return lasting


@pytest.mark.parametrize("beam", [1, 5])
def test_its_translations_are_those_of_pytorch(beam: int, taught: TranslationModel, taught_page: Page) -> None:
    found = asked_each(taught_page, "generate", SENTENCES, {"beam": beam})
    best = [one["hypotheses"][0] for one in found]
    expected = taught.translate(SENTENCES, beam=beam, recover=False)
    assert [one["text"] for one in best] == [one.text for one in expected]
    assert [one["score"] for one in best] == pytest.approx([one.score for one in expected], rel=1e-4, abs=1e-4)
    assert len({one["text"] for one in best}) > 150


def test_its_traces_are_those_of_pytorch(taught: TranslationModel, taught_page: Page, site: Site) -> None:
    for number, text in enumerate(SENTENCES[:5]):
        trace = taught.trace(text, beam=2)
        assert trace["attention.weights"].shape == (1, len(trace.target or ()), len(trace.source))
        ids = [*trace.tokens["target"].ids][:-1]
        content = save({path: np.ascontiguousarray(array) for path, array in trace.tensors.items()})
        program = "async (given) => (await import('/tests/sessions.js')).traceDifferences(...given)"
        found = taught_page.evaluate(program, [text, {"target": ids}, site.give(f"taught-{number}", content)])
        assert not found["faults"], found["faults"][:5]
        assert found["count"] == len(trace.tensors) > 15
        assert found["said"] == {"source": trace.source, "target": trace.target, "ids": ids}

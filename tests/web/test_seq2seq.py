"""Recurrent encoder–decoders compute the same in the page as in PyTorch: every cell, attention and place of it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.web.browser import Site
from tests.web.networks import seq2seq
from tests.web.test_readers import check

CELLS = ["elman", "lstm", "gru"]


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

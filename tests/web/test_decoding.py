"""Search in the page finds what Python's finds: the same hypotheses and scores, in the same order."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from playwright.sync_api import Page

from mirada.contracts import BOS, EOS, Batch
from mirada.decoding import DecodeConfig, decode
from tests.web.browser import Site
from tests.web.networks import SOURCE, Kind, safetensors, seq2seq, transformer

CLOSE: dict[str, Any] = {"rel": 1e-4, "abs": 1e-4}
KINDS = {
    "pre-norm": lambda: transformer(tie="output"),
    "post-norm": lambda: transformer(norm="post", positions="learned", tie="none"),
    "rotary": lambda: transformer(positions="rotary", width=16, heads=4, tie="output"),
    "recurrent": lambda: seq2seq("gru", "additive", "before", tie="output"),
    "recurrent-after": lambda: seq2seq("lstm", "general", "after", layers=2, tie="output"),
}
SETTINGS = [(1, 1, 1.0), (1, 12, 1.0), (2, 2, 0.0), (2, 15, 1.7), (5, 1, 1.0), (5, 9, 0.0), (5, 20, 1.0), (7, 12, 1.0)]
"""Beam, limit, length penalty."""


def _given(site: Site, kind: Kind) -> dict[str, Any]:
    return {"entry": kind.entry, "weights": site.give("weights", safetensors(kind.network.state_dict()))}


def _kind(name: str, end: float | None = None) -> Kind:
    """A random network; with an end that is `end` times as strong as the likeliest first token."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        kind = KINDS[name]()
    if end is not None:
        network: Any = kind.network
        with torch.no_grad():
            first = network.start(Batch(torch.tensor([SOURCE]), torch.tensor([[BOS]]))).logits[0]
            network.output.weight[EOS] = end * network.output.weight[first.argmax()]
    return kind


@pytest.mark.parametrize("name", KINDS)
def test_random_networks(name: str, lasting: Page, site: Site) -> None:
    complete = [
        found
        for end, target in ((0.3, [BOS]), (0.9, [BOS, 6, 9]), (1.2, [BOS]))
        for found in _compare(lasting, site, _kind(name, end), target)
    ]
    assert 0 < sum(complete) < len(complete), "some end by themselves and some at the limit, or less is tested"


def _compare(page: Page, site: Site, kind: Kind, target: list[int]) -> list[bool]:
    """Compare all searches with a network; whether each hypothesis was complete."""
    options = [{"beam": beam, "nBest": beam, "lengthPenalty": alpha, "limit": limit} for beam, limit, alpha in SETTINGS]
    program = "async (given) => (await import('/tests/sessions.js')).searches(...given)"
    found = json.loads(page.evaluate(program, [_given(site, kind), SOURCE, target, options]))
    batch = Batch(torch.tensor([SOURCE]), torch.tensor([target]))
    complete = list[bool]()
    for (beam, limit, alpha), one in zip(SETTINGS, found, strict=True):
        config = DecodeConfig(beam=beam, n_best=beam, length_penalty=alpha)
        (expected,) = decode(kind.network, batch, config, [limit])  # type: ignore[arg-type]
        assert [each["ids"] for each in one["hypotheses"]] == [each.tokens[len(target) - 1 :] for each in expected]
        assert [each["complete"] for each in one["hypotheses"]] == [each.complete for each in expected]
        for own in ("score", "logProbability", "tokenLogProbabilities"):
            values = [each.score if own == "score" else each.log_probability for each in expected]
            given = [sum(each[own]) if own == "tokenLogProbabilities" else each[own] for each in one["hypotheses"]]
            assert given == pytest.approx(values, **CLOSE)
        complete += [each.complete for each in expected]
    return complete


@pytest.mark.parametrize("name", KINDS)
def test_step_by_step_is_the_whole_pass(name: str, lasting: Page, site: Site) -> None:
    rows = [[1, 9, 4, 22, 6, 3, 17], [1, 3, 3, 8, 12, 4, 2], [1, 20, 5, 5, 9, 11, 7]]
    program = "async (given) => (await import('/tests/sessions.js')).stepwise(...given)"
    found = lasting.evaluate(program, [_given(site, _kind(name)), SOURCE, rows])
    assert found["scale"] > 0.5
    assert found["largest"] < 1e-4


@pytest.mark.parametrize("name", KINDS)
def test_the_tree_leads_to_each_hypothesis(name: str, lasting: Page, site: Site) -> None:
    program = "async (given) => (await import('/tests/sessions.js')).searches(...given)"
    options = [{"beam": beam, "nBest": beam, "limit": 12} for beam in (1, 3, 5)]
    found = json.loads(lasting.evaluate(program, [_given(site, _kind(name)), SOURCE, [BOS], options]))
    for wanted, one in zip(options, found, strict=True):
        assert [path["path"] for path in one["paths"]] == [each["ids"] for each in one["hypotheses"]]
        assert {path["fate"] for path in one["paths"]} == {"ended"}
        sums = [path["logP"] for path in one["paths"]]
        assert sums == pytest.approx([each["logProbability"] for each in one["hypotheses"]], **CLOSE)
        _check_tree(one["tree"], wanted["beam"])


def _check_tree(tree: list[dict[str, Any]], beam: int) -> None:
    """Kept candidates are the open hypotheses in their order; each grows out of one that was open before."""
    before: list[dict[str, Any]] = [{"ids": [], "score": 0.0}]
    for step in tree:
        candidates, open_ = step["candidates"], step["open"]
        scores = [candidate["score"] for candidate in candidates]
        assert scores == sorted(scores, reverse=True) or all(c["id"] == EOS for c in candidates)
        kept = sorted((c for c in candidates if c["fate"] == "kept"), key=lambda c: c["child"])
        assert [candidate["child"] for candidate in kept] == list(range(len(open_)))
        assert len(open_) <= beam
        for candidate, hypothesis in zip(kept, open_, strict=True):
            assert hypothesis["ids"] == [*before[candidate["parent"]]["ids"], candidate["id"]]
            assert hypothesis["score"] == pytest.approx(
                before[candidate["parent"]]["score"] + candidate["logP"], **CLOSE
            )
        assert all(candidate["id"] == EOS for candidate in candidates if candidate["fate"] == "ended")
        assert all(candidate["child"] is None for candidate in candidates if candidate["fate"] != "kept")
        before = open_
    assert not before, "the search is over when nothing is open"

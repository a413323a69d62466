"""What made a number: the page's sum is the number, and so is what its line of PyTorch gives on the trace."""

from __future__ import annotations

import ast
import json
import math
import random
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
import torch
from playwright.sync_api import Page
from torch import Tensor

from mirada.parts import Switches
from tests.web.browser import Site
from tests.web.networks import Kind, bert, encoder, gpt, recurrent, safetensors, seq2seq, transformer
from tests.web.test_readers import plain

EACH = 4
"""Numbers of each tensor that are explained."""
LONGEST = 6000
"""Characters of a line of PyTorch."""
TOLERANCE = 1e-4
ALLOWED = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Constant, ast.Name),
    *(ast.Load, ast.Attribute, ast.Call, ast.keyword, ast.operator, ast.unaryop, ast.Compare, ast.Gt),
)
"""What a line of PyTorch may be made of."""

KINDS: dict[str, Callable[[], Kind]] = {
    "transformer": transformer,
    "transformer, halves": partial(transformer, norm="post", positions="halves", activation="gelu", tie="output"),
    "transformer, rotary": partial(transformer, positions="rotary", activation="silu", tie="none"),
    "transformer, learned": partial(transformer, norm="post", positions="learned", output_bias=True),
    **{
        f"seq2seq-{cell}, {attention}": partial(seq2seq, cell, attention, attend, layers=2, bidirectional=both)
        for cell in ("elman", "lstm", "gru")
        for attention, attend, both in (
            ("dot", "before", True),
            ("general", "after", False),
            ("additive", "before", True),
            ("none", "after", True),
        )
    },
    **{
        f"{cell}, {pool}": partial(recurrent, "classification", cell, pool=pool, layers=2, bidirectional=both)
        for cell, pool, both in (
            ("memoryless", "last", False),
            ("jordan", "last", False),
            ("elman", "mean", True),
            ("lstm", "max", True),
            ("gru", "last", True),
        )
    },
    **{
        f"elman, {activation}": partial(recurrent, "tagging", "elman", activation=activation)
        for activation in ("sigmoid", "relu", "leaky_relu", "elu")
    },
    "lstm tagger": partial(recurrent, "tagging", "lstm"),
    "jordan tagger": partial(recurrent, "tagging", "jordan", layers=2),
    "gru language model": partial(recurrent, "language_model", "gru", layers=2),
    "encoder, mean": partial(encoder, "classification"),
    "encoder, first": partial(encoder, "classification", pool="first", norm="post", positions="learned"),
    "encoder, max": partial(encoder, "classification", pool="max", positions="rotary"),
    "encoder, tagger": partial(encoder, "tagging", positions="none"),
    "gpt": partial(gpt, "language_model"),
    "gpt, post-norm": partial(gpt, "language_model", norm="post", positions="rotary", eps=1e-3, output_bias=True),
    "gpt classifier, last": partial(gpt, "classification", pool="last", positions="sinusoidal"),
    "gpt classifier, mean": partial(gpt, "classification", positions="none"),
    "gpt tagger": partial(gpt, "tagging"),
    "bert": partial(bert, "masked_lm"),
    "bert, pre-norm": partial(bert, "masked_lm", norm="pre", positions="sinusoidal", activation="gelu_tanh"),
    "bert classifier": partial(bert, "classification", positions="rotary"),
    "bert tagger": partial(bert, "tagging", positions="none", activation="relu"),
}

OFF: dict[str, tuple[Switches, ...]] = {
    "transformer": (
        Switches(scale=False, positions=False),
        Switches(future_mask=False, heads_off=frozenset({("decoder.1.cross", 1), ("encoder.0.self", 0)})),
        Switches(residual_off=frozenset({"encoder.0.add_self", "decoder.1.add_cross", "decoder.0.add_feed_forward"})),
        Switches(layers_off=frozenset({"encoder.0", "decoder.1"})),
    ),
    "transformer, halves": (
        Switches(residual_off=frozenset({"encoder.0.add_self", "decoder.1.add_cross", "decoder.0.add_feed_forward"})),
        Switches(layers_off=frozenset({"encoder.1", "decoder.0"}), positions=False),
    ),
    "transformer, rotary": (Switches(positions=False, scale=False),),
    "gpt": (Switches(future_mask=False), Switches(layers_off=frozenset({"decoder.0", "decoder.1"}))),
    "bert": (Switches(positions=False), Switches(residual_off=frozenset({"encoder.1.add_self"}))),
}


@torch.inference_mode()
def run(line: str, names: Mapping[str, Any]) -> Tensor:
    """The value of a line of PyTorch that is nothing but reading, arithmetic and calls of `torch`'s functions."""
    assert len(line) < LONGEST, line[:100]
    tree = ast.parse(line, mode="eval")
    for node in ast.walk(tree):
        assert isinstance(node, ALLOWED), f"{type(node).__name__} in {line}"
        assert not (isinstance(node, ast.Name) and node.id not in names), f"{node.id} in {line}"
        assert not (isinstance(node, ast.Attribute) and node.attr.startswith("_")), line
    return torch.as_tensor(eval(compile(tree, "<line>", "eval"), {"__builtins__": {}, **names}))


def some(path: str, shape: torch.Size) -> list[tuple[str, list[int]]]:
    """Indices of a tensor's numbers: the first, the last, and random ones."""
    chance = random.Random(path)
    drawn = [[chance.randrange(size) for size in shape] for _ in range(EACH - 2)]
    return [(path, index) for index in ([0] * len(shape), [size - 1 for size in shape], *drawn)]


def same(found: float | None, expected: float) -> bool:
    """Whether two numbers are equal; JSON's null is an infinity."""
    if found is None or math.isinf(expected):
        return math.isinf(expected) and found in (None, expected)
    return abs(found - expected) <= TOLERANCE * max(1.0, abs(expected))


def checked(one: dict[str, Any], expected: float, names: Mapping[str, Any]) -> None:
    """The parts of an explanation agree with each other and with the number."""
    where = f"{one['path']}{one['index']} is {expected}: {one}"
    assert same(one["value"], expected), where
    assert same(one["total"], expected), where
    assert same(float(run(one["torch"], names)), expected), where
    assert one["formula"], where
    if one["sum"] is not None and math.isfinite(expected):
        listed = sum(term["product"] for term in one["terms"])
        rest = one["more"]["sum"] if one["more"] else 0.0
        assert abs(listed + rest + (one["bias"] or 0.0) - one["sum"]) < TOLERANCE * max(1.0, abs(one["sum"])), where
        sizes = [abs(term["product"]) for term in one["terms"]]
        assert sizes == sorted(sizes, reverse=True), where
        assert all(term["label"] for term in one["terms"]), where
    for place in (term[factor] for term in one["terms"] for factor in ("aFrom", "bFrom") if term.get(factor)):
        assert not names["trace"][place["path"]][tuple(place["index"])].isnan(), where


@pytest.mark.parametrize("name", KINDS)
def test_every_number_is_explained(name: str, lasting: Page, site: Site) -> None:
    kind = KINDS[name]()
    switches = (Switches(), *OFF.get(name, ()))
    traces = [kind.record(each) for each in switches]
    passes, questions = list[dict[str, Any]](), list[list[tuple[str, list[int]]]]()
    for each, trace in zip(switches, traces, strict=True):
        asked = [pair for path, tensor in trace.items() for pair in some(path, tensor.shape)]
        questions.append(asked)
        passes.append({"switches": plain(each), "asked": asked})
    state = {name: tensor.detach() for name, tensor in kind.network.state_dict().items()}
    given: dict[str, Any] = {"entry": kind.entry, "weights": site.give("weights", safetensors(state)), "passes": passes}
    given |= {"source": kind.source, "target": kind.target, "rows": kind.rows}
    program = "async (given) => (await import('/tests/passes.js')).explanations(given)"
    found = json.loads(lasting.evaluate(program, given))
    for trace, asked, explained in zip(traces, questions, found, strict=True):
        names = {"trace": trace, "state": state, "torch": torch}
        assert len(explained) == len(asked) >= 5 * EACH
        for (path, index), one in zip(asked, explained, strict=True):
            assert [one["path"], one["index"]] == [path, index]
            checked(one, trace[path][tuple(index)].item(), names)


def test_most_terms_are_added_up_and_not_listed(lasting: Page, site: Site) -> None:
    """A sum of 512 products lists the 24 largest."""
    kind = transformer(feed_forward=512)
    weights = site.give("weights", safetensors(kind.network.state_dict()))
    asked = [("encoder.0.feed_forward.outer", [1, 3])]
    given = {"entry": kind.entry, "weights": weights, "source": kind.source, "target": kind.target, "rows": None}
    program = "async (given) => (await import('/tests/passes.js')).explanations(given)"
    ((one,),) = json.loads(lasting.evaluate(program, {**given, "passes": [{"switches": {}, "asked": asked}]}))
    assert len(one["terms"]) == 24
    assert one["more"]["count"] == 512 - 24
    trace = kind.record()
    names = {"trace": trace, "state": kind.network.state_dict(), "torch": torch}
    checked(one, trace["encoder.0.feed_forward.outer"][1, 3].item(), names)


@pytest.mark.parametrize(
    ("path", "index", "said"),
    [
        ("encoder.7.self.q", [0, 0, 0], "the trace has no encoder.7.self.q"),
        ("encoder.0.self.q", [2, 0, 0], "encoder.0.self.q is [2,6,6]: it has no number at [2,0,0]"),
        ("encoder.0.self.q", [0, 0], "it has no number at [0,0]"),
    ],
)
def test_a_number_that_does_not_exist_is_refused(
    path: str, index: list[int], said: str, lasting: Page, site: Site
) -> None:
    kind = transformer()
    weights = site.give("weights", safetensors(kind.network.state_dict()))
    given = {"entry": kind.entry, "weights": weights, "source": kind.source, "target": kind.target, "rows": None}
    program = """async (given) => {
        const {explanations} = await import('/tests/passes.js');
        return explanations(given).then(() => null, (error) => error.message);
    }"""
    message = lasting.evaluate(program, {**given, "passes": [{"switches": {}, "asked": [[path, index]]}]})
    assert said in message

"""Models that read one text compute the same in the page as in PyTorch: every tensor of every kind and option."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from mirada.parts import Switches
from tests.web.browser import Site
from tests.web.networks import Kind, bert, encoder, gpt, recurrent, safetensors

TOLERANCE = 1e-4
CELLS = ["memoryless", "elman", "lstm", "gru"]


def plain(switches: Switches) -> dict[str, Any]:
    """Switches as the page has them."""
    sets = ("residual_off", "heads_off", "layers_off")
    chosen = {name: sorted(getattr(switches, name)) for name in sets}
    return {name: getattr(switches, name) for name in ("scale", "future_mask", "positions")} | chosen


def differences(page: Page, site: Site, kind: Kind, *switches: Switches) -> list[dict[str, Any]]:
    """How the page's passes differ from PyTorch's: one with everything on, and one with each of the switches."""
    passes = []
    for number, each in enumerate((Switches(), *switches)):
        expected = site.give(f"expected-{number}", safetensors(kind.record(each)))
        passes.append({"switches": plain(each), "expected": expected})
    weights = site.give("weights", safetensors(kind.network.state_dict()))
    given = {"entry": kind.entry, "weights": weights, "source": kind.source, "target": kind.target, "rows": kind.rows}
    program = "async (given) => (await import('/tests/passes.js')).passDifferences(given)"
    found: list[dict[str, Any]] = page.evaluate(program, {**given, "passes": passes})
    return found


def check(page: Page, site: Site, kind: Kind, *switches: Switches) -> None:
    for each, found in zip((Switches(), *switches), differences(page, site, kind, *switches), strict=True):
        assert not found["faults"], (each, found["faults"][:5])
        assert found["count"] > 2
        assert found["largest"] < TOLERANCE


def layer_switches(stack: str, *more: Switches) -> list[Switches]:
    """Those that a stack of two layers with two heads honours."""
    residuals = [frozenset({f"{stack}.{n}.add_{name}"}) for n, name in ((0, "self"), (1, "feed_forward"))]
    cut = [Switches(residual_off=residual) for residual in residuals]
    heads = Switches(heads_off=frozenset({(f"{stack}.0.self", 1), (f"{stack}.1.self", 0)}))
    layers = [Switches(layers_off=frozenset({f"{stack}.{n}"})) for n in (0, 1)]
    return [Switches(scale=False), *cut, heads, *layers, *more]


@pytest.mark.parametrize("pool", ["last", "mean", "max"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("name", CELLS)
def test_recurrent_classifiers(name: str, bidirectional: bool, pool: str, lasting: Page, site: Site) -> None:
    for layers in (1, 3):
        check(lasting, site, recurrent("classification", name, bidirectional=bidirectional, pool=pool, layers=layers))


@pytest.mark.parametrize("task", ["classification", "tagging"])
@pytest.mark.parametrize("layers", [1, 2])
def test_jordan_networks(task: str, layers: int, lasting: Page, site: Site) -> None:
    check(lasting, site, recurrent(task, "jordan", layers=layers))


@pytest.mark.parametrize("name", CELLS)
def test_recurrent_taggers(name: str, lasting: Page, site: Site) -> None:
    check(lasting, site, recurrent("tagging", name, layers=2))


@pytest.mark.parametrize("name", CELLS[1:])
def test_recurrent_language_models(name: str, lasting: Page, site: Site) -> None:
    check(lasting, site, recurrent("language_model", name, layers=2))


@pytest.mark.parametrize("activation", ["sigmoid", "relu", "leaky_relu", "elu"])
def test_activations_of_recurrent_cells(activation: str, lasting: Page, site: Site) -> None:
    for name in ("memoryless", "elman", "jordan"):
        check(lasting, site, recurrent("classification", name, activation=activation, layers=2))


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "none"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_transformer_encoders(norm: str, positions: str, lasting: Page, site: Site) -> None:
    off = [] if positions == "none" else [Switches(positions=False)]
    for pool in ("mean", "max", "first"):
        kind = encoder("classification", norm=norm, positions=positions, pool=pool)
        check(lasting, site, kind, *layer_switches("encoder", *off))
    check(lasting, site, encoder("tagging", norm=norm, positions=positions, activation="gelu"))


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "none"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_gpts(norm: str, positions: str, lasting: Page, site: Site) -> None:
    off = [] if positions == "none" else [Switches(positions=False)]
    switches = layer_switches("decoder", Switches(future_mask=False), *off)
    options = {"norm": norm, "positions": positions}
    check(lasting, site, gpt("language_model", **options, eps=1e-3, output_bias=True), *switches)
    for pool in ("mean", "last"):
        check(lasting, site, gpt("classification", **options, pool=pool, activation="relu"), *switches)
    check(lasting, site, gpt("tagging", **options, activation="gelu"))


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "none"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_berts(norm: str, positions: str, lasting: Page, site: Site) -> None:
    off = [] if positions == "none" else [Switches(positions=False)]
    options = {"norm": norm, "positions": positions}
    check(lasting, site, bert("masked_lm", **options), *layer_switches("encoder", *off))
    check(lasting, site, bert("classification", **options, activation="gelu_tanh"), *layer_switches("encoder", *off))
    check(lasting, site, bert("tagging", **options, activation="relu"))

"""The Transformer computes the same in the page as in PyTorch: every tensor of every option, with every switch."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from mirada.parts import Switches
from tests.web.browser import Site
from tests.web.networks import safetensors, transformer
from tests.web.test_readers import check, layer_switches

POSITIONS = ["sinusoidal", "halves", "learned", "rotary", "none"]


def _switches(positions: str = "sinusoidal") -> list[Switches]:
    """Those that a Transformer of two layers and two heads honours, alone and several at a time."""
    cross = [Switches(residual_off=frozenset({f"decoder.{n}.add_cross"})) for n in (0, 1)]
    several = Switches(
        scale=False,
        future_mask=False,
        residual_off=frozenset({"encoder.1.add_self", "decoder.0.add_feed_forward"}),
        heads_off=frozenset({("decoder.0.cross", 0), ("decoder.0.cross", 1), ("encoder.0.self", 1)}),
        layers_off=frozenset({"encoder.0", "decoder.1"}),
    )
    layers = [Switches(layers_off=frozenset({f"{stack}.0", f"{stack}.1"})) for stack in ("encoder", "decoder")]
    ordered = [] if positions == "none" else [Switches(positions=False)]
    return [Switches(future_mask=False), *ordered, *cross, *layers, several, *layer_switches("decoder")]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", POSITIONS)
def test_positions_and_norms_under_each_switch(positions: str, norm: str, lasting: Page, site: Site) -> None:
    check(lasting, site, transformer(positions=positions, norm=norm), *_switches(positions))


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu"])
def test_activations(activation: str, lasting: Page, site: Site) -> None:
    check(lasting, site, transformer(activation=activation), *layer_switches("encoder"))


@pytest.mark.parametrize("tie", ["all", "output", "none"])
@pytest.mark.parametrize("output_bias", [False, True])
def test_embeddings_that_are_shared_or_not(tie: str, output_bias: bool, lasting: Page, site: Site) -> None:
    check(lasting, site, transformer(tie=tie, output_bias=output_bias, encoder_layers=1, decoder_layers=3))


@pytest.mark.parametrize(("width", "heads"), [(7, 1), (9, 3), (20, 5)])
def test_odd_widths(width: int, heads: int, lasting: Page, site: Site) -> None:
    for positions in ("sinusoidal", "halves"):
        check(lasting, site, transformer(width=width, heads=heads, positions=positions))


@pytest.mark.parametrize(
    ("switches", "message"),
    [
        ({"positions": False}, "without positions: transformer has no such part"),
        ({"residual_off": ["encoder.9.add_self"]}, "without encoder.9.add_self: transformer has no residual"),
        ({"layers_off": ["decoder"]}, "without decoder: transformer has no Transformer layer"),
        ({"heads_off": [["encoder.0.self", 2]]}, "encoder.0.self.2: transformer has 2 heads there, 0 to 1"),
        ({"heads_off": [["encoder.0", 0]]}, "encoder.0.0: transformer has no attention of that path"),
    ],
)
def test_a_switch_that_is_not_honoured_is_named(
    switches: dict[str, object], message: str, lasting: Page, site: Site
) -> None:
    kind = transformer(positions="none")
    weights = site.give("weights", safetensors(kind.network.state_dict()))
    program = """async ([given, wanted]) => {
        const {opened, traced} = await import("/tests/passes.js");
        const model = await opened(given);
        try { traced(model, given, wanted); return null; } catch (error) { return error.message; }
    }"""
    given = {"entry": kind.entry, "weights": weights, "source": kind.source, "target": kind.target}
    assert message in lasting.evaluate(program, [given, switches])

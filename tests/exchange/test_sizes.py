"""Published models have exactly the published numbers of parameters."""

from __future__ import annotations

import pytest

from mirada.exchange.sizes import PUBLISHED, Published
from tests.command import run

EXACT = {
    "Transformer base": 63_082_496,
    "Transformer big": 214_245_376,
    "GPT": 116_534_784,
    "GPT-2 small": 124_439_808,
    "GPT-2 medium": 354_823_168,
    "GPT-2 large": 774_030_080,
    "GPT-2 XL": 1_557_611_200,
    "BERT base": 109_482_240,
    "BERT large": 335_141_888,
    "GPT-3": 174_604_259_328,
    "ViT-B/16": 86_567_656,
}


@pytest.mark.parametrize("model", PUBLISHED, ids=lambda model: model.name)
def test_every_parameter_is_counted(model: Published) -> None:
    assert model.parameters() == EXACT[model.name]


def test_gpt3_by_hand() -> None:
    d, layers, words, context = 12_288, 96, 50_257, 2048
    attention, feed_forward, norms = 4 * (d * d + d), 2 * 4 * d * d + 5 * d, 2 * 2 * d
    assert EXACT["GPT-3"] == layers * (attention + feed_forward + norms) + 2 * d + (words + context) * d
    assert round(EXACT["GPT-3"] / 1e9) == 175


def test_they_come_in_the_order_of_their_years_and_all_are_tested() -> None:
    assert [model.name for model in PUBLISHED if model.name not in EXACT] == []
    assert len(PUBLISHED) == len(EXACT)
    assert [model.year for model in PUBLISHED] == sorted(model.year for model in PUBLISHED)


def test_the_command_prints_them() -> None:
    shown = run("models", "--sizes").stdout
    assert all(f"{parameters:,}" in shown for parameters in EXACT.values())
    for figure in ("1,542 M", "340 M", "117 M", "175,000 M"):
        assert figure in shown

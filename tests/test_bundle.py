"""Bundles: equal weights give equal bytes, and what does not fit is refused by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

import mirada
from mirada import bundle
from mirada.contracts import Sizes
from mirada.errors import BundleError
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.tasks.translation import TranslationModel

TINY = TransformerConfig(width=8, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=8)


def model(seed: int) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(TINY, Sizes(20, 20))


def test_equal_weights_equal_bytes(tmp_path: Path, trained: TranslationModel) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        bundle.write(tmp_path / name, model(1), {"x": name}, {"note": name}, trained.kit.files())
    contents = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("a", "b")]
    assert contents[0] == contents[1]


def test_weights_go_from_model_to_model() -> None:
    first, second = model(1), model(2)
    bundle.put_weights(second, bundle.weights_of(first), "here")
    for expected, got in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(expected, got)


def test_tied_weights_are_stored_once() -> None:
    assert sum(tensor.numel() for tensor in bundle.weights_of(model(1)).values()) == sum(
        parameter.numel() for parameter in model(1).parameters()
    )


def test_weights_that_do_not_fit_are_named() -> None:
    weights = bundle.weights_of(model(1))
    name = "encoder.layers.0.feed_forward.inner.weight"
    with pytest.raises(BundleError, match=name):
        bundle.put_weights(model(1), {**weights, name: torch.zeros(3, 3)}, "here")
    with pytest.raises(BundleError, match="1 differ"):
        bundle.put_weights(model(1), {k: v for k, v in weights.items() if k != name}, "here")
    with pytest.raises(BundleError, match="extra"):
        bundle.put_weights(model(1), {**weights, "extra": torch.zeros(1)}, "here")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ({"format": 99}, "newer"),
        ({"format": "1"}, "damaged"),
        ({"files": {"../../etc/passwd": "0"}}, "damaged"),
        ({"files": {}}, "model.safetensors"),
    ],
)
def test_cards_that_are_wrong_are_refused(
    trained: TranslationModel, tmp_path: Path, damage: dict[str, object], reason: str
) -> None:
    shutil.copytree(trained.path, tmp_path / "b", ignore=shutil.ignore_patterns("run"))
    card = json.loads((tmp_path / "b" / "card.json").read_text())
    (tmp_path / "b" / "card.json").write_text(json.dumps({**card, **damage}))
    with pytest.raises(BundleError, match=reason):
        mirada.load(tmp_path / "b")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.yaml"])
def test_a_changed_byte_is_noticed(trained: TranslationModel, tmp_path: Path, name: str) -> None:
    shutil.copytree(trained.path, tmp_path / "b", ignore=shutil.ignore_patterns("run"))
    content = bytearray((tmp_path / "b" / name).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "b" / name).write_bytes(content)
    with pytest.raises(BundleError, match="altered or damaged"):
        mirada.load(tmp_path / "b")


def test_a_loaded_model_is_the_trained_one(trained: TranslationModel) -> None:
    again = mirada.load(trained.path)
    assert again.translate("el gato ve el tren") == trained.translate("el gato ve el tren")
    assert again.card["scores"]["scores"][0]["name"] == "BLEU"
    assert again.card["data"]["training"] + again.card["data"]["dev"] == 1500

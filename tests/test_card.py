"""Cards and bundles that somebody altered, with checksums that fit: `info` and `load` refuse them in one line."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

from mirada.api import info, info_text, load
from mirada.errors import BundleError, MiradaError
from mirada.tasks.translation.model import TranslationModel


@pytest.fixture
def bundle(trained: TranslationModel, tmp_path: Path) -> Path:
    return shutil.copytree(trained.path, tmp_path / "b", ignore=shutil.ignore_patterns("run"))


def write(bundle: Path, name: str, content: bytes) -> None:
    """Put other content into a bundle, with a checksum that fits."""
    (bundle / name).write_bytes(content)
    card = json.loads((bundle / "card.json").read_text())
    card["files"][name] = hashlib.sha256(content).hexdigest()
    (bundle / "card.json").write_text(json.dumps(card))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"task": 3}, "task"),
        ({"task": "cooking"}, "cooking"),
        ({"format": True}, "format"),
        ({"format": 0}, "format"),
        ({"training": {"steps": "many"}}, r"training\.steps"),
        ({"training": [1]}, "training"),
        ({"scores": {"scores": [{"name": 1}]}}, r"scores\.scores\.0\.name"),
        ({"software": None}, "software"),
        ({"data": {"training": {}}}, r"data\.training"),
        ({"data": []}, "data"),
        ({"languages": "es"}, "languages"),
        ({"base": {"before": {"new": 3}}}, r"base\.before\.new"),
        ({"parameters": -1}, "parameters"),
        ({"imported": {"type": "bert", "untrained": 1}}, r"imported\.untrained"),
        ({"files": {"a\0b": "0" * 64}}, "files"),
        ({"files": {"a\ud800": "0" * 64}}, "unpaired surrogate"),
        ({"files": {"../x": "0" * 64}}, "files"),
        ({"files": {"/dev/zero": "0" * 64}}, "files"),
        ({"files": {"config.yaml": "short"}}, "files"),
        ({"note": 2**70}, "bits"),
    ],
)
def test_a_card_of_the_wrong_shape_is_refused_by_field(bundle: Path, change: dict[str, Any], field: str) -> None:
    card = json.loads((bundle / "card.json").read_text())
    (bundle / "card.json").write_text(json.dumps({**card, **change}))
    with pytest.raises(BundleError, match=field) as caught:
        info_text(bundle)
    assert str(caught.value).isprintable()


def test_a_deep_card_is_refused(bundle: Path) -> None:
    (bundle / "card.json").write_text('{"a": ' + "[" * 100_000)
    for ask in (info, info_text, load):
        with pytest.raises(BundleError, match=r"card\.json: is damaged \(it is nested too deeply\)"):
            ask(bundle)


@pytest.mark.parametrize(
    "content",
    ["", "a: &a [*a]\n", "model: 3\n", "model: {name: [x]}\n", "a: 2024-13-45\n", "[" * 9000, "model: {name: gpt}\n"],
)
def test_a_configuration_that_is_none_is_refused(bundle: Path, content: str) -> None:
    write(bundle, "config.yaml", content.encode())
    with pytest.raises(MiradaError, match=r"config\.yaml: ") as caught:
        load(bundle)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("key", "value"), [("width", 16384), ("encoder_layers", 200), ("feed_forward", 131072)])
def test_sizes_that_the_weights_do_not_have_take_no_memory(bundle: Path, key: str, value: int) -> None:
    values = yaml.safe_load((bundle / "config.yaml").read_text())
    values["model"] |= {key: value}
    write(bundle, "config.yaml", yaml.safe_dump(values).encode())
    with pytest.raises(BundleError, match="the weights do not fit the configuration"):
        load(bundle)


@pytest.mark.parametrize(
    ("value", "reason"), [(float("nan"), "not finite"), (float("inf"), "not finite"), (3e38, "beyond")]
)
def test_weights_that_are_no_numbers_are_refused(bundle: Path, value: float, reason: str) -> None:
    weights = load_file(bundle / "model.safetensors")
    name = next(iter(weights))
    weights[name].flatten()[3:4] = value
    save_file(weights, bundle / "model.safetensors")
    write(bundle, "model.safetensors", (bundle / "model.safetensors").read_bytes())
    with pytest.raises(BundleError, match=reason):
        load(bundle)


def test_weights_of_another_type_are_refused(bundle: Path) -> None:
    weights = {name: tensor.to(torch.float16) for name, tensor in load_file(bundle / "model.safetensors").items()}
    save_file(weights, bundle / "model.safetensors")
    write(bundle, "model.safetensors", (bundle / "model.safetensors").read_bytes())
    with pytest.raises(BundleError, match=r"of torch\.float16"):
        load(bundle)


def test_a_file_larger_than_its_header_says_is_refused_unread(bundle: Path) -> None:
    with (bundle / "model.safetensors").open("r+b") as file:
        file.truncate(2**40)
    with pytest.raises(BundleError, match=r"has 1,099,511,627,776 bytes, and its header describes"):
        load(bundle)


def test_settings_that_a_configuration_lacks_have_their_defaults(bundle: Path) -> None:
    values = yaml.safe_load((bundle / "config.yaml").read_text())
    del values["model"]["max_length"]
    write(bundle, "config.yaml", yaml.safe_dump(values).encode())
    assert load(bundle).translate("el gato ve el tren").text == "the cat sees the train"

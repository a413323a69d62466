"""Safetensors files: damaged ones are refused before they are read, wrong values and shapes by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save, save_file
from torch import nn

from mirada.contracts import Sizes
from mirada.errors import BundleError
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.tasks.translation.model import TranslationModel
from mirada.tensors import check_specs, load_tensors, outline, read_tensors, tensor_specs

TENSORS = {"a": torch.arange(6.0).view(2, 3), "b.c": torch.tensor([1, 2])}


def test_a_file_is_read_back(tmp_path: Path) -> None:
    save_file(TENSORS, tmp_path / "x.safetensors")
    found = read_tensors(tmp_path / "x.safetensors", BundleError)
    assert found.keys() == TENSORS.keys()
    assert all(torch.equal(found[name], TENSORS[name]) for name in TENSORS)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no safetensors header"),
        (b"\x00" * 7, "no safetensors header"),
        ((2**40).to_bytes(8, "little") + b"{}", "no safetensors header"),
        (save(TENSORS)[:-1], "its header describes"),
        (save(TENSORS) + b"\x00", "its header describes"),
        ((4).to_bytes(8, "little") + b"[{]}", "not JSON"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(BundleError, match=rf"x\.safetensors: .*{reason}"):
        read_tensors(path, BundleError)


@pytest.mark.parametrize(
    ("value", "reason"), [(float("nan"), "not finite"), (-float("inf"), "not finite"), (9.0, "±8")]
)
def test_values_out_of_range_are_refused_unless_they_are_loose(value: float, reason: str) -> None:
    content = save({"state.a": torch.tensor([1.0, value])})
    with pytest.raises(BundleError, match=rf"x: .*'state\.a'.*{reason}"):
        load_tensors(content, "x", BundleError, largest=8.0)
    assert "state.a" in load_tensors(content, "x", BundleError, largest=8.0, loose="state.")


def test_tensors_have_to_be_the_models() -> None:
    model = nn.Linear(3, 2)
    specs, weights = tensor_specs(model), dict(model.state_dict())
    check_specs(specs, weights, "x", BundleError)
    with torch.device("meta"):
        assert tensor_specs(nn.Linear(3, 2)) == specs
    for other, reason in (
        ({**weights, "bias": torch.zeros(3)}, r"'bias' .*\(2,\), not \(3,\) \(1 differ\)"),
        ({**weights, "bias": torch.zeros(2).half()}, r"not \(2,\) of torch\.float16"),
        ({**weights, "more": torch.zeros(2)}, r"'more' .*none, not \(2,\)"),
        ({}, r"\(2 differ\)"),
    ):
        with pytest.raises(BundleError, match=f"x: .*{reason}"):
            check_specs(specs, other, "x", BundleError)


def test_an_outline_has_shapes_and_no_values() -> None:
    with outline():
        found = Transformer(TransformerConfig(width=16, heads=2, positions="learned"), Sizes(30, 30))
    assert {parameter.device.type for parameter in found.parameters()} == {"meta"}
    before = torch.get_rng_state()
    with outline():
        Transformer(TransformerConfig(width=16, heads=2), Sizes(30, 30))
    assert torch.equal(torch.get_rng_state(), before)
    assert tensor_specs(found) == tensor_specs(
        Transformer(TransformerConfig(width=16, heads=2, positions="learned"), Sizes(30, 30))
    )


def test_opening_a_bundle_does_not_import_the_compiler(trained: TranslationModel) -> None:
    """It takes longer than all the rest."""
    script = "import sys, mirada; mirada.load(sys.argv[1]); print('torch._dynamo' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script, trained.path], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "False"

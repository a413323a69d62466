"""Invalid checkpoints are refused with one line that names the file and the fault; nothing is left behind."""

from __future__ import annotations

import json
import os
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from mirada.errors import DataError, UsageError
from mirada.exchange import import_checkpoint, read_checkpoint
from tests.command import refused, run
from tests.exchange.checkpoints import SAVE


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    for name, save in SAVE.items():
        save(folder / name)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of one of the checkpoints, to be spoilt."""
    return Path(shutil.copytree(saved / getattr(request, "param", "gpt2"), tmp_path / "checkpoint"))


def reason(folder: Path) -> str:
    """The one line that a checkpoint is refused with."""
    with pytest.raises(DataError) as caught:
        read_checkpoint(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def configure(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))


def reweigh(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")


# --- files ---


def test_no_directory(tmp_path: Path) -> None:
    assert "there is no such directory" in reason(tmp_path / "nothing")
    (tmp_path / "file").write_text("")
    assert "is a file" in reason(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    assert "config.json: cannot be read" in reason(tmp_path / "empty")


def test_only_a_pickle(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    said = reason(folder)
    assert "pytorch_model.bin, a pickle" in said
    assert "convert it to model.safetensors" in said
    for other in ("model.pt", "weights.pth", "last.ckpt", "model.pkl"):
        (folder / "pytorch_model.bin").rename(folder / other)
        assert f"has its weights only in {other}, a pickle" in reason(folder)
        (folder / other).rename(folder / "pytorch_model.bin")
    (folder / "pytorch_model.bin").unlink()
    assert "has no model.safetensors" in reason(folder)


def test_another_kind_of_model(folder: Path) -> None:
    configure(folder, model_type="llama")
    said = reason(folder)
    assert "model_type='llama'" in said
    assert "bert, gpt2, marian, vit" in said
    configure(folder, model_type=None)
    assert "model_type=None" in reason(folder)


@pytest.mark.parametrize("kept", [0, 4, 100, 5000])
def test_a_file_cut_short(folder: Path, kept: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    assert "model.safetensors: cannot be read" in reason(folder)


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    for name in ("vocab.json", "model.safetensors", "config.json"):
        (folder / name).unlink()
        os.mkfifo(folder / name)
        assert f"{name}: cannot be read (it is neither a file nor a directory)" in reason(folder)


def test_weights_that_are_not_finite(folder: Path) -> None:
    reweigh(folder, lambda weights: next(iter(weights.values())).view(-1)[0].fill_(float("nan")))
    assert "not finite" in reason(folder)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": 1', "\xff"])
def test_a_damaged_configuration(folder: Path, text: str) -> None:
    (folder / "config.json").write_text(text, encoding="latin-1")
    assert "config.json: " in reason(folder)


def test_damaged_shards(folder: Path) -> None:
    from transformers import GPT2LMHeadModel

    model = GPT2LMHeadModel.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="8KB")
    index = folder / "model.safetensors.index.json"
    whole = index.read_text()
    homes = json.loads(whole)["weight_map"]
    first = homes["transformer.wpe.weight"]
    index.write_text(json.dumps({"weight_map": {**homes, "transformer.new": first}}))
    assert f"{first}: has no transformer.new, which model.safetensors.index.json lists" in reason(folder)
    index.write_text(json.dumps({"weight_map": {**homes, "transformer.wpe.weight": "../other.safetensors"}}))
    assert "not in '../other.safetensors'" in reason(folder)
    index.write_text("{}")
    assert "weight_map" in reason(folder)
    index.write_text(whole)
    (folder / first).unlink()
    assert f"{first}: cannot be read" in reason(folder)


# --- weights that do not fit ---


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("gpt2", "transformer.h.1.attn.c_attn.weight"),
        ("gpt2", "transformer.ln_f.bias"),
        ("bert", "bert.encoder.layer.0.output.dense.bias"),
        ("bert", "cls.predictions.bias"),
        ("bert", "bert.pooler.dense.bias"),
        ("marian", "model.decoder.layers.0.encoder_attn.k_proj.weight"),
        ("marian", "model.shared.weight"),
        ("vit", "vit.embeddings.cls_token"),
        ("vit", "classifier.weight"),
    ],
    indirect=["folder"],
)
def test_a_missing_tensor_is_named(folder: Path, name: str) -> None:
    reweigh(folder, lambda weights: weights.pop(name))
    assert f"model.safetensors: has no {name}" in reason(folder)


@pytest.mark.parametrize("folder", SAVE, indirect=True)
def test_a_tensor_without_a_place_is_named(folder: Path) -> None:
    reweigh(folder, lambda weights: weights.update({"adapter.weight": torch.ones(2, 2)}))
    assert "has adapter.weight, which does not belong" in reason(folder)


@pytest.mark.parametrize(
    ("folder", "change", "message"),
    [
        ("gpt2", {"n_positions": 23}, r"transformer.wpe.weight has the shape [24, 12], config.json requires [23, 12]"),
        (
            "gpt2",
            {"n_inner": 50},
            r"transformer.h.0.mlp.c_fc.weight has the shape [12, 48], config.json requires [12, 50]",
        ),
        ("gpt2", {"n_layer": 3}, "has no transformer.h.2.ln_1.weight, which config.json requires (12 missing)"),
        ("gpt2", {"n_layer": 1}, "has transformer.h.1.attn.c_attn.bias, which does not belong"),
        ("gpt2", {"n_embd": 16000, "n_layer": 200, "n_head": 2}, "model.safetensors: has no "),  # takes no memory
        ("bert", {"intermediate_size": 21}, "bert.encoder.layer.0.intermediate.dense.weight has the shape [20, 12]"),
        ("bert", {"vocab_size": 40}, "word_embeddings.weight has the shape [29, 12], config.json has vocab_size=40"),
        ("marian", {"decoder_layers": 2}, "has no model.decoder.layers.1.self_attn.q_proj.weight"),
        ("vit", {"image_size": 12}, "vit.embeddings.position_embeddings has the shape [1, 5, 12]"),
        ("vit", {"patch_size": 2}, "config.json requires"),
    ],
    indirect=["folder"],
)
def test_a_configuration_of_another_model(folder: Path, change: dict[str, int], message: str) -> None:
    configure(folder, **change)
    assert message in reason(folder)


@pytest.mark.parametrize(
    ("folder", "change", "message"),
    [
        ("gpt2", {"n_head": 5}, "model.width=12 cannot be split into model.heads=5"),
        ("gpt2", {"n_head": "three"}, "n_head should be a whole number, not 'three'"),
        ("gpt2", {"n_layer": True}, "n_layer should be a whole number, not True"),
        ("gpt2", {"n_layer": 0}, "does not describe a model that Mirada can build"),
        ("gpt2", {"layer_norm_epsilon": "small"}, "layer_norm_epsilon should be a number"),
        (
            "gpt2",
            {"activation_function": "gelu_fast"},
            "activation_function='gelu_fast' is not supported (did you mean",
        ),
        ("gpt2", {"activation_function": "swish"}, "model.activation='silu'"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx=True is not supported"),
        (
            "bert",
            {"position_embedding_type": "relative_key"},
            "position_embedding_type='relative_key'",
        ),
        ("bert", {"type_vocab_size": 1}, "type_vocab_size=1 is not supported"),
        ("marian", {"scale_embedding": False}, "scale_embedding=False is not supported"),
        ("marian", {"decoder_ffn_dim": 30}, "decoder_ffn_dim=30 is not supported"),
        ("vit", {"patch_size": 3}, "8×8 pixels with 3 channels in patches of 3"),
        ("vit", {"qkv_bias": False}, "qkv_bias=False is not supported"),
    ],
    indirect=["folder"],
)
def test_a_model_that_is_not_ours(folder: Path, change: dict[str, Any], message: str) -> None:
    configure(folder, **change)
    assert f"{folder / 'config.json'}: " in reason(folder)
    assert message in reason(folder)


def test_an_output_of_its_own_is_refused_and_a_copy_is_not(folder: Path) -> None:
    reweigh(folder, lambda w: w.update({"lm_head.weight": w["transformer.wte.weight"].clone()}))
    read_checkpoint(folder)
    reweigh(folder, lambda w: w.update({"lm_head.weight": 2 * w["transformer.wte.weight"]}))
    assert "lm_head.weight differs from transformer.wte.weight" in reason(folder)


@pytest.mark.parametrize("folder", ["marian"], indirect=True)
def test_other_positions_than_marians_are_refused(folder: Path) -> None:
    from transformers import MarianMTModel

    waves = MarianMTModel.from_pretrained(folder).model.encoder.embed_positions.weight.detach()
    name = "model.encoder.embed_positions.weight"
    reweigh(folder, lambda weights: weights.update({name: waves.clone()}))
    read_checkpoint(folder)
    reweigh(folder, lambda weights: weights.update({name: waves + 0.1}))
    assert f"{name} should be sinusoidal" in reason(folder)


def test_masks_and_numbers_of_positions_are_harmless(folder: Path) -> None:
    masks = {
        "transformer.h.0.attn.bias": torch.ones(1, 1, 24, 24),
        "transformer.h.1.attn.masked_bias": torch.tensor(-1e4),
    }
    reweigh(folder, lambda weights: weights.update(masks))
    read_checkpoint(folder)


def taken(folder: Path) -> tuple[str, int]:
    """The line that a checkpoint is refused with, and the bytes that Python has needed to come to it."""
    reason(folder)  # whatever is imported or cached on the way is so now
    tracemalloc.start()
    try:
        return reason(folder), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("folder", ["gpt2", "bert", "marian"], indirect=True)
def test_a_number_of_words_that_is_not_there_takes_no_memory(folder: Path) -> None:
    configure(folder, vocab_size=2_000_000)
    said, memory = taken(folder)
    assert "config.json has vocab_size=2000000" in said
    assert "has the shape [" in said
    assert memory < 2_000_000


def test_a_word_with_a_number_that_is_not_there_takes_no_memory(saved: Path, tmp_path: Path) -> None:
    for kind in ("marian", "gpt2"):
        folder = Path(shutil.copytree(saved / kind, tmp_path / kind))
        words = json.loads((folder / "vocab.json").read_text())
        (folder / "vocab.json").write_text(json.dumps({**words, "▁far": 2_000_000}))
        said, memory = taken(folder)
        assert "vocab.json: has " in said
        assert "the largest id is 2,000,000; config.json has vocab_size=" in said
        assert memory < 2_000_000


@pytest.mark.parametrize("key", ["pad_token_id", "eos_token_id", "decoder_start_token_id"])
@pytest.mark.parametrize("folder", ["marian"], indirect=True)
def test_a_special_word_that_is_not_there(folder: Path, key: str) -> None:
    configure(folder, **{key: 1000})
    assert f"config.json: {key}=1000 is not below vocab_size=" in reason(folder)


# --- the bundle, and the command ---


def test_a_bundle_is_not_written_over(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(UsageError, match="there: exists already"):
        import_checkpoint(saved / "gpt2", tmp_path / "there")
    assert list((tmp_path / "there").iterdir()) == []


def test_a_refused_checkpoint_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    configure(folder, n_layer=5)
    with pytest.raises(DataError):
        import_checkpoint(folder, tmp_path / "bundle")
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "model.safetensors").rename(folder / "model.pt"), "only in model.pt, a pickle"),
        (lambda folder: os.truncate(folder / "model.safetensors", 3000), "is the download complete?"),
        (lambda folder: configure(folder, n_layer=3), "has no transformer.h.2.ln_1.weight, which config.json requires"),
        (lambda folder: configure(folder, n_embd=24), "config.json requires"),
        (lambda folder: configure(folder, model_type="mamba"), "model_type='mamba' is not supported"),
        (lambda folder: reweigh(folder, lambda w: w.pop("transformer.wpe.weight")), "has no transformer.wpe.weight"),
        (lambda folder: (folder / "merges.txt").unlink(), "merges.txt: "),
        (lambda folder: shutil.rmtree(folder), "there is no such directory"),
    ],
)
def test_a_bad_checkpoint_is_one_line_and_leaves_nothing(
    folder: Path, tmp_path: Path, spoil: Callable[[Path], Any], message: str
) -> None:
    spoil(folder)
    assert message in refused("import", folder, "--out", tmp_path / "bundle", code=1)
    assert {path.name for path in tmp_path.iterdir()} <= {"checkpoint"}


def test_the_command(saved: Path, tmp_path: Path) -> None:
    done = run("import", saved / "bert", "--out", tmp_path / "bundle")
    assert done.returncode == 0, done.stderr
    assert f"use it with: mirada fill {tmp_path / 'bundle'}" in done.stderr
    assert (tmp_path / "bundle" / "card.json").exists()
    assert "config.json: cannot be read" in refused("import", saved, "--out", tmp_path / "other")

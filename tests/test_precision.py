"""Arithmetic: the trial in a child process, what is chosen after it, and training in bfloat16."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import mirada
from mirada import bundle as bundles
from mirada import precision
from mirada.contracts import Sizes
from mirada.errors import Interrupted, UsageError
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.training.loop import Event
from mirada.training.losses import cross_entropy
from mirada.training.muon import orthogonal
from tests import toy

CPU = torch.device("cpu")
BFLOAT16 = {**toy.TINY, "train": {**toy.TINY["train"], "precision": "bfloat16"}}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory."""
    monkeypatch.setenv("MIRADA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def network() -> Transformer:
    """Large enough to be worth a trial."""
    return Transformer(TransformerConfig(width=128, encoder_layers=1, decoder_layers=1), Sizes(1000, 1000))


def python_that(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let child processes run a shell script instead of Python."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(program))


def test_the_products_of_a_model_are_those_of_its_matrices(network: Transformer) -> None:
    found = precision.products(network, 500)
    square, wide = 128 * 128, 128 * 1024
    assert found == {  # 4 and 8 square matrices in the encoder and the decoder; the tied output too
        (500, 128, 1000): 128 * 1000,
        (500, 128, 128): 12 * square,
        (500, 128, 1024): 2 * wide,
        (500, 1024, 128): 2 * wide,
    }


def test_a_trial_runs_in_a_child_process_and_is_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = precision.trial([(64, 32, 48)], threads=1)
    assert found.speed > 0
    (kept,) = cache.iterdir()
    assert json.loads(kept.read_text()) == {"speed": found.speed, "fault": ""}
    kept.write_text('{"speed": 7.5, "fault": ""}')
    assert precision.trial([(64, 32, 48)], threads=1).speed == 7.5
    python_that(cache, "exit 1", monkeypatch)
    assert precision.trial([(64, 32, 64)], threads=1).speed == 0  # another shape is another question
    kept.write_text('{"speed": "fast"')
    assert precision.trial([(64, 32, 48)], threads=1).speed == 0  # a damaged answer is asked again


@pytest.mark.parametrize(("speed", "chosen"), [(1.19, "float32"), (1.2, "bfloat16")])
def test_auto_takes_what_is_faster(
    speed: float, chosen: str, network: Transformer, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python_that(tmp_path, f"""echo '{{"speed": {speed}}}'""", monkeypatch)
    found = precision.choose("auto", network, 500, CPU)
    assert found.precision == chosen
    assert f"{speed:.1f} times" in found.reason
    assert precision.choose("bfloat16", network, 500, CPU).precision == "bfloat16"
    assert precision.choose("float32", network, 500, CPU) == precision.Choice("float32")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("kill -ILL $$", "exit code -4"),
        ("""echo '{"speed": 0, "fault": "it computes wrongly"}'""", "it computes wrongly"),
    ],
)
def test_a_processor_that_cannot_is_left_in_float32(
    script: str, why: str, network: Transformer, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python_that(tmp_path, script, monkeypatch)
    found = precision.choose("auto", network, 500, CPU)
    assert found.precision == "float32"
    assert why in found.reason
    with pytest.raises(UsageError, match="--precision float32"):
        precision.choose("bfloat16", network, 500, CPU)


@pytest.mark.parametrize("script", ["exec sleep 30", "echo nonsense", "exec /nowhere/at/all"])
def test_a_trial_that_gives_no_answer_is_not_kept(
    script: str, network: Transformer, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be otherwise tomorrow: the machine was busy, or a program was missing."""
    python_that(tmp_path, script, monkeypatch)
    if "/nowhere" in script:
        monkeypatch.setattr(sys, "executable", "/nowhere/at/all")
    monkeypatch.setattr(precision, "SECONDS", 0.2)
    found = precision.choose("auto", network, 500, CPU)
    assert found.precision == "float32"
    assert "could not be tried" in found.reason
    assert not cache.exists()


def test_a_trial_imports_nothing_from_the_current_directory(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    assert precision.trial([(8, 8, 8)], threads=1).speed > 0


def test_one_answer_serves_vocabularies_of_similar_size(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(vocabulary: int, width: int = 128) -> precision.Choice:
        config = TransformerConfig(width=width, encoder_layers=1, decoder_layers=1)
        return precision.choose("auto", Transformer(config, Sizes(vocabulary, vocabulary)), 500, CPU)

    assert "times" in chosen(5008).reason
    (kept,) = cache.iterdir()
    kept.write_text('{"speed": 7.5, "fault": ""}')
    assert "7.5 times" in chosen(3200).reason
    assert "7.5 times" not in chosen(9008).reason
    assert "7.5 times" not in chosen(5008, width=64).reason


def test_what_gains_nothing_is_not_tried(cache: Path, monkeypatch: pytest.MonkeyPatch, network: Transformer) -> None:
    small = Transformer(TransformerConfig(width=32, encoder_layers=1, decoder_layers=1), Sizes(100, 100))
    assert precision.choose("auto", small, 500, CPU) == precision.Choice("float32")
    assert precision.choose("auto", network, 500, CPU, needs_float32=True).precision == "float32"
    with pytest.raises(UsageError, match="predicts numbers"):
        precision.choose("bfloat16", network, 500, CPU, needs_float32=True)
    assert not cache.exists()


def test_products_are_in_bfloat16_and_sums_in_float32(network: Transformer) -> None:
    x = torch.randn(2, 5, 128)
    with precision.arithmetic("bfloat16", CPU):
        assert precision.rounded(x).dtype == torch.bfloat16
        assert network.encoder(x).dtype == torch.float32  # the residual sum and the last normalization
        assert network.output(x).dtype == torch.bfloat16
    with precision.arithmetic("float32", CPU):
        assert precision.rounded(x) is x
        assert network.output(x).dtype == torch.float32


def test_the_loss_of_logits_in_bfloat16_is_computed_in_float32() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = (4 * torch.randn(30, 500, generator=generator)).bfloat16()
    truth = torch.randint(0, 500, (30,), generator=generator)
    losses, gradients = [], []
    for dtype in (torch.bfloat16, torch.float32):
        given = logits.to(dtype, copy=True).requires_grad_()
        loss = cross_entropy(given, truth, 0.1)
        loss.backward()
        assert given.grad is not None
        losses.append(loss.item())
        gradients.append(given.grad)
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert gradients[0].dtype == torch.bfloat16
    assert torch.allclose(gradients[0].float(), gradients[1], atol=1e-6, rtol=2**-8)


def test_updates_in_bfloat16_are_nearly_orthogonal() -> None:
    u = torch.randn(3, 40, 90, generator=torch.Generator().manual_seed(0))
    exact, rough = orthogonal(u), orthogonal(u, torch.bfloat16)
    assert rough.dtype == torch.float32
    assert not torch.equal(rough, exact)
    assert torch.nn.functional.cosine_similarity(rough.flatten(1), exact.flatten(1)).min() > 0.999
    values = torch.linalg.svdvals(rough)
    assert values.min() > 0.6
    assert values.max() < 1.3


def losses(events: list[Any]) -> list[float]:
    return [event.figures["loss"] for event in events if event.kind == "step"]


def test_training_in_bfloat16_learns_the_same_and_writes_float32(toy_tsv: Path, tmp_path: Path) -> None:
    steps: dict[str, list[Any]] = {"float32": [], "bfloat16": []}
    for name, events in steps.items():
        settings = {**toy.TINY, "train": {**toy.TINY["train"], "precision": name}}
        mirada.train(toy_tsv, out=tmp_path / name, steps=60, settings=settings, listen=events.append)
    exact, rough = (losses(events) for events in steps.values())
    assert exact[0] == pytest.approx(rough[0], rel=1e-3)
    assert exact != rough
    assert rough[-1] == pytest.approx(exact[-1], rel=0.03)
    assert rough[-1] < 0.6 * rough[0]
    found = bundles.read(tmp_path / "bfloat16")
    assert {tensor.dtype for tensor in found.weights.values()} == {torch.float32}
    assert found.config["train"]["precision"] == "bfloat16"
    assert found.card["training"]["precision"] == "bfloat16"


def test_a_resumed_run_in_bfloat16_equals_an_uninterrupted_one(toy_tsv: Path, tmp_path: Path) -> None:
    settings = {**BFLOAT16, "train": {**BFLOAT16["train"], "checkpoint_every": 5}}

    def interrupt(event: Event) -> None:
        if event.kind == "step" and event.figures["step"] == 7:
            raise KeyboardInterrupt

    mirada.train(toy_tsv, out=tmp_path / "whole", steps=12, settings=settings)
    with pytest.raises(Interrupted):
        mirada.train(toy_tsv, out=tmp_path / "parts", steps=12, settings=settings, listen=interrupt)
    mirada.train(resume=tmp_path / "parts")
    whole, parts = (bundles.read(tmp_path / name).weights for name in ("whole", "parts"))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_a_resumed_run_keeps_its_precision(toy_tsv: Path, tmp_path: Path) -> None:
    mirada.train(toy_tsv, out=tmp_path / "run", steps=5, settings=BFLOAT16)
    with pytest.raises(UsageError, match=r"train\.precision"):
        mirada.train(resume=tmp_path / "run", steps=8, settings={"train": {"precision": "float32"}})

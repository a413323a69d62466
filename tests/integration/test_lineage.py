"""Every model of the lineage trains, translates, resumes and opens through the same path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirada
from mirada.errors import UsageError
from tests import toy

SMALL: dict[str, Any] = {
    "model": {"width": 64, "layers": 1, "dropout": 0.0},
    "tokenizer": {"vocabulary": 340},
    "train": {"batch_tokens": 1500, "lr": 1e-2, "warmup": 20, "threads": 1},
}


@pytest.mark.parametrize(
    ("name", "more"),
    [("seq2seq-lstm", {}), ("seq2seq-gru+additive", {"attend": "before"})],
)
def test_a_recurrent_translator_learns_the_toy_language(
    tmp_path: Path, toy_tsv: Path, name: str, more: dict[str, Any]
) -> None:
    settings = {**SMALL, "model": {**SMALL["model"], **more}}
    model = mirada.train(toy_tsv, out=tmp_path / "bundle", model=name, steps=150, settings=settings)
    bleu = next(score["value"] for score in model.card["scores"]["scores"] if score["name"] == "BLEU")
    assert bleu > 30
    again = mirada.load(tmp_path / "bundle")
    text = "el gato rojo ve el tren"
    assert again.translate(text).text == model.translate(text).text
    if name == "seq2seq-lstm":
        with pytest.raises(UsageError, match="seq2seq-lstm has no attention"):
            model.attend(text)
    else:
        look = model.attend(text)
        assert look.weights.shape[:2] == (1, 1)
        np.testing.assert_allclose(look.weights.sum(-1), 1, atol=1e-5)


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path: Path, toy_tsv: Path) -> None:
    schedule = {"teacher_forcing": "decay", "teacher_epochs": 1.0, "dropout": 0.1}
    settings = {**SMALL, "model": {**SMALL["model"], **schedule}}
    settings["train"] = {**settings["train"], "schedule": "constant", "warmup": 0, "checkpoint_every": 5}
    options: dict[str, Any] = {"model": "seq2seq-gru+general", "settings": settings}
    whole = mirada.train(toy_tsv, out=tmp_path / "whole", steps=24, **options)
    mirada.train(toy_tsv, out=tmp_path / "part", steps=11, **options)
    mirada.train(resume=tmp_path / "part", steps=24)
    last = "run/checkpoints/step-00000024.safetensors"
    assert (tmp_path / "part" / last).read_bytes() == (whole.path / last).read_bytes()


def test_a_transformer_with_rotary_positions_learns_the_toy_language(tmp_path: Path, toy_tsv: Path) -> None:
    settings = {**toy.TINY, "model": {**toy.TINY["model"], "positions": "rotary"}}
    model = mirada.train(toy_tsv, out=tmp_path / "bundle", steps=150, settings=settings)
    bleu = next(score["value"] for score in model.card["scores"]["scores"] if score["name"] == "BLEU")
    assert bleu > 30
    again = mirada.load(tmp_path / "bundle")
    assert again.config["model"]["positions"] == "rotary"
    text = "el gato rojo ve el tren"
    assert again.translate(text).text == model.translate(text).text

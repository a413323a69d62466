"""Masked modelling as a person meets it: pre-train, fill a gap, sentence vectors, and teach it to classify."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirada
from mirada.errors import ConfigError
from mirada.tasks.masked_lm.model import MaskedLanguageModel
from tests import reviews
from tests.command import refused, run

SMALL: dict[str, Any] = {
    "model": {"width": 32, "heads": 2, "layers": 1, "dropout": 0.0, "norm": "pre"},
    "tokenizer": {"unit": "words"},
    "data": {"length": 32},
    "train": {"batch_tokens": 2000, "lr": 1e-2, "warmup": 10, "threads": 1},
}
COLOURS = {"cielo": "azul", "sol": "amarillo", "prado": "verde", "carbón": "negro"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents in which every thing has its colour."""
    chance = random.Random(0)
    things = sorted(COLOURS)
    texts = []
    for _ in range(300):
        chosen = [chance.choice(things) for _ in range(6)]
        texts.append("\n".join(f"el {thing} es {COLOURS[thing]}." for thing in chosen))
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("\n\n".join(texts), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def mine(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> MaskedLanguageModel:
    out = tmp_path_factory.mktemp("masked") / "mine"
    model: MaskedLanguageModel = mirada.train(corpus, task="masked_lm", out=out, steps=300, settings=SMALL)
    return model


def test_a_gap_is_filled(mine: MaskedLanguageModel) -> None:
    for thing, colour in COLOURS.items():
        (words,) = mine.fill(f"el {thing} es [MASK].")
        assert words[0][0] == colour
        assert words[0][1] > 0.5
    first, second = mine.fill("el [MASK] es verde. el sol es [MASK].")
    assert (first[0][0], second[0][0]) == ("prado", "amarillo")


def test_whether_a_span_follows_is_learned(tmp_path: Path) -> None:
    chance = random.Random(1)
    topics = [[f"{letter}{number}" for number in range(6)] for letter in "abcdefgh"]
    texts = [" ".join(chance.choice(topics[n % 8]) for _ in range(28)) for n in range(400)]
    (tmp_path / "corpus.txt").write_text("\n\n".join(texts), encoding="utf-8")
    settings = {**SMALL, "model": {**SMALL["model"], "layers": 2}}
    told = mirada.train(tmp_path / "corpus.txt", task="masked_lm", out=tmp_path / "m", steps=250, settings=settings)
    scores = {score["name"]: score["value"] for score in told.card["scores"]["scores"]}
    assert scores["next sentence"] > 75  # a span of another document is of the same topic once in eight times


def test_what_stands_around_a_gap_is_read_as_it_was_learned(corpus: Path, tmp_path: Path) -> None:
    by_characters = {**SMALL, "tokenizer": {"unit": "characters"}}
    by_subwords = {**SMALL, "tokenizer": {"unit": "subwords"}}
    letters: MaskedLanguageModel = mirada.train(
        corpus, task="masked_lm", out=tmp_path / "a", steps=1, settings=by_characters
    )
    subwords: MaskedLanguageModel = mirada.train(
        corpus, task="masked_lm", out=tmp_path / "b", steps=1, settings=by_subwords
    )

    def shown(model: MaskedLanguageModel, text: str) -> list[str]:
        mask = model.preprocessor.tokenizer.mask
        pieces = model.preprocessor.tokenizer.pieces(model._with_gaps(text))
        return ["_" if id == mask else piece for id, piece in zip(model._with_gaps(text), pieces, strict=True)]

    assert shown(letters, " el [MASK] es ") == ["e", "l", " ", "_", " ", "e", "s"]
    assert shown(subwords, "el [MASK] es azul.") == [" el", "_", " es", " azul", "."]
    assert shown(subwords, "el [MASK]. el [MASK]es")[1:3] == ["_", "."]
    assert "".join(shown(subwords, "el [MASK]es azul.")[2:]) == "es azul."


def test_vectors_do_not_depend_on_the_batch(mine: MaskedLanguageModel) -> None:
    texts = ["el cielo es azul.", "el sol", "", "el prado es verde. el carbón es negro."]
    for text, found in zip(texts, mine.embed(texts), strict=True):
        alone = mine.embed(text)
        assert found.vector.shape == (32,)
        np.testing.assert_allclose(alone.vector, found.vector, atol=1e-5)
        np.testing.assert_allclose(alone.tokens, found.tokens, atol=1e-5)
        np.testing.assert_allclose(found.tokens.mean(0), found.vector, atol=1e-6)


def test_the_verbs(mine: MaskedLanguageModel, corpus: Path, tmp_path: Path) -> None:
    done = run("fill", mine.path, "el sol es [MASK].")
    assert done.stdout.startswith("amarillo")
    (tmp_path / "lines.txt").write_text("el sol es amarillo.\nel cielo\n", encoding="utf-8")
    assert run("embed", mine.path, "--file", tmp_path / "lines.txt", "--out", tmp_path / "v.npz").returncode == 0
    arrays = np.load(tmp_path / "v.npz", allow_pickle=False)
    assert arrays["sentences"].shape == (2, 32)
    assert arrays["tokens"].shape[0] == arrays["offsets"][-1]
    gaps = [json.loads(line) for line in run("fill", mine.path, "el [MASK] es [MASK].", "--json").stdout.splitlines()]
    assert gaps == [gap.as_dict() for gap in mine.fill("el [MASK] es [MASK].")]
    done = run("embed", mine.path, "el sol", "el cielo", "--json")
    assert [len(json.loads(line)["vector"]) for line in done.stdout.splitlines()] == [32, 32]
    assert "--json" in refused("embed", mine.path, "el sol", code=2)
    scores = json.loads(run("evaluate", mine.path, corpus, "--json").stdout)
    assert scores["unit"] == "hidden words"
    assert "masked" in run("info", mine.path).stdout


def test_bad_input_gets_one_line(mine: MaskedLanguageModel, corpus: Path, tmp_path: Path) -> None:
    assert "there is no gap in 'el sol'" in refused("fill", mine.path, "el sol")
    assert "there is no gap in ''" in refused("fill", mine.path, "")
    assert "the text has bytes that are not UTF-8" in refused("fill", mine.path, "el \udcff [MASK]")
    assert "--count 0: must be at least 1" in refused("fill", mine.path, "el [MASK]", "--count", 0, code=2)
    assert "the model takes" in refused("fill", mine.path, "sol " * 500 + "[MASK]")
    (tmp_path / "long.txt").write_text("sol\n" * 699 + "sol " * 500 + "\n", encoding="utf-8")
    named = refused("embed", mine.path, "--file", tmp_path / "long.txt", "--out", tmp_path / "v.npz")
    assert "text 700 has 500 tokens, the model takes" in named
    done = run("embed", mine.path, "--file", tmp_path / "long.txt", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert (len(rows), [number for number, row in enumerate(rows, 1) if "vector" not in row]) == (700, [700])
    assert rows[-1]["problem"].startswith("has 500 tokens, the model takes")
    assert f"mirada: line 700: {rows[-1]['problem']}" in done.stderr
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    assert "no document is long enough" in refused("evaluate", mine.path, tmp_path / "empty.txt")
    assert "cannot be fine-tuned for that" in refused(
        "train", corpus, "--task", "forecasting", "--base", mine.path, "--out", tmp_path / "x", code=2
    )
    with pytest.raises(ConfigError, match=r"data\.length=300: the model takes 255"):
        mirada.train(corpus, task="masked_lm", out=tmp_path / "x", steps=1, settings={"data": {"length": 300}})


def test_a_base_is_taught_to_classify(mine: MaskedLanguageModel, tmp_path: Path) -> None:
    table = reviews.write(tmp_path / "reviews.csv", reviews.rows(60))
    said: list[str] = []
    model = mirada.train(
        table,
        task="classification",
        base=mine.path,
        out=tmp_path / "sentiment",
        steps=2,
        settings={"train": {"threads": 1}},
        listen=lambda event: said.append(str(event.figures.get("text", ""))),
    )
    assert any("weights are copied from the base" in text for text in said)
    assert model.classify("sí").label in ("good", "bad")
    assert model.card["base"]["path"] == mine.path.name
    assert model.config["model"]["name"] == "bert"
    again = mirada.load(tmp_path / "sentiment")
    assert again.classify("sí").probabilities == model.classify("sí").probabilities


def test_a_resumed_run_equals_an_uninterrupted_one(corpus: Path, tmp_path: Path) -> None:
    train = {**SMALL["train"], "schedule": "constant", "warmup": 0, "checkpoint_every": 4}
    settings = {**SMALL, "train": train, "model": {**SMALL["model"], "dropout": 0.1}}
    whole = mirada.train(corpus, task="masked_lm", out=tmp_path / "whole", steps=12, settings=settings)
    mirada.train(corpus, task="masked_lm", out=tmp_path / "part", steps=7, settings=settings)
    mirada.train(resume=tmp_path / "part", steps=12)
    last = "run/checkpoints/step-00000012.safetensors"
    assert (tmp_path / "part" / last).read_bytes() == (whole.path / last).read_bytes()

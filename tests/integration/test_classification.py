"""Classification as a person meets it: every model trains, answers, is scored and goes on after an interruption."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file

import mirada
from mirada.errors import UsageError
from mirada.tasks.classification.model import ClassificationModel
from mirada.tasks.translation.model import TranslationModel
from tests import reviews
from tests.command import refused, run


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reviews.write(tmp_path_factory.mktemp("reviews") / "reviews.csv", reviews.rows(500))


@pytest.fixture(scope="module")
def sentiment(table: Path, tmp_path_factory: pytest.TempPathFactory) -> ClassificationModel:
    out = tmp_path_factory.mktemp("sentiment") / "lstm"
    return train(table, out, "lstm", steps=60)


def train(table: Path, out: Path, model: str, **more: Any) -> Any:
    settings = {**reviews.SMALL, **more.pop("settings", {})}
    if model == "bag":
        settings = {"train": {**settings["train"], "optimizer": "adam"}, "model": more.pop("bag", {})}
    return mirada.train(table, task="classification", model=model, out=out, settings=settings, **more)


def test_order_decides_and_a_recurrent_network_hears_it(sentiment: ClassificationModel) -> None:
    good, bad = sentiment.classify(["sí, me gustó mucho, no la vi completa", "no, me gustó mucho, sí la vi completa"])
    assert (good.label, bad.label) == ("good", "bad")
    assert sum(good.probabilities.values()) == pytest.approx(1)
    assert sentiment.card["scores"]["scores"][0]["value"] > 95


def test_a_bag_of_words_does_not_and_a_bag_of_pairs_does(table: Path, tmp_path: Path) -> None:
    words = train(table, tmp_path / "words", "bag", steps=60)
    pairs = train(table, tmp_path / "pairs", "bag", bag={"ngrams": 2}, steps=150)
    accuracy = {model: model.card["scores"]["scores"][0]["value"] for model in (words, pairs)}
    assert accuracy[words] < 70  # both orders have the same words
    assert accuracy[pairs] > 95
    why = dict(pairs.classify("obra cine: sí me gustó mucho, no la vi hoy", why=True).reasons)
    assert max(why, key=lambda gram: why[gram]) in ("sí me", ": sí", "no la", ", no")
    with pytest.raises(UsageError, match="only a bag can say"):
        train(table, tmp_path / "gru", "gru", steps=1).classify("x", why=True)


def test_a_bundle_without_its_length_gets_the_usual_one(sentiment: ClassificationModel, tmp_path: Path) -> None:
    bundle = shutil.copytree(sentiment.path, tmp_path / "bundle", ignore=shutil.ignore_patterns("run"))
    config, card = bundle / "config.yaml", json.loads((bundle / "card.json").read_text())
    values = yaml.safe_load(config.read_text())
    limit = values["data"].pop("max_tokens")
    config.write_text(yaml.safe_dump(values))
    card["files"]["config.yaml"] = hashlib.sha256(config.read_bytes()).hexdigest()
    (bundle / "card.json").write_text(json.dumps(card))
    opened = mirada.load(bundle, ClassificationModel)
    assert opened.config["data"]["max_tokens"] == limit
    assert opened.classify("sí, me gustó").label in ("good", "bad")


def test_what_is_cut_or_broken_in_a_test_set_is_said(sentiment: ClassificationModel, tmp_path: Path) -> None:
    limit = sentiment.config["data"]["max_tokens"]
    rows = [("sí " * (limit + 5), "good"), ("no", "bad")]
    said = run("evaluate", sentiment.path, reviews.write(tmp_path / "long.csv", rows)).stdout.splitlines()
    assert said[:2] == ["texts: 2", f"cut to the {limit:,} tokens it reads: 1"]
    broken = reviews.write(tmp_path / "broken.csv", [*rows, ("", "good")])
    wrong = refused("evaluate", sentiment.path, broken)
    assert "broken.csv, line 4: labels without text; a dev or test set must be usable as a whole" in wrong


def test_other_labels_are_learned_anew(sentiment: ClassificationModel, tmp_path: Path) -> None:
    rows = [(text, {"good": "bueno", "bad": "malo"}[label]) for text, label in reviews.rows(60)]
    table = reviews.write(tmp_path / "other.csv", rows)
    done = run("train", table, "--base", sentiment.path, "--out", tmp_path / "b", "--steps", 1, "--threads", 1)
    assert "the base does not know the labels 'bueno', 'malo': its output layer is trained anew" in done.stderr
    assert mirada.load(tmp_path / "b").labels == ["bueno", "malo"]


@pytest.mark.parametrize("name", ["memoryless", "elman", "jordan", "gru", "transformer"])
def test_every_model_trains_and_opens_again(table: Path, tmp_path: Path, name: str) -> None:
    model = train(table, tmp_path / name, name, steps=2)
    again = mirada.load(tmp_path / name)
    assert again.classify("sí me gustó").probabilities == model.classify("sí me gustó").probabilities


def test_a_text_is_classified_alike_alone_and_among_others(sentiment: ClassificationModel) -> None:
    texts = [text for text, _ in reviews.rows(40, seed=3)] + ["sí", "", "una " * 300]
    together, _ = sentiment.probabilities(texts)
    alone = torch.cat([sentiment.probabilities([text])[0] for text in texts])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


def test_a_resumed_run_equals_an_uninterrupted_one(table: Path, tmp_path: Path) -> None:
    schedule = {**reviews.SMALL["train"], "schedule": "constant", "warmup": 0, "checkpoint_every": 5, "penalty": 1e-4}
    settings = {"train": schedule, "model": {"width": 16, "dropout": 0.1}}
    whole = train(table, tmp_path / "whole", "gru", steps=20, settings=settings)
    train(table, tmp_path / "part", "gru", steps=11, settings=settings)
    mirada.train(resume=tmp_path / "part", steps=20)
    last = "run/checkpoints/step-00000020.safetensors"
    assert (tmp_path / "part" / last).read_bytes() == (whole.path / last).read_bytes()


def test_a_penalty_keeps_the_weights_small(table: Path, tmp_path: Path) -> None:
    def size(name: str, penalty: float) -> float:
        settings = {"train": {**reviews.SMALL["train"], "penalty": penalty}}
        train(table, tmp_path / name, "bag", bag={"ngrams": 2}, steps=60, settings=settings)
        last = load_file(tmp_path / name / "run" / "checkpoints" / "step-00000060.safetensors")
        return float(last["model.columns.weight"].square().sum())

    assert size("large", 1.0) < size("none", 0.0) / 4


def test_word_vectors_are_imported(table: Path, tmp_path: Path) -> None:
    words = {"gustó": [9.0] * 32, "nadie": [1.0] * 32}
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in words.items()]
    (tmp_path / "vectors.txt").write_text("\n".join(lines), encoding="utf-8")
    settings = {**reviews.SMALL, "data": {"vectors": str(tmp_path / "vectors.txt")}}
    settings["train"] = {**settings["train"], "lr": 1e-9, "average": 0.0}
    model = train(table, tmp_path / "out", "lstm", steps=1, settings=settings)
    vector = model.embeddings().vector("gustó")
    assert float(vector.std()) < 1e-6  # all of its numbers are equal, as in the file
    assert float(model.embeddings().vector("mucho").std()) > 1e-2


def test_the_verbs(sentiment: ClassificationModel, table: Path, tmp_path: Path) -> None:
    lines = "sí, me gustó mucho, no la vi completa\nno me gustó tanto, sí la vi hoy\n"
    done = run("classify", sentiment.path, text=lines)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["good", "bad"]
    row = json.loads(run("classify", sentiment.path, "--json", "sí, me gustó mucho").stdout)
    assert set(row["probabilities"]) == {"good", "bad"}
    assert "not read" in run("classify", sentiment.path, "una " * 500).stderr
    scores = json.loads(run("evaluate", sentiment.path, table, "--json").stdout)
    assert scores["size"] == 500
    assert scores["scores"][0]["name"] == "accuracy"
    text = run("info", sentiment.path).stdout
    assert "classification" in text
    assert "good" in text
    assert "gustó: " in run("neighbours", sentiment.path, "gustó").stdout


def test_what_does_not_fit_is_refused_in_one_line(sentiment: ClassificationModel, table: Path, tmp_path: Path) -> None:
    assert "is a model for classification; use it with: mirada classify" in refused(
        "translate", sentiment.path, "hola", code=2
    )
    with pytest.raises(UsageError, match="is a model for classification"):
        mirada.load(sentiment.path, TranslationModel)
    assert "--model bag: is not for translation but for classification" in refused(
        "train", table, "--model", "bag", "--out", tmp_path / "x", code=2
    )
    assert "--task clasification: there is no such task (did you mean classification?)" in refused(
        "train", table, "--task", "clasification", "--out", tmp_path / "x", code=2
    )
    assert "data.source_language: there is no such setting" in refused(
        "train", table, "--task", "classification", "--from", "es", "--out", tmp_path / "x", code=2
    )
    other = reviews.write(tmp_path / "other.csv", [("una obra", "excellent"), ("otra obra", "good")])
    unknown = "other.csv, line 2: has the label 'excellent', which the model"
    assert unknown in refused("evaluate", sentiment.path, other)
    unlearned = "other.csv, line 2: the dev set has the label 'excellent', which no training text has"
    assert unlearned in refused("train", table, "--task", "classification", "--dev", other, "--out", tmp_path / "x")
    assert not (tmp_path / "x").exists()

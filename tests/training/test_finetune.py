"""Fine-tuning: the base's tokenizer, shape and weights as a start; scores before and after on both dev sets."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import mirada
from mirada import config as configuration
from mirada.errors import BundleError, ConfigError, UsageError
from mirada.tasks.translation.model import TranslationModel
from mirada.training.finetune import inherited
from tests import reviews, toy
from tests.command import run


def capitals(count: int) -> list[tuple[str, str]]:
    """The toy language, but with targets that begin with a capital letter: something new to learn."""
    return [(source, target.capitalize()) for source, target in toy.pairs(count, seed=5)]


def finetune(base: TranslationModel, out: Path, pairs: Path, **more: Any) -> TranslationModel:
    more = {"steps": 40, "settings": {"train": {"batch_tokens": 1500, "threads": 1}}, **more}
    return mirada.train(pairs, base=base.path, out=out, **more)


@pytest.fixture(scope="module")
def tuned(trained: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> TranslationModel:
    folder = tmp_path_factory.mktemp("tuned")
    return finetune(trained, folder / "better", toy.write(folder / "pairs.tsv", capitals(600)), steps=120)


def test_the_new_is_learned_and_the_old_is_scored_beside_it(trained: TranslationModel, tuned: TranslationModel) -> None:
    assert tuned.translate("el gato rojo ve el tren").text == "The red cat sees the train"
    base = tuned.card["base"]
    assert base["path"] == trained.path.name
    assert base["before"]["new"]["BLEU"] < base["after"]["new"]["BLEU"]
    assert base["before"]["old"]["BLEU"] > base["after"]["old"]["BLEU"]  # forgetting, as it should be here
    final = next(score for score in tuned.card["scores"]["scores"] if score["name"] == "BLEU")
    assert base["after"]["new"]["BLEU"] == pytest.approx(final["value"], abs=0.01)  # one figure for one dev set
    known = next(score for score in trained.card["scores"]["scores"] if score["name"] == "BLEU")
    assert base["before"]["old"]["BLEU"] == pytest.approx(known["value"], abs=0.01)


def test_tokenizer_shape_and_languages_are_the_bases(trained: TranslationModel, tuned: TranslationModel) -> None:
    assert tuned.source_tokenizer.to_json() == trained.source_tokenizer.to_json()
    assert {**tuned.config["model"], "dropout": 0} == {**trained.config["model"], "dropout": 0}
    assert tuned.card["languages"] == {"source": "es", "target": "en"}
    assert tuned.config["train"]["lr"] < trained.config["train"]["lr"]


def test_training_starts_from_the_bases_weights(trained: TranslationModel, tmp_path: Path) -> None:
    pairs = toy.write(tmp_path / "pairs.tsv", toy.pairs(300, seed=9))
    tiny_steps = {"train": {"batch_tokens": 1500, "threads": 1, "lr": 1e-6}}
    model = finetune(trained, tmp_path / "out", pairs, steps=1, settings=tiny_steps)
    after, before = model.card["base"]["after"]["new"]["BLEU"], model.card["base"]["before"]["new"]["BLEU"]
    assert after == pytest.approx(before, abs=1.0)
    assert before > 50


def test_a_run_can_be_resumed_when_the_base_is_gone(trained: TranslationModel, tmp_path: Path) -> None:
    base = shutil.copytree(trained.path, tmp_path / "base")
    pairs = toy.write(tmp_path / "pairs.tsv", capitals(300))
    settings = {"train": {"batch_tokens": 1500, "threads": 1, "checkpoint_every": 2}}
    mirada.train(pairs, base=base, out=tmp_path / "part", steps=4, settings=settings)
    shutil.rmtree(base)
    pairs.unlink()
    resumed = mirada.train(resume=tmp_path / "part", steps=8)
    assert resumed.card["training"]["steps"] == 8
    assert set(resumed.card["base"]) == {"path", "before", "after"}


def test_what_does_not_fit_the_base_is_refused(trained: TranslationModel, toy_tsv: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(ConfigError, match=r"model\.width=32: the base .* has 64"):
        mirada.train(toy_tsv, base=trained.path, out=out, settings={"model": {"width": 32}})
    with pytest.raises(ConfigError, match=r"tokenizer\.vocabulary=500: the base"):
        mirada.train(toy_tsv, base=trained.path, out=out, settings={"tokenizer": {"vocabulary": 500}})
    with pytest.raises(ConfigError, match=r"data.source_language=en: the base .* has es"):
        mirada.train(toy_tsv, base=trained.path, out=out, source_language="en")
    with pytest.raises(UsageError, match="leave out --model and --preset"):
        mirada.train(toy_tsv, base=trained.path, out=out, preset="tiny")
    with pytest.raises(BundleError, match="no such directory"):
        mirada.train(toy_tsv, base=tmp_path / "nothing", out=out)
    assert not out.exists()


def test_a_damaged_base_is_refused(trained: TranslationModel, toy_tsv: Path, tmp_path: Path) -> None:
    base = shutil.copytree(trained.path, tmp_path / "base")
    (base / "model.safetensors").write_bytes(b"x")
    with pytest.raises(BundleError, match=r"model\.safetensors: has been altered"):
        mirada.train(toy_tsv, base=base, out=tmp_path / "out", steps=1)
    assert not (tmp_path / "out").exists()


def test_what_was_trained_is_kept_when_opening_it_fails(
    toy_tsv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object, **options: object) -> None:
        raise BundleError("the disk went away")

    monkeypatch.setattr("mirada.training.run.load", fails)
    with pytest.raises(BundleError, match="went away"):
        mirada.train(toy_tsv, out=tmp_path / "out", steps=1, settings=toy.TINY)
    monkeypatch.undo()
    assert mirada.load(tmp_path / "out").card["training"]["steps"] == 1


def test_the_dev_part_travels_with_the_bundle(trained: TranslationModel) -> None:
    lines = (trained.path / "data" / "dev.jsonl").read_text().splitlines()
    assert len(lines) == trained.card["scores"]["size"]
    assert "data/dev.jsonl" in trained.card["optional"]
    assert json.loads(lines[0])[0] in dict(toy.pairs(1500))
    assert inherited(trained.path)["train"]["base"] == str(trained.path)


def test_a_gpt_is_taught_to_classify(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("".join(f"{text}\n" for text, _ in reviews.rows(80)), encoding="utf-8")
    sizes = {"width": 16, "heads": 2, "layers": 1, "max_length": 48}
    settings = {"model": sizes, "train": {"threads": 1}}
    language: dict[str, Any] = {"task": "language_model", "model": "gpt", "steps": 2, "settings": settings}
    base = mirada.train(tmp_path / "book.txt", out=tmp_path / "gpt", **language)
    table, out = reviews.write(tmp_path / "reviews.csv", reviews.rows(60)), tmp_path / "out"
    options = ["--task", "classification", "--base", base.path, "--steps", 2, "--threads", 1, "--out", out]
    done = run("train", table, *options)
    assert done.returncode == 0, done.stderr
    assert "weights are copied from the base" in done.stderr
    model = mirada.load(out)
    assert model.classify("sí").label in ("good", "bad")
    assert (model.config["model"]["name"], model.config["data"]["max_tokens"]) == ("gpt", 46)
    assert model.preprocessor.tokenizer.to_json() == base.preprocessor.tokenizer.to_json()


def test_a_base_from_before_texts_were_normalised_stays_as_it_was(tmp_path: Path) -> None:
    pairs = toy.write(tmp_path / "pairs.tsv", toy.pairs(200))
    raw = configuration.merge(toy.TINY, {"tokenizer": {"normalize": False}})
    old = mirada.train(pairs, out=tmp_path / "old", steps=1, settings=raw)
    values = configuration.read(old.path / "config.yaml")
    del values["tokenizer"]["normalize"]  # which such a bundle does not have
    (old.path / "config.yaml").write_text(configuration.dump(values), encoding="utf-8")
    card = json.loads((old.path / "card.json").read_text(encoding="utf-8"))
    card["files"]["config.yaml"] = hashlib.sha256((old.path / "config.yaml").read_bytes()).hexdigest()
    (old.path / "card.json").write_text(json.dumps(card), encoding="utf-8")

    assert mirada.load(old.path).ids("el\xa0gato") != mirada.load(old.path).ids("el gato")
    assert inherited(old.path)["tokenizer"]["normalize"] is False
    tuned = finetune(old, tmp_path / "tuned", pairs, steps=1)
    assert tuned.config["tokenizer"]["normalize"] is False
    assert not tuned.source_tokenizer.normalizes
    with pytest.raises(ConfigError, match=r"tokenizer\.normalize=True: the base .* has False"):
        finetune(old, tmp_path / "x", pairs, steps=1, settings={"tokenizer": {"normalize": True}})

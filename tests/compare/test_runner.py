"""Several models on one corpus: trained alike, resumed, measured, and refused when the request makes no sense."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import mirada
from mirada import config as configuration
from mirada.bundle import read_card
from mirada.compare import task_report
from mirada.errors import BundleError, DataError, MiradaError, UsageError
from mirada.training.workspace import locked
from tests import toy
from tests.compare.conftest import HOSTILE, MODELS, SETTINGS, Resumed, ask, digests


def test_an_interrupted_comparison_is_resumed(resumed: Resumed) -> None:
    out = resumed.comparison.out
    assert resumed.message == f"interrupted; {out} is kept: run the same command to resume"
    assert digests(out / "models" / MODELS[0]) == resumed.first
    assert "model.safetensors" in resumed.first
    assert f"already trained: {out / 'models' / MODELS[0]}" in resumed.notes
    assert "resumed at step 2" in resumed.notes
    assert sorted(path.name for path in (out / "models").iterdir()) == sorted(MODELS)
    assert [result.name for result in resumed.comparison.models] == MODELS


def test_all_had_the_same_data_tokens_and_budget(resumed: Resumed) -> None:
    cards = [read_card(resumed.comparison.out / result.bundle) for result in resumed.comparison.models]
    assert len({card["files"]["tokenizer.json"] for card in cards}) == 1
    assert len({card["optional"]["data/dev.jsonl"] for card in cards}) == 1
    assert len({json.dumps(card["data"]) for card in cards}) == 1
    assert [card["training"]["steps"] for card in cards] == [4, 4, 4]
    sections = [
        configuration.read(resumed.comparison.out / e.bundle / "config.yaml") for e in resumed.comparison.models
    ]
    for section in ("data", "check", "tokenizer", "train", "decode"):
        assert sections[0][section] == sections[1][section] == sections[2][section]
    assert [part["model"]["width"] for part in sections] == [16, 16, 16]
    assert "heads" not in sections[0]["model"]  # a setting goes to the models that have it
    assert sections[2]["model"]["heads"] == 2


def test_the_figures_are_what_the_bundles_say(resumed: Resumed) -> None:
    comparison = resumed.comparison
    written = json.loads(comparison.json.read_text(encoding="utf-8"))
    assert written == comparison.as_dict()
    assert written["seed"] == 1
    assert written["budget"] == {"steps": 4}
    for result in written["models"]:
        model = mirada.load(comparison.out / result["bundle"], threads=1)
        assert result["scores"] == model.card["scores"]
        assert result["parameters"] == model.card["parameters"] == model.parameters
        assert result["training"] == model.card["training"]
        assert result["settings"] == model.config["model"]
        sources = [sample["text"] for sample in written["samples"]]
        answers = [answer["text"] for answer in result["predictions"]]
        assert answers == [translation.text for translation in model.translate(sources)]
        assert result["inference_speed"] > 0
        assert result["training_speed"] > 0
        assert [*result["speed_by_length"]] == ["8", "16", "32", "64", "128"]
        assert min(result["speed_by_length"].values()) > 0
        assert not model.network.training
    assert [result["details"]["attention"] is not None for result in written["models"]] == [False, True, True]
    look = written["models"][2]["details"]["attention"]
    assert len(look["weights"]) == len(look["target"])
    assert all(sum(row) == pytest.approx(1, abs=0.01) and len(row) == len(look["source"]) for row in look["weights"])


def test_the_verdict_names_the_best(resumed: Resumed) -> None:
    best, second, last = resumed.comparison.ranking
    assert best.score() >= second.score() >= last.score()
    assert resumed.comparison.verdict.startswith(best.name)
    assert "one seed (1)" in resumed.comparison.caution


def test_samples_go_from_short_to_long(resumed: Resumed) -> None:
    lengths = [len(sample.text.split()) for sample in resumed.comparison.samples]
    assert len(lengths) == 8
    assert lengths == sorted(lengths)
    assert lengths[0] == 1
    assert lengths[-1] == 24
    assert resumed.comparison.models[2].details["attention"].text == HOSTILE  # the one of about eight words
    assert task_report.spread([2, 1]) == [1, 0]
    assert task_report.spread(range(15)) == [0, 2, 4, 6, 8, 10, 12, 14]


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": []}, "which models"),
        ({"models": ["transfromer"]}, r"there is no such model \(did you mean transformer"),
        ({"models": ["../evil"]}, "there is no such model"),
        ({"models": ["transformer", "transformer"]}, "transformer: is named twice"),
        ({"models": ["seq2seq-gru", "seq2seq-gru+none", "transformer"]}, "is the same model as seq2seq-gru"),
        ({"models": ["transformer", "seq2seq-gru+magic"]}, r"model\.attention='magic'"),
        ({"models": ["transformer+dot"]}, "has no attention to choose"),
        ({"steps": None}, "set a budget for each model"),
        ({"preset": "huge"}, "has no such preset"),
        ({"settings": {"model": {"widht": 16}}}, r"model\.widht: none of the models .*did you mean width"),
        ({"settings": {"model": {"attention": "dot"}}}, "set it in the model's name"),
        ({"settings": {"model": 3}}, "is a section"),
        ({"settings": {"train": {"lr": -1}}}, r"train\.lr=-1"),
        ({"dev": "nowhere.tsv"}, "no such file"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_done(
    changes: dict[str, Any], message: str, toy_tsv: Path, tmp_path: Path
) -> None:
    with pytest.raises(MiradaError, match=message) as refused:
        ask(toy_tsv, tmp_path / "out", **changes)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_a_directory_that_is_something_else_is_not_touched(toy_tsv: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(UsageError, match="is not a comparison"):
            ask(toy_tsv, tmp_path, overwrite=overwrite)
    with pytest.raises(UsageError, match="is a file"):
        ask(toy_tsv, tmp_path / "mine.txt", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_kill_in_the_first_second_is_no_dead_end(tmp_path: Path) -> None:
    for left in (".lock", "compare.json.partial"):
        (tmp_path / left).touch()
    with pytest.raises(DataError, match="5 usable sentence pairs"):
        ask(toy.write(tmp_path.with_name("few.tsv"), toy.pairs(5)), tmp_path)
    assert (tmp_path / "compare.json").is_file()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(DataError, match="is not a regular file"):
            ask(Path(name), tmp_path / "out")


def test_a_running_comparison_is_left_alone(resumed: Resumed) -> None:
    out = resumed.comparison.out
    before = digests(out)
    with locked(out), pytest.raises(UsageError, match="another process"):
        ask(resumed.pairs, out, overwrite=True)
    assert digests(out) == before


def test_other_data_or_settings_are_refused(resumed: Resumed, tmp_path: Path) -> None:
    out = resumed.comparison.out
    before = digests(out)
    common: dict[str, Any] = {"dev": resumed.dev, "source_language": "es", "target_language": "en"}
    with pytest.raises(UsageError, match="differs in train; choose another name, or replace it with --overwrite"):
        ask(resumed.pairs, out, **{**common, "steps": 5})
    with pytest.raises(UsageError, match="differs in settings"):
        ask(resumed.pairs, out, **{**common, "settings": {}})
    content = resumed.pairs.read_text()
    resumed.pairs.write_text(content + "gato\tcat\n")
    with pytest.raises(UsageError, match="differs in files"):
        ask(resumed.pairs, out, **common)
    resumed.pairs.write_text(content)
    assert digests(out) == before
    manifest = (out / "compare.json").read_text()
    for damaged in ("{", manifest.replace('"format": 1', '"format": 2')):
        (out / "compare.json").write_text(damaged)
        with pytest.raises(UsageError, match=r"compare\.json: is damaged .*--overwrite"):
            ask(resumed.pairs, out, **common)
    (out / "compare.json").write_text(manifest)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ({"scores": []}, r"scores\.scores: "),
        ({"unit": None}, r"scores\.unit: "),
        ({"by_length": [{"shortest": 1}]}, r"scores\.by_length\.0\."),
    ],
)
def test_damaged_scores_are_refused_by_field(
    resumed: Resumed, tmp_path: Path, damage: dict[str, Any], says: str
) -> None:
    out = shutil.copytree(resumed.comparison.out, tmp_path / "out")
    path = out / "models" / MODELS[1] / "card.json"
    card = json.loads(path.read_text())
    path.write_text(json.dumps({**card, "scores": {**card["scores"], **damage}}))
    common: dict[str, Any] = {"dev": resumed.dev, "source_language": "es", "target_language": "en"}
    with pytest.raises(BundleError, match=rf"card\.json: is damaged \({says}.*; to train it again, delete "):
        ask(resumed.pairs, out, **common)


def test_bad_data_can_be_fixed_models_added_and_all_replaced(quick: None, tmp_path: Path) -> None:
    pairs, out = toy.write(tmp_path / "pairs.tsv", toy.pairs(5)), tmp_path / "out"
    settings = {**SETTINGS, "model": {"width": 16, "dropout": 0.0}}
    with pytest.raises(DataError, match="5 usable sentence pairs"):
        ask(pairs, out, models=["seq2seq-elman"], steps=1, settings=settings)
    toy.write(pairs, toy.pairs(120))
    alone = ask(pairs, out, models=["seq2seq-elman"], steps=1, settings=settings)
    assert alone.verdict == f"seq2seq-elman reached {alone.models[0].score():.1f} BLEU."
    assert alone.data["held_out"]
    assert "One model was trained for 1 step." in alone.html.read_text(encoding="utf-8")
    first = digests(out / "models" / "seq2seq-elman")
    both = ask(pairs, out, models=["seq2seq-elman", "seq2seq-gru+dot"], steps=1, settings=settings)
    assert [result.name for result in both.models] == ["seq2seq-elman", "seq2seq-gru+dot"]
    assert digests(out / "models" / "seq2seq-elman") == first
    kept = digests(out)
    few = toy.write(tmp_path / "few.tsv", toy.pairs(5))
    with pytest.raises(DataError, match="5 usable sentence pairs"):
        ask(few, out, models=["seq2seq-gru"], steps=2, settings=settings, overwrite=True)
    assert digests(out) == kept
    anew = ask(pairs, out, models=["seq2seq-gru"], steps=2, settings=settings, overwrite=True)
    assert [path.name for path in (out / "models").iterdir()] == ["seq2seq-gru"]
    assert anew.models[0].training["steps"] == 2

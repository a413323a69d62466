"""Classifiers compared on texts whose order decides: a bag of words cannot know, a recurrent network can."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import mirada
from mirada import api, models
from mirada import config as configuration
from mirada.bundle import read_card
from mirada.compare import report, task_report
from mirada.compare.results import Comparison
from mirada.compare.runner import SCORED, _plan
from mirada.tasks import packages
from tests.compare.conftest import BAD, GOOD, HOSTILE, Resumed, digests
from tests.compare.page_parts import Page, check_alone, check_order

SECTIONS = ["models", "curves", "length", "time", "paths", "confusion", "samples", "method"]
NAMES = ["bag", "lstm", "transformer"]


@pytest.fixture(scope="module")
def comparison(classifiers: Resumed) -> Comparison:
    return classifiers.comparison


@pytest.fixture(scope="module")
def html(comparison: Comparison) -> str:
    return comparison.html.read_text(encoding="utf-8")


def test_order_is_more_than_words(comparison: Comparison) -> None:
    bag, lstm, _ = comparison.models
    assert bag.score() < 70 < 90 < lstm.score()
    assert comparison.ranking[-1].name == "bag"
    assert "classified best" in comparison.verdict
    assert f"{lstm.score():.1f} accuracy" in comparison.verdict or comparison.ranking[0].name == "transformer"


def test_an_interrupted_comparison_is_resumed(classifiers: Resumed) -> None:
    out = classifiers.comparison.out
    assert digests(out / "models" / "bag") == classifiers.first
    assert f"already trained: {out / 'models' / 'bag'}" in classifiers.notes
    assert "resumed at step 2" in classifiers.notes


def test_the_figures_are_what_the_bundles_say(classifiers: Resumed) -> None:
    comparison = classifiers.comparison
    written = json.loads(comparison.json.read_text(encoding="utf-8"))
    assert written == comparison.as_dict()
    assert written["task"] == "classification"
    dev = [tuple(line.split("\t")) for line in classifiers.dev.read_text(encoding="utf-8").splitlines()[1:]]
    for result in written["models"]:
        model = mirada.load(comparison.out / result["bundle"], threads=1)
        assert result["scores"] == model.card["scores"] == model.evaluate(dev).as_dict()
        found = model.classify([sample["text"] for sample in written["samples"]])
        assert [answer["text"] for answer in result["predictions"]] == [answer.label for answer in found]
        assert [answer["probability"] for answer in result["predictions"]] == pytest.approx(
            [answer.probability for answer in found], abs=1e-3
        )
        rows = result["by_length"]
        assert [(row["shortest"], row["longest"], row["count"]) for row in rows] == [(1, 50, 40), (101, 200, 1)]
        right = sum(row["count"] * row["value"] / 100 for row in rows)
        assert right == pytest.approx(len(dev) * result["scores"]["scores"][0]["value"] / 100)
        assert [*result["speed_by_length"]] == ["16", "32", "64", "128", "256", "512"]
        assert not model.network.training


def test_all_had_the_same_data_and_tokens_but_their_own_recipe(classifiers: Resumed) -> None:
    results = classifiers.comparison.models
    cards = [read_card(classifiers.comparison.out / result.bundle) for result in results]
    for part in ("tokenizer.json", "labels.json"):
        assert len({card["files"][part] for card in cards}) == 1
    assert len({card["optional"]["data/dev.jsonl"] for card in cards}) == 1
    parts = [configuration.read(classifiers.comparison.out / result.bundle / "config.yaml") for result in results]
    for section in ("data", "tokenizer"):
        assert parts[0][section] == parts[1][section] == parts[2][section]
    assert parts[0]["tokenizer"]["unit"] == "words"  # the task's default
    assert [part["train"]["optimizer"] for part in parts] == ["adam", "muon", "muon"]  # a bag's preset has its own
    assert [part["train"]["lr"] for part in parts] == [0.02] * 3  # what is set holds for all
    assert "heads" not in parts[1]["model"]
    assert parts[2]["model"]["heads"] == 2


def test_a_preset_has_no_say_in_the_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = {"tokenizer": {"lowercase": False}, "data": {"max_tokens": 7}, "model": {"features": 5}}
    monkeypatch.setitem(models.architectures()["bag"].variants["classification"].presets, "tiny", own)
    given = {"data": {"files": ["x.tsv"]}, "train": {"steps": 1}}
    plan = _plan(task_report.find("classification"), ["bag", "lstm"], "tiny", {}, given)
    assert plan["bag"]["model"]["features"] == 5
    for section in ("data", "tokenizer"):
        assert plan["bag"][section] == plan["lstm"][section]
    alone = _plan(task_report.find("classification"), ["bag"], "tiny", {}, given)["bag"]["data"]["max_tokens"]
    assert plan["bag"]["data"]["max_tokens"] < alone  # a bag takes any length, but all see the same of a text
    # What a comparison trains is what `train` would.
    trained = api._effective("classification", "lstm", "tiny", None, None, {}, given)
    trained["train"]["final_sentences"] = SCORED
    assert plan["lstm"] == trained


# ── the page ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_section_has_every_model(html: str, comparison: Comparison) -> None:
    page = Page(html)
    assert [*page.text] == ["", *SECTIONS]
    for section in SECTIONS:
        for name in NAMES:
            assert name in page.text[section], section
    assert comparison.verdict in page.text[""]
    assert f"always “{comparison.baselines[0].name.removeprefix('always “')}" in page.text["models"]
    majority = comparison.baselines[0].scores["accuracy"]
    assert majority == pytest.approx(next(s["value"] for s in comparison.models[0].scores["scores"][2:]))
    assert f"{majority:.1f}" in page.text["models"]
    for result in comparison.models:
        assert f"{result.score('macro-F1'):.1f}" in page.text["models"]
        assert f"{result.inference_speed:,.1f}" in page.text["models"]
        assert f"{result.speed_by_length[512]:,.0f}" in page.text["time"]
        for row in result.scores["confusion"]:
            assert all(f"{count:,}" in page.text["confusion"] for count in row)
        for answer in result.predictions:
            assert f"{answer.text} {answer.probability:.0%}" in page.text["samples"]
    wrong = sum(not answer.correct for result in comparison.models for answer in result.predictions)
    assert wrong
    assert page.text["samples"].count("✗") - 1 == wrong  # one explains the mark
    assert "train.optimizer adam" in page.text["method"]  # where recipes differ, it says so


def test_a_long_text_is_shortened_on_the_page_alone(html: str, comparison: Comparison) -> None:
    longest = comparison.samples[-1].text
    assert len(longest) > 500
    shown = Page(html).text["samples"]
    assert longest not in shown
    assert longest[:290] in shown


def test_the_page_is_alone_and_in_order(html: str) -> None:
    check_alone(html)
    check_order(html, images=5)


def test_hostile_labels_and_texts_are_text(html: str, comparison: Comparison) -> None:
    page = Page(html)
    assert HOSTILE in page.text["samples"]
    for section in ("samples", "confusion", "method"):
        assert GOOD in page.text[section]
        assert BAD in page.text[section]
    assert "<script" not in html
    hundred = [f"{HOSTILE}{number}" for number in range(20)]
    classes = [{"label": label, "count": 1, "precision": 0.0, "recall": 0.0, "f1": 0.0} for label in hundred]
    counts = [[int(true != guess) for guess in range(20)] for true in range(20)]
    many = [replace(x, scores={**x.scores, "classes": classes, "confusion": counts}) for x in comparison.models]
    rendered = report.render(replace(comparison, models=many, preset=HOSTILE, facts=[(HOSTILE, HOSTILE)]))
    assert "<script" not in rendered
    assert Page(rendered).text["confusion"].count("times") == 3  # too wide for a matrix: the worst confusions


def test_a_bidirectional_network_says_so(comparison: Comparison) -> None:
    lstm = comparison.models[1]
    assert lstm.settings["bidirectional"] is None  # by the task: both
    assert lstm.paths["within a text"].formula.endswith("and back")


# ── line-ups ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("task", packages())
def test_every_task_has_a_line_up_of_its_own_models(task: str) -> None:
    found = task_report.find(task)
    assert found.task.name == task
    given = {"data": {"files": ["x.tsv"]}, "train": {"steps": 1}}
    assert [*_plan(found, found.models, "tiny", {}, given)] == [*found.models] != []


def test_what_a_task_has_not_is_refused(tmp_path: Path) -> None:
    from mirada.compare import compare
    from mirada.errors import MiradaError

    texts = tmp_path / "texts.tsv"
    texts.write_text("text\tlabel\nx\ty\n")
    for options, message in (
        ({"task": "clasification"}, "no such task .did you mean classification"),
        ({"task": "classification", "models": ["seq2seq-lstm"]}, "is not for classification but for translation"),
        ({"task": "classification", "models": []}, "--models bag,lstm,transformer"),
        ({"task": "classification", "settings": {"model": {"attention": "dot"}}}, "none of the models has such"),
        ({"task": "classification", "source_language": "es"}, "data.source_language: there is no such setting"),
    ):
        with pytest.raises(MiradaError, match=message) as refused:
            compare(texts, out=tmp_path / "out", steps=1, **options)
        assert "\n" not in str(refused.value)
        assert not (tmp_path / "out").exists()

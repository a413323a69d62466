"""A budget is kept, what it was spent on is told, and an interruption at any time leaves a usable bundle."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mirada
from mirada.errors import Interrupted
from mirada.tasks.translation.model import TranslationModel
from mirada.training.loop import Event
from tests import toy

CHINESE = {
    "el": "那个",
    "gato": "猫",
    "perro": "狗",
    "tren": "火车",
    "libro": "书",
    "barco": "船",
    "lobo": "狼",
    "rojo": "红的",
    "negro": "黑的",
    "viejo": "老的",
    "nuevo": "新的",
    "ve": "看见",
    "sigue": "跟着",
    "busca": "寻找",
    "tiene": "有",
}


def test_a_model_into_chinese_ships_what_it_learned(tmp_path: Path) -> None:
    """All BLEU scores of 13a are 0 here, and so the weights of the first validation were the best."""
    rows = [(source, "".join(CHINESE.get(word, word) for word in source.split())) for source, _ in toy.pairs(1000)]
    pairs = toy.write(tmp_path / "pairs.tsv", rows)
    model = mirada.train(
        pairs, out=tmp_path / "bundle", steps=400, settings=toy.TINY, source_language="es", target_language="zh"
    )
    right = sum(model.translate(source).text == target for source, target in rows[:50])
    assert right >= 40
    signatures = {score["name"]: score["signature"] for score in model.card["scores"]["scores"]}
    assert "tok:zh" in signatures["BLEU"]


def test_training_without_a_budget_learns_before_it_stops(tmp_path: Path) -> None:
    pairs = toy.write(tmp_path / "pairs.tsv", toy.pairs(300))
    looks: list[dict[str, Any]] = []

    def listen(event: Event) -> None:
        if event.kind == "validation":
            looks.append(event.figures)

    settings = {
        "model": toy.TINY["model"],
        "tokenizer": toy.TINY["tokenizer"],
        "train": {"threads": 1, "patience": 200},
    }
    model = mirada.train(pairs, out=tmp_path / "bundle", settings=settings, listen=listen)
    assert looks[0]["step"] == 100  # when the warm-up has ended
    assert looks[-1]["waited"] >= looks[-1]["patience"] == 200
    assert model.card["scores"]["scores"][1]["value"] > 80  # chrF++


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C works, also when the tests run in the background of a shell, which has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_while_scoring_leaves_the_bundle_and_resuming_adds_the_scores(
    toy_tsv: Path, tmp_path: Path
) -> None:
    out = tmp_path / "bundle"

    def interrupt(event: Event) -> None:
        if event.kind == "preparing" and str(event.figures["what"]).startswith("scoring"):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match=f"mirada train --resume {out}"):
        mirada.train(toy_tsv, out=out, steps=30, settings=toy.TINY, listen=interrupt)
    left: TranslationModel = mirada.load(out)
    assert left.card["training"]["finished"] is True
    assert left.card["scores"] is None
    weights = (out / "model.safetensors").read_bytes()
    model = mirada.train(resume=out)
    assert model.card["scores"]["scores"]
    assert (out / "model.safetensors").read_bytes() == weights


def test_final_scores_use_as_many_dev_examples_as_asked_for_evenly_sampled(toy_tsv: Path, tmp_path: Path) -> None:
    settings = {**toy.TINY, "train": {**toy.TINY["train"], "final_sentences": 7}}
    model = mirada.train(toy_tsv, out=tmp_path / "bundle", steps=2, settings=settings)
    assert model.card["scores"]["size"] == 7


def test_the_log_says_where_the_time_went(toy_tsv: Path, tmp_path: Path) -> None:
    told: list[Event] = []
    mirada.train(toy_tsv, out=tmp_path / "bundle", steps=10, settings=toy.TINY, listen=told.append)
    timing = {event.figures["phase"]: event.figures["seconds"] for event in told if event.kind == "timing"}
    start = ["reading", "learning subwords", "tokenizing", "choosing the precision", "estimate", "building"]
    assert list(timing) == [*start, "training", "validation", "checkpoints", "writing", "scoring"]
    kinds = [event.kind for event in told]
    assert kinds.index("timing") < kinds.index("step"), "what the start took is said when training begins"
    (log,) = (tmp_path / "bundle").rglob("log.jsonl")
    logged = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert {event["phase"]: event["seconds"] for event in logged if event["kind"] == "timing"} == timing

"""What is chosen when nobody says: batches, dropout, preset, vocabulary, by data, budget and speed."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import mirada
from mirada import bundle as bundles
from mirada.data.tokenizer import TokenizerConfig
from mirada.models.gpt import GPTConfig
from mirada.training import automatic
from mirada.training.automatic import _ends, _notes, batch_size, dropout, words_seen
from mirada.training.config import TrainConfig
from mirada.training.estimate import CostEstimate
from mirada.training.loop import Event
from tests import toy


@pytest.mark.parametrize(
    ("tokens", "affordable", "expected"),
    [
        (7_000, None, 500),  # 300 short pairs: an epoch has 14 steps, not 2
        (60_000, None, 1500),
        (10_000_000, None, 4000),
        (10_000_000, 900.0, 900),  # a short budget has enough steps
        (10_000_000, 100.0, 500),
        (60_000, 50_000.0, 1500),
    ],
)
def test_batches_are_small_for_little_data_and_for_a_short_budget(
    tokens: int, affordable: float | None, expected: int
) -> None:
    assert batch_size(TrainConfig(), tokens, affordable) == expected


def test_batches_are_never_larger_than_the_task_has_them() -> None:
    assert batch_size(TrainConfig(max_batch_tokens=20_000), 10**9) == 20_000
    assert batch_size(TrainConfig(max_batch_tokens=64), 10**9) == 64


def test_dropout_grows_with_the_epochs_ahead() -> None:
    assert [dropout(epochs) for epochs in (0.3, 4, 5, 15, 16, math.inf)] == [0, 0, 0.1, 0.1, 0.2, 0.2]


def test_a_short_budget_gets_a_smaller_vocabulary() -> None:
    config = TokenizerConfig()
    assert config.most(2_500_000) == 7904
    assert config.model_copy(update={"words_seen": 160_000}).most(2_500_000) == 2000
    assert config.model_copy(update={"words_seen": 10**9}).most(2_500_000) == 7904
    assert config.model_copy(update={"words_seen": 10, "vocabulary": 5000}).most(2_500_000) == 5000


def test_a_larger_preset_sees_fewer_words() -> None:
    tiny, small = (words_seen(TrainConfig(preset=name, minutes=1), 60) for name in ("auto", "small"))
    assert tiny is not None
    assert small is not None
    assert tiny > small > 0
    assert words_seen(TrainConfig(preset="big", minutes=1), 60) is None


def test_words_seen_follow_from_the_speed_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.6 · 10 GFLOPS, 3 operations a weight and token, 1.3 million weights, 1.4 tokens a word."""
    monkeypatch.setattr(automatic, "gigaflops", lambda: 10.0)
    assert words_seen(TrainConfig(preset="tiny"), 60) == int(6e9 / 3.9e6 * 60 / 1.4)
    assert words_seen(TrainConfig(preset="auto"), 60) == words_seen(TrainConfig(preset="tiny"), 60)
    assert words_seen(TrainConfig(preset="small"), 60) == int(6e9 / 18e6 * 60 / 1.4)
    assert words_seen(TrainConfig(preset="tiny"), 1e-9) == 1


COST = CostEstimate(
    parameters=5, tokens_per_second=1000.0, epoch_tokens=50_000, steps_per_epoch=25, padding=0.1, memory=1
)


def test_each_limit_ends_at_its_step() -> None:
    """An epoch takes 50 seconds, a step 2."""
    assert _ends(TrainConfig(), COST, None) == {}
    assert _ends(TrainConfig(steps=70, epochs=3, minutes=2), COST, 100.0) == {
        "--steps": 70,
        "--epochs": 75,
        "--minutes": 50,
    }


def test_notes_say_what_was_chosen_and_what_ends_first() -> None:
    both = {"--steps": 70.0, "--minutes": 50.0}
    assert _notes([], {}, math.inf, None) == []
    assert _notes([], {"--steps": 70.0}, 2.8, None) == []
    (note,) = _notes(["a", "b"], {}, math.inf, None)
    assert note.endswith("data: a, b")
    (note,) = _notes(["a"], {"--minutes": 1050.0}, 42.0, 99.0)
    assert "budget: a;" in note
    assert "1,050 steps, 42.0 epochs" in note
    (note,) = _notes([], both, 2.0, 99.0)
    assert "--minutes ends the training first" in note
    assert len(_notes(["a"], both, 2.0, 99.0)) == 2


TASK: Any = SimpleNamespace(steps_in_budget=1000)


class Corpus:
    """Ten million tokens in batches of a size, and how many batches that makes."""

    tokens = 10_000_000

    def batches(self, size: int, seed: int) -> Corpus:
        self.size = size
        return self

    def epoch(self, epoch: int) -> range:
        return range(self.tokens // self.size)

    def padding(self, epoch: int = 0) -> float:
        return 0.5


def test_what_is_open_is_filled_in_from_the_measured_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """900 seconds at 1,000 tokens a second: batches of 900 tokens, so that there are a thousand steps."""
    speed = replace(COST, epoch_tokens=10_000_000)
    monkeypatch.setattr(automatic, "_estimate", lambda *given: speed)
    sections = {"train": TrainConfig(minutes=16, precision="float32"), "model": GPTConfig(dropout=None)}
    found = automatic.choose(TASK, sections, Corpus(), torch.device("cpu"), lambda: 900.0)  # type: ignore[arg-type]
    assert found.sections["train"].batch_tokens == 900
    assert found.sections["model"].dropout == 0.0  # a tenth of an epoch
    assert (found.estimate.steps_per_epoch, found.estimate.padding) == (11_111, 0.5)
    (note,) = found.notes
    assert "batches of 900 tokens, dropout 0" in note
    sections = {
        "train": TrainConfig(minutes=16, batch_tokens=700, precision="float32"),
        "model": GPTConfig(dropout=0.3),
    }
    found = automatic.choose(TASK, sections, Corpus(), torch.device("cpu"), lambda: 900.0)  # type: ignore[arg-type]
    assert found.sections == sections
    assert found.notes == []


class Presets:
    """A task with three presets, and how many tokens a second each of them trains on."""

    name, presets = "translation", ("tiny", "small", "big")

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **speeds: float):
        self.tried: list[tuple[str, int, int]] = []

        def estimate(
            task: Any, sections: Any, data: Any, batch: int, device: torch.device, steps: int = 3
        ) -> CostEstimate:
            preset = sections["train"].preset
            self.tried.append((preset, batch, steps))
            return replace(COST, tokens_per_second=speeds[preset])

        monkeypatch.setattr(automatic, "_estimate", estimate)
        monkeypatch.setattr(automatic, "_with_preset", self._with)

    def _with(self, task: Any, sections: Any, preset: str) -> dict[str, Any]:
        return {"train": sections["train"].model_copy(update={"preset": preset})}

    def choose(self, left: float | None, tokens: int = 10**9, **train: Any) -> str:
        sections = {"train": TrainConfig(precision="float32", **train)}
        return automatic._preset(self, sections, None, tokens, torch.device("cpu"), left)  # type: ignore[arg-type]


def test_the_largest_preset_without_a_budget_in_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Presets(monkeypatch)
    assert task.choose(None) == "big"
    assert task.tried == []


def test_the_largest_preset_that_sees_twenty_million_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 1,000 seconds, with 20,000 tokens a second; presets are tried from the largest down, a step each."""
    assert Presets(monkeypatch, big=20_000).choose(1000) == "big"
    task = Presets(monkeypatch, big=19_999, small=20_000)
    assert task.choose(1000) == "small"
    assert task.tried == [("big", 2000, 1), ("small", 2000, 1)]
    assert Presets(monkeypatch, big=0.0, small=19_999).choose(1000) == "tiny"


def test_a_preset_is_tried_with_the_batches_it_would_have(monkeypatch: pytest.MonkeyPatch) -> None:
    for expected, given in ((700, {"batch_tokens": 700}), (2000, {"batch_tokens": 3000}), (1500, {"tokens": 60_000})):
        task = Presets(monkeypatch, big=10**9)
        task.choose(100, **given)
        assert task.tried == [("big", expected, 1)]


def test_presets_are_tried_in_the_precision_of_the_smallest(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that one trial of bfloat16 serves where the smallest is chosen."""
    asked, estimated = list[str](), list[str]()

    def with_precision(task: Any, sections: Any, data: Any, batch: int, device: torch.device) -> Any:
        asked.append(sections["train"].preset)
        return {"train": sections["train"].model_copy(update={"precision": "bfloat16"})}, None

    def estimate(task: Any, sections: Any, *rest: Any, steps: int = 3) -> CostEstimate:
        estimated.append(sections["train"].precision)
        return replace(COST, tokens_per_second=0.0)

    task = Presets(monkeypatch)
    monkeypatch.setattr(automatic, "with_precision", with_precision)
    monkeypatch.setattr(automatic, "_estimate", estimate)
    assert task.choose(1000) == "tiny"
    assert (asked, estimated) == (["tiny"], ["bfloat16", "bfloat16"])


def test_a_minute_is_too_short_to_try_presets(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Presets(monkeypatch, big=10**9)
    assert task.choose(60.0) == "tiny"
    assert task.tried == []
    assert task.choose(60.1) == "big"


def train(pairs: Path, out: Path, enough: int, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[Event]:
    """A training of a few steps under a budget in minutes, and what it told."""
    events: list[Event] = []
    monkeypatch.setattr(automatic, "ENOUGH_TOKENS", enough)
    mirada.train(pairs, out=out, minutes=1.2, steps=2, threads=1, listen=events.append, **options)
    return events


@pytest.mark.parametrize(("enough", "width"), [(10**12, 128), (1, 256)])
def test_the_preset_is_the_largest_that_gets_through_enough(
    enough: int, width: int, toy_tsv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = train(toy_tsv, tmp_path / "bundle", enough, monkeypatch)
    config = bundles.read(tmp_path / "bundle").config
    assert config["model"]["width"] == width
    assert config["train"]["preset"] == ("tiny" if width == 128 else "small")
    assert config["train"]["batch_tokens"] >= 500
    said = [event.figures["text"] for event in events if event.kind == "note"]
    assert any(f"preset {config['train']['preset']}" in text and "epochs" in text for text in said)
    assert any("--steps ends the training first" in text for text in said)


def test_what_the_user_sets_stays(toy_tsv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {
        "model": {"width": 64, "dropout": 0.3},
        "train": {"batch_tokens": 777},
        "tokenizer": {"vocabulary": 333},
    }
    train(toy_tsv, tmp_path / "bundle", 10**12, monkeypatch, settings=settings)
    config = bundles.read(tmp_path / "bundle").config
    assert (config["model"]["width"], config["model"]["dropout"], config["train"]["batch_tokens"]) == (64, 0.3, 777)
    assert config["model"]["encoder_layers"] == 4  # the rest is the small preset's
    assert config["tokenizer"]["vocabulary"] == 333


def test_steps_and_epochs_are_planned_by_the_data_alone(tmp_path: Path) -> None:
    """So that the same command gives the same weights on a busy machine."""
    pairs = toy.write(tmp_path / "pairs.tsv", toy.pairs(300))
    for name in ("one", "two"):
        mirada.train(pairs, out=tmp_path / name, epochs=1, preset="tiny", threads=1)
    first, second = (bundles.read(tmp_path / name) for name in ("one", "two"))
    assert first.config["train"]["batch_tokens"] == 500
    assert first.card["training"]["steps"] >= 10
    assert first.card["files"]["model.safetensors"] == second.card["files"]["model.safetensors"]

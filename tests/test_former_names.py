"""Bundles, runs and settings that still use names of earlier versions."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirada
from mirada import tasks
from mirada.api import info, info_text
from mirada.config import parse
from mirada.former_names import TASKS, current_names, current_report, current_task
from tests.command import refused

BUNDLES = Path(__file__).parent / "fixtures" / "format-2"
USES: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "language": ("language_model", lambda model: model.generate("C4", tokens=5, seed=1), "C4AB5EB"),
    "masked": ("masked_lm", lambda model: model.fill("el [MASK] ve")[0][0][0], "el"),
    "pictures": ("image_classification", lambda model: model.classify(np.zeros((8, 8), np.uint8)), "across"),
    "captioning": ("captioning", lambda model: model.caption(np.zeros((8, 8, 3), np.uint8)), "rojo " * 11 + "rojo"),
}


@pytest.mark.parametrize("name", USES)
def test_a_bundle_of_format_2_opens_and_says_what_it_said(name: str) -> None:
    task, use, expected = USES[name]
    model = mirada.load(BUNDLES / name, threads=1)
    assert str(use(model)) == expected
    about = info(BUNDLES / name)
    assert about["task"] == about["config"]["task"] == model.card["task"] == task
    assert task in info_text(BUNDLES / name)


def test_a_run_of_format_2_is_resumed(tmp_path: Path) -> None:
    shutil.copytree(BUNDLES / "language", tmp_path / "model")
    model = mirada.train(resume=tmp_path / "model", steps=6)
    assert model.card["training"]["steps"] == 6
    assert model.card["task"] == "language_model"
    assert model.card["scores"]["scores"]


@pytest.mark.parametrize("former", TASKS)
def test_a_former_name_of_a_task_is_taken_on_the_command_line(former: str, tmp_path: Path) -> None:
    said = refused("train", tmp_path / "nothing", "--task", former, "--out", tmp_path / "x")
    assert "there is no such task" not in said
    assert "nothing" in said


def test_every_former_task_is_a_task_of_today() -> None:
    assert {current_task(name) for name in TASKS} <= set(tasks.packages())
    assert not set(TASKS) & set(tasks.packages())
    assert current_task("translation") == "translation"


@pytest.mark.parametrize("values", [{}, {"task": 3}, {"format": 2, "data": None}, {"format": 2, "data": ["pictures"]}])
def test_values_of_a_wrong_type_are_left_alone(values: dict[str, Any]) -> None:
    assert current_names(values) == values


def test_cards_and_configurations() -> None:
    card = {"format": 2, "task": "pictures", "data": {"pictures": 9, "classes": {}}}
    assert current_names(card) == {**card, "task": "image_classification", "data": {"images": 9, "classes": {}}}
    assert card["task"] == "pictures"
    assert current_report({"pictures": 1, "read": 2}) == {"images": 1, "read": 2}
    assert parse(b"task: masked\ndata:\n  pictures: 1\n", "c.yaml") == {"task": "masked_lm", "data": {"pictures": 1}}

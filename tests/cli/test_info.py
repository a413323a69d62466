"""`mirada settings`: every setting with its type, default and meaning."""

from __future__ import annotations

import json

import pytest

from mirada import models, tasks
from mirada.settings import list_settings
from mirada.training.config import TrainConfig
from tests.command import refused, run


def test_a_setting_is_described() -> None:
    said = run("settings", "train.seed").stdout
    assert said.startswith(f"train.seed (--seed): int ≥ 0 < {2**32}, default 1")
    (row,) = map(json.loads, run("settings", "train.lr", "--json").stdout.splitlines())
    assert row["name"] == "train.lr"
    assert row["default"] == TrainConfig().lr
    assert row["meaning"]


def test_a_section_is_listed() -> None:
    names = [json.loads(line)["name"] for line in run("settings", "decode", "--json").stdout.splitlines()]
    assert "decode.beam" in names
    assert all(name.startswith("decode.") for name in names)


def test_the_model_and_the_task_decide_what_there_is() -> None:
    assert run("settings", "model.ngrams", "--task", "classification", "--model", "bag").returncode == 0
    assert "there is no such setting for translation with transformer" in refused("settings", "model.ngrams", code=2)
    assert "(did you mean train.lr?)" in refused("settings", "trian.lr", code=2)
    assert "there is no such task" in refused("settings", "--task", "flying", code=2)


@pytest.mark.parametrize("task", tasks.packages())
def test_every_setting_of_every_task_has_a_type_and_a_default(task: str) -> None:
    found = list_settings(task=task)
    assert {setting.name.partition(".")[0] for setting in found} >= {"data", "model", "train"}
    for setting in found:
        assert setting.type
        json.dumps(setting.as_dict())


def test_defaults_are_those_of_the_task() -> None:
    (sample,) = list_settings("decode.sample", task="language_model")
    assert sample.default is True


@pytest.mark.parametrize("task", tasks.packages())
def test_every_setting_has_a_meaning(task: str) -> None:
    for model, architecture in models.architectures().items():
        if task in architecture.variants:
            assert [setting.name for setting in list_settings(None, task, model) if not setting.meaning] == []

"""Fine-tuning a bundle: its tokenizer, sizes and weights as a start, with a smaller learning rate.

The base may be of another task: a pre-trained language model (BERT, GPT) is fine-tuned for classification or tagging.
All weights that both networks have are copied; the output layer of the new task is initialised at random. The same
holds for a classifier with other classes.

A copy of the base is kept in `run/base`, so that a run can be resumed when the base is gone. The base is scored on its
own dev set and on the new one before training, and the new model on both after it, which shows what is forgotten.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import FiniteFloat
from torch import nn

from mirada import bundle as bundles
from mirada import config as configuration
from mirada import models, tasks
from mirada.errors import ConfigError, TrainingError
from mirada.files import write_text
from mirada.loading import load, task_of
from mirada.metrics.score import Evaluation
from mirada.parsing import read_json
from mirada.tasks.task import Model, Task

OLD_SENTENCES = 500
"""The most sentences of the base's own dev set that base and new model are compared on."""
SCHEDULE: configuration.Values = {"lr": 4e-3, "warmup": 20}
"""A smaller learning rate than for training from scratch, since the weights are good already."""

FREE = ("dropout", "pool")
"""Model settings that may differ from the base's, since its weights fit nevertheless."""

TAUGHT = {"masked_lm": ("classification", "tagging"), "language_model": ("classification", "tagging")}
"""The other tasks that a base of a task can be fine-tuned for."""


def inherited(base: Path, asked: str | None = None) -> configuration.Values:
    """The settings that a run takes from its base; the task is the base's own unless `asked`."""
    found = bundles.read(base)
    own, values = task_of(found), found.config
    asked = models.meant(asked, values["model"]["name"]) if asked else None
    if asked not in (None, own.name, *TAUGHT.get(own.name, ())):
        raise ConfigError(f"--task {asked}: the base {base} is for {own.name}, and cannot be fine-tuned for that")
    task = tasks.find(asked or own.name)
    data = {key: values["data"].get(key) for key in task.inherited}
    kept = {name: values.get(name, {}) for name in task.sections if name not in ("data", "check")}
    if "tokenizer" in kept:  # bundles from before texts were normalised lack the key
        kept["tokenizer"] = {"normalize": False, **kept["tokenizer"]}
    return {
        "task": task.name,
        **kept,
        "model": {**values["model"], "dropout": None},
        "data": {**_lengths(task, values["model"]), **{key: value for key, value in data.items() if value}},
        "train": {**SCHEDULE, "base": str(base.absolute())},
    }


def _lengths(task: Task, model: configuration.Values) -> configuration.Values:
    """Length limits of the data, where the base takes fewer tokens than the task's defaults; two are special tokens."""
    if "max_length" not in model:
        return {}
    fields, room = task.sections["data"].model_fields, int(model["max_length"]) - 2
    usual = {key: fields[key].default for key in ("max_tokens", "length") if key in fields}
    return {key: room for key, value in usual.items() if isinstance(value, int) and value > room}


def check_fit(kept: configuration.Values, values: configuration.Values) -> None:
    """Refuse settings that do not fit those a run takes from its base."""
    base = kept["train"]["base"]
    for section in ("model", "tokenizer"):
        for key, value in values.get(section, {}).items():
            if key not in FREE and value != kept[section].get(key, value):
                raise ConfigError(
                    f"{section}.{key}={value}: the base {base} has {kept[section][key]}, and fine-tuning keeps its "
                    "sizes; leave it out, or train a new model without --base"
                )
    task = tasks.find(kept["task"])
    for key in task.inherited:
        value = values["data"].get(key, task.sections["data"].model_fields[key].default)
        if value != kept["data"].get(key, value):
            raise ConfigError(
                f"data.{key}={value}: the base {base} has {kept['data'][key]}; --base needs data of the same kind"
            )


class Base:
    """The model that a run fine-tunes."""

    def __init__(self, source: Path, folder: Path, device: str, threads: int | None):
        """Open the copy in `folder`, after copying the bundle `source` if there is none yet."""
        self.folder = folder
        if not (folder / "card.json").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            bundles.copy(source, folder)
        self.model: Model = load(folder, device=device, threads=threads)
        self.task = tasks.find(self.model.card["task"])
        dev = bundles.read_dev(folder)
        read = self.task.read_dev(dev) if dev is not None else []
        self.dev: Any = read[:OLD_SENTENCES] if isinstance(read, list) else read

    def _same_outputs(self, task: Task, preprocessor: Any) -> bool:
        return task.name == self.task.name and task.keeps_output(self.model.preprocessor, preprocessor)

    def give(self, network: nn.Module, task: Task, preprocessor: Any) -> list[str]:
        """Copy the base's weights to a network, as far as they fit; notes for the user."""
        weights = bundles.weights_of(self.model.network)
        if self._same_outputs(task, preprocessor):
            bundles.put_weights(network, weights, str(self.folder))
            return []
        if task.name == self.task.name:
            weights = {name: tensor for name, tensor in weights.items() if not name.startswith("output.")}
        wanted = bundles.weights_of(network)
        shared = {name: t for name, t in weights.items() if name in wanted and wanted[name].shape == t.shape}
        bundles.put_weights(network, {**wanted, **shared}, str(self.folder))
        new = sum(t.numel() for name, t in wanted.items() if name not in shared)
        copied = sum(t.numel() for t in shared.values())
        return [f"{copied:,} weights are copied from the base, {new:,} are initialized randomly"]

    def before(
        self, new_dev: Any, task: Task, preprocessor: Any, score: Callable[[Model, Any], Evaluation]
    ) -> dict[str, Any] | None:
        """The base's scores on the new dev set and on its own, computed once; None if its outputs differ."""
        if not self._same_outputs(task, preprocessor):
            return None
        measured = self.folder / "scores.json"
        if not measured.exists():
            write_text(measured, json.dumps(self.after(self.model, score(self.model, new_dev), score)))
        scores: dict[str, Any] = read_json(measured, dict[str, dict[str, FiniteFloat]], TrainingError)
        return scores

    def after(self, model: Model, new: Evaluation, score: Callable[[Model, Any], Evaluation]) -> dict[str, Any]:
        """A model's scores on the new dev set, which are given, and on the base's own."""
        scores = {"new": _short(new)}
        return {**scores, "old": _short(score(model, self.dev))} if self.dev else scores


def _short(evaluation: Evaluation) -> dict[str, float]:
    return {score.name: round(score.value, 2) for score in evaluation.scores}

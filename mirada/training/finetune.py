"""Going on from a bundle: its tokenizer, its sizes, its weights as a start, and a gentler schedule.

A copy of the base lies in `run/base`, so that a run can be resumed when the base is gone. The base is scored on its own
dev part and on the new one before training, and the new model on both after it: what is gained and what is forgotten.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from mirada import bundle as bundles
from mirada import config as configuration
from mirada.data.prepare import Examples, load_examples
from mirada.errors import ConfigError
from mirada.evaluation import Evaluation
from mirada.files import write_text
from mirada.model import Model, load

OLD_SENTENCES = 500
"""Of the base's own dev part that base and new model are compared on, at most."""
SCHEDULE: configuration.Values = {"lr": 4e-3, "warmup": 20}
"""The weights are good already: smaller steps. From the built-in language to 5,000 real pairs in two minutes, rates of
2e-3, 4e-3 and 8e-3 gave 13.3, 13.9 and 13.0 BLEU, once each."""


def inherited(base: Path) -> configuration.Values:
    """The settings that a run takes from its base, which has to be whole."""
    values = bundles.read(base).config
    languages = {key: values["data"].get(key) for key in ("source_language", "target_language")}
    return {
        "model": {**values["model"], "dropout": None},
        "tokenizer": values["tokenizer"],
        "data": {key: language for key, language in languages.items() if language},
        "decode": values.get("decode", {}),
        "train": {**SCHEDULE, "base": str(base.absolute())},
    }


def check_fit(kept: configuration.Values, values: configuration.Values) -> None:
    """Refuse settings that do not fit those a run takes from its base."""
    base = kept["train"]["base"]
    for section in ("model", "tokenizer"):
        for key, value in values[section].items():
            if key != "dropout" and value != kept[section].get(key, value):
                raise ConfigError(
                    f"{section}.{key}={value}: the base {base} has {kept[section][key]}, and a model that goes on from "
                    "it keeps its shape; leave it out, or train a new model without --base"
                )
    for key, language in kept["data"].items():
        if values["data"][key] != language:
            raise ConfigError(
                f"{key.replace('_', ' ')} {values['data'][key]}: the base {base} has {language}; "
                "--base needs data of the same direction"
            )


class Base:
    """The model that a run goes on from."""

    def __init__(self, source: Path, folder: Path, device: str, threads: int | None):
        """Opens the copy in `folder`, made from the bundle `source` if it is not there yet."""
        self.folder = folder
        if not (folder / "card.json").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            card = bundles.read_card(source)
            for name in (*card["files"], "card.json"):  # the card last: a copy that has one is whole
                shutil.copyfile(source / name, folder / name)
        self.model: Model = load(folder, device=device, threads=threads)
        dev = folder / "dev.jsonl"
        self.dev: Examples = load_examples(dev.read_text(encoding="utf-8"))[:OLD_SENTENCES] if dev.exists() else []

    def before(self, new_dev: Examples) -> dict[str, Any]:
        """The base's scores on the new dev part and on its own; measured once."""
        measured = self.folder / "scores.json"
        if not measured.exists():
            write_text(measured, json.dumps(self.after(self.model, self.model.evaluate(new_dev))))
        scores: dict[str, Any] = json.loads(measured.read_text(encoding="utf-8"))
        return scores

    def after(self, model: Model, new: Evaluation) -> dict[str, Any]:
        """A model's scores on the new dev part, which are known, beside those on the base's own."""
        scores = {"new": _short(new)}
        return {**scores, "old": _short(model.evaluate(self.dev))} if self.dev else scores


def _short(evaluation: Evaluation) -> dict[str, float]:
    return {score.name: round(score.value, 2) for score in evaluation.scores}

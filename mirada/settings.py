"""The list of all settings, with their types, defaults and meanings: what `mirada settings` prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from pydantic.fields import FieldInfo

from mirada import models, tasks
from mirada.config import OPTIONS, Section, nearest
from mirada.data.checks import REASONS, in_words
from mirada.errors import UsageError
from mirada.predictions import Prediction
from mirada.training.config import TrainConfig

MEANINGS = {
    "name": "The architecture; `mirada models` lists them.",
    "heads": "Attention heads per layer; the width must be a multiple of it.",
    "layers": "Number of layers.",
    "encoder_layers": "Number of encoder layers.",
    "decoder_layers": "Number of decoder layers.",
    "activation": "Activation function of the feed-forward layers.",
    "attention": "How the decoder attends to the source: by dot product, a bilinear form (general), or additively.",
}
"""Descriptions of settings that mean the same in every model."""


@dataclass(frozen=True)
class Setting(Prediction):
    """A setting of a task and a model."""

    name: str
    """With its section: train.lr."""
    type: str
    default: Any
    meaning: str
    option: str = ""
    """The option of the command line that sets it, if there is one."""

    def values(self) -> dict[str, Any]:
        option = {"option": self.option} if self.option else {}
        about = {"name": self.name, "type": self.type, "default": self.default, "meaning": self.meaning}
        return {**about, **option}

    def __str__(self) -> str:
        option = f" ({self.option})" if self.option else ""
        default = json.dumps(self.default, ensure_ascii=False)
        head = f"{self.name}{option}: {self.type}, default {default}"
        meaning = fill(self.meaning, 110, initial_indent="    ", subsequent_indent="    ")
        return f"{head}\n{meaning}" if meaning else head


def list_settings(name: str | None = None, task: str | None = None, model: str | None = None) -> list[Setting]:
    """The settings for a task and a model: all, those of a section, or one (`train.lr`)."""
    chosen = tasks.find(models.meant(task or "translation", model))
    named = models.named(model or chosen.default_model)["name"]
    sections: dict[str, type[Section]] = {
        **chosen.sections,
        "model": models.find(named, chosen.name).config,
        "train": TrainConfig,
    }
    found = [
        setting
        for section, kind in sections.items()
        for setting in _settings(section, kind, chosen.defaults.get(section, {}))
    ]
    if name is None:
        return found
    matching = [setting for setting in found if setting.name == name or setting.name.startswith(f"{name}.")]
    if not matching:
        known = [*sections, *(setting.name for setting in found)]
        raise UsageError(f"{name}: there is no such setting for {chosen.name} with {named}{nearest(name, known)}")
    return matching


def _settings(section: str, kind: type[Section], defaults: dict[str, Any]) -> Iterator[Setting]:
    for key, field in kind.model_fields.items():
        path = f"{section}.{key}"
        default = json.loads(json.dumps(defaults.get(key, field.get_default(call_default_factory=True)), default=str))
        meaning = (
            field.description or MEANINGS.get(key) or (key in REASONS and f"What to do about {in_words(key, 'pair')}.")
        )
        yield Setting(path, _type(field), default, " ".join((meaning or "").split()), OPTIONS.get(path, ""))


def _type(field: FieldInfo) -> str:
    """A field's type in plain words, with its bounds: float > 0."""
    text = re.sub(r"typing\.|<class '(\w+)'>", lambda match: match[1] or "", str(field.annotation))
    text = re.sub(r"Annotated\[(\w+), FieldInfo\([^[]*\[[^]]*\]\)\]", r"\1", text)
    if choices := re.fullmatch(r"(?:Optional\[)?Literal\[(.*?)\]\]?", text):
        text = choices[1].replace("'", "").replace(", ", " | ")
    bounds = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    limits = [
        f"{sign} {getattr(one, key)}" for one in field.metadata for key, sign in bounds.items() if key in dir(one)
    ]
    return " ".join([text.replace(" | None", ""), *limits])

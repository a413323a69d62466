"""The architectures by name, a file each. Models compose blocks and never import each other.

A file registers its models:

    ARCHITECTURES  new architectures, by name
    VARIANTS       further tasks for architectures of other files: {"transformer": {"tagging": Variant(…)}}

Other packages add theirs by an entry point of the group `mirada.models` whose value is such a module.
"""

from __future__ import annotations

import pkgutil
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from mirada.config import Values, nearest
from mirada.errors import ConfigError
from mirada.models.architecture import Architecture, Variant

ATTENTIONS = {
    "dot": (2015, "Luong et al., Effective Approaches to Attention-based NMT", "softmax(sᵀ h)"),
    "general": (2015, "Luong et al., Effective Approaches to Attention-based NMT", "softmax(sᵀ W h)"),
    "additive": (
        2015,
        "Bahdanau et al., NMT by Jointly Learning to Align and Translate",
        "softmax(vᵀ tanh(W s + U h))",
    ),
}
"""Attention that can be added to a recurrent encoder–decoder (`seq2seq-lstm+additive`): year, paper, formula."""


@cache
def architectures() -> dict[str, Architecture]:
    """Every architecture, in the order of the years."""
    names = [f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)]
    names += [entry.value for entry in entry_points(group="mirada.models")]
    modules = [import_module(name) for name in names]
    found: dict[str, Architecture] = {}
    for module in modules:
        found |= {name: one for name, one in getattr(module, "ARCHITECTURES", {}).items() if name not in found}
    for module in modules:
        for name, variants in getattr(module, "VARIANTS", {}).items():
            found[name] = replace(found[name], variants={**variants, **found[name].variants})
    return dict(sorted(found.items(), key=lambda item: item[1].year))


def lineage() -> list[dict[str, Any]]:
    """Every model that can be trained, as plain values."""
    rows = []
    for name, one in architectures().items():
        row = {"name": name, "year": one.year, "paper": one.paper, "formula": one.formula}
        presets = list(dict.fromkeys(preset for variant in one.variants.values() for preset in variant.presets))
        rows.append({**row, "tasks": list(one.variants), "presets": presets})
        if _may_attend(one):
            rows += [
                {**rows[-1], "name": f"{name}+{kind}", "year": year, "paper": paper, "formula": formula}
                for kind, (year, paper, formula) in ATTENTIONS.items()
            ]
    return rows


def _may_attend(one: Architecture) -> bool:
    return any("attention" in variant.config.model_fields for variant in one.variants.values())


def named(model: str) -> Values:
    """The settings of a model's name: `seq2seq-lstm+additive` is `seq2seq-lstm` with attention=additive."""
    name, plus, attention = model.partition("+")
    if plus and not _may_attend(_find(name)):
        raise ConfigError(f"--model {model}: {name} has no attention to choose")
    return {"name": name, "attention": attention} if plus else {"name": name}


def _find(name: str) -> Architecture:
    found = architectures()
    if name not in found:
        raise ConfigError(f"--model {name}: there is no such model{nearest(name, found)}")
    return found[name]


def find(name: str, task: str) -> Variant:
    """The variant of an architecture for a task."""
    variants = _find(name).variants
    if task not in variants:
        able = [other for other, one in architectures().items() if task in one.variants]
        raise ConfigError(
            f"--model {name}: is not for {task} but for {', '.join(variants)}; for {task} there are: {', '.join(able)}"
        )
    return variants[task]


def meant(task: str, model: str | None) -> str:
    """The task for a model: image classification, if classification is asked of a model that only reads images."""
    found = architectures()
    variants = found[model].variants if model in found else {}
    images = "image_classification"
    return images if task == "classification" and images in variants and task not in variants else task


def find_preset(model: str, task: str, preset: str) -> Values:
    """The settings of a model's preset."""
    presets = find(model, task).presets
    if preset not in presets:
        raise ConfigError(f"--preset {preset}: {model} has no such preset{nearest(preset, presets)}")
    return presets[preset]

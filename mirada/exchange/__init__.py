"""Exchange models with other toolkits, without running their code and without pickles.

read_checkpoint     a checkpoint in Hugging Face's layout as a network with its preprocessor and settings
import_checkpoint   such a checkpoint as a bundle
export_bundle       a bundle as a checkpoint for `transformers`, or as a model of CTranslate2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from mirada import bundle as bundles
from mirada import config as configuration
from mirada import models, tasks
from mirada.config import Section, Values, merge
from mirada.errors import ConfigError, DataError
from mirada.exchange import bert, gpt2, marian, vit
from mirada.exchange.checkpoint import Checkpoint, ImportedModel
from mirada.exchange.export import FORMATS, export_bundle
from mirada.files import new_directory
from mirada.tasks.task import Task

__all__ = ["ARCHITECTURES", "FORMATS", "ImportedModel", "export_bundle", "import_checkpoint", "read_checkpoint"]

ARCHITECTURES: dict[str, Callable[[Checkpoint], ImportedModel]] = {
    "bert": bert.read,
    "gpt2": gpt2.read,
    "marian": marian.read,
    "vit": vit.read,
}
"""Readers by the `model_type` of config.json."""


def read_checkpoint(path: str | Path) -> ImportedModel:
    """Read a checkpoint: a directory with config.json and model.safetensors."""
    checkpoint = Checkpoint(Path(path))
    kind = checkpoint.config.values.get("model_type")
    if not isinstance(kind, str) or kind not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise DataError(f"{checkpoint.config.path}: model_type={kind!r} is not supported; choose from: {known}")
    return ARCHITECTURES[kind](checkpoint)


def import_checkpoint(path: str | Path, out: str | Path) -> Path:
    """Read a checkpoint and write it as a bundle at `out`, which must not exist yet; notes are in the bundle's card."""
    source, out = Path(path), Path(out)
    imported = read_checkpoint(source)
    task, name = tasks.find(imported.task), source.resolve().name
    values = _configuration(task, imported, source)
    card = {
        "task": task.name,
        "model": imported.settings["name"],
        "parameters": sum(parameter.numel() for parameter in imported.network.parameters()),
        **task.about(values),
        "imported": {
            "from": name,
            "type": imported.model_type,
            "notes": list(imported.notes),
            "untrained": list(imported.untrained),
        },
        "data": asdict(task.report(**imported.report)),
        "training": {"finished": True, "steps": 0, "epochs": 0.0, "seconds": 0.0, "device": "elsewhere", "threads": 0},
        "scores": None,
    }
    with new_directory(out) as folder:
        bundles.write(folder, imported.network, values, card, imported.preprocessor.files())
    return out


def _configuration(task: Task, imported: ImportedModel, source: Path) -> Values:
    """The complete, checked configuration, as training would have written it."""
    unit = {"tokenizer": {"unit": "subwords", "normalize": False}} if "tokenizer" in task.sections else {}
    model = models.find(imported.settings["name"], task.name).config
    sections: dict[str, type[Section]] = {**task.sections, "model": model}
    data = {"files": [source.resolve().name], **imported.data}
    given = merge(task.defaults, {"data": data, "model": imported.settings}, unit)
    try:
        built = task.complete(configuration.build(sections, {name: given.get(name, {}) for name in sections}))
        task.check(built)
    except ConfigError as error:
        raise DataError(f"{source / 'config.json'}: does not describe a model that Mirada can use ({error})") from None
    return {"task": task.name, **given, **{name: part.model_dump(mode="json") for name, part in built.items()}}

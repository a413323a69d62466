"""An imported model as a bundle: what its task would have left after a training, but for the training."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mirada import bundle as bundles
from mirada import tasks
from mirada.config import Values, merge
from mirada.data import documents, prepare, texts
from mirada.data.pictures import labelled as pictures
from mirada.errors import UsageError
from mirada.exchange.imported import Imported
from mirada.tasks.language import Units
from mirada.tasks.masked import Vocabulary
from mirada.tasks.pictures import PictureKit
from mirada.tasks.task import Kit
from mirada.tasks.translation import Tokenizers


def write_bundle(imported: Imported, source: Path, out: Path) -> None:
    """Write it whole or not at all."""
    task = tasks.find(imported.task)
    if out.exists():
        raise UsageError(f"--out {out}: exists already; choose another name")
    kit, data, report = _parts(imported, source.resolve().name)
    unit = {"tokenizer": {"unit": "subwords"}} if imported.task == "language" else {}
    values: Values = {"task": task.name, **merge(task.defaults, {"model": imported.settings, "data": data}, unit)}
    card = {
        "task": task.name,
        "model": imported.settings["name"],
        "parameters": sum(parameter.numel() for parameter in imported.network.parameters()),
        **task.about(values),
        "imported": {"from": source.resolve().name, "type": imported.model_type, "notes": list(imported.notes)},
        "data": report,
        "training": {"finished": True, "steps": 0, "epochs": 0.0, "seconds": 0.0, "device": "elsewhere", "threads": 0},
        "scores": None,
    }
    partial = out.with_name(out.name + ".partial")
    try:
        partial.mkdir(parents=True)
        bundles.write(partial, imported.network, values, card, kit.files())
        partial.rename(out)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise UsageError(f"--out {out}: cannot be written ({error.strerror})") from None


def _parts(imported: Imported, name: str) -> tuple[Kit, Values, dict[str, Any]]:
    """What its task needs besides the weights, its section `data`, and what is known of its training data: nothing."""
    words, data = imported.tokenizer, Values()
    if imported.task == "pictures":
        assert imported.pictures is not None
        shown = pictures.Report(classes=dict.fromkeys(imported.labels, 0), format=imported.pictures.text)
        return PictureKit(list(imported.labels), imported.pictures), {"files": [name]}, asdict(shown)
    assert words is not None
    longest = int(imported.settings["max_length"])
    if imported.task == "translation":
        from_, to = imported.languages
        data = {"source_language": from_, "target_language": to}
        return Tokenizers(words, imported.target or words), data, asdict(prepare.Report(vocabulary=words.size))
    if imported.task == "language":
        data = {"files": [name], "length": longest, "carry": False}
        known = texts.Report(unit=words.unit, vocabulary=words.size)
        return Units(texts.Spelling(words), np.zeros(words.size, np.int64)), data, asdict(known)
    assert imported.task == "masked", imported.task
    data = {"files": [name], "length": longest - 1}
    return Vocabulary(words), data, asdict(documents.Report(vocabulary=words.size))

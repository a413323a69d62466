"""Write an imported model as a bundle, as its task would have written it after training."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mirada import bundle as bundles
from mirada import config as configuration
from mirada import models, tasks
from mirada.config import Section, Values, merge
from mirada.data.sources import DataConfig
from mirada.errors import ConfigError, DataError, UsageError
from mirada.exchange.imported import ImportedModel
from mirada.tasks.classification import data as labelled
from mirada.tasks.classification.data import ClassificationPreprocessor
from mirada.tasks.image_classification import data as images
from mirada.tasks.image_classification.data import ImagePreprocessor
from mirada.tasks.language_model import data as texts
from mirada.tasks.language_model.preprocessor import LanguageModelPreprocessor, Spelling
from mirada.tasks.masked_lm import data as documents
from mirada.tasks.masked_lm.data import MaskedLMPreprocessor
from mirada.tasks.tagging import data as tagged
from mirada.tasks.tagging.tags import TaggingPreprocessor
from mirada.tasks.task import Preprocessor, Task
from mirada.tasks.translation import data as prepare
from mirada.tasks.translation.data import TranslationPreprocessor

MAX_LENGTH = 8192
"""The most tokens of a masked-LM example."""


def write_bundle(imported: ImportedModel, source: Path, out: Path) -> None:
    """Write a complete bundle at `out`, or nothing."""
    task = tasks.find(imported.task)
    if out.exists():
        raise UsageError(f"--out {out}: exists already; choose another name")
    preprocessor, data, report = _parts(imported, source.resolve().name)
    values = _configuration(task, imported, data, source)
    card = {
        "task": task.name,
        "model": imported.settings["name"],
        "parameters": sum(parameter.numel() for parameter in imported.network.parameters()),
        **task.about(values),
        "imported": {
            "from": source.resolve().name,
            "type": imported.model_type,
            "notes": list(imported.notes),
            "untrained": list(imported.untrained),
        },
        "data": report,
        "training": {"finished": True, "steps": 0, "epochs": 0.0, "seconds": 0.0, "device": "elsewhere", "threads": 0},
        "scores": None,
    }
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".mirada-", dir=out.parent))
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written ({error.strerror})") from None
    try:
        (temporary / "bundle").mkdir()  # with the user's default permissions, unlike mkdtemp's folder
        bundles.write(temporary / "bundle", imported.network, values, card, preprocessor.files())
        (temporary / "bundle").rename(out)
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _configuration(task: Task, imported: ImportedModel, data: Values, source: Path) -> Values:
    """The complete, checked configuration, as training would have written it."""
    unit = {"tokenizer": {"unit": "subwords", "normalize": False}} if "tokenizer" in task.sections else {}
    model = models.find(imported.settings["name"], task.name).config
    sections: dict[str, type[Section]] = {**task.sections, "model": model}
    given = merge(task.defaults, {"data": data, "model": imported.settings}, unit)
    try:
        built = task.complete(configuration.build(sections, {name: given.get(name, {}) for name in sections}))
        task.check(built)
    except ConfigError as error:
        raise DataError(f"{source / 'config.json'}: does not describe a model that Mirada can use ({error})") from None
    return {"task": task.name, **given, **{name: part.model_dump(mode="json") for name, part in built.items()}}


def _parts(imported: ImportedModel, name: str) -> tuple[Preprocessor, Values, dict[str, Any]]:
    """The preprocessor, the `data` section and an empty data report.

    Lengths are those that the model takes, a first and a last token counted where it has them.
    """
    words, labels, data = imported.tokenizer, list(imported.labels), Values(files=[name])
    if imported.task == "image_classification":
        assert imported.images is not None
        shown = images.Report(classes=dict.fromkeys(labels, 0), format=imported.images.text)
        return ImagePreprocessor(labels, imported.images), data, asdict(shown)
    assert words is not None
    longest = int(imported.settings["max_length"])
    if imported.task == "translation":
        from_, to = imported.languages
        most = min(DataConfig.model_fields["max_tokens"].default, longest - 1)
        data |= {"source_language": from_, "target_language": to, "max_tokens": most}
        return (
            TranslationPreprocessor(words, imported.target or words),
            data,
            asdict(prepare.Report(vocabulary=words.size)),
        )
    if imported.task == "language_model":
        known = texts.Report(unit=words.unit, vocabulary=words.size)
        return LanguageModelPreprocessor(Spelling(words), np.zeros(words.size, np.int64)), data, asdict(known)
    if imported.task == "classification":
        of_texts = labelled.Report(classes=dict.fromkeys(labels, 0), vocabulary=words.size)
        return ClassificationPreprocessor(words, labels), data | {"max_tokens": longest - 2}, asdict(of_texts)
    if imported.task == "tagging":
        of_words = tagged.Report(tags=dict.fromkeys(labels, 0), vocabulary=words.size)
        return (
            TaggingPreprocessor(words, labels),
            data | {"max_tokens": longest - 2, "tags": "labels"},
            asdict(of_words),
        )
    assert imported.task == "masked_lm", imported.task
    return (
        MaskedLMPreprocessor(words),
        data | {"length": min(longest - 1, MAX_LENGTH)},
        asdict(documents.Report(vocabulary=words.size)),
    )

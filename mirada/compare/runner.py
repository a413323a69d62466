"""Train the named models one after another on the same data, tokens and budget, then measure them together.

    out/compare.json    what is compared on what: a second call with the same goes on, with other is refused
    out/data/           the data, checked, split and tokenised once for all
    out/models/<name>/  a bundle each
    out/report.html     what came of it, for a person; out/report.json for a program

A call that is interrupted goes on where it was when it is made again: finished bundles stay as they are, an unfinished
one is resumed. Speeds are measured when all are trained, in one sitting, the models taking turns.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mirada import api, tasks
from mirada import bundle as bundles
from mirada import config as configuration
from mirada import models as architectures
from mirada.compare import measurements, report, task_reports
from mirada.compare.results import Comparison, ModelResult, plain
from mirada.compare.task_reports import Subject
from mirada.config import Section, Values
from mirada.data.quality import Notify
from mirada.data.readers import ANYTHING, files_of
from mirada.data.sources import Paths, data_settings
from mirada.data.text import faults_named
from mirada.errors import ConfigError, Interrupted, TrainingError, UsageError
from mirada.files import write_text
from mirada.tasks.task import Model, Prepared
from mirada.training.loop import Event, Listener
from mirada.training.report import read_log
from mirada.training.run import build, check_config, teller
from mirada.training.workspace import has_run, locked, log_of

FORMAT = 1
MANIFEST, NEW_DATA = "compare.json", "data.new"
BUDGETS = ("minutes", "epochs", "steps")
FILES = ("files", "source", "target", "dev", "vectors")
"""Settings of a data section that name files."""


def compare(
    files: Paths = (),
    *,
    out: str | Path,
    task: str = "translation",
    models: Sequence[str] | None = None,
    minutes: float | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    dev: Paths = (),
    source: str | Path | None = None,
    target: Paths = (),
    source_language: str | None = None,
    target_language: str | None = None,
    preset: str = "tiny",
    columns: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    listen: Listener = lambda event: None,
) -> Comparison:
    """Train each of the models with the same data, tokens and budget, and write a report into the directory `out`.

    Each may train for so many minutes, epochs or steps. `settings` hold for all; one that only some of the models
    have ({"model": {"heads": 8}}) holds for those. A further model may join a finished comparison. Unless models are
    named, they are the task's usual line-up.
    """
    budget = {"minutes": minutes, "epochs": epochs, "steps": steps, "seed": seed, "threads": threads}
    given = {
        "data": data_settings(files, source, target, dev, source_language, target_language, columns, absolute=True),
        "train": {key: value for key, value in budget.items() if value is not None},
    }
    subject = task_reports.find(task)
    plan = _plan(subject, subject.models if models is None else models, preset, settings or {}, given)
    chosen, built = build(next(iter(plan.values())))
    folder = Path(out)
    asked = {"format": FORMAT, "task": task, "preset": preset, "settings": settings or {}, **given}
    asked = plain({**asked, "files": _digests(built["data"])})
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder}: is a file; choose another name")
    with locked(folder, make=True):
        replaces = _claim(folder, asked, overwrite)
        try:
            prepared = chosen.prepare(built, folder / (NEW_DATA if replaces else "data"), teller(listen))
            if replaces:  # nothing of the old one is touched before the new data is ready
                _clear(folder)
                (folder / NEW_DATA).rename(folder / "data")
                _write_manifest(folder, asked)
            listen(Event("data", {**prepared.report(), "told": asdict(prepared.summary())}))
            trained: dict[str, Model] = {}
            for number, (name, wanted) in enumerate(plan.items(), 1):
                listen(Event("note", {"text": f"── {name} ({number} of {len(plan)})"}))
                trained[name] = _train(folder, name, wanted, listen)
            comparison = _measure(folder, subject, prepared, trained, plan, preset, teller(listen))
            report.write(comparison)
        except (KeyboardInterrupt, Interrupted):
            raise Interrupted(f"interrupted; what is done is kept in {folder}: run the same command to go on") from None
        except OSError as error:
            raise TrainingError(
                f"{error.filename or folder}: {error.strerror or error}; run the same command to go on"
            ) from None
        finally:
            shutil.rmtree(folder / NEW_DATA, ignore_errors=True)
    return comparison


SCORED = 2000
"""Dev examples that all models are scored on, the same ones for each, however long that takes."""

# ── before anything is trained ────────────────────────────────────────────────────────────────────────────────────────


def _plan(
    subject: Subject, names: Sequence[str], preset: str, settings: Mapping[str, Any], given: Values
) -> dict[str, Values]:
    """The whole configuration of each model, checked.

    A preset has a say in its model and how that is trained; the data and its tokens are the same for all.
    """
    if not names or isinstance(names, str):
        raise UsageError(f"which models? Name at least one: --models {','.join(subject.models)}")
    task = tasks.find(subject.task)
    fitting = _fitting(subject.task, names, settings.get("model") or {})
    common = {section: part for section, part in settings.items() if section != "model"}
    plan: dict[str, Values] = {}
    for name in names:
        chosen = architectures.named(name)
        sizes = architectures.find_preset(chosen["name"], subject.task, preset)
        own = {section: part for section, part in sizes.items() if section in ("model", "train")}
        about = {"task": subject.task, "model": {**fitting[name], **chosen}}
        fixed = {"train": {"preset": preset, "final_sentences": SCORED}}
        values = check_config(configuration.merge(task.defaults, own, fixed, common, about, given))
        for other in plan:
            if plan[other]["model"] == values["model"]:
                what = "is named twice" if other == name else f"is the same model as {other}"
                raise UsageError(f"--models {name}: {what}; name each model once")
        plan[name] = values
    if not any(values["train"][kind] for kind in BUDGETS):
        raise UsageError("how long may each model train? Say it: --minutes 5 (or --epochs, --steps)")
    return _alike(plan, [*task.sections])


def _alike(plan: dict[str, Values], sections: Sequence[str]) -> dict[str, Values]:
    """What is left to each model to say about the data is the same for all too: the least that any of them takes."""
    first = next(iter(plan.values()))
    least: Values = {}
    for section in sections:
        for key in first[section]:
            said = [values[section][key] for values in plan.values()]
            if any(value != said[0] for value in said):
                assert all(isinstance(value, int) for value in said), f"{section}.{key} has no least value"
                least.setdefault(section, {})[key] = min(said)
    return {name: check_config(configuration.merge(values, least)) for name, values in plan.items()} if least else plan


def _fitting(task: str, names: Sequence[str], settings: Values) -> dict[str, Values]:
    """Those of the model settings that each of the models has; every setting must be one of some model's."""
    if not isinstance(settings, dict):
        raise ConfigError(f"model: is a section with keys (model.key=value), not the value {settings!r}")
    fields = {name: architectures.find(architectures.named(name)["name"], task).config.model_fields for name in names}
    known = {key for own in fields.values() for key in own} - {"name", "attention"}
    for key in settings:
        if key == "name" or (key == "attention" and any(key in own for own in fields.values())):
            raise ConfigError(f"model.{key}: a model's name says it: --models seq2seq-lstm+additive")
        if key not in known:
            raise ConfigError(f"model.{key}: none of the models has such a setting{configuration.nearest(key, known)}")
    return {name: {key: value for key, value in settings.items() if key in own} for name, own in fields.items()}


def _digests(data: Section) -> dict[str, str]:
    """Every file of the data, and what is in it."""
    named = [getattr(data, name, None) or () for name in FILES]
    paths = [path for given in named for path in ([given] if isinstance(given, str) else given)]
    digests = {}
    for path in paths:
        for file in files_of(path, getattr(data, "wanted", ANYTHING))[0]:
            with faults_named(file), open(file, "rb") as content:
                digests[file] = hashlib.file_digest(content, "sha256").hexdigest()
    return digests


def _claim(folder: Path, asked: Values, overwrite: bool) -> bool:
    """Make the directory ours, or find that it is; whether models are in it that are to be replaced.

    What was compared on something else is not touched unasked.
    """
    manifest = folder / MANIFEST
    if any(folder.iterdir()) and not manifest.is_file():
        raise UsageError(f"--out {folder}: exists and is not a comparison; choose another name")
    try:
        shutil.rmtree(folder / NEW_DATA, ignore_errors=True)
        before = _read_manifest(manifest)
        if before == asked and not overwrite:
            return False
        if any((folder / "models").glob("*")):
            if not overwrite:
                differs = ", ".join(key for key in {**asked, **before} if asked.get(key) != before.get(key))
                raise UsageError(
                    f"--out {folder}: holds a comparison that differs in {differs}; choose another name, "
                    "or begin anew with --overwrite"
                )
            return True
        _clear(folder)
        _write_manifest(folder, asked)
    except OSError as error:
        raise UsageError(f"--out {folder}: cannot be written ({error.strerror})") from None
    return False


def _clear(folder: Path) -> None:
    """Delete a comparison."""
    for part in (*report.FILES, "data", "models"):
        path = folder / part
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _write_manifest(folder: Path, asked: Values) -> None:
    write_text(folder / MANIFEST, json.dumps(asked, indent=2, ensure_ascii=False) + "\n")


def _read_manifest(path: Path) -> Values:
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError:
        found = {}
    return found if isinstance(found, dict) else {}


# ── training ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _train(out: Path, name: str, values: Values, listen: Listener) -> Model:
    """The model of that name: as it is if it is finished, else trained, from where an earlier call stopped."""
    folder = out / "models" / name
    if _finished(folder):
        listen(Event("note", {"text": f"is trained already: {folder}"}))
        return api.load(folder, Model, device=values["train"]["device"], threads=values["train"]["threads"])
    if not has_run(folder):
        _set_up(folder, values, out / "data")

    def summary(event: Event) -> None:
        if event.kind != "data":  # it is the same for all, and has been told
            listen(event)

    try:
        model: Model = api.train(resume=folder, listen=summary)
        return model
    except TrainingError as error:
        raise TrainingError(f"{name}: {error}") from None


def _finished(folder: Path) -> bool:
    if not bundles.exists(folder):
        return False
    card = bundles.read_card(folder)
    return bool(card["training"]["finished"] and card["scores"])


def _set_up(folder: Path, values: Values, data: Path) -> None:
    """A training that has not begun, with the data ready in it: `resume` begins it.

    So nothing is tokenised twice, all models have the very same tokens, and none pays for them out of its minutes.
    """
    partial = folder.with_name(f"{folder.name}.partial")
    for old in (partial, folder):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(data, partial / "run" / "data")
    write_text(partial / "run" / "config.yaml", configuration.dump(values))
    os.replace(partial, folder)


# ── measuring ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _measure(
    out: Path,
    subject: Subject,
    prepared: Prepared,
    trained: Mapping[str, Model],
    plan: Mapping[str, Values],
    preset: str,
    notify: Notify,
) -> Comparison:
    """All figures of all models."""
    asked = subject.asks(prepared, measurements.TIMED)
    samples, attended = subject.samples(prepared), subject.attended(prepared)
    in_use = measurements.use_per_second(trained, subject, asked, notify)
    by_length = measurements.speed_by_length(trained, subject, prepared, notify)
    entrants = [
        ModelResult(
            name=name,
            bundle=str(Path("models") / name),
            parameters=model.parameters,
            settings=model.config["model"],
            recipe=model.config["train"],
            training=model.card["training"],
            scores=model.card["scores"],
            tokens_per_second=_training_speed(model.path),
            in_use=in_use[name],
            speed_by_length=by_length[name],
            paths=subject.paths(model),
            by_length=subject.by_length(model, prepared),
            by_horizon=subject.by_horizon(model),
            answers=subject.answers(model, samples),
            attention=subject.attention(model, attended) if attended else None,
            forecast=subject.forecast(model, prepared),
        )
        for name, model in trained.items()
    ]
    models = list(trained.values())
    values = next(iter(plan.values()))
    return Comparison(
        out=out,
        task=subject.task,
        did=subject.did,
        languages=models[0].card.get("languages", {}),
        data={key: value for key, value in prepared.report().items() if key != "diagnosis"},
        preset=preset,
        budget={kind: values["train"][kind] for kind in BUDGETS if values["train"][kind]},
        seed=values["train"]["seed"],
        decode=values.get("decode", {}),
        tokens=values.get("tokenizer", {}).get("unit", "steps"),
        batch_tokens=measurements.BATCH_TOKENS,
        used=subject.used,
        timed=len(asked),
        samples=samples,
        attended=attended,
        outlook=subject.outlook(prepared),
        baselines=subject.baselines(models, prepared),
        entrants=entrants,
        software=bundles.software(),
    )


def _training_speed(bundle: Path) -> float | None:
    """Tokens a second, unless the log is gone with the rest of the training."""
    log = log_of(bundle)
    return measurements.training_speed(read_log(log)) if log else None

"""Train the named models one after another on the same data, tokens and budget, then measure them together.

    out/compare.json    the manifest: what is compared on what
    out/data/           the data, checked, split and tokenized once for all models
    out/models/<name>/  a bundle each
    out/report.html     the report for a person; out/report.json for a program

The same call resumes an interrupted comparison: finished bundles stay as they are, an unfinished one is resumed. A call
with other data or settings is refused. Speeds are measured when all models are trained, in turns.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from mirada import api
from mirada import bundle as bundles
from mirada import config as configuration
from mirada import models as architectures
from mirada.compare import measurements, report, task_report
from mirada.compare.results import HTML, JSON, Comparison, ModelResult, as_json
from mirada.compare.task_report import TaskReport
from mirada.config import Section, Values
from mirada.data.quality import Notify
from mirada.data.sources import Paths, data_settings
from mirada.data.text import faults_named, stored
from mirada.errors import ConfigError, Interrupted, TrainingError, UsageError
from mirada.files import write_text
from mirada.former_names import current_task
from mirada.parsing import read_json
from mirada.tasks.task import Model, Prepared
from mirada.training.loop import Event, Listener
from mirada.training.report import read_log
from mirada.training.run import build, check_config, notifier
from mirada.training.workspace import LOCK, has_run, locked, log_of

MANIFEST, NEW_DATA = "compare.json", "data.new"
BUDGETS = ("minutes", "epochs", "steps")
FILES = ("files", "source", "target", "dev", "vectors")
"""Settings of a data section that name files."""
SCORED = 2000
"""Dev examples that all models are scored on, the same ones for each, however long that takes."""


@dataclass(frozen=True)
class Manifest:
    """What is compared on what; models may be added to a comparison, but nothing of this may change."""

    task: str
    preset: str
    settings: dict[str, Any]
    data: dict[str, Any]
    train: dict[str, Any]
    files: dict[str, str]
    """Every file of the data with its SHA-256."""
    format: Literal[1] = 1


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
    """Train models with the same data, tokens and budget, and write a report into the directory `out`.

    Each trains for so many minutes, epochs or steps. `settings` apply to all; one that only some of the models have
    ({"model": {"heads": 8}}) applies to those. Models can be added to a finished comparison. Unless models are named,
    the task's usual ones are compared.
    """
    budget = {"minutes": minutes, "epochs": epochs, "steps": steps, "seed": seed, "threads": threads}
    data = data_settings(files, source, target, dev, source_language, target_language, columns, absolute=True)
    train = {key: value for key, value in budget.items() if value is not None}
    shown = task_report.find(task)
    names = shown.models if models is None else models
    plan = _plan(shown, names, preset, settings or {}, {"data": data, "train": train})
    chosen, built = build(next(iter(plan.values())))
    folder = Path(out)
    given = as_json({"settings": settings or {}, "data": data, "train": train, "files": _digests(built["data"])})
    manifest = Manifest(task=chosen.name, preset=preset, **given)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder}: is a file; choose another name")
    with locked(folder, make=True):
        replaces = _claim(folder, manifest, overwrite)
        try:
            prepared = chosen.prepare(built, folder / (NEW_DATA if replaces else "data"), notifier(listen))
            if replaces:  # nothing of the old one is touched before the new data is ready
                _clear(folder)
                (folder / NEW_DATA).rename(folder / "data")
                _write_manifest(folder, manifest)
            listen(Event("data", {**prepared.report(), "summary": asdict(prepared.summary())}))
            trained: dict[str, Model] = {}
            for number, (name, wanted) in enumerate(plan.items(), 1):
                listen(Event("note", {"text": f"── {name} ({number} of {len(plan)})"}))
                trained[name] = _train(folder, name, wanted, listen)
                shown.check(trained[name])
            comparison = _measure(folder, shown, prepared, trained, next(iter(plan.values())), notifier(listen))
            report.write(comparison)
        except (KeyboardInterrupt, Interrupted):
            raise Interrupted(f"interrupted; {folder} is kept: run the same command to resume") from None
        except OSError as error:
            where = error.filename or folder
            raise TrainingError(f"{where}: {error.strerror or error}; run the same command to resume") from None
        finally:
            shutil.rmtree(folder / NEW_DATA, ignore_errors=True)
    return comparison


# ── before anything is trained ────────────────────────────────────────────────────────────────────────────────────────


def _plan(
    report: TaskReport, names: Sequence[str], preset: str, settings: Mapping[str, Any], given: Values
) -> dict[str, Values]:
    """The whole configuration of each model, checked.

    A preset decides a model's sizes and how it is trained; the data and its tokens are the same for all.
    """
    if not names or isinstance(names, str):
        raise UsageError(f"which models? Name at least one: --models {','.join(report.models)}")
    task = report.task
    fitting = _fitting(task.name, names, settings.get("model") or {})
    common = {section: part for section, part in settings.items() if section != "model"}
    plan: dict[str, Values] = {}
    for name in names:
        chosen = architectures.named(name)
        sizes = architectures.find_preset(chosen["name"], task.name, preset)
        own = {section: part for section, part in sizes.items() if section in ("model", "train")}
        about = {"task": task.name, "model": {**fitting[name], **chosen}}
        fixed = {"train": {"preset": preset, "final_sentences": SCORED}}
        values = check_config(configuration.merge(task.defaults, own, fixed, common, about, given))
        for other in plan:
            if plan[other]["model"] == values["model"]:
                what = "is named twice" if other == name else f"is the same model as {other}"
                raise UsageError(f"--models {name}: {what}; name each model once")
        plan[name] = values
    if not any(values["train"][kind] for kind in BUDGETS):
        raise UsageError("set a budget for each model: --minutes 5 (or --epochs, --steps)")
    return _use_common_limits(plan, [*task.sections])


def _use_common_limits(plan: dict[str, Values], sections: Sequence[str]) -> dict[str, Values]:
    """Use the smallest value where the models' data settings differ."""
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
    known = {key for own in fields.values() for key in own}
    for key in settings:
        if key in known & {"name", "attention"}:
            raise ConfigError(f"model.{key}: set it in the model's name: --models seq2seq-lstm+additive")
        if key not in known:
            raise ConfigError(f"model.{key}: none of the models has such a setting{configuration.nearest(key, known)}")
    return {name: {key: value for key, value in settings.items() if key in own} for name, own in fields.items()}


def _digests(data: Section) -> dict[str, str]:
    """The SHA-256 of every file of the data, by its path."""
    named = [getattr(data, name, None) or () for name in FILES]
    digests = {}
    for path in (Path(path) for given in named for path in ([given] if isinstance(given, str) else given)):
        for file in sorted(one for one in path.rglob("[!.]*") if one.is_file()) if path.is_dir() else [path]:
            with faults_named(file), stored(file) as content:
                digests[str(file)] = hashlib.file_digest(content, "sha256").hexdigest()
    return digests


def _claim(folder: Path, wanted: Manifest, overwrite: bool) -> bool:
    """Take the directory for this comparison; returns whether it holds models that are to be replaced.

    A different comparison is only replaced with `overwrite`.
    """
    path = folder / MANIFEST
    left = (LOCK, f"{MANIFEST}.partial")  # by a kill before the manifest was there
    if not path.is_file() and any(entry.name not in left for entry in folder.iterdir()):
        raise UsageError(f"--out {folder}: exists and is not a comparison; choose another name")
    try:
        shutil.rmtree(folder / NEW_DATA, ignore_errors=True)
        found = None if overwrite or not path.exists() else _read_manifest(path)
        if found == wanted:
            return False
        if any((folder / "models").glob("*")):
            if found is not None:
                names = (one.name for one in fields(Manifest))
                differs = ", ".join(name for name in names if getattr(found, name) != getattr(wanted, name))
                raise UsageError(
                    f"--out {folder}: holds a comparison that differs in {differs}; choose another name, or replace it "
                    "with --overwrite"
                )
            return True
        _clear(folder)
        _write_manifest(folder, wanted)
    except OSError as error:
        raise UsageError(f"--out {folder}: cannot be written ({error.strerror})") from None
    return False


def _clear(folder: Path) -> None:
    """Delete a comparison."""
    for part in (HTML, JSON, "data", "models"):
        path = folder / part
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _read_manifest(path: Path) -> Manifest:
    try:
        found: Manifest = read_json(path, Manifest, UsageError)
    except UsageError as error:
        raise UsageError(f"{error}; replace the comparison with --overwrite") from None
    return replace(found, task=current_task(found.task))


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    write_text(folder / MANIFEST, json.dumps(asdict(manifest), indent=2, ensure_ascii=False) + "\n")


# ── training ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _train(out: Path, name: str, values: Values, listen: Listener) -> Model:
    """The trained model of that name: loaded if it is finished, else trained or resumed."""
    folder = out / "models" / name
    card = bundles.read_card(folder) if bundles.exists(folder) else None
    if card and card.get("training", {}).get("finished") and card.get("scores"):
        listen(Event("note", {"text": f"already trained: {folder}"}))
        return api.load(folder, Model, device=values["train"]["device"], threads=values["train"]["threads"])
    if not has_run(folder):
        _set_up(folder, values, out / "data")

    def relay(event: Event) -> None:
        if event.kind != "data":  # the same for all, and shown already
            listen(event)

    try:
        return api.train(resume=folder, listen=relay)
    except TrainingError as error:
        raise TrainingError(f"{name}: {error}") from None


def _set_up(folder: Path, values: Values, data: Path) -> None:
    """Make a training that has not begun, with the data ready in it, for `resume` to start.

    So nothing is tokenized twice, all models have the very same tokens, and none pays for them out of its budget.
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
    report: TaskReport,
    prepared: Prepared,
    trained: Mapping[str, Model],
    values: Values,
    notify: Notify,
) -> Comparison:
    """All measurements of all models; `values` is the configuration of one of them."""
    models = list(trained.values())
    budget = {kind: values["train"][kind] for kind in BUDGETS if values["train"][kind]}
    in_use, timed = measurements.inference_speed(trained, report, prepared, notify)
    by_length = measurements.speed_by_length(trained, report, prepared, notify)
    samples = {name: report.samples(model, prepared) for name, model in trained.items()}
    results = []
    for name, model in trained.items():
        log = log_of(model.path)
        events = read_log(log) if log else None
        results.append(
            ModelResult(
                name=name,
                bundle=str(Path("models") / name),
                parameters=model.parameters,
                settings=model.config["model"],
                train_settings=model.config["train"],
                training=model.card["training"],
                scores=model.card["scores"],
                training_speed=measurements.training_speed(events) if events else None,
                inference_speed=in_use[name],
                speed_by_length=by_length[name],
                paths=report.paths(model),
                by_length=report.by_length(model, prepared),
                curves=measurements.training_curves(events, "minutes" in budget) if events else None,
                predictions=[prediction for _, prediction in samples[name]],
                details=report.details(model, prepared),
            )
        )
    card = models[0].card
    languages = card.get("languages", {})
    return Comparison(
        out=out,
        task=report.task.name,
        title=report.title(languages),
        verb=report.verb,
        languages=languages,
        data=prepared.report(),
        facts=report.task.describe(card),
        summary=prepared.summary().summary,
        preset=values["train"]["preset"],
        budget=budget,
        seed=values["train"]["seed"],
        decode=values.get("decode", {}),
        batch_tokens=measurements.BATCH_TOKENS,
        unit=report.unit or card["scores"]["unit"],
        timed=timed,
        samples=[sample for sample, _ in next(iter(samples.values()))],
        baselines=report.baselines(models, prepared),
        models=results,
        software=bundles.software(),
    )

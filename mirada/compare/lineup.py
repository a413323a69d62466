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

from mirada import api
from mirada import bundle as bundles
from mirada import config as configuration
from mirada import models as architectures
from mirada.compare import measurements, report
from mirada.compare.results import Comparison, Entrant, plain
from mirada.config import Values
from mirada.data.doctor import Notify
from mirada.data.prepare import Prepared, prepare
from mirada.data.readers import files_of
from mirada.data.sources import DataConfig, Paths, data_settings
from mirada.data.text import faults_named
from mirada.errors import ConfigError, Interrupted, TrainingError, UsageError
from mirada.files import write_text
from mirada.model import Model
from mirada.training.loop import Event, Listener
from mirada.training.report import read_log
from mirada.training.run import FINAL_SENTENCES, SECTIONS, check_config, teller

FORMAT = 1
MANIFEST = "compare.json"
BUDGETS = ("minutes", "epochs", "steps")


def compare(
    pairs: Paths = (),
    *,
    models: Sequence[str],
    out: str | Path,
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
    have ({"model": {"heads": 8}}) holds for those. A further model may join a finished comparison.
    """
    budget = {"minutes": minutes, "epochs": epochs, "steps": steps, "seed": seed, "threads": threads}
    given = {
        "data": data_settings(pairs, source, target, dev, source_language, target_language, columns, absolute=True),
        "train": {key: value for key, value in budget.items() if value is not None},
    }
    plan = _plan(models, preset, settings or {}, given)
    values = next(iter(plan.values()))
    built = configuration.build(SECTIONS, {section: values[section] for section in SECTIONS})
    folder = Path(out)
    asked = {"format": FORMAT, "preset": preset, "settings": settings or {}, **given, "files": _digests(built["data"])}
    _claim(folder, plain(asked), overwrite)
    try:
        prepared = prepare(built["data"], built["check"], built["tokenizer"], folder / "data", teller(listen))
        listen(Event("data", asdict(prepared.report)))
        trained: dict[str, Model] = {}
        for number, (name, wanted) in enumerate(plan.items(), 1):
            listen(Event("note", {"text": f"── {name} ({number} of {len(plan)})"}))
            trained[name] = _train(folder, name, wanted, listen)
        comparison = _measure(folder, prepared, trained, values, preset, teller(listen))
        report.write(comparison)
    except (KeyboardInterrupt, Interrupted):
        raise Interrupted(f"interrupted; what is done is kept in {folder}: run the same command to go on") from None
    except OSError as error:
        raise TrainingError(
            f"{error.filename or folder}: {error.strerror or error}; run the same command to go on"
        ) from None
    return comparison


# ── before anything is trained ────────────────────────────────────────────────────────────────────────────────────────


def _plan(names: Sequence[str], preset: str, settings: Mapping[str, Any], given: Values) -> dict[str, Values]:
    """The whole configuration of each model, checked."""
    if not names or isinstance(names, str):
        raise UsageError("which models? Name at least one: --models seq2seq-lstm,seq2seq-lstm+additive,transformer")
    fitting = _fitting(names, settings.get("model") or {})
    common = {section: part for section, part in settings.items() if section != "model"}
    plan: dict[str, Values] = {}
    for name in names:
        chosen = architectures.named(name)
        sizes = architectures.find_preset(chosen["name"], preset)
        values = check_config(configuration.merge(sizes, common, {"model": {**fitting[name], **chosen}}, given))
        for other in plan:
            if plan[other]["model"] == values["model"]:
                what = "is named twice" if other == name else f"is the same model as {other}"
                raise UsageError(f"--models {name}: {what}; name each model once")
        plan[name] = values
    if not any(values["train"][kind] for kind in BUDGETS):
        raise UsageError("how long may each model train? Say it: --minutes 5 (or --epochs, --steps)")
    return plan


def _fitting(names: Sequence[str], settings: Values) -> dict[str, Values]:
    """Those of the model settings that each of the models has; every setting must be one of some model's."""
    if not isinstance(settings, dict):
        raise ConfigError(f"model: is a section with keys (model.key=value), not the value {settings!r}")
    fields = {name: architectures.find(architectures.named(name)["name"]).config.model_fields for name in names}
    known = {key for own in fields.values() for key in own} - {"name", "attention"}
    for key in settings:
        if key in ("name", "attention"):
            raise ConfigError(f"model.{key}: a model's name says it: --models seq2seq-lstm+additive")
        if key not in known:
            raise ConfigError(f"model.{key}: none of the models has such a setting{configuration.nearest(key, known)}")
    return {name: {key: value for key, value in settings.items() if key in own} for name, own in fields.items()}


def _digests(data: DataConfig) -> dict[str, str]:
    """Every file of the data, and what is in it."""
    paths = [*data.pairs, *([data.source] if data.source else []), *data.target, *data.dev]
    digests = {}
    for path in paths:
        for file in files_of(path, data.wanted)[0]:
            with faults_named(file), open(file, "rb") as content:
                digests[file] = hashlib.file_digest(content, "sha256").hexdigest()
    return digests


def _claim(folder: Path, asked: Values, overwrite: bool) -> None:
    """Make the directory ours, or find that it is; what was compared on something else is not touched unasked."""
    manifest = folder / MANIFEST
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder}: is a file; choose another name")
    if folder.exists() and any(folder.iterdir()) and not manifest.is_file():
        raise UsageError(f"--out {folder}: exists and is not a comparison; choose another name")
    try:
        before = _read_manifest(manifest)
        if before != asked or overwrite:
            if not overwrite and any((folder / "models").glob("*")):
                differs = ", ".join(key for key in {**asked, **before} if asked.get(key) != before.get(key))
                raise UsageError(
                    f"--out {folder}: holds a comparison that differs in {differs}; choose another name, "
                    "or begin anew with --overwrite"
                )
            for part in (*report.FILES, "data", "models"):
                path = folder / part
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            folder.mkdir(parents=True, exist_ok=True)
            write_text(manifest, json.dumps(asked, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UsageError(f"--out {folder}: cannot be written ({error.strerror})") from None


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
        return api.load(folder, device=values["train"]["device"], threads=values["train"]["threads"])
    if not (folder / "config.yaml").exists():
        _set_up(folder, values, out / "data")

    def told(event: Event) -> None:
        if event.kind != "data":  # it is the same for all, and has been told
            listen(event)

    try:
        return api.train(resume=folder, listen=told)
    except TrainingError as error:
        raise TrainingError(f"{name}: {error}") from None


def _finished(folder: Path) -> bool:
    if not (folder / "card.json").exists():
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
    write_text(partial / "config.yaml", configuration.dump(values))
    os.replace(partial, folder)


# ── measuring ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _measure(
    out: Path, prepared: Prepared, trained: Mapping[str, Model], values: Values, preset: str, notify: Notify
) -> Comparison:
    """All figures of all models."""
    dev = prepared.dev[:FINAL_SENTENCES]
    timed = [source for source, _ in dev[: measurements.TIMED_SENTENCES]]
    samples, attended = measurements.choose_samples(dev), measurements.choose_attended(dev)
    use = measurements.sentences_per_second(trained, timed, notify)
    by_length = measurements.speed_by_length(trained, notify)
    entrants = []
    for name, model in trained.items():
        across, within = measurements.routes(model.config["model"])
        entrants.append(
            Entrant(
                name=name,
                bundle=str(Path("models") / name),
                parameters=model.parameters,
                settings=model.config["model"],
                training=model.card["training"],
                scores=model.card["scores"],
                tokens_per_second=measurements.training_speed(read_log(model.path / "log.jsonl")),
                sentences_per_second=use[name],
                speed_by_length=by_length[name],
                across=across,
                within=within,
                translations=[translation.text for translation in model.translate([s.source for s in samples])],
                attention=measurements.look(model, attended),
            )
        )
    first = next(iter(trained.values()))
    return Comparison(
        out=out,
        task=first.card["task"],
        languages=first.card["languages"],
        data={key: value for key, value in asdict(prepared.report).items() if key != "diagnosis"},
        preset=preset,
        budget={kind: values["train"][kind] for kind in BUDGETS if values["train"][kind]},
        seed=values["train"]["seed"],
        decode=values["decode"],
        batch_tokens=measurements.BATCH_TOKENS,
        timed_sentences=len(timed),
        samples=samples,
        attended=attended,
        entrants=entrants,
        software=bundles.software(),
    )

"""A whole training in a folder: data, model, loop, scores, bundle."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mirada import bundle as bundles
from mirada import config as configuration
from mirada import models, tasks
from mirada.contracts import Validation
from mirada.data.doctor import Notify
from mirada.device import settle
from mirada.errors import Interrupted, TrainingError
from mirada.evaluation.score import Evaluation
from mirada.model import load
from mirada.tasks.task import Model, Prepared, Task
from mirada.training.finetune import Base
from mirada.training.loop import Event, Listener, Training
from mirada.training.report import Log, draw_curves, read_log
from mirada.training.settings import BATCH_TOKENS, TrainConfig, suggest_batch, suggest_dropout
from mirada.training.workspace import Workspace


def build(values: Mapping[str, Any]) -> tuple[Task, dict[str, Any]]:
    """The task that a configuration is about, and its sections, built."""
    task = tasks.find(values.get("task", "translation"))
    model = models.find(values["model"]["name"], task.name).config
    sections: dict[str, type[configuration.Section]] = {**task.sections, "train": TrainConfig, "model": model}
    given = {name: section for name, section in values.items() if name != "task"}
    return task, configuration.build(sections, given)


def check_config(values: Mapping[str, Any]) -> configuration.Values:
    """The effective configuration with every default filled in; all that is wrong with it in one ConfigError."""
    task, built = build(values)
    built = task.complete(built)
    task.check(built)
    return {"task": task.name, **{name: section.model_dump(mode="json") for name, section in built.items()}}


def teller(listen: Listener) -> Notify:
    """Tells a listener how far the work before a training is."""
    return lambda what, done, total: listen(Event("preparing", {"what": what, "done": done, "total": total}))


def run(work: Workspace, values: configuration.Values, listen: Listener, started: float) -> Any:
    """Prepare the data, train, score, and leave a bundle; also when it is interrupted."""
    try:
        work.save_config(values)
        return _run(work, values, listen, started)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {work.way_on}") from None
    except OSError as error:  # the data's own faults are DataErrors by now: this is the disk that is written to
        where = error.filename or work.folder
        raise TrainingError(f"{where}: {error.strerror or error}; what was saved is intact, {work.way_on}") from None


def _run(work: Workspace, values: configuration.Values, listen: Listener, started: float) -> Any:
    task, built = build(values)
    log = Log(work.run / "log.jsonl")

    def tell(event: Event) -> None:
        log(event)
        listen(event)

    notify = teller(listen)
    settings: TrainConfig = built["train"]
    device = settle(settings.device, settings.threads)
    base = _base(settings, work, device)
    data = task.prepare(built, work.run / "data", notify, base.model.kit if base else None)
    tell(Event("data", {**data.report(), "told": asdict(data.told())}))
    batches = data.batches(settings.batch_tokens or BATCH_TOKENS, settings.seed)
    if settings.batch_tokens is None:
        batches = data.batches(suggest_batch(batches.tokens), settings.seed)
    if built["model"].dropout is None:
        built["model"] = built["model"].model_copy(update={"dropout": suggest_dropout(settings, batches.tokens)})
        values = {**values, "model": built["model"].model_dump(mode="json")}
        work.save_config(values)
    torch.manual_seed(settings.seed)
    network = task.network(built["model"], data.kit).to(device)
    notes = base.give(network, task, data.kit) if base else task.fit(network, data, built)
    work.begin()
    log.path = work.run / "log.jsonl"
    before = None
    if base:
        base.folder = work.run / "base"
        notify("scoring the base", 0, 0)
        before = base.before(data.dev, task, data.kit)
    for note in notes:
        tell(Event("note", {"text": note, "seconds": time.monotonic() - started}))
    model = task.model(work.folder, {}, values, network, data.kit, device)

    def validate(network: nn.Module) -> Validation:
        return model.validate(data.dev, settings.validate_sentences)

    training = Training(
        network,
        task.objective(settings.label_smoothing),
        batches,
        validate,
        settings,
        work.run,
        device,
        tell,
        started,
    )
    stopped: Interrupted | None = None
    try:
        training.run()
    except Interrupted as interrupted:
        stopped = interrupted
    training.take_best()
    scores = change = None
    if stopped is None:
        scores = model.score(data.dev)
        change = {"before": before, "after": base.after(model, scores)} if base and before else None
        figures = {"scores": scores.as_dict(), "summary": scores.summary, "base": change}
        tell(Event("end", {**figures, "seconds": time.monotonic() - started}))
    card = _card(task, values, data, training, model, scores, device)
    if base:
        card["base"] = {"path": settings.base, **(change or {"before": before or {}})}
    if stopped and work.holds_finished_bundle:
        raise Interrupted(f"{stopped}, and the bundle is the one before; {work.way_on}")
    card["run"] = work.id
    draw_curves(read_log(log.path), work.run / "curves.png")
    optional = {"curves.png": (work.run / "curves.png").read_bytes(), bundles.DEV: data.dev_file().encode("utf-8")}
    if (work.run / "data" / "excluded.tsv").exists():
        optional[bundles.EXCLUDED] = (work.run / "data" / "excluded.tsv").read_bytes()
    bundles.publish(work.folder, network, values, card, data.kit.files(), optional)
    if stopped:
        raise Interrupted(f"{stopped}; {work.way_on}")
    return load(work.folder, device=settings.device, threads=settings.threads)


def _base(settings: TrainConfig, work: Workspace, device: torch.device) -> Base | None:
    if settings.base is None:
        return None
    return Base(Path(settings.base), work.run / "base", str(device), settings.threads)


def _card(
    task: Task,
    values: configuration.Values,
    data: Prepared,
    training: Training[nn.Module],
    model: Model,
    scores: Evaluation | None,
    device: torch.device,
) -> dict[str, Any]:
    progress = training.progress
    return {
        "task": task.name,
        "model": values["model"]["name"],
        "parameters": model.parameters,
        **task.about(values),
        "data": data.report(),
        "training": {
            "finished": progress.finished,
            "steps": progress.step,
            "epochs": round(training.epochs, 2),
            "tokens": progress.tokens,
            "seconds": round(progress.seconds, 1),
            "best_step": progress.best_step,
            "skipped_steps": progress.skipped,
            "device": str(device),
            "threads": torch.get_num_threads(),
        },
        "scores": scores.as_dict() if scores else None,
    }

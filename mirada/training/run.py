"""A whole training in a folder: data, model, loop, scores, bundle."""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
from mirada.errors import Interrupted, TrainingError, UsageError
from mirada.evaluation.score import Evaluation
from mirada.files import check_writable, write_text
from mirada.model import load
from mirada.tasks.task import Model, Prepared, Task
from mirada.training.finetune import Base
from mirada.training.loop import Event, Listener, Training
from mirada.training.report import Log, draw_curves, read_log
from mirada.training.settings import BATCH_TOKENS, TrainConfig, suggest_batch, suggest_dropout


def build(values: Mapping[str, Any]) -> tuple[Task, dict[str, Any]]:
    """The task that a configuration is about, and its sections, built."""
    task = tasks.find(str(values.get("task", "translation")))
    model = models.find(configuration.model_name(values), task.name).config
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


def run(folder: Path, values: configuration.Values, listen: Listener, started: float) -> Any:
    """Prepare the data, train, score, and leave a bundle; also when it is interrupted."""
    try:
        with _locked(folder):
            write_text(folder / "config.yaml", configuration.dump(values))
            return _run(folder, values, listen, started)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; go on with: mirada train --resume {folder}") from None
    except OSError as error:  # the data's own faults are DataErrors by now: this is the disk that is written to
        where = error.filename or folder
        raise TrainingError(
            f"{where}: {error.strerror or error}; what was saved is intact, resume with: mirada train --resume {folder}"
        ) from None


def _run(folder: Path, values: configuration.Values, listen: Listener, started: float) -> Any:
    task, built = build(values)
    log = Log(folder / "log.jsonl")

    def tell(event: Event) -> None:
        log(event)
        listen(event)

    notify = teller(listen)
    settings: TrainConfig = built["train"]
    device = settle(settings.device, settings.threads)
    base = _base(settings, folder, device)
    data = task.prepare(built, folder / "run" / "data", notify, base.model.kit if base else None)
    tell(Event("data", {**data.report(), "told": asdict(data.told())}))
    batches = data.batches(settings.batch_tokens or BATCH_TOKENS, settings.seed)
    if settings.batch_tokens is None:
        batches = data.batches(suggest_batch(batches.tokens), settings.seed)
    if built["model"].dropout is None:
        built["model"] = built["model"].model_copy(update={"dropout": suggest_dropout(settings, batches.tokens)})
        values = {**values, "model": built["model"].model_dump(mode="json")}
        write_text(folder / "config.yaml", configuration.dump(values))
    torch.manual_seed(settings.seed)
    network = task.network(built["model"], data.kit).to(device)
    before = None
    if base:
        notify("scoring the base", 0, 0)
        before = base.before(data.dev, task, data.kit)
    for note in base.give(network, task, data.kit) if base else task.fit(network, data, built):
        tell(Event("note", {"text": note, "seconds": time.monotonic() - started}))
    model = task.model(folder, {}, values, network, data.kit, device)

    def validate(network: nn.Module) -> Validation:
        return model.validate(data.dev, settings.validate_sentences)

    training = Training(
        network,
        task.objective(settings.label_smoothing),
        batches,
        validate,
        settings,
        folder / "run",
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
    draw_curves(read_log(log.path), folder / "curves.png")
    if (folder / "run" / "data" / "excluded.tsv").exists():
        shutil.copyfile(folder / "run" / "data" / "excluded.tsv", folder / "excluded.tsv")
    files = {**data.kit.files(), "dev.jsonl": data.dev_file().encode("utf-8")}
    bundles.write(folder, network, values, card, files)
    if stopped:
        raise Interrupted(f"{stopped}; go on with: mirada train --resume {folder}")
    return load(folder, device=settings.device, threads=settings.threads)


def _base(settings: TrainConfig, folder: Path, device: torch.device) -> Base | None:
    if settings.base is None:
        return None
    return Base(Path(settings.base), folder / "run" / "base", str(device), settings.threads)


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


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Nobody else trains in this folder meanwhile; the lock goes with the process, however it ends."""
    (folder / "run").mkdir(exist_ok=True)
    check_writable(folder / "run" / "lock", UsageError)
    with open(folder / "run" / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{folder}: another process is training in it") from None
        yield

"""A whole training in a folder: data, model, loop, scores, bundle."""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mirada import bundle as bundles
from mirada import config as configuration
from mirada import models, tasks
from mirada.data.doctor import Notify
from mirada.device import settle
from mirada.errors import Interrupted, TrainingError, UsageError
from mirada.evaluation.score import Evaluation
from mirada.files import write_text
from mirada.model import load
from mirada.tasks.task import Model, Prepared, Task
from mirada.training import checkpoints
from mirada.training.automatic import batch_size, choose, words_seen
from mirada.training.finetune import Base
from mirada.training.loop import Event, Listener, Training
from mirada.training.report import Log, draw_curves, read_log
from mirada.training.settings import FINAL_SHARE, Budget, TrainConfig


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
    return plain(task, built)


def plain(task: Task, built: Mapping[str, Any]) -> configuration.Values:
    """Built sections as plain values."""
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

    notify, clock = teller(listen), Stopwatch()
    settings: TrainConfig = built["train"]
    device = settle(settings.device, settings.threads)
    base = _base(settings, folder, device)
    begun = checkpoints.exist(folder / "run" / "checkpoints")

    def seconds_left() -> float | None:
        budget = Budget.of(settings).seconds
        return None if budget is None else max(1.0, budget - (time.monotonic() - started))

    with clock("preparing"):
        left = seconds_left()
        if left is not None and "tokenizer" in built and base is None and not begun:
            update = {"words_seen": words_seen(settings, left)}
            built["tokenizer"] = built["tokenizer"].model_copy(update=update)
        data = task.prepare(built, folder / "run" / "data", notify, base.model.kit if base else None)
    tell(Event("data", {**data.report(), "told": asdict(data.told())}))
    if not begun:
        with clock("forecast"):
            choice = choose(task, built, data, device, seconds_left)
        built, settings = choice.sections, choice.sections["train"]
        values = plain(task, built)
        write_text(folder / "config.yaml", configuration.dump(values))
        for note in choice.notes:
            tell(Event("note", {"text": note, "seconds": time.monotonic() - started}))
        tell(Event("forecast", {**choice.forecast.as_dict(), "seconds": time.monotonic() - started}))
    torch.manual_seed(settings.seed)
    network = task.network(built["model"], data.kit).to(device)
    before = None
    if base:
        notify("scoring the base", 0, 0)
        before = base.before(data.dev, task, data.kit, _scorer(settings))
    for note in base.give(network, task, data.kit) if base else task.fit(network, data, built):
        tell(Event("note", {"text": note, "seconds": time.monotonic() - started}))
    model = task.model(folder, {}, values, network, data.kit, device)
    batches = data.batches(settings.batch_tokens or settings.max_batch_tokens, settings.seed)
    if settings.batch_tokens is None:  # a run that was begun by an older version
        batches = data.batches(batch_size(settings, batches.tokens), settings.seed)
    training = Training(
        network,
        task.objective(settings.label_smoothing),
        batches,
        lambda network, size: model.validate(data.dev, size),
        settings,
        folder / "run",
        device,
        tell,
        started,
    )

    def working(what: str) -> None:
        def progress(done: int, total: int) -> None:
            notify(what, done, total)
            training.check_stop()

        model.progress = progress

    def publish(scores: Evaluation | None, change: dict[str, Any] | None) -> None:
        """Write the bundle."""
        card = _card(task, values, data, training, model, scores, device)
        if base:
            card["base"] = {"path": settings.base, **(change or {"before": before or {}})}
        files = {**data.kit.files(), "dev.jsonl": data.dev_file().encode("utf-8")}
        if (folder / "run" / "data" / "excluded.tsv").exists():
            shutil.copyfile(folder / "run" / "data" / "excluded.tsv", folder / "excluded.tsv")
        draw_curves(read_log(log.path), folder / "curves.png")
        bundles.write(folder, network, values, card, files)

    working("validating")
    try:
        training.run()
    except Interrupted as stopped:
        training.take_best()
        publish(None, None)
        raise Interrupted(f"{stopped}; go on with: mirada train --resume {folder}") from None
    training.take_best()
    with clock("writing"):
        publish(None, None)  # so that there is a whole bundle, whatever happens while it is scored
    working("scoring the dev set:")
    score = _scorer(settings)
    with clock("scoring"):
        try:
            scores = score(model, data.dev)
            change = {"before": before, "after": base.after(model, scores, score)} if base and before else None
        except KeyboardInterrupt:
            raise Interrupted(
                f"interrupted while scoring: the bundle {folder} is complete but for its final scores; "
                f"to compute them: mirada train --resume {folder}"
            ) from None
    figures = {"scores": scores.as_dict(), "summary": scores.summary, "base": change}
    tell(Event("end", {**figures, "seconds": time.monotonic() - started}))
    with clock("writing"):
        publish(scores, change)
    for phase, seconds in {**training.timing, **clock.seconds}.items():
        tell(Event("timing", {"phase": phase, "seconds": round(seconds, 2)}))
    return load(folder, device=settings.device, threads=settings.threads)


class Stopwatch:
    """Seconds by phase: where the time went."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.monotonic() - began


Scorer = Callable[[Model, Any], Evaluation]
"""Scores a model on a dev set, or on as much of it as the budget has time for."""

PROBE = 16
"""Examples that tell how long scoring takes."""


def _scorer(settings: TrainConfig) -> Scorer:
    """The final scores of a run: on all of the dev set, unless so many examples are asked for, or a budget in minutes
    has no time for all."""

    def score(model: Model, dev: Any) -> Evaluation:
        if settings.final_sentences is not None:
            return model.score(model.sample(dev, settings.final_sentences))
        if settings.minutes is None or len(dev) <= PROBE:
            return model.score(dev)
        allowed, began = settings.minutes * 60 * FINAL_SHARE / 2, time.monotonic()
        model.score(model.sample(dev, PROBE))
        each = max(1e-6, time.monotonic() - began) / PROBE
        chosen = model.sample(dev, max(PROBE, int(allowed / each)))
        found = model.score(chosen)
        if len(chosen) == len(dev):
            return found
        note = f"scored on {len(chosen):,} of {len(dev):,}, evenly sampled: the budget has no time for all"
        return replace(found, notes=(*found.notes, note))

    return score


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
    with open(folder / "run" / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{folder}: another process is training in it") from None
        yield

"""A complete training run in a folder: data, model, loop, scores, bundle."""

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
from mirada.data.quality import Notify
from mirada.device import fastest_threads, select_device
from mirada.errors import Interrupted, TrainingError, UsageError
from mirada.inspection.snapshots import dump_history
from mirada.loading import load
from mirada.metrics.score import Evaluation
from mirada.tasks.task import Prepared, Task
from mirada.training import checkpoints
from mirada.training.automatic import batch_size, choose, with_precision, words_seen
from mirada.training.config import TrainConfig
from mirada.training.finetune import Base
from mirada.training.loop import Event, Listener, Training
from mirada.training.report import Log, draw_curves, read_log
from mirada.training.schedule import Budget
from mirada.training.scoring import scorer
from mirada.training.timing import Timing
from mirada.training.workspace import Workspace


def build(values: Mapping[str, Any]) -> tuple[Task, dict[str, Any]]:
    """The task of a configuration, and its validated sections."""
    task = tasks.find(str(values.get("task", "translation")))
    model = models.find(configuration.model_name(values), task.name).config
    sections: dict[str, type[configuration.Section]] = {**task.sections, "train": TrainConfig, "model": model}
    given = {name: section for name, section in values.items() if name != "task"}
    return task, configuration.build(sections, given)


def check_config(values: Mapping[str, Any]) -> configuration.Values:
    """The effective configuration with every default filled in; one ConfigError names all that is wrong with it."""
    task, built = build(values)
    built = task.complete(built)
    task.check(built)
    return plain(task, built)


def plain(task: Task, built: Mapping[str, Any]) -> configuration.Values:
    """Sections as plain values."""
    return {"task": task.name, **{name: section.model_dump(mode="json") for name, section in built.items()}}


def notifier(listen: Listener) -> Notify:
    """Reports the progress of the work before training to a listener."""
    return lambda what, done, total: listen(Event("preparing", {"what": what, "done": done, "total": total}))


def run(work: Workspace, values: configuration.Values, listen: Listener, started: float) -> Any:
    """Prepare the data, train, score and write the bundle, also when interrupted."""
    try:
        work.save_config(values)
        return _Run(work, values, listen, started).run()
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {work.how_to_resume}") from None
    except OSError as error:  # faults of the data are DataErrors: this is about the disk that is written to
        where = error.filename or work.folder
        raise TrainingError(
            f"{where}: {error.strerror or error}; what was saved is intact, {work.how_to_resume}"
        ) from None


class _Run:
    """One run in its workspace, from the user's files to the bundle."""

    def __init__(self, work: Workspace, values: configuration.Values, listen: Listener, started: float):
        self.work, self.listen, self.started = work, listen, started
        self.values = values
        self.task, self.sections = build(values)
        self.log = Log(work.run / "log.jsonl")
        self.timing = Timing()
        self.begun = checkpoints.exist(work.run / "checkpoints")
        if self.settings.threads is None and not self.begun:
            with self.timing("choosing threads"):
                self._set(threads=fastest_threads())
        self.device = select_device(self.settings.device, self.settings.threads)
        base = self.settings.base
        self.base = Base(Path(base), work.run / "base", str(self.device), self.settings.threads) if base else None
        self.before: dict[str, Any] | None = None  # the base's scores
        self.change: dict[str, Any] | None = None  # those, and the new model's beside them

    @property
    def settings(self) -> TrainConfig:
        found: TrainConfig = self.sections["train"]
        return found

    def _set(self, **changes: Any) -> None:
        """Change settings of training."""
        self.sections["train"] = self.settings.model_copy(update=changes)

    def run(self) -> Any:
        data = self._prepare()
        if self.begun:
            self._keep_precision(data)
        else:
            self._choose(data)
        with self.timing("building"):
            training = self._build(data)
        self._tell_timing(self.timing)
        self._progress("validating", training)
        try:
            training.run()
        except Interrupted as stopped:
            training.take_best()
            if self.work.holds_finished_bundle:
                raise Interrupted(
                    f"{stopped}, and the earlier bundle is unchanged; {self.work.how_to_resume}"
                ) from None
            self._publish(data, training, None)
            raise Interrupted(f"{stopped}; {self.work.how_to_resume}") from None
        training.take_best()
        with self.timing("writing"):
            self._publish(data, training, None)  # so that there is a bundle if scoring is interrupted
        with self.timing("scoring"):
            scores = self._score(data, training)
        with self.timing("writing"):
            self._publish(data, training, scores)
        self._tell_timing(training.timing)
        self._tell_timing(self.timing)
        return load(self.work.folder, device=self.settings.device, threads=self.settings.threads)

    # ── the phases ────────────────────────────────────────────────────────────────────────────────────────────────

    def _prepare(self) -> Prepared:
        """Read, check, split and tokenise the data."""
        left = self._seconds_left()
        if left is not None and "tokenizer" in self.sections and self.base is None and not self.begun:
            update = {"words_seen": words_seen(self.settings, left)}
            self.sections["tokenizer"] = self.sections["tokenizer"].model_copy(update=update)
        preprocessor = self.base.model.preprocessor if self.base else None
        notify = notifier(self.listen)

        def progress(what: str, done: int, total: int) -> None:
            self.timing.next(what)
            notify(what, done, total)

        self.timing.next("reading")
        data = self.task.prepare(self.sections, self.work.run / "data", progress, preprocessor)
        self.timing.next(None)
        self._emit("data", **data.report(), summary=asdict(data.summary()))
        return data

    def _choose(self, data: Prepared) -> None:
        """Choose the settings that are not set, and estimate the cost."""
        choice = choose(self.task, self.sections, data, self.device, self._seconds_left, self.timing)
        self.sections = choice.sections
        self.values = plain(self.task, choice.sections)
        self.work.save_config(self.values)
        for note in choice.notes:
            self._note(note)
        self._emit("estimate", **choice.estimate.as_dict(), seconds=time.monotonic() - self.started)

    def _keep_precision(self, data: Prepared) -> None:
        """A resumed run keeps its arithmetic, and this machine must have it; earlier versions knew only float32."""
        if self.settings.precision == "auto":
            self._set(precision="float32")
        try:
            with_precision(self.task, self.sections, data, self.settings.batch_tokens or 0, self.device)
        except UsageError as error:
            raise TrainingError(f"{self.work.folder}: was trained in bfloat16; {error}") from None

    def _build(self, data: Prepared) -> Training[nn.Module]:
        """The network, with the weights of the base if there is one, and the loop that trains it."""
        settings, task, base = self.settings, self.task, self.base
        torch.manual_seed(settings.seed)
        network = task.network(self.sections["model"], data.preprocessor).to(self.device)
        notes = base.give(network, task, data.preprocessor) if base else task.fit(network, data, self.sections)
        self.work.begin()  # the data is valid from here on
        self.log.path = self.work.run / "log.jsonl"
        if base:
            base.folder = self.work.run / "base"
            notifier(self.listen)("scoring the base", 0, 0)
            self.before = base.before(data.dev, task, data.preprocessor, scorer(settings))
        for note in notes:
            self._note(note)
        self.model = task.model(self.work.folder, {}, self.values, network, data.preprocessor, self.device)
        batches = data.batches(settings.batch_tokens or settings.max_batch_tokens, settings.seed)
        if settings.batch_tokens is None:  # a run of an earlier version
            batches = data.batches(batch_size(settings, batches.tokens), settings.seed)
        return Training(
            network,
            task.loss(settings.label_smoothing),
            batches,
            lambda network, size: self.model.validate(data.dev, size),
            settings,
            self.work.run,
            self.device,
            self._record,
            self.started,
            snapshot=lambda network: getattr(self.model.snapshot(data.dev), "weights", None),
        )

    def _score(self, data: Prepared, training: Training[nn.Module]) -> Evaluation:
        """Compute the final scores, and compare them with those of the base."""
        self._progress("scoring the dev set:", training)
        score = scorer(self.settings)
        try:
            scores = score(self.model, data.dev)
            if self.base and self.before:
                self.change = {"before": self.before, "after": self.base.after(self.model, scores, score)}
        except KeyboardInterrupt:
            folder = self.work.folder
            raise Interrupted(
                f"interrupted while scoring: the bundle {folder} is complete except for its final scores; "
                f"to compute them: mirada train --resume {folder}"
            ) from None
        figures = {"scores": scores.as_dict(), "summary": scores.summary, "base": self.change}
        self._emit("end", **figures, seconds=time.monotonic() - self.started)
        return scores

    def _publish(self, data: Prepared, training: Training[nn.Module], scores: Evaluation | None) -> None:
        """Write the bundle, with the curves once nothing is added to them."""
        run = self.work.run
        card = self._card(data, training, scores)
        optional = {bundles.DEV: data.dev_file().encode("utf-8")}
        if scores is not None or not training.progress.finished:
            draw_curves(read_log(self.log.path), run / "curves.png")
            optional["curves.png"] = (run / "curves.png").read_bytes()
        if (example := self.model.snapshot(data.dev)) is not None:  # with the weights of the bundle
            last = {training.progress.step: example.weights.to(torch.float16)}
            optional[bundles.ATTENTION] = dump_history(example, {**training.snapshots.taken, **last})
        if (run / "data" / "excluded.tsv").exists():
            optional[bundles.EXCLUDED] = (run / "data" / "excluded.tsv").read_bytes()
        bundles.publish(self.work.folder, training.model, self.values, card, data.preprocessor.files(), optional)

    def _card(self, data: Prepared, training: Training[nn.Module], scores: Evaluation | None) -> dict[str, Any]:
        progress = training.progress
        card = {
            "task": self.task.name,
            "model": self.values["model"]["name"],
            "parameters": self.model.parameters,
            **self.task.about(self.values),
            "data": data.report(),
            "training": {
                "finished": progress.finished,
                "steps": progress.step,
                "epochs": round(training.epochs, 2),
                "tokens": progress.tokens,
                "seconds": round(progress.seconds, 1),
                "best_step": progress.best_step,
                "skipped_steps": progress.skipped,
                "device": str(self.device),
                "threads": torch.get_num_threads(),
                "precision": self.settings.precision,
            },
            "scores": scores.as_dict() if scores else None,
            "run": self.work.id,
        }
        if self.base:
            card["base"] = {"path": self.settings.base, **(self.change or {"before": self.before or {}})}
        return card

    # ── events ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _record(self, event: Event) -> None:
        self.log(event)
        self.listen(event)

    def _emit(self, kind: str, **figures: Any) -> None:
        self._record(Event(kind, figures))

    def _tell_timing(self, timing: Timing) -> None:
        """Say what each phase took since this was last said."""
        for phase in list(timing):
            self._emit("timing", phase=phase, seconds=round(timing.pop(phase), 2))

    def _note(self, text: str) -> None:
        self._emit("note", text=text, seconds=time.monotonic() - self.started)

    def _progress(self, what: str, training: Training[nn.Module]) -> None:
        """Report the progress of the model's work on many examples, and let a stop request interrupt it."""
        notify = notifier(self.listen)

        def progress(done: int, total: int) -> None:
            notify(what, done, total)
            training.check_stop()

        self.model.progress = progress

    def _seconds_left(self) -> float | None:
        """The time that a budget in minutes leaves for training."""
        budget = Budget.of(self.settings).seconds
        return None if budget is None else max(1.0, budget - (time.monotonic() - self.started))

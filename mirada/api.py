"""The library: `train`, `load`, and the model they return. Every command of the command line is one call here."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from mirada import config as configuration
from mirada import models, tasks
from mirada.data import preparation
from mirada.data.quality import Notify, QualityReport
from mirada.data.sources import Paths, data_settings, named
from mirada.errors import BundleError, ConfigError, UsageError
from mirada.former_names import current_task
from mirada.loading import aligned, load
from mirada.loading import info as bundle_info
from mirada.loading import info_text as bundle_text
from mirada.tasks.task import Model
from mirada.training import finetune, status, workspace
from mirada.training.config import MAY_CHANGE
from mirada.training.loop import Event, Listener
from mirada.training.run import check_config, run

__all__ = ["Model", "check", "info", "info_text", "load", "train"]


def train(
    files: Paths = (),
    *,
    out: str | Path | None = None,
    task: str | None = None,
    dev: Paths = (),
    source: str | Path | None = None,
    target: Paths = (),
    source_language: str | None = None,
    target_language: str | None = None,
    model: str | None = None,
    preset: str | None = None,
    minutes: float | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    config: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    device: str | None = None,
    base: str | Path | None = None,
    columns: Sequence[str] = (),
    resume: str | Path | None = None,
    overwrite: bool = False,
    listen: Listener = lambda event: None,
) -> Any:
    """Train a model from files into a bundle, and open it: a translator from sentence pairs, unless `task` is another.

    Sentence pairs may also come as `source` and `target` files.
    `base` is a bundle to go on from: its tokenizer, sizes and weights. `columns` say which of a table are meant.
    Settings come from the preset, then the `config` file, then `settings` ({"model": {"width": 128}}), then the other
    arguments. `resume` goes on with an interrupted run, or with a finished one whose budget is raised.
    """
    started = time.monotonic()
    budget = {"minutes": minutes, "epochs": epochs, "steps": steps}
    machine = {"seed": seed, "threads": threads, "device": device}
    given = {
        "data": data_settings(files, source, target, dev, source_language, target_language, columns, absolute=True),
        "train": {key: value for key, value in {**budget, **machine}.items() if value is not None},
    }
    if resume is not None:
        other = (given["data"], out, task, model, preset, base, config, overwrite, "seed" in given["train"])
        if any(other):
            raise UsageError(
                "--resume takes the bundle alone; only the budget, --threads, --device and --set may change"
            )
        return _resume(Path(resume), configuration.merge(settings or {}, given), listen, started)
    if base is not None and (model or preset):
        raise UsageError(f"--base {base}: decides the model and its sizes; leave out --model and --preset")
    values = _effective(task, model, preset, base, config, settings, given)
    if out is None or not str(out):
        raise UsageError("where should the bundle go? Name a directory: --out es-en")
    with workspace.claimed(Path(out), overwrite) as work:
        return run(work, values, listen, started)


def _resume(folder: Path, changes: configuration.Values, listen: Listener, started: float) -> Any:
    with workspace.resumed(folder) as work:
        values = _resumed(work, changes)
        done = status.finished(work, values, listen)
        for note in [*work.notes, *([done] if done else [])]:
            listen(Event("note", {"text": note, "seconds": time.monotonic() - started}))
        if done:
            try:
                return load(folder, device=values["train"]["device"], threads=values["train"]["threads"])
            except BundleError as error:
                listen(Event("note", {"text": f"{error}; it is written anew"}))
        return run(work, values, listen, started)


def info(path: str | Path) -> dict[str, Any]:
    """What a bundle is: its card, and its configuration; of an unfinished training, how far it is."""
    return status.info(path) or bundle_info(path)


def info_text(path: str | Path) -> str:
    """The same for a person."""
    about = status.info(path)
    return aligned(status.text(path, about)) if about else bundle_text(path)


def check(
    files: Paths = (),
    *,
    task: str = "translation",
    source: str | Path | None = None,
    target: Paths = (),
    dev: Paths = (),
    test: Paths = (),
    source_language: str | None = None,
    target_language: str | None = None,
    columns: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    excluded: TextIO | None = None,
    notify: Notify = lambda what, done, total: None,
) -> QualityReport:
    """Say what is wrong with the data of a task and what training would do about it; nothing is trained.

    What training would leave out is listed in `excluded`: file, line, reason, the reason in words.
    """
    given = data_settings(files, source, target, dev, source_language, target_language, columns, absolute=False)
    images = current_task(task) == "classification" and _holds_images(given.get("files"))
    chosen = tasks.find("image_classification" if images else task)
    defaults = {name: values for name, values in chosen.defaults.items() if name in chosen.sections}
    built = configuration.build(chosen.sections, configuration.merge(defaults, settings or {}, {"data": given}))
    return preparation.check(chosen.preparation(built), notify, excluded, named(test))


def _effective(
    task: str | None,
    model: str | None,
    preset: str | None,
    base: str | Path | None,
    config: str | Path | None,
    settings: Mapping[str, Any] | None,
    given: Mapping[str, Any],
) -> configuration.Values:
    """The whole configuration of a new run, checked."""
    from_file = configuration.read(config) if config else {}
    own = configuration.merge(from_file, settings or {}).get("model", {})
    wanted = model or (own.get("name") if isinstance(own, dict) else None)
    asked = current_task(task) if task else from_file.get("task")
    for name, value in (("task", asked), ("model.name", wanted)):
        if not isinstance(value, str | None):
            raise ConfigError(f"{name}: should be a name, not {value!r:.40}")
    if asked == "classification" and wanted is None and base is None and _holds_images(given["data"].get("files")):
        wanted = "vit"
    if base is not None:
        inherited = finetune.inherited(Path(base), asked)
        defaults = tasks.find(inherited["task"]).defaults
        values = check_config(configuration.merge(defaults, inherited, from_file, settings or {}, given))
        finetune.check_fit(inherited, values)
        return values
    chosen_task = tasks.find(models.meant(asked or "translation", wanted))
    chosen = models.named(wanted or chosen_task.default_model)
    automatic = preset in (None, "auto") and chosen_task.presets
    sizes = models.find_preset(chosen["name"], chosen_task.name, "small" if automatic else preset or "small")
    if automatic and not (isinstance(own, dict) and sizes["model"].keys() & own.keys()):
        preset = "auto"
    about: configuration.Values = {"task": chosen_task.name, "model": chosen, "train": {"preset": preset or "small"}}
    return check_config(configuration.merge(chosen_task.defaults, sizes, from_file, settings or {}, about, given))


def _holds_images(files: Sequence[str] | None) -> bool:
    """Whether the data is an .npz, or a folder with folders and no files in it (hidden ones do not count)."""
    first = Path(files[0]) if files else Path()
    if not files or not first.is_dir():
        return first.suffix == ".npz"
    try:
        inside = [entry for entry in first.iterdir() if not entry.name.startswith(".")]
    except OSError:  # whoever reads the data says so
        return False
    return bool(inside) and all(entry.is_dir() for entry in inside)


def _resumed(work: workspace.Workspace, changes: configuration.Values) -> configuration.Values:
    """The configuration of an earlier run, with the changes that a resumed run may have."""
    for section, part in changes.items():
        for key in part if isinstance(part, dict) else [None]:
            if section != "train" or key not in MAY_CHANGE:
                raise UsageError(f"{section}.{key}: cannot change in a resumed run; start a new one for that")
    return check_config(configuration.merge(configuration.read(work.run / "config.yaml"), changes))

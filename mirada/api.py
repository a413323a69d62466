"""The library: `train`, `load`, and the model they return. Every command of the command line is one call here."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from typing_extensions import TypeVar

from mirada import bundle as bundles
from mirada import config as configuration
from mirada import models, tasks
from mirada.console import default_listener
from mirada.data.quality import Notify, QualityReport
from mirada.data.sources import Paths, data_settings, named
from mirada.errors import BundleError, ConfigError, UsageError
from mirada.explorer.page import Page, check_name, write_page
from mirada.former_names import current_task
from mirada.loading import aligned, check_path, load, wrong_verb
from mirada.loading import info as bundle_info
from mirada.loading import info_text as bundle_text
from mirada.tasks.model import Model
from mirada.training import finetune, status, workspace
from mirada.training.config import MAY_CHANGE
from mirada.training.loop import Event, Listener
from mirada.training.run import check_config, run

__all__ = ["Model", "check", "explore", "info", "info_text", "load", "train"]

M = TypeVar("M", bound=Model, default=Any)


def train(
    files: Paths = (),
    kind: type[M] | None = None,
    *,
    out: str | Path | None = None,
    task: str | None = None,
    dev: Paths = (),
    source: str | Path | None = None,
    target: Paths = (),
    source_language: str | None = None,
    target_language: str | None = None,
    direction: str | None = None,
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
    precision: str | None = None,
    base: str | Path | None = None,
    columns: Sequence[str] = (),
    resume: str | Path | None = None,
    overwrite: bool = False,
    listen: Listener | None = None,
) -> M:
    """Train a model from files into a bundle, and open it.

    Args:
        files: The training data, in any format that the task reads.
        kind: The class of the model, which says its task and makes the result typed: `TranslationModel`, …
        out: The directory to write the bundle to.
        task: The task by its name instead of `kind`: classification, tagging, …; translation by default.
        dev: The dev set. A part of the data is held out if there is none.
        source, target: Sentence pairs as two files instead of `files`.
        source_language, target_language: The languages of sentence pairs: es, pt-BR.
        direction: `both` trains one model that translates from either language into the other.
        model: The architecture: a name from `mirada models`.
        preset: The model's size: tiny, small, base, big, or auto (by the budget).
        minutes, epochs, steps: The budget; without one, training ends when the dev score stops improving.
        config: A YAML file of settings. `settings` override it, and other arguments override both.
        settings: Any settings (see `mirada settings`): {"model": {"width": 128}}.
        seed, threads, device: The random seed, CPU threads, and device of the run.
        precision: The arithmetic: float32, bfloat16, or auto (bfloat16 where this machine is faster with it).
        base: A bundle to fine-tune; it decides the tokenizer, the sizes and the initial weights.
        columns: Which columns of a table to read, by name or number.
        resume: A bundle whose training to resume: interrupted, or finished with a larger budget given here.
        overwrite: Replace the bundle at `out`.
        listen: Called with every event of the training; in a notebook, progress is printed by default.
    """
    listen = listen or default_listener()
    if kind is not None:
        task = _task_of(kind, task)
    for name, path in (("out", out), ("config", config), ("base", base), ("resume", resume), ("source", source)):
        check_path(path, name)
    for name, paths in (("files", files), ("dev", dev), ("target", target)):
        check_path(paths, name, several=True)
    started = time.monotonic()
    budget = {"minutes": minutes, "epochs": epochs, "steps": steps}
    machine = {"seed": seed, "threads": threads, "device": device, "precision": precision}
    given = {
        "data": data_settings(files, source, target, dev, source_language, target_language, columns, absolute=True),
        "train": {key: value for key, value in {**budget, **machine}.items() if value is not None},
    }
    if direction is not None:
        given["data"]["direction"] = direction
    if resume is not None:
        new = (out, model, preset, base, config, overwrite, given["data"], kind is None and task, seed is not None)
        if any(new):
            raise UsageError(
                "--resume takes the bundle alone; only the budget, --threads, --device and --set may change"
            )
        return _resume(Path(resume), configuration.merge(settings or {}, given), kind, listen, started)
    if base is not None and (model or preset):
        raise UsageError(f"--base {base}: decides the model and its sizes; leave out --model and --preset")
    values = _effective(task, model, preset, base, config, settings, given)
    if out is None or not str(out):
        raise UsageError("where should the bundle go? Name a directory: --out es-en")
    with workspace.claimed(Path(out), overwrite) as work:
        return run(work, values, listen, started)


def _task_of(kind: type[Model], task: str | None) -> str:
    """The name of the task whose models are of a class."""
    names = [name for name in tasks.packages() if tasks.find(name).model is kind]
    if not names or (task is not None and current_task(task) not in names):
        known = f"is for {names[0]}, not for {task}" if names else "is not the class of a task's models"
        raise UsageError(f"kind={getattr(kind, '__name__', kind)!s:.40}: {known}; leave out one of kind and task")
    return names[0]


def _resume(
    folder: Path, changes: configuration.Values, kind: type[Model] | None, listen: Listener, started: float
) -> Any:
    """Resume the run in a folder with the changes that a resumed run may have, or open its finished bundle."""
    for section, part in changes.items():
        for key in part if isinstance(part, dict) else [None]:
            if section != "train" or key not in MAY_CHANGE:
                raise UsageError(f"{section}.{key}: cannot change in a resumed run; start a new one for that")
    with workspace.resumed(folder) as work:
        values = check_config(configuration.merge(configuration.read(work.run / "config.yaml"), changes))
        if kind is not None and not issubclass(tasks.find(values["task"]).model, kind):
            raise wrong_verb(values["task"], folder)
        done = status.finished(work, values, listen)
        for note in [*work.notes, *([done] if done else [])]:
            listen(Event("note", {"text": note, "seconds": time.monotonic() - started}))
        if done:
            try:
                return load(folder, device=values["train"]["device"], threads=values["train"]["threads"])
            except BundleError as error:
                listen(Event("note", {"text": f"{error}; it is written again"}))
        return run(work, values, listen, started)


def info(path: str | Path) -> dict[str, Any]:
    """The card and the configuration of a bundle, or the state of an unfinished training."""
    return status.info(path) or bundle_info(path)


def info_text(path: str | Path) -> str:
    """The description of a bundle, as text."""
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
    chosen = tasks.find(_task_for(current_task(task), None, given))
    defaults = {name: values for name, values in chosen.defaults.items() if name in chosen.sections}
    built = configuration.build(chosen.sections, configuration.merge(defaults, settings or {}, {"data": given}))
    return chosen.preparation(built).examine(notify, excluded, named(test))


def explore(
    *models: str | Path | Model,
    out: str | Path,
    sentence: str | None = None,
    traces: Sequence[str] = (),
    precision: str | None = None,
) -> Page:
    """Write one HTML file in which a model runs, or two beside each other, without a network.

    Args:
        models: A bundle or an opened model; or two, of the same task and the same languages.
        out: The HTML file.
        sentence: What is shown at first; otherwise a sentence of the dev set.
        traces: Sentences to record with PyTorch; the file then has no weights. For models too large for a page.
        precision: float32 or float16; by default float32 up to 4 million parameters.
    """
    check_path(out, "out")
    check_name(Path(out))
    opened = [model if isinstance(model, Model) else _opened(model) for model in models]
    return write_page(opened, out, sentence=sentence, traces=traces, precision=precision)


def _opened(path: str | Path) -> Any:
    """The model of one bundle, which PyTorch computes."""
    check_path(path, "model")
    if len(parts := bundles.members(Path(path))) > 1:
        raise UsageError(
            f"{path}: is an ensemble, and a page shows single models; two of them beside each other: "
            f"mirada explore {' '.join(map(str, parts[:2]))}"
        )
    return load(path, device="cpu", engine="torch")


def _effective(
    task: str | None,
    model: str | None,
    preset: str | None,
    base: str | Path | None,
    config: str | Path | None,
    settings: Mapping[str, Any] | None,
    given: Mapping[str, Any],
) -> configuration.Values:
    """The complete configuration of a new run, checked."""
    from_file = configuration.read(config) if config else {}
    own = configuration.merge(from_file, settings or {}).get("model", {})
    wanted = model or (own.get("name") if isinstance(own, dict) else None)
    asked = current_task(task) if task else from_file.get("task")
    for name, value in (("task", asked), ("model.name", wanted)):
        if not isinstance(value, str | None):
            raise ConfigError(f"{name}: should be a name, not {value!r:.40}")
    if base is not None:
        inherited = finetune.inherited(Path(base), asked)
        defaults = tasks.find(inherited["task"]).defaults
        values = check_config(configuration.merge(defaults, inherited, from_file, settings or {}, given))
        finetune.check_fit(inherited, values)
        return values
    chosen_task = tasks.find(_task_for(asked or "translation", wanted, given["data"]))
    chosen = models.named(wanted or chosen_task.default_model)
    automatic = preset in (None, "auto") and chosen_task.presets
    sizes = models.find_preset(chosen["name"], chosen_task.name, "small" if automatic else preset or "small")
    if automatic and not (isinstance(own, dict) and sizes["model"].keys() & own.keys()):
        preset = "auto"
    about: configuration.Values = {"task": chosen_task.name, "model": chosen, "train": {"preset": preset or "small"}}
    return check_config(configuration.merge(chosen_task.defaults, sizes, from_file, settings or {}, about, given))


def _task_for(task: str, model: str | None, data: Mapping[str, Any]) -> str:
    """The task that is meant: classification of images if the model, or else the data, is of images."""
    if task == "classification" and model is None and _holds_images(data.get("files")):
        return "image_classification"
    return models.meant(task, model)


def _holds_images(files: Sequence[str] | None) -> bool:
    """Whether the data is an .npz, or a folder with only folders in it (hidden files do not count)."""
    first = Path(files[0]) if files else Path()
    if not files or not first.is_dir():
        return first.suffix == ".npz"
    try:
        inside = [entry for entry in first.iterdir() if not entry.name.startswith(".")]
    except OSError:  # reported when the data is read
        return False
    return bool(inside) and all(entry.is_dir() for entry in inside)

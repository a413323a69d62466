"""The library: `train`, `load`, and the model they return. Every command of the command line is one call here."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mirada import config as configuration
from mirada import models, tasks
from mirada.data.checkup import check
from mirada.data.sources import Paths, data_settings
from mirada.errors import BundleError, ConfigError, DataError, UsageError
from mirada.model import info, info_text, load
from mirada.tasks.task import Model
from mirada.training import finetune
from mirada.training.loop import Listener
from mirada.training.run import check_config, run
from mirada.training.settings import MAY_CHANGE

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
        folder = Path(resume)
        values = _resumed(folder, configuration.merge(settings or {}, given))
    else:
        if base is not None and (model or preset):
            raise UsageError(f"--base {base}: decides the model and its sizes; leave out --model and --preset")
        values = _effective(task, model, preset, base, config, settings, given)
        folder = _claim(out, overwrite)
    try:
        return run(folder, values, listen, started)
    except (DataError, UsageError):
        if resume is None:  # nothing has begun: the name is free again
            shutil.rmtree(folder)
        raise


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
    named = configuration.merge(from_file, settings or {}).get("model", {})
    wanted = model or (named.get("name") if isinstance(named, dict) else None)
    asked = task or from_file.get("task")
    for name, value in (("task", asked), ("model.name", wanted)):
        if not isinstance(value, str | None):
            raise ConfigError(f"{name}: should be a name, not {value!r:.40}")
    if asked == "classification" and wanted is None and base is None and _holds_pictures(given["data"].get("files")):
        wanted = "vit"
    if base is not None:
        inherited = finetune.inherited(Path(base), asked)
        defaults = tasks.find(inherited["task"]).defaults
        values = check_config(configuration.merge(defaults, inherited, from_file, settings or {}, given))
        finetune.check_fit(inherited, values)
        return values
    chosen_task = tasks.find(models.meant(asked or "translation", wanted))
    chosen = models.named(wanted or chosen_task.default_model)
    sizes = models.find_preset(chosen["name"], chosen_task.name, preset or "small")
    about: configuration.Values = {"task": chosen_task.name, "model": chosen}
    return check_config(configuration.merge(chosen_task.defaults, sizes, from_file, settings or {}, about, given))


def _holds_pictures(files: Sequence[str] | None) -> bool:
    """Whether the data is an .npz, or a folder with folders and no files in it (hidden ones do not count)."""
    first = Path(files[0]) if files else Path()
    if not files or not first.is_dir():
        return first.suffix == ".npz"
    try:
        inside = [entry for entry in first.iterdir() if not entry.name.startswith(".")]
    except OSError:  # whoever reads the data says so
        return False
    return bool(inside) and all(entry.is_dir() for entry in inside)


def _claim(out: str | Path | None, overwrite: bool) -> Path:
    """An empty directory to write to; what is there already is touched only when `overwrite` says so."""
    if out is None:
        raise UsageError("where should the bundle go? Name a directory: --out es-en")
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        if not overwrite:
            raise UsageError(
                f"--out {folder}: exists already; go on with it (--resume {folder}), replace it (--overwrite), "
                "or choose another name"
            )
        if not (folder / "config.yaml").is_file():
            raise UsageError(f"--out {folder}: is not a bundle, so --overwrite does not delete it; choose another name")
        shutil.rmtree(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {folder}: cannot be created ({error.strerror})") from None
    return folder


def _resumed(folder: Path, changes: configuration.Values) -> configuration.Values:
    """The configuration of an earlier run, with the changes that a resumed run may have."""
    if not (folder / "config.yaml").is_file():
        raise BundleError(f"{folder}: there is no training to resume (it has no config.yaml)")
    for section, part in changes.items():
        for key in part if isinstance(part, dict) else [None]:
            if section != "train" or key not in MAY_CHANGE:
                raise UsageError(f"{section}.{key}: cannot change in a resumed run; start a new one for that")
    return check_config(configuration.merge(configuration.read(folder / "config.yaml"), changes))

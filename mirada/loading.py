"""Opens bundles: the trained model in them, and its description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import nn
from typing_extensions import TypeVar

from mirada import bundle as bundles
from mirada import config as configuration
from mirada import models, tasks
from mirada.bundle import Bundle
from mirada.card import Card
from mirada.contracts import Stepwise
from mirada.device import select_device
from mirada.errors import BundleError, ConfigError, UsageError, counted
from mirada.nn.blocks import lay_out
from mirada.parsing import Malformed, check
from mirada.tasks.task import Model, Task
from mirada.tensors import check_specs, outline, tensor_specs

M = TypeVar("M", bound=Model, default=Any)


def load(
    path: str | Path,
    kind: type[M] | None = None,
    *,
    device: str = "auto",
    threads: int | None = None,
    engine: str = "auto",
    quantize: str | None = None,
    precision: str = "float32",
) -> M:
    """Open a bundle. Its task decides the class of the result: TranslationModel, ClassificationModel, …

    "a+b" opens the translators a and b as an ensemble, which averages their probabilities.

    With `kind` the result is typed, and a bundle of another task is refused: `load("es-en", TranslationModel)`.
    `device` is auto, cpu, cuda, …; `threads` is the number of CPU threads. What computes the texts of a translator is
    its `engine`: torch (in `precision` float32 or bfloat16), ctranslate2 (with its weights in `quantize` int8, …), or
    auto, which takes CTranslate2 where it is installed and can run the model. Both give the same answers.
    """
    check_path(path, "path")
    if len(parts := bundles.members(Path(path))) > 1:
        members = [load(part, kind, device=device, threads=threads, engine="torch") for part in parts]
        ensemble: Any = type(members[0]).ensemble(Path(path), members)
        ensemble.use_engine(engine, quantize, precision)
        return ensemble
    found = bundles.read(Path(path))
    task = task_of(found)
    if kind is not None and not issubclass(task.model, kind):
        raise wrong_verb(task.name, path)
    where = select_device(device, threads)
    sections, preprocessor, network = _build(found, task)
    values = {**found.config, **{name: section.model_dump(mode="json") for name, section in sections.items()}}
    model: Any = task.model(found.path, found.card, values, network, preprocessor, where)
    model.use_engine(engine, quantize, precision)
    return model  # of the class `kind`, as checked above


def _build(found: Bundle, task: Task) -> tuple[dict[str, Any], Any, nn.Module]:
    """The configuration's sections that the task uses, the preprocessor, and the network with its weights."""
    try:
        kinds = {"model": models.find(configuration.model_name(found.config), task.name).config}
        kinds |= {name: task.sections[name] for name in task.used}
        sections = task.complete(configuration.build(kinds, {name: found.config.get(name) for name in kinds}))
        preprocessor = task.open(found.files, found.path)
        with outline():  # no memory is allocated before the shapes are known to fit
            expected = task.network(sections["model"], preprocessor)
    except ConfigError as error:
        raise BundleError(f"{found.path / 'config.yaml'}: does not describe a model ({error})") from None
    check_specs(tensor_specs(expected), found.weights, found.path, BundleError)
    network = task.network(sections["model"], preprocessor)
    bundles.put_weights(network, found.weights, str(found.path))
    if isinstance(network, Stepwise):
        lay_out(network)
    return sections, preprocessor, network


def wrong_verb(task: str, path: str | Path) -> UsageError:
    """The error for a bundle of another task than a verb is for."""
    return UsageError(
        f"{path}: is a model for {task}; use it with: mirada {_task({'task': task}, Path(path)).verb} {path}"
    )


def check_path(given: Any, name: str, several: bool = False) -> None:
    """Refuse what is neither a path nor None; `several` allows a list of paths."""
    for path in given if several and isinstance(given, (list, tuple)) else [given]:
        if path is not None and not isinstance(path, (str, Path)):
            raise UsageError(f"{name} must be a path, not {path!r:.40} ({type(path).__name__})")


def task_of(found: Bundle) -> Task:
    """The task of a bundle."""
    return _task(found.card, found.path)


def _task(card: Mapping[str, Any], path: Path) -> Task:
    try:
        return tasks.find(card["task"])
    except UsageError:
        name = str(card["task"])[:40]
        raise BundleError(f"{path}: is for the task {name!r}, which this Mirada does not know") from None


def info(path: str | Path) -> dict[str, Any]:
    """The card and the configuration of a bundle."""
    return {**bundles.read_card(Path(path)), "config": bundles.read_config(Path(path))}


def _whole(about: dict[str, Any], path: Path) -> dict[str, Any]:
    """A bundle's description, checked to have everything that `info_text` reads."""
    task = _task(about, path)
    try:
        configuration.model_name(about["config"])
        data = asdict(check(task.report, about.get("data", {})))
    except ConfigError as fault:
        raise BundleError(f"{path / 'config.yaml'}: does not describe a model ({fault})") from None
    except Malformed as fault:
        raise BundleError(f"{path / 'card.json'}: is damaged (data.{fault})") from None
    return {**check(Card, about).model_dump(by_alias=True), "data": data, "config": about["config"]}


def info_text(path: str | Path) -> str:
    """The description of a bundle, as text."""
    about = _whole(info(path), Path(path))
    data, run, model = about["data"], about["training"], about["config"]["model"]
    origin = about["imported"]
    unknown = ("data", "dev") if origin else ()  # an imported model has no data
    if origin:
        history = [("imported", "; ".join([f"{origin['type']} from {origin['from']}", *origin["notes"]]))]
    else:
        length = f"{counted(run['steps'], 'step')}, {run['epochs']:g} epochs, {run['seconds'] / 60:.1f} minutes"
        machine = f"{run['device']} with {counted(run['threads'], 'thread')} in {run['precision']}"
        end = "" if run["finished"] else " (not finished)"
        history = [("training", f"{length} on {machine}{end}"), ("data id", data["fingerprint"][:16])]
    lines = [
        ("task", about["task"]),
        ("model", f"{about['model']}, {about['parameters']:,} parameters"),
        ("sizes", ", ".join(f"{key} {value}" for key, value in model.items() if key != "name" and value is not None)),
        *(line for line in tasks.find(about["task"]).describe(about) if line[0] not in unknown),
        *history,
        ("written by", ", ".join(f"{name} {version}" for name, version in about["software"].items())),
    ]
    for part, title in (("new", "on its dev set"), ("old", "on the base's")) if about["base"] else ():
        before, after = about["base"]["before"].get(part), (about["base"].get("after") or {}).get(part)
        if before and after:
            name = next(iter(after))
            lines.append(("base", f"{title}: {name} {before[name]:.1f} before, {after[name]:.1f} now"))
    for score in (about["scores"] or {}).get("scores", []):
        lines.append((score["name"], f"{score['value']:,.{score['digits']}f}   {score['signature']}"))
    return aligned(lines)


def aligned(lines: Sequence[tuple[str, str]]) -> str:
    """Names and values in two columns."""
    width = max(11, *(len(name) for name, _ in lines))
    return "\n".join(f"{name:<{width}} {value}" for name, value in lines)

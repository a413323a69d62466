"""The status of the training run in a folder: finished or not, and how far it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mirada import bundle as bundles
from mirada import config as configuration
from mirada.errors import BundleError, ConfigError
from mirada.training import checkpoints
from mirada.training.config import LIMITS
from mirada.training.loop import Event, Listener
from mirada.training.report import read_log
from mirada.training.workspace import Workspace, unfinished


def finished(work: Workspace, values: configuration.Values, listen: Listener) -> str | None:
    """A message for a run that is finished and has its bundle, with the way to train further; None for others."""
    try:
        card, trained = bundles.read_card(work.folder), bundles.read_config(work.folder)["train"]
        training = card["training"]
        same = card.get("run", "") == work.id
        if not (same and training["finished"] and card["scores"]):
            return None
        if any(trained.get(name) != values["train"].get(name) for name in LIMITS):
            return None
    except (BundleError, ConfigError, KeyError, TypeError):
        return None
    folder = work.run / "checkpoints"
    progress = checkpoints.newest(folder)
    if progress is None or not progress.finished or progress.step != training["steps"]:
        return None

    def warn(text: str) -> None:
        listen(Event("note", {"text": text}))

    whole = checkpoints.load(folder, warn)
    if whole is None or whole[0].step != progress.step:
        return None
    return (
        f"{work.folder}: training is finished ({progress.step:,} steps); to train further, "
        f"raise the budget: mirada train --resume {work.folder} {_more(values['train'], progress.step)}"
    )


def _more(train: configuration.Values, steps: int) -> str:
    """The options that double a budget."""
    given = [f"--{name} {2 * train[name]:.15g}" for name in ("minutes", "epochs", "steps") if train.get(name)]
    return " ".join(given) or f"--steps {2 * steps}"


def info(path: str | Path) -> dict[str, Any] | None:
    """Information about a run that has not written a bundle yet, or None."""
    found = unfinished(Path(path))
    if found is None:
        return None
    config, run = found
    values = configuration.read(config)
    progress = checkpoints.newest(run / "checkpoints")
    best_score, measure = _best(run / "log.jsonl", progress)
    return {
        "task": values.get("task"),
        "model": values.get("model", {}).get("name"),
        "training": {
            "finished": False,
            "prepared": (run / "data" / "prepared.json").exists(),
            "steps": progress.step if progress else 0,
            "epochs": progress.epoch if progress else 0,
            "tokens": progress.tokens if progress else 0,
            "seconds": round(progress.seconds, 1) if progress else 0.0,
            "best_score": best_score,
            "measure": measure,
            "best_step": progress.best_step if progress else 0,
        },
        "config": values,
    }


def _best(log: Path, progress: checkpoints.Progress | None) -> tuple[float | None, str]:
    """The best dev score as the log shows it, and what it measures; a checkpoint has neither its sign nor its name."""
    if progress is None or progress.best_score is None:
        return None, ""
    for event in reversed(read_log(log) if log.exists() else []):
        if event["kind"] == "validation" and event["step"] == progress.best_step:
            return event["score"], event["measure"]
    return progress.best_score, "score"


def text(path: str | Path, about: dict[str, Any]) -> list[tuple[str, str]]:
    """The information on a run as text, in pairs of name and value."""
    run, config = about["training"], about["config"]
    data = config.get("data", {})
    given = [data.get("source"), data.get("files"), data.get("target")]
    files = ", ".join(str(file) for part in given if part for file in (part if isinstance(part, list) else [part]))
    state = "the data is not prepared yet" if not run["prepared"] else "no checkpoint yet"
    if run["steps"]:
        state = f"{run['steps']:,} steps, {run['seconds'] / 60:.1f} minutes"
    lines = [
        ("task", str(about["task"])),
        ("model", str(about["model"])),
        *([("data", files)] if files else []),
        ("training", f"not finished: {state}"),
    ]
    if run["best_score"] is not None:
        score = f"{run['measure']} {run['best_score']:.4g}"
        lines.append(("best", f"{score} on the dev set at step {run['best_step']:,}"))
    return [*lines, ("resume with", f"mirada train --resume {path}")]

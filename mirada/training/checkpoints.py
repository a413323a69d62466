"""Checkpoints: written whole or not at all, the last two kept, a damaged one detected and the one before it used.

    step-00001200.safetensors   weights, their average, the optimiser's memory
    step-00001200.json          counters, and the sha256 of the tensors; written last

Random numbers need no saving: every step seeds them anew from the run's seed and its own number.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from mirada.errors import TrainingError
from mirada.files import write_bytes, write_text

KEPT = 2


@dataclass
class Progress:
    """Where a training is."""

    step: int = 0
    epoch: int = 0
    position: int = 0  # batches of this epoch that are done
    seconds: float = 0.0  # spent on training so far, over all sessions
    tokens: int = 0
    best_score: float | None = None
    best_step: int = 0
    best_loss: float | None = None
    improved_step: int = 0  # the last one at which score or loss were better than before
    examples: int = 0  # training examples since the last validation
    validation_size: int = 0  # dev examples in every validation; 0 before the first
    validations: int = 0
    validation_seconds: float = 0.0
    validation_pending: bool = False  # one was due, and interrupted
    skipped: int = 0  # steps left out because of non-finite numbers
    corpus: str = ""  # the fingerprint of the data
    finished: bool = False
    limits: list[float | None] | None = None  # what a finished run was ended by: steps, epochs, minutes, patience


def save(folder: Path, progress: Progress, tensors: dict[str, Tensor]) -> None:
    """Write a checkpoint, then delete all but the last two."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"step-{progress.step:08d}"
    content = save_tensors({key: value.detach().cpu().contiguous() for key, value in tensors.items()})
    # The old description goes first, so that it never stands beside tensors that it does not describe.
    (folder / f"{name}.json").unlink(missing_ok=True)
    try:
        write_bytes(folder / f"{name}.safetensors", content)
        about = {**asdict(progress), "sha256": hashlib.sha256(content).hexdigest()}
        write_text(folder / f"{name}.json", json.dumps(about, indent=2))
    except OSError as error:
        kept = _steps(folder)
        safe = f"the checkpoint of step {kept[-1]} is intact" if kept else "there is no earlier checkpoint"
        raise TrainingError(
            f"{folder / name}.safetensors: could not be written ({error.strerror}, {len(content) // 2**20} MiB); "
            f"{safe}; make room, then resume"
        ) from None
    for step in _steps(folder)[:-KEPT]:
        remove(folder, step)


def remove(folder: Path, step: int) -> None:
    """Delete one checkpoint, its description first."""
    (folder / f"step-{step:08d}.json").unlink(missing_ok=True)
    (folder / f"step-{step:08d}.safetensors").unlink(missing_ok=True)


def load(folder: Path, warn: Callable[[str], None]) -> tuple[Progress, dict[str, Tensor]] | None:
    """The newest checkpoint that is whole; None when there is none."""
    for partial in folder.glob("*.partial"):
        partial.unlink(missing_ok=True)
    for step in reversed(_steps(folder)):
        try:
            return _read(folder, step)
        except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
            warn(f"the checkpoint of step {step} is damaged ({error}): the one before it is used")
            remove(folder, step)
    return None


def exist(folder: Path) -> bool:
    """Whether a run in this folder has taken steps."""
    return bool(_steps(folder))


def newest(folder: Path) -> Progress | None:
    """Where a training was when it was saved last, by the checkpoint's description alone; None if that is damaged."""
    steps = _steps(folder)
    try:
        return _described(folder, steps[-1])[0] if steps else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _steps(folder: Path) -> list[int]:
    found = (path.stem.removeprefix("step-") for path in folder.glob("step-*.json"))
    return sorted(int(number) for number in found if number.isdecimal())


def _read(folder: Path, step: int) -> tuple[Progress, dict[str, Tensor]]:
    progress, digest = _described(folder, step)
    content = (folder / f"step-{step:08d}.safetensors").read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError("its checksum differs")
    return progress, load_tensors(content)


def _described(folder: Path, step: int) -> tuple[Progress, str]:
    about = json.loads((folder / f"step-{step:08d}.json").read_text(encoding="utf-8"))
    digest = about.pop("sha256")
    names = {field.name for field in fields(Progress)}
    return Progress(**{key: value for key, value in about.items() if key in names}), digest

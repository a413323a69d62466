"""Checkpoints: written atomically; the last two are kept, and a damaged one is replaced by the one before it.

    step-00001200.safetensors   weights, their average, optimiser state, snapshots
    step-00001200.json          counters, and the sha256 of the tensors; written last

Random numbers need no saving: every step seeds them from the run's seed and its own number.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from safetensors.torch import save as save_tensors
from torch import Tensor

from mirada.contracts import Validation
from mirada.errors import TrainingError
from mirada.files import write_bytes, write_text
from mirada.parsing import Malformed, check, read_json
from mirada.tensors import check_specs, load_tensors, read_content

KEPT = 2

Count = Annotated[int, Field(strict=True, ge=0, le=2**53)]
Seconds = Annotated[float, Field(strict=True, ge=0, le=1e12)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]


@dataclass
class Progress:
    """The counters of a run. Checkpoints of earlier versions may lack some; every value is validated."""

    step: Count = 0
    epoch: Count = 0
    position: Count = 0  # batches of this epoch done so far
    seconds: Seconds = 0.0  # of the run so far, over all sessions
    tokens: Count = 0
    best_score: Number | None = None
    best_step: Count = 0
    best_loss: Number | None = None
    improved_step: Count = 0  # the last one at which score or loss improved
    examples: Count = 0  # training examples since the last validation
    validation_size: Count = 0  # dev examples in every validation; 0 before the first
    validations: Count = 0
    validation_seconds: Seconds = 0.0
    validation_pending: Flag = False  # a stop request interrupted one
    skipped: Count = 0  # steps with a non-finite loss or gradient
    corpus: str = ""  # the fingerprint of the data
    settings: dict[str, Any] = field(default_factory=dict)  # those that may not change on resume
    finished: Flag = False
    limits: list[Number | None] | None = None  # LIMITS of a finished run

    def is_best(self, score: float) -> bool:
        """Whether no earlier score is better; among equal scores, the latest is preferred."""
        return math.isfinite(score) and (self.best_score is None or score >= self.best_score)

    def add_validation(self, found: Validation, size: int, seconds: float) -> bool:
        """Add the result of a validation on `size` dev examples, and return whether its score is the best."""
        best = self.is_best(found.score)
        improved = best and found.score != self.best_score
        loss = found.figures.get("loss")
        if loss is not None and math.isfinite(loss) and (self.best_loss is None or loss < self.best_loss):
            self.best_loss, improved = loss, True
        if best:
            self.best_score, self.best_step = found.score, self.step
        if improved:
            self.improved_step = self.step
        self.validation_pending, self.validation_size, self.examples = False, size, 0
        self.validation_seconds += seconds
        self.validations += 1
        return best

    @property
    def contradiction(self) -> str:
        """A counter that is impossible, or an empty text."""
        late = [
            name
            for name in ("epoch", "best_step", "improved_step", "validations", "skipped")
            if getattr(self, name) > self.step
        ]
        return f"{late[0]}={getattr(self, late[0])} is beyond step={self.step}" if late else ""


def save(folder: Path, progress: Progress, tensors: dict[str, Tensor]) -> None:
    """Write a checkpoint and delete all but the last two."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"step-{progress.step:08d}"
    content = save_tensors({key: value.detach().cpu().contiguous() for key, value in tensors.items()})
    # The old description is deleted first: it must never describe other tensors.
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
    for path in (folder / f"step-{step:08d}.json", folder / f"step-{step:08d}.safetensors"):
        if path.is_dir() and not path.is_symlink():
            raise TrainingError(f"{path}: is a directory, where a checkpoint should be; remove it")
        path.unlink(missing_ok=True)


def load(folder: Path, warn: Callable[[str], None]) -> tuple[Progress, dict[str, Tensor]] | None:
    """The newest undamaged checkpoint, or None."""
    for partial in folder.glob("*.partial"):
        partial.unlink(missing_ok=True)
    steps = _steps(folder)
    while steps:
        step = steps.pop()
        try:
            return _read(folder, step)
        except (TrainingError, Malformed, OSError) as error:
            instead = "the one before it is used" if steps else "there is none before it, so training starts again"
            warn(f"the checkpoint of step {step} is damaged ({error}): {instead}")
            remove(folder, step)
    return None


def exist(folder: Path) -> bool:
    """Whether a run in this folder has taken steps."""
    return bool(_steps(folder))


def newest(folder: Path) -> Progress | None:
    """The progress of the newest checkpoint, without reading its tensors; None if there is none or it is damaged."""
    steps = _steps(folder)
    try:
        return _described(folder, steps[-1])[0] if steps else None
    except (Malformed, TrainingError):
        return None


def _steps(folder: Path) -> list[int]:
    found = (path.stem.removeprefix("step-") for path in folder.glob("step-*.json"))
    return sorted(int(number) for number in found if number.isdecimal())


def _read(folder: Path, step: int) -> tuple[Progress, dict[str, Tensor]]:
    progress, digest = _described(folder, step)
    path = folder / f"step-{step:08d}.safetensors"
    content = read_content(path, TrainingError)
    if hashlib.sha256(content).hexdigest() != digest:
        raise Malformed("its checksum differs")
    return progress, load_tensors(content, path, TrainingError, loose="carried.")


def _described(folder: Path, step: int) -> tuple[Progress, str]:
    """A checkpoint's counters, and the sha256 of its tensors."""
    about = read_json(folder / f"step-{step:08d}.json", dict[str, Any], TrainingError)
    digest = about.pop("sha256", "")
    progress: Progress = check(Progress, about)
    if progress.step != step:
        raise Malformed(f"its step is {progress.step}, but its name says {step}")
    if problem := progress.contradiction:
        raise Malformed(problem)
    return progress, str(digest)


def conflict(saved: Progress, now: Progress) -> str:
    """Why a run cannot be resumed from a checkpoint: other data, or a changed setting; an empty text if it can."""
    if saved.corpus != now.corpus:
        return "the checkpoints are of a run on other data than the corpus beside them"
    change = changed(saved.settings, now.settings)
    return change and f"{change}: set it back in config.yaml, or start a new run"


def changed(before: dict[str, Any], now: dict[str, Any]) -> str:
    """The first setting whose value differs, or an empty text; settings that only one of the two has are ignored."""
    for name in sorted(before.keys() & now.keys()):
        if before[name] != now[name]:
            return f"{name} is {now[name]!r:.80} now, and was {before[name]!r:.80}"
    return ""


def below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names have a prefix, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def check_fit(wanted: Mapping[str, Tensor], tensors: Mapping[str, Tensor], where: Path) -> None:
    """Refuse a checkpoint of another model: its weights and their averages must have these names and shapes."""
    forms = {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in wanted.items()}
    given = {name: tensor for name, tensor in tensors.items() if name.startswith(("model.", "average."))}
    check_specs(forms, given, where, TrainingError)

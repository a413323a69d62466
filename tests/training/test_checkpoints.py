"""Checkpoints that somebody altered: the one before is used, or the run is refused by naming what does not fit."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

import mirada
from mirada.errors import DataError, MiradaError, TrainingError
from mirada.training import checkpoints
from mirada.training.checkpoints import Progress
from mirada.training.loop import Event
from mirada.training.report import read_log
from tests import toy

TINY = {**toy.TINY, "train": {**toy.TINY["train"], "checkpoint_every": 2, "validate_every": 2, "validate_sentences": 4}}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four steps; its checkpoints are those of steps 2 and 4."""
    folder = tmp_path_factory.mktemp("run")
    pairs = toy.write(folder / "pairs.tsv", toy.pairs(300))
    mirada.train(pairs, out=folder / "run", steps=4, settings=TINY)
    return folder / "run"


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


def checkpoint(run: Path, step: int = 4) -> Path:
    return run / "run" / "checkpoints" / f"step-{step:08d}.json"


def configuration(run: Path) -> Path:
    """config.yaml, wherever in the folder the run keeps it."""
    return next(path for path in (run / "run" / "config.yaml", run / "config.yaml") if path.exists())


def resume(run: Path) -> list[str]:
    """Two more steps; what was noted."""
    notes: list[str] = []

    def listen(event: Event) -> None:
        if event.kind == "resumed":
            notes.append(f"resumed at step {event.figures['step']}")
        elif event.kind == "note":
            notes.append(event.figures["text"])

    mirada.train(resume=run, steps=6, listen=listen)
    return notes


WRONG: list[Any] = [
    "null", "[]", "[" * 100_000, "1", "{}",
    *({key: value} for key, value in [
        ("step", 5), ("step", "4"), ("step", -4), ("step", True), ("seconds", float("nan")), ("seconds", -1),
        ("seconds", "x"), ("tokens", 1e300), ("best_score", "high"), ("best_score", float("inf")),
        ("position", -1), ("position", None),
        ("epoch", 10**6), ("best_step", 10**6), ("corpus", 3), ("finished", "yes"), ("finished", 1),
    ]),
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: str(wrong)[:30])
def test_a_checkpoint_with_wrong_counters_gives_way_to_the_one_before(run: Path, wrong: Any) -> None:
    path = checkpoint(run)
    text = json.dumps({**json.loads(path.read_text()), **wrong}) if isinstance(wrong, dict) else wrong
    path.write_text(text)
    notes: list[str] = []
    found = checkpoints.load(path.parent, notes.append)
    assert found is not None
    assert found[0].step == 2
    assert "the checkpoint of step 4 is damaged" in notes[0]
    assert "\n" not in notes[0]


def test_a_checkpoint_may_lack_fields_that_are_new(run: Path) -> None:
    path = checkpoint(run)
    about = json.loads(path.read_text())
    path.write_text(json.dumps({key: about[key] for key in ("step", "corpus", "sha256")}))
    found = checkpoints.load(path.parent, print)
    assert found is not None
    assert found[0] == Progress(step=4, corpus=about["corpus"])


def rewrite(path: Path, **tensors: torch.Tensor) -> None:
    """Change tensors of a checkpoint, and its checksum with them."""
    file = path.with_suffix(".safetensors")
    save_file({**load_file(file), **tensors}, file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    path.write_text(json.dumps({**json.loads(path.read_text()), "sha256": digest}))


@pytest.mark.parametrize(
    ("tensors", "reason"),
    [
        ({"model.extra": torch.zeros(1)}, r"'model\.extra' should have shape none"),
        ({"model.source_embedding.weight": torch.zeros(3, 3)}, r"should have shape"),
        ({"optimizer.exp_avg.nowhere": torch.zeros(3)}, "optimiser state of nowhere"),
        ({"optimizer.extra.source_embedding.weight": torch.zeros(3)}, r"optimiser"),
    ],
)
def test_a_checkpoint_of_another_model_is_refused(run: Path, tensors: dict[str, torch.Tensor], reason: str) -> None:
    rewrite(checkpoint(run), **tensors)
    with pytest.raises(TrainingError, match=reason):
        resume(run)


def test_a_checkpoint_with_numbers_that_are_not_finite_gives_way(run: Path) -> None:
    name, tensor = next(
        (n, t) for n, t in load_file(checkpoint(run).with_suffix(".safetensors")).items() if t.ndim == 2
    )
    rewrite(checkpoint(run), **{name: tensor * float("nan")})
    assert any("step 4 is damaged" in note and "not finite" in note for note in resume(run))


@pytest.mark.parametrize(
    ("section", "key", "value"), [("train", "lr", 0.5), ("train", "seed", 9), ("model", "dropout", 0.4)]
)
def test_a_setting_that_may_not_change_is_named(run: Path, section: str, key: str, value: float) -> None:
    values = yaml.safe_load(configuration(run).read_text())
    values[section][key] = value
    configuration(run).write_text(yaml.safe_dump(values))
    with pytest.raises(TrainingError, match=rf"{section}\.{key} is {value} now, and was"):
        resume(run)


def test_a_budget_may_change(run: Path) -> None:
    assert "resumed at step 4" in resume(run)


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"\xff" * 8 + b"{}"])
def test_damaged_best_weights_are_refused(run: Path, content: bytes) -> None:
    about = json.loads(checkpoint(run).read_text())
    checkpoint(run).write_text(json.dumps({**about, "best_score": 1e9, "best_loss": -1e9}))  # nothing better comes
    (run / "run" / "best.safetensors").write_bytes(content)
    with pytest.raises(MiradaError, match=r"best\.safetensors: has been altered or damaged"):
        resume(run)


def test_a_damaged_log_is_read_as_far_as_it_can_be(tmp_path: Path) -> None:
    step = {"kind": "step", "step": 1, "loss": 2.0, "rate": 0.1, "tokens": 5, "seconds": 0.5}
    lines = [
        json.dumps(step),
        "null",
        "[]",
        "{}",
        '{"kind": 3}',
        '{"kind": "step"}',
        "[" * 50_000,
        "\0",
        '{"kind": "note"}',
    ]
    wrong = [json.dumps({**step, "loss": "x"}), json.dumps({**step, "step": 2**70})]
    (tmp_path / "log.jsonl").write_text("\n".join([*lines, *wrong, '{"kind": "st']))
    assert read_log(tmp_path / "log.jsonl") == [step, {"kind": "note"}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("prepared.json", b"null"),
        ("prepared.json", b'{"read": "x"}'),
        ("dev.jsonl", b'["a"]\n'),
        ("dev.jsonl", b""),
        ("source.json", b"{}"),
        ("corpus/corpus.json", b'{"dtype": "float64", "fingerprint": "x"}'),
        ("corpus/source.ids", b"x"),
        ("corpus/target.offsets", bytes(16)),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_damaged_data_is_refused_with_the_way_out(run: Path, name: str, content: bytes, known: bool) -> None:
    folder = run / "run" / "data"
    if not known:  # a run of a version that kept no checksums
        report = json.loads((folder / "prepared.json").read_text())
        (folder / "prepared.json").write_text(json.dumps({**report, "files": {}}))
    (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=rf"delete {folder} to have the data prepared again"):
        resume(run)
    shutil.rmtree(folder)
    assert "resumed at step 4" in resume(run)


def test_only_the_last_two_checkpoints_are_kept(tmp_path: Path) -> None:
    for step in range(1, 6):
        checkpoints.save(tmp_path, Progress(step=step), {"x": torch.full((3,), float(step))})
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["step-00000004.json", "step-00000005.json"]
    assert len(list(tmp_path.glob("*.safetensors"))) == 2
    (tmp_path / "step-00000005.json").write_text("{")
    warnings: list[str] = []
    found = checkpoints.load(tmp_path, warnings.append)
    assert found is not None
    assert found[0].step == 4
    assert len(warnings) == 1

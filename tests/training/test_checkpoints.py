"""Checkpoints that somebody altered: the one before is used, or the run is refused by naming what does not fit."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from dataclasses import asdict
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


# --- files ---


def tensors(value: float = 1.0) -> dict[str, torch.Tensor]:
    return {"model.w": torch.full((2, 3), value), "optimizer.step.w": torch.tensor(value)}


def test_a_checkpoint_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "checkpoints"
    written = Progress(step=7, epoch=2, position=3, seconds=1.5, tokens=99, best_score=-2.5, best_loss=0.5, corpus="x")
    written.settings, written.limits = {"train.lr": 0.1}, [7, None, 0.5, None]
    transposed = torch.arange(6.0).reshape(2, 3).T.requires_grad_()
    checkpoints.save(folder, written, {**tensors(), "model.t": transposed})
    found = checkpoints.load(folder, pytest.fail)
    assert found is not None
    assert found[0] == written
    assert found[1].keys() == {*tensors(), "model.t"}
    assert torch.equal(found[1]["model.t"], transposed.detach())
    assert checkpoints.newest(folder) == written
    assert checkpoints.exist(folder)


def test_there_may_be_none(tmp_path: Path) -> None:
    assert checkpoints.load(tmp_path / "nowhere", pytest.fail) is None
    assert checkpoints.newest(tmp_path) is None
    assert not checkpoints.exist(tmp_path)


def test_a_run_begins_at_nothing() -> None:
    counts = ("step", "epoch", "position", "seconds", "tokens", "best_step", "improved_step", "examples")
    more = ("validation_size", "validations", "validation_seconds", "skipped")
    assert asdict(Progress()) == {
        **dict.fromkeys((*counts, *more), 0), **dict.fromkeys(("best_score", "best_loss", "limits")),
        "validation_pending": False, "finished": False, "corpus": "", "settings": {},
    }  # fmt: skip


@pytest.mark.parametrize("name", ["epoch", "best_step", "improved_step", "validations", "skipped"])
def test_no_counter_goes_beyond_the_step(name: str) -> None:
    assert Progress(step=4, **{name: 4}).contradiction == ""  # type: ignore[arg-type]
    assert name in Progress(step=4, **{name: 5}).contradiction  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "most", "beyond"), [("tokens", 2**53, 2**53 + 1), ("seconds", 1e12, 1.1e12), ("seconds", 0, -0.1)]
)
def test_counters_have_their_bounds(name: str, most: float, beyond: float, tmp_path: Path) -> None:
    checkpoints.save(tmp_path, Progress(step=4), tensors())
    path = tmp_path / "step-00000004.json"
    about = json.loads(path.read_text())
    path.write_text(json.dumps({**about, name: most}))
    assert getattr(checkpoints.newest(tmp_path), name) == most
    path.write_text(json.dumps({**about, name: beyond}))
    assert checkpoints.newest(tmp_path) is None


def test_a_carried_state_may_hold_any_numbers(tmp_path: Path) -> None:
    checkpoints.save(tmp_path, Progress(step=1), {"carried.h": torch.tensor([math.nan, math.inf])})
    found = checkpoints.load(tmp_path, pytest.fail)
    assert found is not None
    assert found[1]["carried.h"].isinf().tolist() == [False, True]


def test_files_that_a_kill_left_half_written_are_deleted(tmp_path: Path) -> None:
    checkpoints.save(tmp_path, Progress(step=1), tensors())
    (tmp_path / "step-00000002.safetensors.partial").write_bytes(b"half")
    assert checkpoints.load(tmp_path, pytest.fail) is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000001.json", "step-00000001.safetensors"]


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
    assert not (tmp_path / "step-00000005.safetensors").exists()


def test_it_is_said_what_replaces_a_damaged_checkpoint(tmp_path: Path) -> None:
    for step in (1, 2):
        checkpoints.save(tmp_path, Progress(step=step), tensors())
        (tmp_path / f"step-{step:08d}.json").write_text("{")
    notes: list[str] = []
    assert checkpoints.load(tmp_path, notes.append) is None
    assert "step 2 is damaged" in notes[0]
    assert "the one before it is used" in notes[0]
    assert "step 1 is damaged" in notes[1]
    assert "training starts again" in notes[1]


def test_checkpoints_are_ordered_by_number(tmp_path: Path) -> None:
    """Also beyond eight digits; what is not called by a number is none."""
    for step in (99_999_999, 100_000_000):
        checkpoints.save(tmp_path, Progress(step=step), tensors(step))
    (tmp_path / "step-last.json").write_text("{}")
    found = checkpoints.load(tmp_path, pytest.fail)
    assert found is not None
    assert found[0].step == 100_000_000


def test_tensors_that_were_changed_are_noticed_by_their_checksum(tmp_path: Path) -> None:
    for step in (1, 2):
        checkpoints.save(tmp_path, Progress(step=step), tensors(step))
    save_file(tensors(9), tmp_path / "step-00000002.safetensors")
    notes: list[str] = []
    found = checkpoints.load(tmp_path, notes.append)
    assert found is not None
    assert found[0].step == 1
    assert found[1]["model.w"][0, 0] == 1
    assert len(notes) == 1


@pytest.mark.parametrize("earlier", [True, False])
def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(earlier: bool, tmp_path: Path) -> None:
    if earlier:
        checkpoints.save(tmp_path, Progress(step=1), tensors())
    (tmp_path / "step-00000002.safetensors").mkdir()
    kept = "step 1 is intact" if earlier else "no earlier checkpoint"
    with pytest.raises(TrainingError, match=rf"{tmp_path}/step-00000002\.safetensors: .*0 MiB.*{kept}"):
        checkpoints.save(tmp_path, Progress(step=2), tensors())
    (tmp_path / "step-00000002.safetensors").rmdir()
    assert (checkpoints.load(tmp_path, pytest.fail) is not None) == earlier


def test_a_step_that_is_written_again_never_has_an_old_description(tmp_path: Path) -> None:
    checkpoints.save(tmp_path, Progress(step=2), tensors())
    (tmp_path / "step-00000002.safetensors").unlink()
    (tmp_path / "step-00000002.safetensors").mkdir()
    with pytest.raises(TrainingError):
        checkpoints.save(tmp_path, Progress(step=2), tensors())
    assert not (tmp_path / "step-00000002.json").exists()


def test_half_a_checkpoint_can_be_removed(tmp_path: Path) -> None:
    (tmp_path / "step-00000001.json").touch()
    (tmp_path / "step-00000002.safetensors").touch()
    checkpoints.remove(tmp_path, 1)
    checkpoints.remove(tmp_path, 2)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_in_the_place_of_a_checkpoint_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "step-00000001.json").mkdir()
    with pytest.raises(TrainingError, match="is a directory"):
        checkpoints.remove(tmp_path, 1)


def test_the_first_setting_that_changed_is_named() -> None:
    before, now = {"a": 1, "b": 2, "c": 3, "old": 4}, {"a": 1, "b": 5, "c": 6, "new": 7}
    assert checkpoints.changed(before, now) == "b is 5 now, and was 2"
    assert checkpoints.changed({"a": 1, "old": 4}, {"a": 1, "new": 7}) == ""


def test_tensors_are_found_by_their_prefix() -> None:
    assert checkpoints.below("model.", tensors()).keys() == {"w"}
    assert checkpoints.below("optimizer.", tensors()).keys() == {"step.w"}


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({}, True),
        ({"optimizer.more": torch.zeros(1)}, True),
        ({"model.more": torch.zeros(1)}, False),
        ({"average.w": torch.zeros(2, 3)}, False),
        ({"model.w": torch.zeros(3, 2)}, False),
        ({"model.w": torch.zeros(2, 3, dtype=torch.float64)}, False),
    ],
)
def test_weights_must_have_the_names_shapes_and_types_of_the_model(
    given: dict[str, torch.Tensor], fits: bool, tmp_path: Path
) -> None:
    wanted = {"model.w": torch.zeros(2, 3)}
    if fits:
        checkpoints.check_fit(wanted, {**tensors(), **given}, tmp_path)
    else:
        with pytest.raises(TrainingError):
            checkpoints.check_fit(wanted, {**tensors(), **given}, tmp_path)


# --- runs that somebody altered ---


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

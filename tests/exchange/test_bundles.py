"""The bundle of an imported model works like any other; other files of the user stay untouched."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import mirada
from mirada import config as configuration
from mirada.errors import UsageError
from mirada.exchange import import_checkpoint
from mirada.loading import info
from mirada.tasks import find
from mirada.tasks.tagging.tags import TaggedConfig
from tests.command import refused, run
from tests.exchange.checkpoints import SAVE, save_bert, save_gpt2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bundles of every kind, and data to evaluate them on."""
    found = tmp_path_factory.mktemp("bundles")
    kinds: dict[str, Callable[[Path], Any]] = {
        **SAVE,
        "vectors": lambda path: save_bert(path, "BertModel"),
        "classes": lambda path: save_bert(path, "BertForSequenceClassification", num_labels=2),
        "tags": lambda path: save_bert(path, "BertForTokenClassification", num_labels=2),
    }
    for name, save in kinds.items():
        save(found / f"{name}-published")
        import_checkpoint(found / f"{name}-published", found / name)
    (found / "book.txt").write_text("The book is on the table.\n\nThe baby is crying, the baby cries on the book.\n")
    (found / "pairs.tsv").write_text("el bebé\tthe baby\nllora\tcries\n", encoding="utf-8")
    (found / "texts.csv").write_text("text,label\nthe baby,LABEL_0\nthe book,LABEL_1\n")
    (found / "words.conll").write_text("the\tLABEL_0\nbaby\tLABEL_1\n\nbook\tLABEL_1\n")
    noise = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    for label in ("cat", "dog"):
        (found / "images" / label).mkdir(parents=True)
        Image.fromarray(noise).save(found / "images" / label / "one.png")
    return found


EVALUATED = {
    "gpt2": "book.txt",
    "bert": "book.txt",
    "marian": "pairs.tsv",
    "vit": "images",
    "classes": "texts.csv",
    "tags": "words.conll",
}


@pytest.mark.parametrize("kind", EVALUATED)
def test_evaluate_and_info_work_for_every_kind(folder: Path, kind: str) -> None:
    done = run("evaluate", folder / kind, folder / EVALUATED[kind], "--threads", 1)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    shown = run("info", folder / kind)
    assert shown.returncode == 0, shown.stderr
    assert "imported" in shown.stdout
    whole = json.loads(run("info", folder / kind, "--json").stdout)
    assert whole["config"]["data"]["files"] == [f"{kind}-published"]


@pytest.mark.parametrize("kind", EVALUATED)
def test_a_configuration_is_as_complete_as_after_training(folder: Path, kind: str) -> None:
    config = info(folder / kind)["config"]
    task = find(config["task"])
    for name, section in task.sections.items():
        assert config[name].keys() == section.model_fields.keys(), name
    built = configuration.build(task.sections, {name: config[name] for name in task.sections})
    assert {name: part.model_dump(mode="json") for name, part in built.items()} == {n: config[n] for n in built}


@pytest.mark.parametrize(
    ("kind", "lengths"),
    [
        ("gpt2", {"length": 24, "carry": False}),
        ("bert", {"length": 31}),
        ("marian", {"max_tokens": 38, "source_language": "es", "target_language": "en"}),
        ("classes", {"max_tokens": 30}),
        ("tags", {"max_tokens": 30}),
    ],
)
def test_lengths_are_those_of_the_model(folder: Path, kind: str, lengths: dict[str, Any]) -> None:
    assert lengths.items() <= info(folder / kind)["config"]["data"].items()
    assert TaggedConfig.model_fields["max_tokens"].default == 200  # so that 30 is not just the usual one


# --- an untrained head ---


def test_without_a_masked_lm_head_no_gap_is_filled(folder: Path) -> None:
    said = refused("fill", folder / "vectors", "the [MASK]", code=2)
    assert "mirada embed" in said
    assert refused("evaluate", folder / "vectors", __file__, code=2) == said
    assert f"--base {folder / 'vectors'}" in said
    model = mirada.load(folder / "vectors", device="cpu")
    assert model.try_it.startswith("mirada embed")
    assert model.card["imported"]["untrained"] == ["masked", "follows"]
    assert model.embed("the baby").vector.shape == (12,)
    assert mirada.load(folder / "bert", device="cpu").try_it.startswith("mirada fill")


@pytest.mark.parametrize(("kind", "verb"), [("BertModel", "embed"), ("BertForMaskedLM", "fill")])
def test_the_command_that_is_suggested_works(tmp_path: Path, kind: str, verb: str) -> None:
    save_bert(tmp_path / "published", kind)
    done = run("import", tmp_path / "published", "--out", tmp_path / "bundle")
    assert f"use it with: mirada {verb} {tmp_path / 'bundle'}" in done.stderr


def test_a_fine_tuned_head_fills_gaps(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text(
        "\n\n".join(f"the baby is crying {'. the book on a table' * n}" for n in range(20))
    )
    mirada.train(
        tmp_path / "book.txt", task="masked_lm", base=folder / "vectors", out=tmp_path / "out", steps=2, threads=1
    )
    assert len(mirada.load(tmp_path / "out", device="cpu").fill("the [MASK]", 2)[0]) == 2


# --- folders ---


def test_what_is_beside_the_bundle_stays(tmp_path: Path) -> None:
    save_gpt2(tmp_path / "published")
    mine = tmp_path / "bundle.partial"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    import_checkpoint(tmp_path / "published", tmp_path / "bundle")
    assert (mine / "thesis.txt").read_text() == "years of work"
    assert {path.name for path in tmp_path.iterdir()} == {"published", "bundle", "bundle.partial"}


def test_a_full_disk_leaves_nothing_and_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_gpt2(tmp_path / "published")
    (tmp_path / "bundle.partial").mkdir()

    def full(path: Path, *_: Any) -> None:
        (path / "model.safetensors").write_bytes(b"half")
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("mirada.bundle.write", full)
    with pytest.raises(UsageError, match=r"bundle: cannot be written .No space left on device."):
        import_checkpoint(tmp_path / "published", tmp_path / "bundle")
    assert {path.name for path in tmp_path.iterdir()} == {"published", "bundle.partial"}


def test_a_bundle_can_be_read_by_whom_the_users_folders_can(tmp_path: Path) -> None:
    save_gpt2(tmp_path / "published")
    import_checkpoint(tmp_path / "published", tmp_path / "new" / "bundle")
    (tmp_path / "plain").mkdir()
    rights = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new" / "bundle", tmp_path / "plain")]
    assert rights[0] == rights[1]

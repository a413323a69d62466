"""The folder of a training: who gets it, what is left of it after a refusal, and after a kill at any moment."""

from __future__ import annotations

import errno
import fcntl
import shutil
from pathlib import Path
from typing import Any

import pytest

import mirada
from mirada import bundle as bundles
from mirada.api import info_text
from mirada.errors import BundleError, DataError, Interrupted, UsageError
from mirada.training.workspace import Workspace, claimed, resumed, unfinished
from tests.killing import kills

FORMAT_1 = Path(__file__).parents[1] / "fixtures" / "format-1"


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def prepare(folder: Path, name: str, overwrite: bool = False) -> None:
    """A training called `name` that begins and does nothing."""
    with claimed(folder, overwrite) as work:
        work.save_config({"name": name})
        (work.run / "data").mkdir()
        (work.run / "data" / "corpus").write_text(name)
        work.begin()
        (work.run / "log.jsonl").write_text(name)


def stop(folder: Path, error: Exception) -> None:
    """A training that may overwrite, and stops before its data is prepared."""
    with claimed(folder, overwrite=True) as work:
        work.save_config({"name": "new"})
        error.args = error.args or (work.how_to_resume,)
        raise error


@pytest.mark.parametrize(
    "left",
    [[], ["run/"], ["run/lock"], ["run.new/"], ["run.new/config.yaml.partial"], ["config.yaml.partial", ".lock"]],
)
def test_a_folder_that_a_kill_left_empty_is_free(tmp_path: Path, left: list[str]) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name in left:
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).mkdir() if name.endswith("/") else (out / name).touch()
    with pytest.raises(BundleError, match=f"start it again with --out {out}"), resumed(out):
        pass
    prepare(out, "new")
    assert (out / "run" / "data" / "corpus").read_text() == "new"


@pytest.mark.parametrize("mine", ["precious.txt", "config.yaml", "card.json", "run/model.txt"])
def test_a_folder_of_something_else_is_not_touched(tmp_path: Path, mine: str) -> None:
    (tmp_path / mine).parent.mkdir(exist_ok=True)
    (tmp_path / mine).write_text("mine")
    before = files(tmp_path)
    for overwrite in (False, True):
        with pytest.raises(UsageError, match=r"not a bundle.*choose another name"):
            prepare(tmp_path, "new", overwrite)
    with pytest.raises(BundleError, match="no training to resume"), resumed(tmp_path):
        pass
    assert files(tmp_path) == before


def test_what_is_there_is_replaced_only_when_asked(tmp_path: Path) -> None:
    prepare(tmp_path / "out", "old")
    with pytest.raises(UsageError, match=r"exists already.*--resume.*--overwrite"):
        prepare(tmp_path / "out", "new")
    prepare(tmp_path / "out", "new", overwrite=True)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"run"}
    assert files(tmp_path / "out")["run/log.jsonl"] == b"new"


@pytest.mark.parametrize("there", [None, "empty", "training"])
def test_a_refused_training_leaves_the_folder_as_it_was(tmp_path: Path, there: str | None) -> None:
    out = tmp_path / "some" / "where"
    if there == "training":
        prepare(out, "old")
    elif there == "empty":
        out.mkdir(parents=True)
    before = files(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        stop(out, DataError("no such file"))
    assert files(tmp_path) == before
    assert out.exists() == (there is not None)


def test_a_new_training_that_is_interrupted_early_can_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match="mirada train --resume"):
        stop(tmp_path / "out", Interrupted())
    run = tmp_path / "out" / "run.new"
    assert unfinished(tmp_path / "out") == (run / "config.yaml", run)
    with resumed(tmp_path / "out") as work:
        assert work.run == tmp_path / "out" / "run"
        assert (work.run / "config.yaml").read_text() == "name: new\n"
        assert work.notes == []


def test_one_that_was_to_replace_another_has_not_begun(tmp_path: Path) -> None:
    prepare(tmp_path / "out", "old")
    with pytest.raises(Interrupted, match="is unchanged"):
        stop(tmp_path / "out", Interrupted())
    with resumed(tmp_path / "out") as work:
        assert (work.run / "config.yaml").read_text() == "name: old\n"


def test_nobody_else_gets_a_folder_that_is_in_use(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with claimed(out, overwrite=False) as work:
        work.save_config({"name": "first"})
        for overwrite in (False, True):
            with pytest.raises(UsageError, match="another process is training in it"):
                prepare(out, "second", overwrite)
        with pytest.raises(UsageError, match="another process is training in it"), resumed(out):
            pass
        assert files(out)["run.new/config.yaml"] == b"name: first\n"
        assert {path.name for path in out.iterdir()} == {"run.new"}
    with resumed(out) as work:
        assert work.run.name == "run"


def test_where_folders_cannot_be_locked_a_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on NFS, which locks only what is open for writing."""
    lock = fcntl.flock

    def only_files(target: Any, operation: int) -> None:
        if isinstance(target, int):
            raise OSError(errno.EBADF, "Bad file descriptor")
        lock(target, operation)

    monkeypatch.setattr(fcntl, "flock", only_files)
    with claimed(tmp_path / "out", overwrite=False) as work:
        work.save_config({"name": "first"})
        with pytest.raises(UsageError, match="another process"):
            prepare(tmp_path / "out", "second", overwrite=True)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file: is a file"):
        prepare(tmp_path / "file", "new", overwrite=True)
    with pytest.raises(UsageError, match=r"--out .*below: cannot be created"):
        prepare(tmp_path / "file" / "below", "new")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"--out .*dangling: cannot be created"):
        prepare(tmp_path / "dangling", "new")


@pytest.mark.parametrize("again", ["resume", "overwrite"])
def test_a_kill_at_any_moment_leaves_the_old_training_or_the_new_one(tmp_path: Path, again: str) -> None:
    out, kept = tmp_path / "out", tmp_path / "kept"
    prepare(kept, "old")
    shutil.copytree(FORMAT_1, kept, dirs_exist_ok=True, ignore=shutil.ignore_patterns("run"))
    weights = bundles.read(kept).weights

    def restore() -> None:
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(kept, out)

    found = []
    for number in kills(restore, lambda: prepare(out, "new", overwrite=True)):
        assert bundles.read(out).weights.keys() == weights.keys(), number
        if again == "overwrite":
            prepare(out, "newer", overwrite=True)
            assert {path.name for path in out.iterdir() if path.is_dir()} == {"run"}
            continue
        with resumed(out) as work:
            values = (work.run / "config.yaml").read_text()
            assert (work.run / "data" / "corpus").read_text() in values
            assert {path.name for path in out.iterdir() if path.is_dir()} == {"run"}
        found.append("new" in values)
    assert again == "overwrite" or (found == sorted(found) and set(found) == {False, True})


def test_a_kill_at_any_moment_of_a_first_training_is_no_dead_end(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def restore() -> None:
        shutil.rmtree(out, ignore_errors=True)

    for number in kills(restore, lambda: prepare(out, "new")):
        if out.exists() and any(out.glob("run*/config.yaml")):
            with resumed(out) as work:
                assert (work.run / "config.yaml").read_text() == "name: new\n", number
        else:
            prepare(out, "new")


class TestFormat1:
    """What was left by a version that had the configuration, the log and the dev set beside the card."""

    @pytest.fixture
    def old(self, tmp_path: Path) -> Path:
        return shutil.copytree(FORMAT_1, tmp_path / "es-en")

    def test_it_opens(self, old: Path) -> None:
        assert mirada.load(old).translate("el gato ve el tren").text is not None
        assert bundles.read_dev(old) == (FORMAT_1 / "dev.jsonl").read_text(encoding="utf-8")

    def test_it_is_copied_with_its_dev_set_to_start_from(self, old: Path, tmp_path: Path) -> None:
        (tmp_path / "base").mkdir()
        bundles.copy(old, tmp_path / "base")
        assert bundles.read_dev(tmp_path / "base") == bundles.read_dev(old)
        assert mirada.load(tmp_path / "base").translate("el gato").text == mirada.load(old).translate("el gato").text

    def test_it_is_resumed_and_becomes_one_of_today(self, old: Path) -> None:
        usable = []
        model = mirada.train(
            resume=old, listen=lambda event: usable.append(event.kind == "step" and bool(mirada.load(old)))
        )
        assert any(usable)
        assert model.card["training"]["steps"] == 8
        assert model.card["format"] == bundles.FORMAT
        assert not any((old / name).exists() for name in bundles.FORMAT_1_FILES)
        assert (old / "run" / "log.jsonl").read_text().startswith((FORMAT_1 / "log.jsonl").read_text())

    def test_one_without_a_bundle_is_resumed_too(self, old: Path) -> None:
        (old / "card.json").unlink()
        assert unfinished(old) == (old / "config.yaml", old / "run")
        assert "not finished: 4 steps" in info_text(old)
        with resumed(old) as work:
            assert (work.run / "config.yaml").read_bytes() == (FORMAT_1 / "config.yaml").read_bytes()
        assert not (old / "config.yaml").exists()

    def test_one_without_its_run_is_not(self, old: Path) -> None:
        shutil.rmtree(old / "run")
        with pytest.raises(BundleError, match=f"its folder run was deleted.*--base {old}"):
            mirada.train(resume=old, steps=20)
        assert mirada.load(old)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"x" * 5000, None])
def test_a_damaged_id_is_no_trace(content: bytes | None, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    path = tmp_path / "run" / "id"
    path.mkdir() if content is None else path.write_bytes(content)
    work = Workspace(tmp_path, tmp_path / "run")
    if content == b"\xff\xfe":
        assert work.id == "\ufffd\ufffd"
    else:
        with pytest.raises(BundleError, match="id: "):
            _ = work.id

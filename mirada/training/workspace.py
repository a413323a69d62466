"""The folder of a training run: its lock, how `--resume` finds it, and recovery after a kill.

    <out>/           the bundle, see `mirada.bundle`; replaced as a whole at the end of a run
    <out>/run/       the run, all that `--resume` needs:
        config.yaml      its configuration, with the paths of its files
        id               a number that its bundles have on their cards
        log.jsonl        the log, one event per line
        data/            the tokenised corpus, the dev set and the excluded lines
        base/            a copy of the bundle that is fine-tuned, if any
        checkpoints/, best.safetensors
    <out>/run.new/   a run whose data is being prepared; it begins when that is done
    <out>/run.next/  a run that has begun, while the run/ that it replaces is being deleted

Until its data is prepared, a run that replaces another one has not begun: a data fault or a kill leaves the other one
unchanged, and `--resume` resumes that. From then on `--resume` resumes the new run, and the old bundle stays in place
until the new one is complete. One process at a time: the folder is locked, and the lock is released when the process
ends, however it ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from mirada import bundle as bundles
from mirada import config as configuration
from mirada.errors import BundleError, DataError, UsageError
from mirada.files import read_bytes, sync_folder, write_bytes, write_text

RUN, NEW, NEXT = "run", "run.new", "run.next"
LOCK = ".lock"
"""A file to lock where the file system cannot lock a folder (some network file systems)."""
ATTEMPTS = 20
LARGEST_ID = 1024


@dataclass
class Workspace:
    """A folder that this process has locked for a training run."""

    folder: Path
    run: Path
    """The folder of the run; it is renamed when the run begins."""
    replaces: bool = False
    """Whether there is another run or a bundle, which must stay unchanged until this run begins."""
    notes: list[str] = field(default_factory=list)
    """Notes for the user on the state in which the folder was found."""

    @property
    def begun(self) -> bool:
        return self.run.name != NEW

    @property
    def how_to_resume(self) -> str:
        """How to resume this run after it was stopped."""
        if self.replaces and not self.begun:
            return f"training had not begun and {self.folder} is unchanged; run the command again"
        return f"resume with: mirada train --resume {self.folder}"

    @property
    def holds_finished_bundle(self) -> bool:
        """Whether there is a bundle that only a finished run may replace."""
        try:
            return bool(bundles.read_card(self.folder)["training"]["finished"])
        except (BundleError, KeyError, TypeError):
            return False

    @property
    def id(self) -> str:
        """Identifies the bundles of this run; empty for runs of format 1."""
        path = self.run / "id"
        return read_bytes(path, BundleError, LARGEST_ID).decode("ascii", "replace") if path.exists() else ""

    def save_config(self, values: configuration.Values) -> None:
        write_text(self.run / "config.yaml", configuration.dump(values))

    def begin(self) -> None:
        """Make this the run of the folder, now that its data is prepared, and delete the earlier one."""
        if self.begun:
            return
        self.run = self.run.rename(self.folder / NEXT)
        sync_folder(self.folder)
        _replace_run(self.folder)
        self.run = self.folder / RUN


@contextmanager
def claimed(folder: Path, overwrite: bool) -> Iterator[Workspace]:
    """Lock a folder for a new run; an existing run or bundle is replaced only with `overwrite`.

    If the data or a setting is invalid, the folder is left unchanged.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder}: is a file; choose another name")
    with locked(folder, make=True) as made:
        taken = not _free(folder)
        if taken and not _holds_training(folder):
            raise UsageError(
                f"--out {folder}: is not empty and not a bundle, so nothing is written there: choose another name"
            )
        if taken and not overwrite:
            raise UsageError(
                f"--out {folder}: exists already; resume it (--resume {folder}), replace it (--overwrite), "
                "or choose another name"
            )
        try:
            _recover(folder)
            shutil.rmtree(folder / NEW, ignore_errors=True)
            (folder / NEW).mkdir()
            write_text(folder / NEW / "id", secrets.token_hex(8))
        except OSError as error:
            raise UsageError(f"--out {folder}: cannot be written ({error.strerror})") from None
        work = Workspace(folder, folder / NEW, replaces=taken)
        try:
            yield work
        except BaseException as error:
            if not work.begun and (taken or isinstance(error, (DataError, UsageError, BundleError))):
                shutil.rmtree(work.run, ignore_errors=True)
                if made:
                    with suppress(OSError):  # it is not empty any more
                        folder.rmdir()
            raise


@contextmanager
def resumed(folder: Path) -> Iterator[Workspace]:
    """Lock the folder of a run that is resumed, after recovering from a kill."""
    if not folder.is_dir():
        raise BundleError(f"{folder}: there is no training to resume (there is no such directory)")
    with locked(folder):
        try:
            work = _reopened(folder)
        except OSError as error:
            raise BundleError(f"{error.filename or folder}: cannot be written ({error.strerror})") from None
        yield work


def _reopened(folder: Path) -> Workspace:
    if not _holds_training(folder):
        if _free(folder):
            raise BundleError(
                f"{folder}: there is no training to resume: it was stopped before anything was saved; "
                f"start it again with --out {folder}"
            )
        raise BundleError(f"{folder}: there is no training to resume (it has no {RUN}/config.yaml)")
    work = Workspace(folder, folder / RUN)
    _recover(folder)
    if (folder / NEW).exists() and not (_has_config(folder / RUN) or _is_format_1(folder)):
        shutil.rmtree(folder / RUN, ignore_errors=True)
        (folder / NEW).rename(folder / RUN)
    elif (folder / NEW).exists():
        shutil.rmtree(folder / NEW)
        work.notes.append(
            "a run that was to replace this one was stopped before its data was prepared; "
            "to replace it, run that command again"
        )
    if _is_format_1(folder):
        _convert(folder)
    if not _has_config(folder / RUN):
        raise BundleError(
            f"{folder}: there is no training to resume: its folder {RUN} was deleted; "
            f"to train the model further, fine-tune it: --base {folder}"
        )
    return work


def unfinished(folder: Path) -> tuple[Path, Path] | None:
    """The configuration and the run folder of a run without a bundle, or None."""
    if not folder.is_dir() or bundles.exists(folder):
        return None
    if _is_format_1(folder):
        return folder / "config.yaml", folder / RUN
    found = (folder / name for name in (NEXT, RUN, NEW) if _has_config(folder / name))
    return next(((run / "config.yaml", run) for run in found), None)


def log_of(folder: Path) -> Path | None:
    """The log of a bundle's run, unless it was deleted; format 1 has it beside the card."""
    return next((path for path in (folder / RUN / "log.jsonl", folder / "log.jsonl") if path.exists()), None)


def has_run(folder: Path) -> bool:
    """Whether a folder holds a run that can be resumed."""
    return any(_has_config(folder / name) for name in (RUN, NEW, NEXT)) or _is_format_1(folder)


# ── contents of a folder ──────────────────────────────────────────────────────────────────────────────────────────────


def _has_config(run: Path) -> bool:
    return (run / "config.yaml").is_file()


def _is_format_1(folder: Path) -> bool:
    """Whether it holds a run of format 1, whose configuration is beside the card."""
    if _has_config(folder / RUN) or not _has_config(folder) or not (folder / RUN).is_dir():
        return False
    if not bundles.exists(folder):
        return True
    return bundles.read_card(folder)["format"] == 1 and (folder / RUN / "checkpoints").is_dir()


def _holds_training(folder: Path) -> bool:
    """Whether a folder is a bundle or holds a run, so that it may be replaced or resumed."""
    bundle = bundles.exists(folder) and (_has_config(folder) or (folder / bundles.NEW).is_dir())
    return bundle or has_run(folder)


def _free(folder: Path) -> bool:
    """Whether a folder is empty, or holds only what a kill in the first second leaves."""

    def empty(entry: Path) -> bool:
        if entry.name == RUN and entry.is_dir():
            return all(inside.name == "lock" or inside.suffix == ".partial" for inside in entry.iterdir())
        if entry.name == NEW and entry.is_dir():
            return not (entry / "config.yaml").exists()
        return entry.is_file() and (entry.name == LOCK or entry.suffix == ".partial")

    return all(map(empty, folder.iterdir()))


# ── recovery after a kill ────────────────────────────────────────────────────────────────────────────────────────


def _recover(folder: Path) -> None:
    """Finish what a kill interrupted: a run replacing another one, a bundle being published."""
    if (folder / NEXT).exists():
        _replace_run(folder)
    shutil.rmtree(folder / bundles.PARTIAL, ignore_errors=True)
    bundles.finish_publishing(folder)


def _replace_run(folder: Path) -> None:
    if (folder / RUN).exists():
        shutil.rmtree(folder / RUN)
    if not bundles.exists(folder):  # then these belong to an unfinished run of format 1
        for name in ("config.yaml", "log.jsonl"):
            (folder / name).unlink(missing_ok=True)
    (folder / NEXT).rename(folder / RUN)
    sync_folder(folder)


def _convert(folder: Path) -> None:
    """Convert a run of format 1: move its configuration and log to the run folder."""
    for name in ("log.jsonl", "config.yaml"):
        if (folder / name).exists():
            write_bytes(folder / RUN / name, (folder / name).read_bytes())
    if not bundles.exists(folder):
        for name in ("log.jsonl", "config.yaml"):
            (folder / name).unlink(missing_ok=True)
    (folder / RUN / "lock").unlink(missing_ok=True)


# ── the lock ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def locked(folder: Path, make: bool = False) -> Iterator[bool]:
    """Lock a folder against other processes, creating it if `make`; yields whether it was created."""
    try:
        made, lock = _lock(folder, make)
    except BlockingIOError:
        raise UsageError(f"{folder}: another process is training in it; wait for it, or choose another name") from None
    except OSError as error:
        what = f"--out {folder}: cannot be created" if make else f"{folder}: cannot be opened"
        raise UsageError(f"{what} ({error.strerror})") from None
    with lock:
        yield made


def _lock(folder: Path, make: bool) -> tuple[bool, ExitStack]:
    made = False
    for _ in range(ATTEMPTS):
        if make and not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            made = True
        with ExitStack() as lock:
            try:
                descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
                lock.callback(os.close, descriptor)
                _lock_one(descriptor, folder, lock)
                if os.path.samestat(os.fstat(descriptor), os.stat(folder)):
                    return made, lock.pop_all()
            except FileNotFoundError:  # another process has removed it
                continue
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))


def _lock_one(descriptor: int, folder: Path, lock: ExitStack) -> None:
    exclusive = fcntl.LOCK_EX | fcntl.LOCK_NB
    try:
        fcntl.flock(descriptor, exclusive)
    except BlockingIOError:
        raise
    except OSError:
        fcntl.flock(lock.enter_context((folder / LOCK).open("w")), exclusive)

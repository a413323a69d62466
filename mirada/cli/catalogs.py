"""What `mirada translate` does with gettext catalogs: one, or all those of a folder.

All lines that need a translation are translated first, into `<out>.partial`, which an interrupted command continues;
then the catalogs are written.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mirada.cli.answers import Job, write_answers
from mirada.cli.app import say
from mirada.cli.input import Given
from mirada.cli.progress import Progress
from mirada.data.foreign import foreign
from mirada.data.po import Catalog
from mirada.data.sources import unreadable
from mirada.data.text import shown_path
from mirada.errors import DataError, UsageError
from mirada.files import sync_folder, write_bytes
from mirada.tasks.translation.catalogs import check_language, fill, lines_of, other_language
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.translator import Translation

_CATALOG = re.compile(r"\.pot?(\.gz)?$", re.IGNORECASE)


def are_catalogs(file: Path) -> bool:
    """Whether a path is a catalog or a folder."""
    return file.is_dir() or foreign(file) == "po"


def fill_catalogs(
    model: TranslationModel,
    file: Path,
    out: Path | None,
    job: Job,
    decode: Mapping[str, Any],
    *,
    keep_damaged: bool,
    skip_broken: bool,
    force: bool,
) -> None:
    """Fill a catalog, or all those below a folder that are in the model's target language, into the same tree."""
    if out is None:
        example = file.name + ".new" if file.is_dir() else f"{file.name.partition('.')[0]}.new.po"
        what = "folder of filled catalogs goes" if file.is_dir() else "filled catalog goes"
        raise UsageError(f"--file {file}: say where the {what}: --out {example}")
    paths = _choose(model, file, skip_broken, force) if file.is_dir() else [file]
    lines: dict[str, None] = {}
    for path in paths:
        catalog = Catalog(path)
        for doubt in check_language(catalog, *_languages(model), force=force):
            say(f"mirada: {doubt}")
        lines |= dict.fromkeys(lines_of(catalog))

    def answer(before: int, chunk: list[str], progress: Progress) -> tuple[list[str], int]:
        found = model.translate(chunk, progress=progress, **model.fill_options(**decode))
        return [json.dumps([t.text, t.score, t.alternatives, t.problem]) + "\n" for t in found], 0

    def finish(partial: Path | None) -> None:
        rows = partial.read_text(encoding="utf-8").splitlines() if partial else []
        translated = dict(zip(lines, map(_translation, rows), strict=True))
        _write_all(paths, file, out, translated, keep_damaged)

    if lines:
        write_answers(Given([*lines], None), out, {**job, "catalogs": True}, answer, finish)
    else:
        finish(None)


def _translation(row: str) -> Translation:
    text, score, alternatives, problem = json.loads(row)
    return Translation(text, score, tuple((other, value) for other, value in alternatives), problem)


def _languages(model: TranslationModel) -> tuple[str | None, str | None]:
    return model.card["languages"]["source"], model.card["languages"]["target"]


def _choose(model: TranslationModel, folder: Path, skip_broken: bool, force: bool) -> list[Path]:
    """The catalogs of a folder to fill. Says which are left out, and names all that cannot be read."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and _CATALOG.search(path.name))
    templates = [path for path in found if ".pot" in path.name[-7:].lower()]
    catalogs = [path for path in found if path not in templates]
    if not catalogs:
        hint = "; of a template (.pot), make a .po with `msginit`" if templates else ""
        raise DataError(f"{shown_path(folder)}: has no catalogs (.po) to fill{hint}")
    chosen, broken, others = [], {}, {}
    for path in catalogs:
        try:
            other = "" if force else other_language(Catalog(path), _languages(model)[1])
        except DataError as error:
            broken[path] = str(error)
            continue
        if other:
            others[path] = other
        else:
            chosen.append(path)
    if broken and not skip_broken:
        raise DataError(unreadable(folder, broken.values(), "--skip-broken"))
    for path, reason in broken.items():
        say(f"mirada: passed over {path.relative_to(folder)}, which cannot be read ({reason})")
    if not chosen:
        there = ", ".join(sorted({*others.values()})) or "none that can be read"
        raise DataError(
            f"{shown_path(folder)}: no catalog is in {_languages(model)[1]}, the model's language, but in {there}; "
            "take another model, or fill them all the same: --force"
        )
    for kind, paths in (("in another language", others), ("templates", templates)):
        if paths:
            names = ", ".join(shown_path(path.relative_to(folder)) for path in paths)
            say(f"passed over, {kind}: {names}")
    return chosen


def _write_all(
    paths: list[Path], given: Path, out: Path, translated: Mapping[str, Translation], keep_damaged: bool
) -> None:
    """Write the filled catalogs, all of them or none, and say what a person should look at."""
    filled = left = 0
    new = out.with_name(out.name + ".partial.new")  # it gets its name when all is written
    try:
        _remove(new)
        for path in paths:
            filling = fill(Catalog(path), translated, keep_damaged)
            target = new / path.relative_to(given).with_name(_unpacked(path)) if given.is_dir() else new
            target.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(target, filling.content)
            for line, problem in filling.problems:
                say(f"mirada: {shown_path(path)}, line {line}: {problem}")
            filled, left = filled + filling.filled, left + filling.left
        os.replace(new, out)
        sync_folder(out.parent)
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written ({error.strerror})") from None
    finally:
        _remove(new)
    where = f" in {len(paths):,} catalogs" if given.is_dir() else ""
    empty = f", {left:,} left empty" if left else ""
    say(f"filled {filled:,} entries{where}, marked fuzzy for a person to check{empty}; the rest is as it was")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _unpacked(path: Path) -> str:
    """The name of a catalog without .gz: what is filled is not packed again."""
    return path.name[:-3] if path.name.lower().endswith(".gz") else path.name

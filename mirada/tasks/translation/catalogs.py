"""Fills the untranslated entries of gettext catalogs. Each line of a message is translated by itself, spaces kept."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mirada.data import language
from mirada.data.placeholders import found
from mirada.data.po import Catalog
from mirada.data.readers.catalogs import fits, language_in_header, language_in_path
from mirada.data.sources import unreadable
from mirada.data.text import shown_path
from mirada.errors import DataError, UsageError
from mirada.files import sync_folder, write_bytes
from mirada.predictions import Prediction
from mirada.tasks.translation.flags import remarks
from mirada.tasks.translation.prediction import Translation

FORCE = "to fill it anyway: --force"


@dataclass(frozen=True)
class Filling(Prediction):
    """A catalog with its untranslated entries filled, and what a person should check."""

    content: bytes = field(repr=False)
    filled: int
    """Entries that had no translation and now have one, marked fuzzy."""
    left: int
    """Entries that had none and still have none."""
    problems: tuple[tuple[int, str], ...]
    """Line of an entry, and why it was left empty or needs care."""
    doubts: tuple[str, ...] = ()
    """Why the model may not fit the catalog."""

    def values(self) -> dict[str, Any]:
        problems = [{"line": line, "problem": problem} for line, problem in self.problems]
        return {"filled": self.filled, "left": self.left, "problems": problems, "doubts": list(self.doubts)}

    def __str__(self) -> str:
        empty = f", {self.left:,} left empty" if self.left else ""
        return f"filled {self.filled:,} {'entry' if self.filled == 1 else 'entries'}{empty}"


def lines_of(catalog: Catalog) -> list[str]:
    """The distinct lines to translate, without the spaces around them."""
    messages = [text for gap in catalog.gaps for text in (gap.text, gap.plural)]
    return list(dict.fromkeys(line.strip() for text in messages for line in text.split("\n") if line.strip()))


def fill(catalog: Catalog, translated: Mapping[str, Translation], keep_damaged: bool = False) -> Filling:
    """Fill in the translations of `lines_of`: of each, the first of the n best that keeps all placeholders.

    An entry stays empty if a line of it has none that does, unless `keep_damaged`.
    """
    problems: list[tuple[int, str]] = []
    singulars, plurals, filled = [], [], 0
    for gap in catalog.gaps:
        texts = []
        for message in (gap.text, gap.plural):
            parts = [_line(line, translated, keep_damaged) for line in message.split("\n")]
            problems += [(gap.line, fault) for _, fault in parts if fault]
            text = "\n".join(text or "" for text, _ in parts)
            if alien := catalog.lacks(text):
                problems.append((gap.line, f"{alien}; left empty"))
            texts.append("" if alien or any(text is None for text, _ in parts) else text)
        singulars.append(texts[0])
        plurals.append(texts[1])
        filled += bool(texts[0].strip() and (texts[1].strip() or not gap.plural))
    left = len(catalog.gaps) - filled
    return Filling(catalog.filled(singulars, plurals), filled, left, tuple(problems))


def _line(line: str, translated: Mapping[str, Translation], keep_damaged: bool) -> tuple[str | None, str]:
    """A line's translation between the spaces of the original, if there is one to fill in, and what is wrong."""
    inner = line.strip()
    if not inner:
        return line, ""
    translation = translated[inner]
    if translation.problem:
        return None, f"{translation.problem}; it is left untranslated"
    options = [text for text, _ in translation.alternatives] or [translation.text]
    damages = [damage(inner, text) for text in options]
    best = damages.index("") if "" in damages else 0
    before, after = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    text = before + options[best] + after
    if not damages[best]:
        return text, "; ".join([*translation.notes, *remarks(inner, options[best], translation.flags)])
    outcome = "filled in anyway" if keep_damaged else "left empty"
    noted = "; ".join([f"{damages[best]}; {outcome}", *translation.notes])
    return (text, noted) if keep_damaged else (None, noted)


def damage(source: str, translation: str) -> str:
    """What a translation did to the placeholders of its source; nothing if they are all there and no others."""
    wanted, there = found(source)["placeholder"], found(translation)["placeholder"]
    lost, added = Counter(wanted) - Counter(there), Counter(there) - Counter(wanted)
    if lost:
        return f"its translation lost {', '.join(lost.elements())}"
    if added:
        return f"its translation has {', '.join(added.elements())}, which the text does not have"
    if _by_place(wanted) != _by_place(there):
        return f"its translation changed the order of {', '.join(_by_place(wanted))}"
    return ""


def _by_place(placeholders: list[str]) -> list[str]:
    """Positional placeholders: %s and %d, not %1$s, %(name)s, {name} or %%."""
    return [mark for mark in placeholders if mark[0] == "%" and mark[-1].isalpha() and not {"(", "$"} & set(mark)]


# --- files and folders --------------------------------------------------------------------------------------------

_CATALOG = re.compile(r"\.pot?(\.gz)?$", re.IGNORECASE)


def choose(folder: Path, target: str | None, *, skip_broken: bool, force: bool) -> tuple[list[Path], list[str]]:
    """The catalogs below a folder to fill with a model for a target language, and notes on those that are skipped."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and _CATALOG.search(path.name))
    templates = [path for path in found if ".pot" in path.name[-7:].lower()]
    catalogs = [path for path in found if path not in templates]
    if not catalogs:
        hint = "; make a .po of a template (.pot) with `msginit`" if templates else ""
        raise DataError(f"{shown_path(folder)}: has no catalogs (.po) to fill{hint}")
    chosen, broken, others = [], {}, {}
    for path in catalogs:
        try:
            other = "" if force else other_language(Catalog(path), target)
        except DataError as error:
            broken[path] = str(error)
            continue
        if other:
            others[path] = other
        else:
            chosen.append(path)
    if broken and not skip_broken:
        raise DataError(unreadable(folder, broken.values(), "--skip-broken"))
    if not chosen:
        there = ", ".join(sorted({*others.values()})) or "none that can be read"
        raise DataError(f"{shown_path(folder)}: no catalog is in {target}, the model's, but in {there}; {FORCE}")
    notes = [f"skipped {path.relative_to(folder)}, which cannot be read ({reason})" for path, reason in broken.items()]
    for kind, paths in (("in another language", others), ("templates", templates)):
        if paths:
            names = ", ".join(shown_path(path.relative_to(folder)) for path in paths)
            notes.append(f"skipped, {kind}: {names}")
    return chosen, notes


def fill_all(
    paths: Sequence[Path], root: Path, out: Path, translated: Mapping[str, Translation], keep_damaged: bool
) -> dict[Path, Filling]:
    """Write filled catalogs to `out`, all of them or none: a file, or the tree below the folder `root`."""
    new = out.with_name(out.name + ".partial.new")  # gets its name when all is written
    fillings = {}
    try:
        _remove(new)
        for path in paths:
            fillings[path] = fill(Catalog(path), translated, keep_damaged)
            unpacked = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
            target = new / path.relative_to(root).with_name(unpacked) if root.is_dir() else new
            target.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(target, fillings[path].content)
        os.replace(new, out)
        sync_folder(out.parent)
    finally:
        _remove(new)
    return fillings


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


# --- the languages of a catalog and of a model --------------------------------------------------------------------


def other_language(catalog: Catalog, target: str | None) -> str:
    """The catalog's language, by its header or else its path, if it is not the one that a model translates into."""
    there = language_in_header(catalog.header) or language_in_path(catalog.path)
    return there if target and there and not fits(target, there) else ""


def check_language(catalog: Catalog, source: str | None, target: str | None, force: bool = False) -> list[str]:
    """Refuse a catalog whose header says another language than a model's; returns other doubts, a line each."""
    doubts = []
    if other := other_language(catalog, target):
        said = f"{catalog.name}: is in {other} by its {{}}, and the model translates into {target}"
        if not language_in_header(catalog.header):
            doubts.append(said.format("path"))
        elif not force:
            raise UsageError(f"{said.format('header')}; use a model for {other}, correct the header, or {FORCE}")
        else:
            doubts.append(said.format("header"))
    if texts := language.other_than(source, [gap.text for gap in catalog.gaps]):
        doubts.append(f"{catalog.name}: its texts look like {texts}, and the model translates from {source}")
    return doubts

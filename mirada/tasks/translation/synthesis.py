"""Pairs that a model makes: back-translations of monolingual text, and the translations of a teacher.

Back-translation (Sennrich et al. 2016) gives pairs of a synthetic source and a real target, marked as such in the file
so that training tags them (`tags.py`). Distillation (sequence-level, Kim & Rush 2016) gives pairs of a real source and
what a larger model or an ensemble makes of it. Outputs that nothing good can be learned from are left out.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mirada.data.checks import CheckConfig, far_apart, fault, in_words
from mirada.data.readers.pair import SYNTHETIC
from mirada.data.records import Record
from mirada.data.survey import fingerprint
from mirada.data.text import lines
from mirada.errors import DataError
from mirada.files import sync_folder
from mirada.predictions import Prediction
from mirada.tasks.model import one_line
from mirada.tasks.translation import flags
from mirada.tasks.translation.prediction import Translation

REASONS = {
    "tab": "lines with a tab (if this is a file of pairs, extract one column)",
    "refused": "texts that the model does not accept",
    "empty_output": "empty translations",
    "cut": "translations cut at the length limit",
    "looping": "translations that repeat themselves",
    "copied": "translations that copy the text",
}
"""Why a text gives no pair, besides the reasons of `checks.REASONS`."""

COPIED_WORDS = CheckConfig().copied_words
RATIO = 3.0
"""How many times the usual ratio of lengths is too long or too short for a translation."""
SINGLES = 6
"""How often a single word must be repeated to be a loop."""


class Item(NamedTuple):
    """A text to translate, where it comes from, and its real translations, if there are any."""

    text: str
    file: str
    line: int
    references: tuple[str, ...] = ()
    fault: str = ""
    """Why it is not translated."""

    def dump(self) -> str:
        return json.dumps(self, ensure_ascii=False)

    @classmethod
    def load(cls, text: str) -> Item:
        return cls(*json.loads(text))


@dataclass(frozen=True)
class Made(Prediction):
    """What became of a text: its translation, or why it gives no pair."""

    item: Item
    translation: str = ""
    left_out: str = ""

    def values(self) -> dict[str, Any]:
        return {**self.item._asdict(), "translation": self.translation, "left_out": self.left_out}

    def __str__(self) -> str:
        return self.translation


# ── input ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def monolingual(paths: Sequence[Path]) -> Iterator[Item]:
    """The lines of text files, plain or gzipped."""
    records = (Record((text, text), str(path), line) for path in paths for line, text in enumerate(lines(path), 1))
    return (item._replace(references=()) for item in _items(records))


def _items(records: Iterable[Record]) -> Iterator[Item]:
    """Records as texts to translate, with the reasons not to; each text is translated once."""
    seen: set[int] = set()
    for record in records:
        text = record.fields[0]
        reason = fault(record, longest=0) or ("tab" if "\t" in text else "")
        if not reason and fingerprint(text) in seen:
            reason = "duplicate"
        seen.add(fingerprint(text))
        yield Item(text, record.file, record.line, tuple(record.fields[1:]), reason)


def sources(records: Iterable[Record]) -> Iterator[Item]:
    """The sources of pairs, with their translations."""
    plain = (record._replace(fields=tuple(map(cell, record.fields))) for record in records)
    return _items(plain)


def cell(text: str) -> str:
    """A text as a cell of a TSV file."""
    return one_line(text).replace("\t", " ")


# ── output ────────────────────────────────────────────────────────────────────────────────────────────────────────


def make(items: Sequence[Item], translate: Callable[[list[str]], Sequence[Translation]]) -> list[Made]:
    """Translate what can be translated, and say what gives no pair."""
    found = iter(translate([item.text for item in items if not item.fault]))
    return [Made(item, left_out=item.fault) if item.fault else _made(item, next(found)) for item in items]


def _made(item: Item, translation: Translation) -> Made:
    text = cell(translation.text).strip()
    return Made(item, text, _unusable(item.text, text, translation))


def _unusable(text: str, output: str, translation: Translation) -> str:
    """Why a translation is left out; nothing if it is not."""
    if translation.problem:
        return "refused"
    if not output:
        return "empty_output"
    if not translation.complete:
        return "cut"
    if loops(output) and not loops(text):
        return "looping"
    copied = output.casefold() == text.strip().casefold() and len(text.split()) >= COPIED_WORDS
    return "copied" if copied else ""


def loops(text: str) -> bool:
    """Whether a text says a phrase three times or more in a row; single words six times, like no, no, no."""
    words = text.split()
    return flags.loops(text if len(words) == 1 else words, SINGLES)  # a script without spaces has one word


class Written(NamedTuple):
    """What was written."""

    pairs: int
    left_out: Counter[str]
    excluded: Path

    def __str__(self) -> str:
        if not self.left_out:
            return f"{self.pairs:,} pairs"
        reasons = ", ".join(f"{count:,} {words(reason)}" for reason, count in self.left_out.most_common())
        return f"{self.pairs:,} pairs; {self.left_out.total():,} left out, listed in {self.excluded}: {reasons}"


def words(reason: str) -> str:
    """A reason for a person to read."""
    return REASONS.get(reason) or in_words(reason, "text")


def excluded_file(out: Path) -> Path:
    """The list of what is left out: more.excluded.tsv beside more.tsv."""
    return out.with_name(f"{out.stem}.excluded.tsv")


def write_pairs(
    answers: Path, out: Path, names: tuple[str, str], *, backward: bool, originals: bool = False
) -> Written:
    """Write the pairs of a file of `Made` as TSV, with the names of its columns, and list what is left out.

    `backward` pairs have the translation as their synthetic source, and say so; others have it as their target.
    `originals` writes the real translations too.
    """
    far = _far_apart(answers)
    counts, excluded = Counter[str](), excluded_file(out)
    fresh, listed = (path.with_name(f"{path.name}.partial.new") for path in (out, excluded))
    pairs = 0
    try:
        with open(fresh, "w", encoding="utf-8") as table, open(listed, "w", encoding="utf-8") as left:
            table.write("\t".join([*names, SYNTHETIC] if backward else names) + "\n")
            for place, made in enumerate(_read(answers)):
                if reason := made.left_out or ("length_ratio" if far[place] else ""):
                    counts[reason] += 1
                    left.write(f"{made.item.file}\t{made.item.line}\t{reason}\t{words(reason)}\n")
                for row in _pairs(made, reason == "", backward, originals):
                    table.write("\t".join([*row, names[0]] if backward else row) + "\n")
                    pairs += 1
            for file in (table, left):
                file.flush()
                os.fsync(file.fileno())
        if counts:
            os.replace(listed, excluded)
        if not pairs:
            hint = "train the model further, or use another" if counts else "the input has no text"
            raise DataError(f"{out}: would have {Written(0, counts, excluded)}; {hint}")
        os.replace(fresh, out)
        sync_folder(out.parent)
    finally:
        fresh.unlink(missing_ok=True)
        listed.unlink(missing_ok=True)
    return Written(pairs, counts, excluded)


def _pairs(made: Made, usable: bool, backward: bool, originals: bool) -> Iterable[tuple[str, str]]:
    """The pairs of a text: with its translation, if that is usable, and the real ones, if they are wanted."""
    text, translation = made.item.text, made.translation
    found = [(translation, text) if backward else (text, translation)] if usable else []
    if originals and made.item.fault in ("", "duplicate"):
        found += [(text, reference) for reference in made.item.references if reference.strip()]
    return dict.fromkeys(found)


def _read(answers: Path) -> Iterator[Made]:
    with open(answers, encoding="utf-8") as rows:
        for row in rows:
            found = json.loads(row)
            item = Item(*(found[name] for name in Item._fields))
            yield Made(item, found["translation"], found["left_out"])


def _far_apart(answers: Path) -> Any:
    """Whose lengths are far from the usual ratio, of all texts with a usable translation."""
    sizes = [(0, 0) if one.left_out else (len(one.item.text), len(one.translation)) for one in _read(answers)]
    lengths = np.array([min(a, 0xFFFF) << 16 | min(b, 0xFFFF) for a, b in sizes], np.uint32)
    return far_apart(lengths, RATIO)

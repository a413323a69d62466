"""Records with a class each: which classes there are, how they are checked and split; for texts and images alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mirada.data.checks import has_invalid_bytes
from mirada.data.preparation import Example, Preparation
from mirada.data.records import AnyRecord
from mirada.data.splits import Mask, contradicting, hold_out, repeated
from mirada.data.survey import DROPPED, TRAINING, Survey
from mirada.data.text import shown_text
from mirada.errors import DataError

MAX_LABELS = 1000
TAB = "\t"
"""Between the two parts of a text that has two; the only tab in it."""
_HASH, _CLASS = range(2)  # the keys of a record


class LabelledPreparation(Preparation[Example]):
    """Data with a class for each record. A task says what a record's label is, and what it is recognized by."""

    labels: list[str]
    """All classes, in order: those of the base if it has them all."""

    def __init__(self, built: Any, base: Any = None):
        super().__init__(built, base)
        self._numbers: dict[str, int] = {}
        self._places: list[tuple[str, int]] = []  # where each label occurs first

    def label(self, record: Any) -> str:
        raise NotImplementedError

    def identity(self, record: Any) -> int:
        """64 bits that are equal for equal texts or images."""
        raise NotImplementedError

    def example_identities(self, examples: Any) -> list[int]:
        """The same for the examples of a dev or test set."""
        raise NotImplementedError

    def example_labels(self, examples: Any) -> list[str]:
        raise NotImplementedError

    def example_place(self, number: int, examples: Any) -> str:
        """Where an example of the dev set stands, by its number, from 0."""
        return self.place_of(self.data.dev, number)

    def keys(self, record: AnyRecord) -> tuple[int, ...]:
        label = self.label(record)
        number = self._numbers.setdefault(label, len(self._numbers))
        if number == len(self._places):
            self._places.append((record.file, record.line))
            if number == MAX_LABELS:
                where = f"{record.file}, line {record.line}" if record.line else record.file
                raise DataError(
                    f"{where}: over {MAX_LABELS:,} different labels, the last is {shown_text(label)}; are these "
                    f"{self.nouns}? Choose the columns: --columns text,label"
                )
        return self.identity(record), number

    def judge(self, survey: Survey) -> Iterator[tuple[str, Mask]]:
        hashes, numbers = survey.column(_HASH), survey.column(_CLASS).astype(np.int64)
        yield "contradiction", contradicting(hashes, numbers)
        yield "duplicate", repeated(hashes, numbers)
        known = [identity for examples in survey.compared for identity in self.example_identities(examples)]
        if known:
            yield "in_dev", np.isin(hashes, np.array(known, np.uint64))

    def hold_out(self, survey: Survey) -> Mask:
        """A share of every class."""
        return hold_out(survey.kept(_HASH), survey.kept(_CLASS).astype(np.int64), self.data.hold_out, self._single)

    def _single(self, number: int) -> DataError:
        file, line = self._places[number]
        where = f"{file}, line {line}" if line else file
        return DataError(
            f"{where}: the label {shown_text(list(self._numbers)[number])} has a single {self.noun}, which cannot be "
            "both learned from and held out; correct it, leave it out, or give a dev set (--dev)"
        )

    def split(self, survey: Survey) -> Any:
        dev = super().split(survey)
        names = list(self._numbers)
        counts = Counter(names[number] for number in survey.kept(_CLASS).tolist())
        found = sorted(counts)
        known: list[str] | None = getattr(self.base, "labels", None)
        new = [label for label in found if label not in known] if known else []
        if new:
            shown = ", ".join(shown_text(label) for label in new[:5]) + ", …" * (len(new) > 5)
            self.report.notes.append(
                f"the base does not know the label{'s' * (len(new) > 1)} {shown}: its output layer is trained anew"
            )
        self.labels = known if known and not new else found
        if (new or known is None) and len(found) < 2:
            raise DataError(
                f"{survey.source}: all {self.nouns} have the label {shown_text(found[0])}; there is nothing to learn"
            )
        for number, label in enumerate(self.example_labels(dev)) if self.data.dev else ():
            if label not in self.labels:
                raise DataError(
                    f"{self.example_place(number, dev)}: the dev set has the label {shown_text(label)}, which no "
                    f"training {self.noun} has; correct it, leave it out, or add such {self.nouns}"
                )
        self.report.classes = {label: counts.get(label, 0) for label in self.labels}  # type: ignore[attr-defined]
        good = Counter(names[number] for number in survey.column(_CLASS)[survey.verdicts != DROPPED].tolist())
        survey.quality.figures["classes"] = dict(good.most_common())
        survey.quality.lines.append(f"classes: {shown_classes(dict(good.most_common()))}")
        return dev

    def truth(self, survey: Survey) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The number of each training record's label [N]."""
        place = {label: number for number, label in enumerate(self.labels)}
        numbers = np.array([place.get(label, -1) for label in self._numbers], np.int64)
        return numbers[survey.column(_CLASS)[survey.verdicts == TRAINING].astype(np.int64)]


def shown_classes(classes: dict[str, int], most: int = 8) -> str:
    """The first few classes with their counts."""
    shown = ", ".join(f"{label} {count:,}" if count else label for label, count in list(classes.items())[:most])
    return shown + (f", … {len(classes)} classes" if len(classes) > most else "")


def joined(parts: Sequence[str]) -> str:
    """Parts as one text; a tab inside of one becomes the space it looks like."""
    return TAB.join(part.replace(TAB, " ") for part in parts)


def example(row: AnyRecord, parts: int) -> tuple[str, str]:
    """The text of a row and its label, which stands last; either may be empty."""
    if parts == 1:
        return row.fields[0], row.fields[1].strip()
    first, second, label = (*row.fields, "", "")[:3]
    return joined((first, second)), label.strip()


def unreadable(row: AnyRecord, parts: int) -> str:
    """Why a row cannot be learned from, as an identifier; empty if it can."""
    text, label = example(row, parts)
    there = [bool(part.strip()) for part in (text.split(TAB) if parts > 1 else [text])]
    if row.problem:
        return row.problem
    if not any(there):
        return "no_text" if label else "blank"
    if not all(there):
        return "one_sided"
    if not label:
        return "no_label"
    return "invalid_bytes" if has_invalid_bytes(text, label) else ""

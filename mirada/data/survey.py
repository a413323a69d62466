"""One look at all records: what cannot be learned from is listed, the rest is spilled and judged, and a part held out.

The source is read once. Of every record that can be learned from, a few bytes stay in memory: its keys (64-bit
fingerprints or class numbers, as the task says), a bit for each doubt, and the verdict. Later passes read the spill.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import numpy.typing as npt

from mirada.data.checks import REASONS
from mirada.data.quality import EXAMPLES, KEEPS, LEAVES_OUT, REFUSES, Finding, Notify, QualityReport
from mirada.data.records import AnyRecord, Record, Source, Spill
from mirada.data.splits import Mask
from mirada.data.text import shown_path
from mirada.errors import DataError

if TYPE_CHECKING:
    from mirada.data.preparation import Preparation

TRAINING, HELD, DROPPED = range(3)
"""Verdicts on a record."""


def fingerprint(*texts: str) -> int:
    """A 64-bit hash of one or more texts, the same on every machine."""
    digest = hashlib.blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest)


def quick(*texts: str) -> int:
    """A 64-bit hash of texts, to find equal ones within one process; it differs between processes."""
    return hash(texts) & 0xFFFF_FFFF_FFFF_FFFF


class Excluded:
    """Counts the records that are left out, and lists each: file, line, reason, the reason in words."""

    def __init__(self, out: TextIO | None, words: Callable[[str], str]):
        self._out, self._words = out, words
        self.counts: Counter[str] = Counter()

    def __call__(self, file: str, line: int, reason: str) -> None:
        self.counts[reason] += 1
        if self._out:
            self._out.write(f"{file}\t{line or ''}\t{reason}\t{self._words(reason)}\n")

    def __str__(self) -> str:
        """The counts in brackets, for a message about too little data."""
        reasons = ", ".join(f"{count:,} {self._words(reason)}" for reason, count in self.counts.items())
        return f" (left out: {reasons})" if reasons else ""


class Survey:
    """The records of a task's files: read once, judged, and handed out again as often as needed."""

    def __init__(
        self,
        task: Preparation[Any],
        spill: Spill,
        excluded: TextIO | None,
        notify: Notify,
        refuses: frozenset[str] | None = None,
    ):
        """`refuses` are the reasons for refusing the data that are reported (`mirada check`); None raises them."""
        self._order = {reason: place for place, reason in enumerate({**REASONS, **task.reasons})}  # the gravest first
        self._bits = {reason: np.uint64(1 << place) for reason, place in self._order.items()}
        assert len(self._order) <= 64, "a record's doubts are the bits of one number"
        self.task, self.spill, self.notify, self.refuses = task, spill, notify, refuses
        self.excluded = Excluded(excluded, task.in_words)
        self.quality = QualityReport(task.nouns)
        self.source: Source = task.open(task.data.files)
        self.dev: Any = []
        """Examples of the dev files, if there are any."""
        self.compared: list[Any] = []
        """The dev and test sets, which training should not see."""
        self.words = 0
        self._findings: dict[str, Finding] = {}
        self._keys: list[array[int]] = []

    # ── the one pass over the source ──────────────────────────────────────────────────────────────────────────────

    def read(self) -> None:
        """Read the source: leave out what is faulty, spill the rest."""
        task, spill, notify = self.task, self.spill, self.notify
        doubts = array("Q")
        counts: Counter[str] = Counter()
        usable: set[str] = set()
        index = -1
        for index, record in enumerate(self.source):
            if index % 10_000 == 0:
                notify("reading", index, 0)
            counts[record.file] += 1
            if reason := task.fault(record):
                self.leave_out(record, reason)
                continue
            usable.add(record.file)
            spill.add(record)
            self.words += task.count_words(record)
            keys = task.keys(record)
            if not self._keys:
                self._keys = [array(kind) for kind in task.key_types or "Q" * len(keys)]
            for column, key in zip(self._keys, keys, strict=True):
                column.append(key)
            found = (*task.doubts(record), *record.marks)
            doubts.append(sum(1 << self._order[reason] for reason in set(found)) if found else 0)
        self.quality.read = index + 1
        self._doubts = np.frombuffer(doubts, np.uint64)
        self.verdicts = np.zeros(len(doubts), np.uint8)
        opened = self.source.files
        self.quality.files = [(name, about, counts[name]) for name, about in opened]
        self.quality.notes += self.source.notes
        empty = [name for name, _ in opened if name not in usable]
        if usable & set(dict(opened)) and empty:
            self.quality.notes.append(f"no usable data in {', '.join(map(shown_path, empty))}")

    def column(self, number: int) -> npt.NDArray[Any]:
        """The keys of all records, as `Preparation.keys` gives them in that place."""
        keys = self._keys[number] if self._keys else array("Q")
        return np.frombuffer(keys, np.dtype(keys.typecode))

    def pop(self, number: int) -> npt.NDArray[Any]:
        """Return a column of keys and forget it."""
        found = self.column(number)
        if self._keys:
            self._keys[number] = array("Q")
        return found

    def __len__(self) -> int:
        """Records that can be learned from, by themselves."""
        return len(self.spill)

    @property
    def good(self) -> int:
        """Records that are not left out."""
        return int((self.verdicts != DROPPED).sum())

    # ── verdicts ──────────────────────────────────────────────────────────────────────────────────────────────────

    def judge(self) -> None:
        """Let the task compare records with each other, and leave out what it says."""
        found = self._doubts
        for reason, mask in self.task.judge(self):
            found[mask] |= self._bits[reason]
        present = int(np.bitwise_or.reduce(found)) if len(found) else 0
        reasons = [reason for reason in self._order if present & int(self._bits[reason])]
        why = np.full(len(found), len(self._order), np.uint8)
        for reason in reversed(reasons):
            if self.task.drops(reason):
                why[(found & self._bits[reason]) != 0] = self._order[reason]
        dropped = why < len(self._order)
        self.verdicts[dropped] = DROPPED
        for reason in reasons:
            if not self.task.drops(reason) and (count := int(((found & self._bits[reason]) != 0)[~dropped].sum())):
                self.finding(reason).count += count
        if present:
            found[dropped] = 0
            self._show(why, found)
        self._doubts = np.zeros(0, np.uint64)

    def _show(self, why: npt.NDArray[np.uint8], kept: npt.NDArray[np.uint64]) -> None:
        """List what is left out, and take the first few of each finding as examples."""
        names = list(self._order)
        for place, record in self.at((why < len(self._order)) | (kept != 0)):
            if why[place] < len(self._order):
                self.leave_out(record, names[why[place]])
            else:
                for reason in [name for bit, name in enumerate(names) if int(kept[place]) >> bit & 1]:
                    self._example(self.finding(reason), record)

    def at(self, rows: Mask | slice) -> Iterator[tuple[int, Record]]:
        """The records at some places, with their places."""
        chosen = np.zeros(len(self), bool)
        chosen[rows] = True
        return self.spill.select(chosen)

    def leave_out(self, record: AnyRecord, reason: str) -> None:
        """List and count a record that is left out."""
        self.excluded(record.file, record.line, reason)
        finding = self.finding(reason)
        finding.count += 1
        self.quality.left_out += 1
        self._example(finding, record)

    def finding(self, reason: str) -> Finding:
        """The finding of that reason, which may be new."""
        found = self._findings.get(reason)
        if found is None:
            task = self.task
            drops = task.drops(reason)
            training = REFUSES if self.refuses and reason in self.refuses else LEAVES_OUT if drops else KEEPS
            found = self._findings[reason] = Finding(reason, task.in_words(reason), training, task.hint(reason))
        return found

    def _example(self, finding: Finding, record: AnyRecord) -> None:
        if len(finding.examples) < EXAMPLES:
            finding.examples.append((record.file, record.line, self.task.show(record)))

    @staticmethod
    def _withdraw(finding: Finding, record: AnyRecord) -> None:
        """Count a record no more that turned out to be left out."""
        finding.count -= 1
        finding.examples = [example for example in finding.examples if example[:2] != (record.file, record.line)]

    def refuse(
        self, kind: str, message: str, setting: str = "", count: int = 0, examples: Sequence[AnyRecord] = ()
    ) -> None:
        """Refuse the data; a mere check makes a finding of it."""
        if self.refuses is None:
            raise DataError(f"{message}; to use the data anyway: --set {setting}" if setting else message)
        finding = self._findings[f"{kind} {message}"] = Finding(kind, message, REFUSES, setting, count)
        for record in examples:
            self._example(finding, record)

    def report(self) -> QualityReport:
        """The quality report with all findings."""
        found = (finding for finding in self._findings.values() if finding.count or finding.training == REFUSES)
        self.quality.findings = sorted(found, key=lambda finding: self._order[finding.kind])
        return self.quality

    # ── training and dev ──────────────────────────────────────────────────────────────────────────────────────────

    def hold(self, held: Mask) -> None:
        """Hold out those of the records that are not left out."""
        self.verdicts[np.flatnonzero(self.verdicts == TRAINING)[held]] = HELD

    def release(self, rows: Mask) -> None:
        """Give those of the records that are held out back to training."""
        self.verdicts[(self.verdicts == HELD) & rows] = TRAINING

    def drop(self, rows: Mask, reason: str) -> None:
        """Leave out those of the records that would be learned from."""
        for place, record in self.at((self.verdicts == TRAINING) & rows):
            self.verdicts[place] = DROPPED
            self.leave_out(record, reason)
            for kept in {*self.task.doubts(record), *record.marks}:  # what was found about it, and kept
                self._withdraw(self.finding(kept), record)

    def kept(self, number: int) -> npt.NDArray[Any]:
        """A column of keys, of the records to learn from."""
        return self.column(number)[self.verdicts == TRAINING]

    def records(self, verdict: int = TRAINING) -> Iterator[Record]:
        """The records with a verdict, in order; as often as needed."""
        return (record for _, record in self.at(self.verdicts == verdict))


def shown_fields(texts: tuple[str, ...], between: str = " → ", width: int = 100) -> str:
    """Texts on one line, shortened, without characters that act on a terminal."""
    most = width // max(1, len(texts))
    text = between.join(text if len(text) <= most else text[: most - 1] + "…" for text in texts).replace("\xa0", " ")
    return text if text.isprintable() else repr(text)[1:-1]

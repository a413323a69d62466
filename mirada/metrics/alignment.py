"""Word alignments: Pharaoh's format, and AER, precision and recall against a gold alignment.

    0-0 1-2 2-1 3?3        word i of the source and word j of the target, counted from 0; 3?3 or 3p3 is possible only

    precision = |A ∩ P| / |A|        recall = |A ∩ S| / |S|        AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

A are the links that were found, S the sure ones of the gold alignment, P ⊇ S its possible ones (Och & Ney 2003, §5).
The counts are those of the whole test set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mirada.data.text import lines, shown_path
from mirada.errors import DataError
from mirada.metrics.classification import percent
from mirada.metrics.score import Evaluation, Score, shown

Links = frozenset[tuple[int, int]]
"""Pairs of words: the place in the source, the place in the target."""

NO_LINKS = "has no links to compare with; write them as 0-0 1-2, a line for each pair"
"""The fault of gold alignments that are all empty, which would make every AER 100 %."""

_LINK = re.compile(r"([0-9]{1,6})([-?p])([0-9]{1,6})", re.ASCII)


@dataclass(frozen=True)
class Gold:
    """The gold alignment of a sentence pair."""

    sure: Links = frozenset()
    possible: Links = frozenset()
    """All possible links, the sure ones among them."""

    def check(self, sources: int, targets: int, where: str, hint: str = "") -> None:
        """Refuse a link to a word that the sentence pair does not have."""
        for source, target in sorted(self.sure | self.possible):
            for side, place, size in (("source", source, sources), ("target", target, targets)):
                if not 0 <= place < size:
                    last = f"the last is word {size - 1}" if size else "it is empty"
                    raise DataError(
                        f"{where}: the link {source}-{target} names word {place} of the {side}, where {last}{hint}"
                    )


def parse_links(text: str, where: str) -> Gold:
    """The links of a line in Pharaoh's format; `where` names the line for a message."""
    sure, possible = set(), set()
    for part in text.split():
        match = _LINK.fullmatch(part)
        if match is None:
            raise DataError(
                f"{where}: {shown(part)!r} is not a link; write 0-0 for a sure one, 0?0 or 0p0 for a possible one, "
                "with spaces between them"
            )
        link = int(match[1]), int(match[3])
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def read_gold(path: str | Path) -> Iterator[Gold]:
    """The gold alignments of a file, a line each; a blank line has no links, but a file has some."""
    none = True
    for number, line in enumerate(lines(path), 1):
        gold = parse_links(line, f"{shown_path(path)}, line {number}")
        none = none and not gold.possible
        yield gold
    if none:
        raise DataError(f"{shown_path(path)}: {NO_LINKS}")


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Links as a line in Pharaoh's format, in order."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


@dataclass(frozen=True)
class AlignmentScores(Evaluation):
    """The evaluation of the alignments of a test set."""

    unit = "sentence pairs"


@dataclass
class AlignmentCounts:
    """The counts that AER, precision and recall are made of."""

    pairs: int = 0
    found: int = 0  # |A|
    sure: int = 0  # |S|
    possible: int = 0  # |P|
    hit_sure: int = 0  # |A ∩ S|
    hit_possible: int = 0  # |A ∩ P|

    def add(self, links: Links, gold: Gold) -> None:
        """Count the links of one sentence pair."""
        self.pairs += 1
        self.found += len(links)
        self.sure += len(gold.sure)
        self.possible += len(gold.possible)
        self.hit_sure += len(links & gold.sure)
        self.hit_possible += len(links & gold.possible)

    @property
    def aer(self) -> float:
        """The alignment error rate in percent; 0 if there are no links on either side."""
        both = self.found + self.sure
        return 100.0 - percent(self.hit_sure + self.hit_possible, both) if both else 0.0

    def scores(self, notes: tuple[str, ...] = ()) -> AlignmentScores:
        """AER, precision and recall in percent."""
        found, sure, possible = f"found:{self.found}", f"sure:{self.sure}", f"possible:{self.possible}"
        hit_sure, hit_possible = f"found and sure:{self.hit_sure}", f"found and possible:{self.hit_possible}"
        aer = "|".join((found, sure, possible, hit_sure, hit_possible))
        return AlignmentScores(
            size=self.pairs,
            scores=(
                Score("AER", self.aer, aer, lower_is_better=True),
                Score("precision", percent(self.hit_possible, self.found), f"{hit_possible}|{found}"),
                Score("recall", percent(self.hit_sure, self.sure), f"{hit_sure}|{sure}"),
            ),
            notes=notes,
        )


def evaluate_links(found: Iterable[Links], gold: Iterable[Gold]) -> AlignmentScores:
    """Score the links of every sentence pair of a test set against its gold alignment."""
    counts = AlignmentCounts()
    for links, truth in zip(found, gold, strict=True):
        counts.add(links, truth)
    return counts.scores()

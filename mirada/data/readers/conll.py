"""Tagged text: a word and its tag on every line, a blank line between sentences. CoNLL-U is known by its look.

Spaces around a cell are not part of it. A sentence with a damaged line is not repaired but given a `problem`.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mirada.data.checks import has_invalid_bytes
from mirada.data.readers.names import is_number, nearest
from mirada.data.records import Record
from mirada.data.text import StrPath, lines, shown_path, shown_text
from mirada.errors import DataError, UsageError

TAB_PROBE = 200
"""Lines that are looked at to find out whether tabs stand between cells."""

CELLS_PROBE = 1000
"""Lines that are looked at to find out how many cells a line has."""

MAX_WORDS = 10_000
"""The most words of a sentence; with more, the blank lines are taken to be missing."""

CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
"""The columns of CoNLL-U."""

_BLANK_IS_MISSING = {"upos", "xpos", "head", "deprel"}
"""Columns in which CoNLL-U's underscore means a missing value; in the others it is one, such as "no features"."""

_ID = re.compile("[0-9]+([-.][0-9]+)?")
_NO_WORD_ID = re.compile("[0-9]+[-.][0-9]+")
_DOCUMENT = "-DOCSTART-"


@dataclass(slots=True)
class _Draft:
    """A sentence that is being read."""

    line: int = 0
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    problem: str = ""

    def add(self, line: int, word: str, tag: str, problem: str) -> None:
        self.line = self.line or line
        if not problem and len(self.words) == MAX_WORDS:
            problem = "too_long"
        self.problem = self.problem or problem
        if not problem:
            self.words.append(word)
            self.tags.append(tag)


class Conll:
    """The sentences of a file of tagged text, as records of words and tags; iterate as often as you like.

    A sentence with a `problem` lacks the words of damaged lines, and those beyond MAX_WORDS.

    Words are in the first column and tags in the last, in CoNLL-U in FORM and UPOS, unless `columns` names two others
    by number (from 1), in CoNLL-U also by name. A line has as many cells as most of the first ones.
    """

    def __init__(self, path: StrPath, columns: Sequence[str] = (), lenient: bool | None = None):
        self.path = str(path)
        self._name, self._lenient = shown_path(path), lenient
        if columns and len(columns) != 2:
            raise UsageError(
                f"--columns {','.join(columns)}: names {len(columns)}, but there must be two: that of the words and "
                "that of the tags, such as --columns 1,2"
            )
        self._tabs = self._has_tabs()
        self._width, self._conllu = self._look()
        self._word, self._tag = 0, 0
        self.about = "tagged text"
        if self._width:
            self._choose(columns)
        self._blank = "_" if self._conllu and CONLLU[self._tag] in _BLANK_IS_MISSING else ""

    def __iter__(self) -> Iterator[Record]:
        draft = _Draft()
        for number, line in enumerate(lines(self.path, lenient=self._lenient), 1):
            cells = self._cells(line)
            if _is_gap(cells):
                if draft.line:
                    yield Record((tuple(draft.words), tuple(draft.tags)), self.path, draft.line, draft.problem)
                draft = _Draft()
            elif not self._is_remark(line, cells, begun=draft.line > 0):
                draft.add(number, *self._word_and_tag(cells))
        if draft.line:
            yield Record((tuple(draft.words), tuple(draft.tags)), self.path, draft.line, draft.problem)

    # --- lines ------------------------------------------------------------------------------------------------------

    def _cells(self, line: str) -> list[str]:
        if not line.strip(" \t"):
            return []
        if self._tabs:
            return [cell.strip(" ") for cell in line.split("\t")]
        # str.split() would also divide at no-break spaces and the like, which are part of words.
        return [cell for cell in line.split(" ") if cell]

    def _is_remark(self, line: str, cells: Sequence[str], begun: bool) -> bool:
        """Whether a line is none of the words: a comment, or in CoNLL-U what several words are written as, or none.

        Plain files have words "#" too: there, a comment has other cells than the words and stands before the first.
        """
        if self._conllu:
            return line.startswith("#") or (len(cells) == self._width and _NO_WORD_ID.fullmatch(cells[0]) is not None)
        return not begun and line.startswith("# ") and len(cells) != self._width

    def _word_and_tag(self, cells: Sequence[str]) -> tuple[str, str, str]:
        """The word, the tag, and what is wrong with them."""
        if not self._tabs and any("\t" in cell for cell in cells):
            return "", "", "tab"
        if len(cells) != self._width:
            return "", "", "cell_count"
        word, tag = cells[self._word], cells[self._tag]
        if not word:
            return word, tag, "no_word"
        if not tag or tag == self._blank:
            return word, tag, "no_tag"
        if self._lenient and has_invalid_bytes(word, tag):
            return word, tag, "invalid_bytes"
        return word, tag, ""

    # --- what the beginning of the file tells -----------------------------------------------------------------------

    def _has_tabs(self) -> bool:
        filled = (line for line in lines(self.path, lenient=self._lenient) if line.strip(" \t"))
        return any("\t" in line for line in itertools.islice(filled, TAB_PROBE))

    def _look(self) -> tuple[int, bool]:
        """How many cells a line has, and whether this is CoNLL-U; no cells if the file has nothing in it."""
        widths: Counter[int] = Counter()
        of_remarks: Counter[int] = Counter()
        numbered, first = 0, ""
        rows = ((line, self._cells(line)) for line in lines(self.path, lenient=self._lenient))
        for line, cells in itertools.islice((row for row in rows if not _is_gap(row[1])), CELLS_PROBE):
            first = first or line
            (of_remarks if line.startswith("#") else widths)[len(cells)] += 1
            numbered += len(cells) == len(CONLLU) and _ID.fullmatch(cells[0]) is not None
        widths = widths or of_remarks
        if not widths:
            return 0, False
        # The first of those that are as frequent, as a Counter keeps their order.
        width, count = max(widths.items(), key=lambda item: (item[0] > 1) * item[1])
        if width == 1 or 2 * count < widths.total():
            raise self._no_tagged_text(first, widths, width)
        return width, self._tabs and width == len(CONLLU) and 2 * numbered > count

    def _no_tagged_text(self, first: str, widths: Counter[int], width: int) -> DataError:
        total = widths.total()
        which = f"the first {total:,} lines" if total >= CELLS_PROBE else "its lines"
        why = f"none of {which} has a second column" if width == 1 else f"{which} have different numbers of cells"
        return DataError(
            f"{self._name}: does not look like tagged text: {why}; the first is {shown_text(first)}; write a word, a "
            "tab and its tag on each line, and a blank line between sentences"
        )

    def _choose(self, columns: Sequence[str]) -> None:
        """Finds the columns of words and tags, and says which they are."""
        last = CONLLU.index("upos") if self._conllu else self._width - 1
        first = CONLLU.index("form") if self._conllu else 0
        self._word, self._tag = (self._column(column) for column in columns) if columns else (first, last)
        if self._conllu:
            self.about = f"CoNLL-U, words in {CONLLU[self._word].upper()} and tags in {CONLLU[self._tag].upper()}"
        else:
            between = "tab" if self._tabs else "spaces"
            places = f"words in column {self._word + 1} and tags in column {self._tag + 1} of {self._width}"
            self.about += f", {between} between cells, {places}"

    def _column(self, asked: str) -> int:
        """The place of a column, counted from 0."""
        if is_number(asked):
            if not 1 <= int(asked) <= self._width:
                raise DataError(f"{self._name}: has no column {int(asked)}; it has {self._width}, counted from 1")
            return int(asked) - 1
        name = asked.strip().lower()
        if not self._conllu:
            raise UsageError(
                f"{self._name}: its columns have no names, so there is no {shown_text(asked)}; choose by number: "
                f"--columns 1,{self._width}"
            )
        if name not in CONLLU:
            raise UsageError(
                f"{self._name}: CoNLL-U has no column {shown_text(asked)}{nearest(name, CONLLU)}; it has "
                f"{', '.join(CONLLU)}"
            )
        return CONLLU.index(name)


def _is_gap(cells: Sequence[str]) -> bool:
    """Whether a line ends the sentence: a blank one, or the mark of a new document."""
    return not any(cells) or cells[0] == _DOCUMENT

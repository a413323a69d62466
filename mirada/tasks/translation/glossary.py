"""Glossaries: terms of the source language, and the translations they must have.

    terms.tsv    source, tab, target: a term a line; "|" separates forms of a term, any of which will do
                 a line with a source alone: it stays as it is
    words.txt    (--keep) words and names that stay as they are, one a line

A term is found as whole words, in small or capital letters unless it has a capital letter itself; the longest term goes
first. A term that has several targets is also found in the plural, since its targets can then agree with it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mirada.data import language
from mirada.data.checks import has_invalid_bytes
from mirada.data.foreign import foreign
from mirada.data.language import UNSPACED
from mirada.data.normalize import normalize
from mirada.data.placeholders import found as placeholders
from mirada.data.readers.names import WELL_KNOWN
from mirada.data.text import StrPath, lines, shown_path, shown_text
from mirada.data.tokenizer import Tokenizer
from mirada.errors import DataError, UsageError

MAX_TERMS = 200_000
LONGEST_TERM = 500
"""The most characters of a term."""
FORMS = "|"
"""What stands between the forms of a term."""


@dataclass(frozen=True)
class Entry:
    """A term: its forms in the source language, and those it may have in the target language."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    """Empty if the term stays as it is."""
    where: str = "the glossary"
    """Its file and line, for messages."""


@dataclass(frozen=True)
class Required:
    """A term that was found in a sentence, and what its translation must contain."""

    source: str
    """As it stands in the sentence."""
    start: int
    end: int
    targets: tuple[str, ...]
    kept: bool = False
    """It stays as it is, its first letter included."""

    def __str__(self) -> str:
        return shown_text(self.source) if self.kept else f"{shown_text(self.targets[0])} for {shown_text(self.source)}"


class Glossary:
    """Terms with the translations they must have; `read` one from files, or make one of a dictionary."""

    def __init__(self, entries: Iterable[Entry]):
        self.entries: list[Entry] = []
        self._index: dict[tuple[str, ...], dict[str, Entry]] = {}
        self._longest = 0
        for entry in entries:
            self._add(entry)

    @classmethod
    def read(cls, path: StrPath | None = None, *, keep: StrPath | None = None) -> Glossary:
        """The glossary of a file of terms, of a list of words to keep, or of both."""
        entries = [*(_terms(path) if path is not None else ()), *(_kept(keep) if keep is not None else ())]
        if not entries:
            raise DataError(f"{shown_path(path or keep or '')}: has no terms")
        return cls(entries)

    @classmethod
    def of(cls, terms: Mapping[str, str | Sequence[str] | None]) -> Glossary:
        """The glossary of a dictionary: a term's target or targets; None keeps it as it is."""
        entries = []
        for source, given in terms.items():
            targets = () if given is None else tuple(given) if isinstance(given, list | tuple) else (given,)
            where = f"the glossary, {shown_text(source)}" if isinstance(source, str) else "the glossary"
            for form in (source, *targets):
                if not isinstance(form, str):
                    raise UsageError(f"{where}: {form!r:.40} is not a text")
            entries.append(Entry(_forms([source], where), _forms(targets, where) if targets else (), where))
        return cls(entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def fingerprint(self) -> str:
        """A hash of all terms."""
        content = repr([(entry.sources, entry.targets) for entry in self.entries])
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    def _add(self, entry: Entry) -> None:
        if len(self.entries) == MAX_TERMS:
            raise DataError(f"{entry.where}: exceeds the limit of {MAX_TERMS:,} terms per glossary")
        self.entries.append(entry)
        for source in entry.sources:
            words = _words(source)
            found = self._index.setdefault(tuple(word.casefold() for word, _, _ in words), {})
            other = found.setdefault(source, entry)
            if other.targets != entry.targets:
                raise DataError(
                    f"{entry.where}: {shown_text(source)} is {_shown(entry)} here, and {_shown(other)} in "
                    f"{other.where}; leave out one, or write both on one line: a{FORMS}b"
                )
            self._longest = max(self._longest, len(words))

    def check(self, tokenizer: Tokenizer, longest: int) -> None:
        """Refuse a term that is longer than a model's translations can be."""
        for entry in self.entries:
            for form in entry.targets:
                if len(form.encode()) > longest and (count := len(tokenizer.encode([form])[0])) > longest:
                    raise DataError(
                        f"{entry.where}: {shown_text(form)} has {count:,} tokens, and the model's translations have "
                        f"{longest:,} at most; shorten it"
                    )

    def find(self, sentence: str, tag: str | None = None) -> list[Required]:
        """The terms in a sentence of the language with this tag, in order; of those that overlap, the longest."""
        words = _words(sentence)
        free = _outside(sentence, words)
        matches = []
        for first in range(len(words)):
            for size in range(min(self._longest, len(words) - first), 0, -1):
                if free[first] and free[first + size - 1]:
                    start, end = words[first][1], words[first + size - 1][2]
                    if entry := self._match(
                        sentence[start:end], [word for word, _, _ in words[first : first + size]], tag
                    ):
                        matches.append((size, first, Required(*_required(entry, sentence[start:end], start, end))))
        taken: set[int] = set()
        found = []
        for size, first, required in sorted(matches, key=lambda match: (-match[0], match[1])):
            if taken.isdisjoint(range(first, first + size)):
                taken.update(range(first, first + size))
                found.append(required)
        return sorted(found, key=lambda required: required.start)

    def _match(self, text: str, words: Sequence[str], tag: str | None) -> Entry | None:
        """The entry for a sequence of words: as it stands there, else in lower case, else for its singular."""
        key = tuple(word.casefold() for word in words)
        if (entries := self._index.get(key)) and (entry := _cased(entries, text)):
            return entry
        for singular in _singulars(words[-1], tag, len(words)):
            entries = self._index.get((*key[:-1], singular.casefold()), {})
            entry = _cased(entries, text[: len(text) - len(words[-1])] + singular)
            if entry and len(entry.targets) > 1:
                return entry
        return None


GlossaryLike = str | Path | Mapping[str, str | Sequence[str] | None] | Glossary
"""A glossary, its file, or a dictionary of its terms."""


def open_glossary(given: GlossaryLike) -> Glossary:
    """The glossary itself, or that of a file or a dictionary."""
    if isinstance(given, Glossary):
        return given
    if isinstance(given, Mapping):
        return Glossary.of(given)
    if isinstance(given, str | Path):
        return Glossary.read(given)
    raise UsageError(f"glossary={given!r:.40}: should be a file, a dictionary or a Glossary")


def _required(entry: Entry, text: str, start: int, end: int) -> tuple[str, int, int, tuple[str, ...], bool]:
    return text, start, end, entry.targets or (text,), not entry.targets


def _cased(entries: Mapping[str, Entry], text: str) -> Entry | None:
    """The entry for a text: one that is written like it, or one without capital letters."""
    spaced = " ".join(text.split())
    if spaced in entries:
        return entries[spaced]
    return next((entry for source, entry in entries.items() if source == source.lower()), None)


def _shown(entry: Entry) -> str:
    return shown_text(FORMS.join(entry.targets)) if entry.targets else "kept as it is"


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_WORD = re.compile(rf"{UNSPACED.pattern}|(?:(?!{UNSPACED.pattern})\w)+|[^\w\s]")
_JOINED = re.compile(r"[-@._]")
"""Marks that make one word of what they stand between: e-mail, example.com."""


def _words(text: str) -> list[tuple[str, int, int]]:
    """The words and marks of a text with their places; in scripts without spaces, the characters."""
    return [(word[0], word.start(), word.end()) for word in _WORD.finditer(text)]


def _outside(sentence: str, words: Sequence[tuple[str, int, int]]) -> list[bool]:
    """Whether each word stands by itself: not in an address or a placeholder, nor joined to a longer word."""
    kinds = placeholders(sentence)
    marked = [span for item in {*kinds["url"], *kinds["placeholder"]} for span in _places(sentence, item)]
    free = []
    for _, start, end in words:
        joined = (
            (_JOINED.match(sentence[end : end + 1]) and sentence[end + 1 : end + 2].isalnum())
            or (start > 1 and _JOINED.match(sentence[start - 1]) and sentence[start - 2].isalnum())
        )  # fmt: skip
        free.append(not joined and not any(first < end and start < last for first, last in marked))
    return free


def _places(text: str, part: str) -> Iterator[tuple[int, int]]:
    start = text.find(part)
    while start >= 0:
        yield start, start + len(part)
        start = text.find(part, start + len(part))


_PLURALS: dict[str, tuple[tuple[str, str], ...]] = {
    "en": (("s", ""), ("es", ""), ("ies", "y")),
    "es": (("s", ""), ("es", ""), ("ces", "z")),
    "pt": (("s", ""), ("es", ""), ("ões", "ão"), ("ns", "m"), ("is", "l")),
    "fr": (("s", ""), ("x", ""), ("aux", "al")),
    "it": (("i", "o"), ("i", "e"), ("e", "a")),
}
"""Endings of regular plurals, and what the singular has instead."""


def _singulars(word: str, tag: str | None, words: int) -> list[str]:
    """What the singular of a word may be; only English makes the plural of several words at their end."""
    primary = language.primary(tag) if tag else ""
    if len(word) < 4 or (words > 1 and primary != "en"):
        return []
    return [word[: -len(end)] + other for end, other in _PLURALS.get(primary, ()) if word.endswith(end)]


# ── targets in a translation ──────────────────────────────────────────────────────────────────────────────────────


def missing(translation: str, required: Sequence[Required]) -> list[Required]:
    """The terms that a translation lacks; each stands for a place of its own."""
    return [term for term, place in zip(required, places(translation, required), strict=True) if place is None]


def places(translation: str, required: Sequence[Required]) -> list[tuple[int, int] | None]:
    """Where each term stands in a translation; the longest are looked for first."""
    found: list[tuple[int, int] | None] = [None] * len(required)
    taken: list[tuple[int, int]] = []
    for number in sorted(range(len(required)), key=lambda number: -max(map(len, required[number].targets))):
        for span in _occurrences(translation, required[number]):
            if all(span[1] <= start or end <= span[0] for start, end in taken):
                found[number] = span
                taken.append(span)
                break
    return found


def _occurrences(text: str, term: Required) -> Iterator[tuple[int, int]]:
    for target in sorted(term.targets, key=lambda target: -len(target)):
        words = r"\s+".join(map(re.escape, target.split()))
        before = r"(?<!\w)" if target[0].isalnum() and not UNSPACED.match(target) else ""
        after = r"(?!\w)" if target[-1].isalnum() and not UNSPACED.match(target[-1]) else ""
        any_case = target == target.lower() and not term.kept
        for match in re.finditer(before + words + after, text, re.IGNORECASE if any_case else 0):
            yield match.span()


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _terms(path: StrPath) -> list[Entry]:
    """The entries of a file of terms."""
    entries: list[Entry] = []
    tabs = False
    for number, line in _filled(path):
        where = f"{shown_path(path)}, line {number}"
        cells = line.split("\t")
        if len(cells) > 2 and any(map(str.strip, cells[2:])):
            raise DataError(
                f"{where}: has {len(cells)} columns, but a glossary has two: source and target; write several targets "
                f"as a{FORMS}b, and leave out other columns with `cut -f 1,2`"
            )
        if not entries and [cell.strip().casefold() for cell in cells[:2]] in _HEADERS:
            tabs = True
            continue
        tabs = tabs or len(cells) > 1
        targets = _forms(cells[1:2], where) if len(cells) > 1 else ()
        entries.append(Entry(_forms(cells[:1], where), targets, where))
    if entries and not tabs:
        first, name = entries[0].sources[0], shown_path(path)
        hint = f"is it a list of words to keep? --keep {name}"
        if ";" in first or "," in first:
            hint = "save the table with tabs between its columns (TSV)"
        raise DataError(
            f"{name}: no line has a tab between a source and its target; the first is {shown_text(first)}; {hint}"
        )
    return entries


_HEADERS = [[source, target] for source, targets in WELL_KNOWN.items() for target in targets.split()]


def _kept(path: StrPath) -> list[Entry]:
    """The entries of a list of words to keep."""
    entries = []
    for number, line in _filled(path):
        where = f"{shown_path(path)}, line {number}"
        if "\t" in line:
            raise DataError(
                f"{where}: has a tab, but --keep takes one word per line; for a glossary: --glossary {path}"
            )
        entries.append(Entry(_forms([line], where), (), where))
    return entries


_NO_TEXT = ("office", "zip", "docx", "odt", "pdf")


def _filled(path: StrPath) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    if foreign(path) in _NO_TEXT:
        raise DataError(f"{shown_path(path)}: is no text; save its table as text with tabs (TSV) in UTF-8")
    for number, line in enumerate(lines(path, lenient=True), 1):
        if has_invalid_bytes(line):
            raise DataError(f"{shown_path(path)}, line {number}: is not UTF-8; convert it: `iconv -f latin1 -t utf8`")
        if line.strip():
            yield number, line


def _forms(cells: Sequence[str], where: str) -> tuple[str, ...]:
    """The forms of a term; an empty one is a mistake."""
    forms = tuple(dict.fromkeys(normalize(form) for cell in cells for form in cell.split(FORMS)))
    for form in forms:
        if not form:
            raise DataError(f"{where}: has an empty term; to keep a word as it is, leave out the tab, too")
        if len(form) > LONGEST_TERM:
            raise DataError(f"{where}: has a term of {len(form):,} characters; the limit is {LONGEST_TERM}")
    return forms

"""Gettext catalogs: PO, the text that translators edit, and MO, which is compiled from it.

An entry gives the pair msgid → msgstr. An entry with plural forms gives two: msgid with the form for a single thing,
msgid_plural with all the others (`singular_form` tells which is which). A catalog in the source language is read the
other way round, from msgstr to msgid. Contexts change nothing.
"""

from __future__ import annotations

import io
import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import BinaryIO

from mirada.data.po import (
    HEAD,
    LARGEST,
    Entry,
    charset_of,
    decoded,
    header_fields,
    scan,
    singular_form,
    whole,
)
from mirada.data.readers.names import ISO_639_1
from mirada.data.readers.pair import Format, Wanted, matches
from mirada.data.records import Record
from mirada.data.text import StrPath, faults_named, opened, shown_path
from mirada.errors import DataError, UsageError

MAX_NAMES = 50
"""Passed-over files of a folder that are named; the rest is counted."""


class _Catalog:
    """What PO and MO have in common."""

    kind = ""

    def __init__(self, path: StrPath, wanted: Wanted):
        self.path, self.fuzzy = str(path), wanted.fuzzy
        language = _language(self.path, self.header())
        source, target = wanted.source_language, wanted.target_language
        self.backward = not fits(target, language) and fits(source, language)
        if language and target and not self.backward and not fits(target, language):
            raise DataError(
                f"{shown_path(self.path)}: its language is {language}, by its header or else its name, and not {target}"
                f"{f' or {source}' if source else ''}; --to {language} reads it from msgid to msgstr, "
                f"--from {language} from msgstr to msgid"
            )
        if self.backward:
            self.about = f"{self.kind} catalog read from msgstr to msgid, {language} → {target or 'msgid'}"
        else:
            self.about = f"{self.kind} catalog, {source or 'msgid'} → {language or target or 'msgstr'}"

    def header(self) -> dict[str, str]:
        raise NotImplementedError

    def entries(self) -> Iterator[Entry]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Record]:
        for entry in self.entries():
            if not entry.is_header:
                yield from self._pairs(entry)

    def _pairs(self, entry: Entry) -> Iterator[Record]:
        """Backward, each form of a plural is a source and so gives a pair of its own."""
        for text, forms in _sides(entry):
            written = [form for form in forms if form]
            problem = (
                "obsolete" if entry.obsolete
                else "untranslated" if not written
                else "fuzzy" if "fuzzy" in entry.flags and not self.fuzzy
                else ""
            )  # fmt: skip
            if self.backward:
                yield from (Record((form, text), self.path, entry.line, problem) for form in written or [""])
            else:
                yield Record((text, *(written or [""])), self.path, entry.line, problem)


def _sides(entry: Entry) -> Iterator[tuple[str, Sequence[str]]]:
    """Each text of an entry with its translations."""
    forms = entry.forms
    if entry.plural is None:
        yield entry.source, forms
        return
    one = singular_form(len(forms))
    if one is not None:
        yield entry.source, [forms.pop(one)]
    yield entry.plural, forms


class Po(_Catalog):
    """The pairs of a PO file. A pair's line is where its entry begins, comments included."""

    kind = "PO"

    def header(self) -> dict[str, str]:
        return _po_header(whole(self.path), shown_path(self.path))

    def entries(self) -> Iterator[Entry]:
        return scan(whole(self.path), shown_path(self.path))


class Mo(_Catalog):
    """The pairs of a MO file. It has no lines: a pair's line is the number of its entry, the header not counted."""

    kind = "MO"

    def header(self) -> dict[str, str]:
        return _mo_header(self.path)

    def entries(self) -> Iterator[Entry]:
        return _mo_entries(whole(self.path), shown_path(self.path))


# --- MO -----------------------------------------------------------------------------------------------------------


class _Compiled:
    """The texts of a MO file, as bytes. No number in it is trusted: each must lead to where the file has something.

    Besides its plain texts a file may have some with parts that differ between systems, as in "%<PRIu64> files".
    """

    def __init__(self, stream: BinaryIO, name: str):
        self.stream, self.name, self.total = stream, name, 0
        self.order = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}.get(stream.read(4), "")
        if not self.order:
            raise DataError(f"{name}: does not begin like a compiled catalog (.mo); give the .po it was made from")
        revision, self.count, self.sources, self.targets = self._numbers(4, 4)
        if revision >> 16 > 1:
            raise DataError(
                f"{name}: a compiled catalog of the unknown revision {revision >> 16}; give its .po instead"
            )
        self.special = self._numbers(28, 5) if revision & 0xFFFF else (0, 0, 0, 0, 0)

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        for index in range(self.count):
            yield self._text(self.sources, index), self._text(self.targets, index)
        _, _, count, sources, targets = self.special
        for index in range(count):
            yield self._joined(sources + 4 * index), self._joined(targets + 4 * index)

    def _text(self, table: int, index: int) -> bytes:
        length, offset = self._numbers(table + 8 * index, 2)
        return self._ended(self._bytes(offset, length + 1))  # the NUL at its end is not counted

    def _joined(self, offset: int) -> bytes:
        """A text in pieces; between them come parts that stand elsewhere, under a name."""
        parts, names, *_ = self.special
        (at,) = self._numbers(offset, 1)
        (start,) = self._numbers(at, 1)
        joined = b""
        for index in range(1000):
            length, part = self._numbers(at + 4 + 8 * index, 2)
            joined += self._bytes(start, length)
            start += length
            if part == 0xFFFFFFFF:
                return self._ended(joined)
            if part >= parts:
                break
            size, offset = self._numbers(names + 8 * part, 2)
            named = self._ended(self._bytes(offset, size))
            joined += named if named == b"I" else b"<" + named + b">"  # as msgunfmt writes them
        raise self._damage()

    def _ended(self, text: bytes) -> bytes:
        if not text.endswith(b"\0"):
            raise self._damage()
        return text[:-1]

    def _numbers(self, offset: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"{self.order}{count}I", self._bytes(offset, 4 * count))

    def _bytes(self, offset: int, length: int) -> bytes:
        self.total += length
        if offset > LARGEST or self.total > 2 * LARGEST:  # far more than there is: texts lie upon each other
            raise self._damage()
        self.stream.seek(offset)
        found = self.stream.read(length)
        if len(found) < length:
            raise self._damage()
        return found

    def _damage(self) -> DataError:
        return DataError(f"{self.name}: the compiled catalog is damaged or cut short; copy it or compile it again")


def _mo_entries(content: bytes, name: str) -> Iterator[Entry]:
    charset, number = "UTF-8", 0
    for source, target in _Compiled(io.BytesIO(content), name):
        if not source:
            charset = charset_of(target, name)
            continue
        number += 1
        place = f"{name}, entry {number}"
        context, mark, rest = decoded(source, charset, place).partition("\x04")
        text, *plurals = (rest if mark else context).split("\0")
        forms = decoded(target, charset, place).split("\0")
        if len(plurals) > 1 or (len(forms) > 1 and not plurals):
            raise DataError(f"{place}: has more texts than msgid and msgid_plural allow; compile the catalog again")
        entry = Entry(number, {"msgid": [text]})
        if mark:
            entry.texts["msgctxt"] = [context]
        if plurals:
            entry.texts["msgid_plural"] = plurals
        entry.texts.update({f"msgstr[{index}]": [form] for index, form in enumerate(forms)})
        yield entry


# --- languages ----------------------------------------------------------------------------------------------------

_TAG = re.compile(r"[a-z]{2,3}([-_@][a-z0-9]+)*", re.IGNORECASE)
_TAG_IN_NAME = re.compile(r"([a-z]{2,3})([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|[0-9]{3}))?(@[a-z]+)?")
_LONG_CODES = "ace ach ast ckb crh csb dsb fil frp fur gez haw hsb kab kmr kok mai mhr nds nso szl tzm"
"""Codes of three letters that are believed in a file's name, where `app` and `web` look like codes too."""


def _po_header(content: bytes, name: str) -> dict[str, str]:
    header = next((entry for entry in scan(content, name) if entry.is_header), None)
    return header_fields("".join(header.forms)) if header else {}


def _mo_header(path: str) -> dict[str, str]:
    name = shown_path(path)
    with faults_named(path), opened(path) as stream:
        source, target = next(iter(_Compiled(stream, name)), (b"", b""))
    return {} if source else header_fields(decoded(target, charset_of(target, name), f"{name}, header"))


def _language(path: str, header: dict[str, str]) -> str:
    """The language of a catalog by its header, else by its path; nothing if neither tells."""
    return language_in_header(header) or language_in_path(path)


def language_in_header(header: Mapping[str, str]) -> str:
    """What the field Language says, if that is a language."""
    said = header.get("language", "").partition(".")[0]
    return said if _TAG.fullmatch(said) else ""


def language_in_path(file: str) -> str:
    """pt_BR of locale/pt_BR/LC_MESSAGES/app.po, pt_BR.po, app.pt_BR.po and app-pt_BR.mo."""
    path = PurePath(file)
    if path.parent.name == "LC_MESSAGES":
        folder = path.parent.parent.name.partition(".")[0]
        if _TAG_IN_NAME.fullmatch(folder):
            return folder
    stem = _without_suffix(path.name)
    for start in (0, *(mark.end() for mark in re.finditer("[.-]", stem))):
        tag = _TAG_IN_NAME.fullmatch(stem, start)
        if tag and tag[1] in f"{ISO_639_1} {_LONG_CODES}".split():
            return tag[0]
    return ""


def fits(asked: str | None, language: str, strictly: bool = False) -> bool:
    """Whether a catalog's language is the one asked for, a variety of it or, if not strictly, what it varies."""
    if not asked or not language:
        return False
    asked, language = asked.strip().replace("@", "-"), language.replace("@", "-")
    return matches(asked, language) or (not strictly and language.lower() == re.split("[-_]", asked.lower())[0])


# --- the catalogs of a folder -------------------------------------------------------------------------------------


def choose(folder: str, found: Sequence[str], wanted: Wanted) -> tuple[list[str], list[str]]:
    """Which of a folder's files are read, and a line on each group of those that are not.

    Everything but catalogs is read. So are the catalogs in the target language, or whose language is unknown. If
    there are none in the target language, or if it is English, in which msgid is written nearly always, those in the
    source language are read instead, backward.
    """
    templates = [file for file in found if _suffix(file) == ".pot"]
    texts = {_without_suffix(file) for file in found if _suffix(file) == ".po"}
    compiled = [file for file in found if _suffix(file) in (".mo", ".gmo") and _without_suffix(file) in texts]
    rest = set(found) - {*templates, *compiled}
    languages = {file: _language_of(file) for file in found if file in rest and _suffix(file)}
    others = _other_languages(folder, languages, wanted)
    files = [file for file in found if file in rest and file not in others]
    if not files and not others:
        raise DataError(f"{shown_path(folder)}: has only templates (.pot), which hold no translations; give .po files")
    if not files:
        asked = " or ".join(tag for tag in (wanted.target_language, wanted.source_language) if tag)
        there = _distinct(others.values())
        raise DataError(
            f"{shown_path(folder)}: no catalog is in {asked}, but in {', '.join(there)}; choose one: --to {there[0]}"
        )
    beside = "next to a .po of the same name"
    names = {file: shown_path(os.path.relpath(file, folder)) for file in found}
    foreign = [f"{names[file]} ({language})" for file, language in others.items()]
    notes = [
        _note("catalog in another language", "catalogs in other languages", foreign),
        _note(f".mo file {beside}", f".mo files {beside}", [names[file] for file in compiled]),
        _note("template", "templates", [names[file] for file in templates]),
    ]
    return files, [note for note in notes if note]


def _language_of(file: str) -> str:
    """The language of a catalog by a look at its beginning. Damage is left for the reader to tell."""
    try:
        if _suffix(file) != ".po":
            return _language(file, _mo_header(file))
        with faults_named(file), opened(file) as stream:
            head = stream.read(HEAD)
        return _language(file, _po_header(head, file))
    except DataError:
        return _language(file, {})


def _other_languages(folder: str, languages: dict[str, str], wanted: Wanted) -> dict[str, str]:
    """The catalogs, with their languages, that do not fit."""
    known = {file: language for file, language in languages.items() if language}
    target = wanted.target_language
    if not target:
        distinct = _distinct(known.values())
        if len(distinct) > 1:
            raise UsageError(
                f"{shown_path(folder)}: has catalogs in {len(distinct)} languages: {', '.join(distinct)}; "
                f"choose one: --to {distinct[0]}"
            )
        return {}
    forward = _fitting(target, known)
    backward = {file for file in _fitting(wanted.source_language, known) if not fits(target, known[file])}
    chosen = backward if backward and (not forward or fits("en", target)) else forward
    return {file: language for file, language in known.items() if file not in chosen}


def _fitting(asked: str | None, known: dict[str, str]) -> set[str]:
    """The catalogs that fit strictly, or else those that fit."""
    strictly = {file for file, language in known.items() if fits(asked, language, strictly=True)}
    return strictly or {file for file, language in known.items() if fits(asked, language)}


def _distinct(languages: Iterable[str]) -> list[str]:
    """Each language once, however it is spelt."""
    spelt = {language.lower().replace("-", "_"): language for language in languages}
    return [spelt[key] for key in sorted(spelt)]


def _note(one: str, many: str, names: Sequence[str]) -> str:
    """Passed-over files, named."""
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    shown = ", ".join(names[:MAX_NAMES]) + more
    return f"{len(names):,} {one if len(names) == 1 else many} skipped: {shown}" if names else ""


_SUFFIX = re.compile(r"(\.po|\.pot|\.mo|\.gmo)(\.gz)?$", re.IGNORECASE)


def _suffix(file: str) -> str:
    """.po, .pot, .mo or .gmo; empty if the file is not a catalog."""
    found = _SUFFIX.search(file)
    return found[1].lower() if found else ""


def _without_suffix(file: str) -> str:
    return _SUFFIX.sub("", file)


FORMATS = {
    "po": Format(Po, (".po", ".pot"), (b"msgid ",)),
    "mo": Format(Mo, (".mo", ".gmo"), (b"\xde\x12\x04\x95", b"\x95\x04\x12\xde")),
}

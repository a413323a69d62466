"""PO catalogs as text: their entries with the number of every line, and the filling of those without a translation.

Filling edits the text itself: what is not in a gap stays as it was, byte for byte. What is filled in is marked fuzzy,
for a person to check. The scanner here also serves the reader of pairs, `readers.catalogs`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mirada.data.text import (
    MAX_BLANK,
    StrPath,
    faults_named,
    opened,
    shown_path,
    shown_text,
    too_many_blank_lines,
)
from mirada.errors import DataError

LARGEST = 256 * 2**20
"""The most bytes of a catalog, unpacked; a larger file is taken for something else."""
HEAD = 2**16
"""Bytes at the beginning of a PO file in which its header is looked for."""
MAX_FORMS = 20
"""The most plural forms that a header may declare; languages have one to six."""

_BOM = b"\xef\xbb\xbf"


def whole(path: StrPath) -> bytes:
    """A catalog's bytes, unpacked."""
    with faults_named(path), opened(path) as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise DataError(f"{shown_path(path)}: more than {LARGEST // 2**20} MiB, too large for a catalog; split it")
    if (flood := content.find(b"\n" * (MAX_BLANK + 2))) >= 0:
        raise too_many_blank_lines(shown_path(path), content.count(b"\n", 0, flood) + MAX_BLANK + 2)
    return content


# --- entries ------------------------------------------------------------------------------------------------------


@dataclass
class Entry:
    """One entry of a catalog. Numbers of lines count from 1."""

    line: int
    """The first line, comments included."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """The pieces of each text by its keyword: msgctxt, msgid, msgid_plural, msgstr or msgstr[0], msgstr[1], …"""
    flags: set[str] = field(default_factory=set)
    flag_lines: list[int] = field(default_factory=list)
    intro: int = 0
    """The line where the comments end: the first of `#|`, msgctxt and msgid."""
    form_lines: list[int] = field(default_factory=list)
    """The lines of msgstr, or of all its plural forms."""
    obsolete: bool = False

    @property
    def source(self) -> str:
        return "".join(self.texts["msgid"])

    @property
    def plural(self) -> str | None:
        return "".join(self.texts["msgid_plural"]) if "msgid_plural" in self.texts else None

    @property
    def forms(self) -> list[str]:
        """The translation, or all its plural forms."""
        return ["".join(pieces) for keyword, pieces in self.texts.items() if keyword.startswith("msgstr")]

    @property
    def is_header(self) -> bool:
        return not self.source and not {"msgctxt", "msgid_plural"} & self.texts.keys()

    def has_place_for(self, keyword: str) -> bool:
        """Whether a text with this keyword may come next."""
        if keyword == "msgctxt":
            return not self.texts
        if keyword == "msgid":
            return keyword not in self.texts
        if keyword in ("msgid_plural", "msgstr"):
            return "msgid" in self.texts and not {"msgid_plural", "msgstr"} & self.texts.keys()
        forms = len(self.texts) - len({"msgctxt", "msgid", "msgid_plural"} & self.texts.keys())
        return "msgid_plural" in self.texts and keyword == f"msgstr[{forms}]"


def singular_form(count: int) -> int | None:
    """Which of `count` plural forms is the one for a single thing.

    A convention, since the rule in Plural-Forms is a program, and no program from a file is run: with one form none,
    with six (Arabic) the second, else the first.
    """
    return None if count == 1 else 1 if count == 6 else 0


def header_fields(text: str) -> dict[str, str]:
    """The fields of a header, a `Name: value` on each line; names in lower case."""
    parted = (line.partition(":") for line in text.split("\n"))
    return {name.strip().lower(): value.strip() for name, _, value in parted}


_CHARSET = re.compile(
    rb"^(?![ \t]*#)[^\n]*Content-Type:.{0,200}?charset=([\w.:-]+)", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_PROBE = "".join(map(chr, range(32, 127))) + r"\n\x41\u0041"


def charset_of(content: bytes, name: str) -> str:
    """The charset that a header tells, UTF-8 if it tells none. It must be one that contains ASCII."""
    found = _CHARSET.search(content[:HEAD])
    charset = found[1].decode("ascii") if found else "CHARSET"
    if charset == "CHARSET" or content.startswith(_BOM):  # CHARSET stands in a template until somebody fills it in
        return "UTF-8"
    try:
        if _PROBE.encode(charset) == _PROBE.encode() and _PROBE.encode().decode(charset) == _PROBE:
            return charset
    except (LookupError, ValueError):
        pass
    raise DataError(
        f"{name}: its header says charset={charset}, which is unknown here or does not contain ASCII; "
        "correct the header, or convert the file with `msgconv -t UTF-8`"
    )


def decoded(raw: bytes, charset: str, place: str) -> str:
    """The text of some bytes of a catalog."""
    try:
        return raw.decode(charset)
    except UnicodeDecodeError as fault:
        raise DataError(
            f"{place}: not {charset}: byte 0x{raw[fault.start]:02x} at byte offset {fault.start}; put the true charset "
            "into the header (Content-Type; without one UTF-8 is taken), or convert the file with `iconv`"
        ) from None


# --- the scanner --------------------------------------------------------------------------------------------------

_SPACE = " \t\r\n\f\v"
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_STRINGS = re.compile(_STRING)
_LINE = re.compile(rf"(msgctxt|msgid_plural|msgid|msgstr(?:\s*\[\s*[0-9]+\s*\])?)?\s*((?:{_STRING}\s*+)++)")
_ESCAPE = re.compile(r"((?:\\[0-7]{1,3}|\\x[0-9a-fA-F]{1,2})+)|\\(.)")
_BYTE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3}))")
_MEANINGS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "\\": "\\", '"': '"'}


def scan(content: bytes, name: str) -> Iterator[Entry]:
    """The entries of a PO file one after the other, the header among them."""
    charset = charset_of(content, name)
    entry, keyword = Entry(0), ""
    for number, raw in enumerate(io.BytesIO(content.removeprefix(_BOM)), 1):
        place = f"{name}, line {number}"
        line = _line(raw, charset, place)
        obsolete = line.startswith("#~")
        body = line[2:].lstrip(_SPACE) if obsolete else line
        if not body:
            continue
        match = _LINE.fullmatch(body)
        comment = body.startswith(("#", "|") if obsolete else ("#", 'domain "'))
        if not match and not comment:
            raise DataError(
                f"{place}: neither a comment nor msgid, msgstr or the like with a text in quotes: {shown_text(line)}; "
                "put it right (`msgfmt -c` finds such lines)"
            )
        if entry.form_lines and (not match or match[1] in ("msgctxt", "msgid")):
            yield entry
            entry, keyword = Entry(number), ""
        entry.line = entry.line or number
        if match:
            keyword = _take(entry, match, keyword, charset, place)
            entry.obsolete |= obsolete
            if keyword.startswith("msgstr"):
                entry.form_lines.append(number)
        elif line.startswith("#,"):
            entry.flags.update(line[2:].replace(",", " ").split())
            entry.flag_lines.append(number)
        if match or line.startswith("#|"):
            entry.intro = entry.intro or number
    if entry.form_lines:
        yield entry
    elif entry.texts:
        raise DataError(f"{name}, line {entry.line}: the last entry has no msgstr; the file seems to be cut short")


def _line(raw: bytes, charset: str, place: str) -> str:
    if b"\0" in raw:
        raise DataError(
            f"{place}: a NUL byte, which no PO catalog has; if this is UTF-16, convert it with "
            "`iconv -f UTF-16 -t utf8`, if it is a compiled catalog, name it .mo"
        )
    if raw.startswith(b"#") and not raw.startswith(b"#~"):
        return raw.decode(charset, "replace").strip(_SPACE)  # names in comments are often in another charset
    return decoded(raw, charset, place).strip(_SPACE)


def _take(entry: Entry, match: re.Match[str], keyword: str, charset: str, place: str) -> str:
    """Adds a line's text to an entry. Gives the text's keyword; a line without one continues the last text."""
    if match[1]:
        keyword = re.sub(r"\s", "", match[1])
        if not entry.has_place_for(keyword):
            raise DataError(
                f"{place}: {keyword} has no place here: an entry is msgctxt if any, msgid and msgstr, "
                "or msgid, msgid_plural, msgstr[0], msgstr[1] and so on; put it right (`msgfmt -c` finds such lines)"
            )
    elif not keyword:
        raise DataError(
            f"{place}: a text without msgid, msgstr or the like before it: {shown_text(match[0])}; put it right"
        )
    entry.texts.setdefault(keyword, []).extend(_unescaped(text[1:-1], charset) for text in _STRINGS.findall(match[2]))
    return keyword


def _unescaped(text: str, charset: str) -> str:
    """The text that is meant. An escape that means nothing stays as it is written."""

    def meaning(match: re.Match[str]) -> str:
        if match[2]:
            return _MEANINGS.get(match[2], match[0])
        numbers = [int(hexa, 16) if hexa else int(octal, 8) for hexa, octal in _BYTE.findall(match[1])]
        try:
            return bytes(numbers).decode(charset) if all(numbers) else match[0]
        except ValueError:
            return match[0]

    return _ESCAPE.sub(meaning, text) if "\\" in text else text


# --- filling ------------------------------------------------------------------------------------------------------

_ESCAPES = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f", "\v": "v", "\a": "a", "\\": "\\", '"': '"'}
_TO_ESCAPE = re.compile(r'[\x00-\x1f\x7f"\\]')


@dataclass(frozen=True)
class Gap:
    """An entry that has no translation yet."""

    line: int
    text: str
    plural: str
    """The text for several things, or nothing."""


class Catalog:
    """A PO file whose gaps can be filled.

    A gap is an entry whose msgstr, or every one of its plural forms, is empty. Entries that are obsolete, fuzzy with
    a translation, or translated in part are not gaps.
    """

    def __init__(self, path: StrPath):
        self.path, self.name = str(path), shown_path(path)
        self.header: dict[str, str] = {}
        """The fields of its header, names in lower case."""
        content = whole(path)
        self.charset = charset_of(content, self.name)
        self._mark = _BOM if content.startswith(_BOM) else b""
        self._lines = list(io.BytesIO(content.removeprefix(_BOM)))
        self._newline = _ending(self._lines[0]) if self._lines else b""
        self._entries: list[Entry] = []
        self._forms = 2
        for entry in scan(content, self.name):
            if entry.is_header and not entry.obsolete:
                self.header = header_fields("".join(entry.forms))
                self._forms = self._number_of_forms(entry)
            elif not entry.obsolete and entry.source and not any(entry.forms):
                self._entries.append(entry)
        self.gaps = [Gap(entry.line, entry.source, entry.plural or "") for entry in self._entries]

    def filled(self, translations: Sequence[str], plurals: Sequence[str]) -> bytes:
        """The file's bytes, unpacked, with a translation and one for the plural in each gap.

        A gap stays as it was where one that it needs is empty. Plural forms follow `singular_form`.
        """
        edited: dict[int, bytes] = {}
        for entry, translation, plural in zip(self._entries, translations, plurals, strict=True):
            texts = self._texts(entry, translation, plural)
            if all(texts.values()):
                self._edit(edited, entry, texts)
        return self._mark + b"".join(edited.get(number, line) for number, line in enumerate(self._lines, 1))

    def _number_of_forms(self, header: Entry) -> int:
        found = re.search(r"nplurals\s*=\s*([0-9]+)", self.header.get("plural-forms", ""))
        if not found:
            return 2
        if len(found[1]) > 4 or not 1 <= int(found[1]) <= MAX_FORMS:
            raise DataError(
                f"{self.name}, line {header.line}: the header says nplurals={shown_text(found[1])}; "
                f"it must be from 1 to {MAX_FORMS}"
            )
        return int(found[1])

    def _texts(self, entry: Entry, translation: str, plural: str) -> dict[str, str]:
        """The text for each msgstr."""
        if entry.plural is None:
            return {"msgstr": _with_newlines_of(entry.source, translation)}
        one = singular_form(self._forms)
        return {
            f"msgstr[{form}]": _with_newlines_of(entry.source, translation if form == one else plural)
            for form in range(self._forms)
        }

    def _edit(self, edited: dict[int, bytes], entry: Entry, texts: dict[str, str]) -> None:
        """Puts the texts in place of an entry's empty ones, and the flag into the comments above."""
        first, *others = entry.form_lines
        newline = _ending(self._lines[first - 1]) or self._newline or b"\n"
        new = [line for keyword, text in texts.items() for line in self._written(entry, keyword, text)]
        edited.update(dict.fromkeys(others, b""))
        edited[first] = newline.join(new) + _ending(self._lines[entry.form_lines[-1] - 1])
        if "fuzzy" in entry.flags:
            return
        if entry.flag_lines:
            number = entry.flag_lines[0]
            before, sign, rest = self._lines[number - 1].partition(b"#,")
            edited[number] = before + sign + b" fuzzy" + (b"," if rest.strip() else b"") + rest
        else:
            edited[entry.intro] = b"#, fuzzy" + newline + self._lines[entry.intro - 1]

    def _written(self, entry: Entry, keyword: str, text: str) -> list[bytes]:
        """The lines of a text as gettext writes them: if there are several, each on its own below an empty one."""
        if fault := self.lacks(text):
            raise DataError(f"{self.name}, line {entry.line}: {fault}")
        quoted = [f'"{_TO_ESCAPE.sub(_escape, piece)}"' for piece in re.findall(r"[^\n]*\n|[^\n]+", text)]
        lines = [f"{keyword} {quoted[0]}"] if len(quoted) == 1 else [f'{keyword} ""', *quoted]
        return [line.encode(self.charset) for line in lines]

    def lacks(self, text: str) -> str:
        """Why a translation cannot be written in the catalog's charset; empty if it can."""
        alien = next((character for character in text if not self._can_hold(character)), None)
        if alien is None:
            return ""
        return (
            f"{alien!a} in the translation {shown_text(text)} cannot be written in {self.charset}, the catalog's "
            "charset; convert the catalog with `msgconv -t UTF-8` first"
        )

    def _can_hold(self, character: str) -> bool:
        """Whether a character can be written; some charsets would write another for it, so it is read back."""
        return (
            character != "\0" and character.encode(self.charset, "replace").decode(self.charset, "replace") == character
        )


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return "\\" + _ESCAPES.get(character, f"{ord(character):03o}")


def _ending(line: bytes) -> bytes:
    return b"\r\n" if line.endswith(b"\r\n") else b"\n" if line.endswith(b"\n") else b""


def _with_newlines_of(source: str, translation: str) -> str:
    """The translation between the newlines that the source begins and ends with, as `msgfmt -c` demands."""
    text, inner = translation.strip("\n"), source.strip("\n")
    if not text or not inner:
        return ""
    before, after = source.split(inner, 1)
    return before + text + after

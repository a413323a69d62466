"""TMX, translation memories: units (`tu`), each with variants of a text (`tuv`) in several languages.

The file is read in blocks and never as a whole. Nothing that it names is fetched, and entities it defines are refused.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from mirada.data.readers.pair import Format, Wanted, matches, references
from mirada.data.records import Record
from mirada.data.text import LONGEST_LINE, StrPath, faults_named, opened, shown_path, shown_text
from mirada.errors import DataError, UsageError

TMX_PROBE = 1000
"""Units that are looked at to find out the languages."""

INLINE_TAGS_REMOVED = "inline_tags_removed"

_BLOCK = 2**16
_DEEPEST = 1000
_MAX_LANGUAGES = 1000
_MAX_VARIANTS = 10_000
_NATIVE_CODE = frozenset({"bpt", "ept", "ph", "it", "ut"})
"""Elements inside of a text that hold another program's markup instead of text."""


@dataclass(frozen=True, slots=True)
class _Variant:
    language: str
    text: str
    tags_removed: bool


@dataclass(slots=True)
class _Unit:
    line: int
    source_language: str
    """What the file's header says, which may be nothing or `*all*`."""
    variants: list[_Variant] = field(default_factory=list)


class Tmx:
    """The pairs of a translation memory: one for each source variant of a unit, with all target variants."""

    def __init__(self, path: StrPath, wanted: Wanted):
        self.path = str(path)
        self._name = shown_path(path)
        self._source, self._target = wanted.source_language or "", wanted.target_language or ""
        self.about = f"TMX, {self._source or '?'} → {self._target or '?'}"
        found: Counter[str] = Counter()
        count, header = 0, ""
        for unit in itertools.islice(_units(self.path), TMX_PROBE):
            count, header = count + 1, unit.source_language
            _count(unit, found)
        if count and not (self._source and self._target):
            self._find_languages(found, header)
        if count < TMX_PROBE:
            self._check(found)

    def __iter__(self) -> Iterator[Record]:
        found: Counter[str] = Counter()
        for unit in _units(self.path):
            _count(unit, found)
            yield from self._pairs(unit)
        self._check(found)

    def _pairs(self, unit: _Unit) -> Iterator[Record]:
        """The pairs of a unit; equal variants count once."""
        sources: dict[str, bool] = {}  # the text, and whether tags were removed from it
        targets: dict[str, bool] = {}
        for variant in unit.variants:
            for side, texts in zip(self._sides(variant.language), (sources, targets), strict=True):
                if side:
                    texts[variant.text] = texts.get(variant.text, False) or variant.tags_removed
        problem = "" if targets else "missing_target"
        if not sources:
            problem = "missing_source"
        if len(targets) > 1:
            targets.pop("", None)
        for source, removed in (sources or {"": False}).items():
            marks = (INLINE_TAGS_REMOVED,) if removed or any(targets.values()) else ()
            yield Record((source, *references(list(targets) or [""])), self.path, unit.line, problem, marks)

    def _sides(self, language: str) -> tuple[bool, bool]:
        """Whether a text in the language is wanted as source, and as target; of `es` and `es-MX` the longer decides."""
        source, target = matches(self._source, language), matches(self._target, language)
        if source and target and len(self._source) != len(self._target):
            source = len(self._source) > len(self._target)
            target = not source
        return source, target

    def _find_languages(self, found: Counter[str], header: str) -> None:
        """Settles the languages that were not asked for, if the file has just two."""
        groups: dict[str, list[str]] = {}
        for tag in filter(None, found):
            groups.setdefault(_primary(tag), []).append(tag)
        if not groups:
            raise DataError(f"{self._name}: does not say its languages; each <tuv> should have xml:lang")
        order = sorted(groups, key=lambda primary: primary != _primary(header))
        asked = self._source or self._target
        rest = [primary for primary in order if not any(matches(asked, tag) for tag in groups[primary])]
        if len(order) != 2 or (asked and len(rest) != 1):
            first, second = [*map(_shown, filter(None, found)), "en"][:2]
            raise UsageError(
                f"{self._name}: has texts in {_listed(found)}; say which with --from {first} --to {second}"
            )
        source, target = order if not asked else (asked, rest[0]) if self._source else (rest[0], asked)
        shown = [_shown(tags[0] if len(tags := groups.get(tag, [tag])) == 1 else tag) for tag in (source, target)]
        self._source, self._target = source, target
        self.about = f"TMX, {shown[0]} → {shown[1]}"

    def _check(self, found: Counter[str]) -> None:
        """Refuses a file that has nothing at all in one of the languages."""
        for side, asked in enumerate((self._source, self._target)):
            if found and not any(self._sides(tag)[side] for tag in found):
                raise DataError(
                    f"{self._name}: has no text in {asked}; it has {_listed(found)}; choose with --from and --to"
                )


def _primary(tag: str) -> str:
    """The language of a tag, without country or script."""
    return tag.lower().replace("_", "-").partition("-")[0]


def _count(unit: _Unit, found: Counter[str]) -> None:
    for variant in unit.variants:
        if variant.language in found or len(found) < _MAX_LANGUAGES:
            found[variant.language] += 1


def _shown(tag: str) -> str:
    return tag if tag.isprintable() and len(tag) < 30 else shown_text(tag, 30)


def _listed(found: Counter[str]) -> str:
    shown = [f"{_shown(tag)} ({count})" for tag, count in found.most_common(20) if tag]
    return ", ".join(shown) + (", …" if len(found) > 20 else "") or "texts of no language: xml:lang is missing"


# --- from XML to units ----------------------------------------------------------------------------------------------


def _units(path: str) -> Iterator[_Unit]:
    """The units of a file, a block of it at a time."""
    parser = _Parser(shown_path(path))
    with faults_named(path), opened(path) as stream:
        while block := stream.read(_BLOCK):
            yield from parser.feed(block)
        yield from parser.feed(b"", final=True)


class _Parser:
    """Turns blocks of XML into units."""

    def __init__(self, name: str):
        self._name = name
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.EntityDeclHandler = self._refuse_entity
        self._expat.ExternalEntityRefHandler = self._refuse_entity
        self._expat.SkippedEntityHandler = self._refuse_entity
        self._fed = 0
        self._depth = 0
        self._header_language = ""
        self._done: list[_Unit] = []
        self._unit: _Unit | None = None
        self._language: str | None = None  # of the variant
        self._text: list[str] | None = None  # pieces of the segment
        self._text_depth = 0
        self._native_depth = 0  # of elements to be removed
        self._tags_removed = False
        self._size = 0  # of the unit's texts

    def feed(self, block: bytes, final: bool = False) -> list[_Unit]:
        """The units that end in the next block."""
        try:
            self._expat.Parse(block, final)
        except expat.ExpatError as fault:
            raise self._damage(fault, block) from None
        except (LookupError, ValueError) as fault:
            raise DataError(
                f"{self._name}: its encoding cannot be read ({fault}); convert it with iconv and say "
                'encoding="UTF-8" in its first line'
            ) from None
        self._fed += len(block)
        if self._fed - self._expat.CurrentByteIndex > LONGEST_LINE:
            self._refuse(f"a tag or comment is longer than {LONGEST_LINE // 2**20} MiB; is this a TMX file?")
        done, self._done = self._done, []
        return done

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._refuse(f"elements are nested more than {_DEEPEST} deep; is this a TMX file?")
        if self._depth == 1 and tag != "tmx":
            what = "XLIFF" if tag == "xliff" else f"XML whose root element is {shown_text(tag)}"
            raise DataError(f"{self._name}: is {what}, not TMX; export it as TMX")
        if self._text is not None:
            self._tags_removed |= tag != "hi"
            self._native_depth += self._native_depth > 0 or tag in _NATIVE_CODE
        elif tag == "header":
            self._header_language = attributes.get("srclang", "").strip()
        elif tag == "tu":
            if self._unit:
                self._refuse(f"a unit inside the unit of line {self._unit.line}; correct the file")
            self._unit = _Unit(self._expat.CurrentLineNumber, self._header_language)
            self._size = 0
        elif tag == "tuv" and self._unit:
            self._language = (attributes.get("xml:lang") or attributes.get("lang") or "").strip()
            if len(self._unit.variants) >= _MAX_VARIANTS:
                self._refuse(f"a unit with more than {_MAX_VARIANTS:,} texts; is this a TMX file?")
        elif tag == "seg" and self._language is not None:
            self._text, self._text_depth, self._tags_removed = [], self._depth, False

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if self._native_depth:
            self._native_depth -= 1
        elif self._text is not None:
            if self._depth < self._text_depth and self._unit and self._language is not None:
                self._unit.variants.append(_Variant(self._language, "".join(self._text), self._tags_removed))
                self._text = None
        elif tag == "tuv":
            self._language = None
        elif tag == "tu" and self._unit:
            self._done.append(self._unit)
            self._unit = None

    def _characters(self, text: str) -> None:
        if self._text is not None and not self._native_depth:
            self._text.append(text)
            self._size += len(text)
            if self._size > LONGEST_LINE:
                self._refuse(f"the texts of a unit are longer than {LONGEST_LINE // 2**20} MiB; is this a TMX file?")

    # --- what is refused ---

    def _refuse_entity(self, entity: str | None, *_: object) -> NoReturn:
        self._refuse(
            f"the entity {shown_text(entity or '')} is not one of XML's own, and no others are read; "
            "write the character itself"
        )

    def _refuse(self, why: str) -> NoReturn:
        raise DataError(f"{self._name}, line {self._expat.CurrentLineNumber}: {why}")

    def _damage(self, fault: expat.ExpatError, block: bytes) -> DataError:
        """The error for a file that is not XML, or no longer."""
        reason = expat.ErrorString(fault.code)
        hint = "correct it there, or export or download it again"
        place = self._expat.ErrorByteIndex - self._fed
        if fault.code == expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN] and 0 <= place < len(block):
            byte = block[place]
            reason += f": {shown_text(chr(byte))}" if 0x20 <= byte < 0x7F else f": byte 0x{byte:02x}"
            if byte >= 0x80:
                hint = "if the file is Latin-1, convert it with `iconv -f latin1 -t utf8`"
        return DataError(f"{self._name}, line {fault.lineno}, column {fault.offset + 1}: {reason}; {hint}")


_UTF_16 = (b"<\0?\0x\0", b"\0<\0?\0x")  # without a byte order mark
FORMATS = {"tmx": Format(Tmx, (".tmx",), (b"<?xml", b"<tmx", *_UTF_16))}

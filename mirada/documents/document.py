"""What every document format gives: the segments to translate, and the file again with their translations.

A document keeps its text as it was read. Its blocks say which ranges of it are replaced, so that all else stays as it
is. A block is a paragraph, a heading, a cell, …: one segment, whatever markup there is inside of it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Protocol

from mirada.data.placeholders import found
from mirada.data.text import StrPath, faults_named, opened, shown_path, shown_text
from mirada.documents import inline
from mirada.errors import DataError

LARGEST = 64 * 2**20
"""The most bytes of a document, unpacked."""

LONGEST_TAG = 100
"""The most characters of a tag in the text of a segment; a short one stands for a longer one."""

LINE_BREAK = "<br/>"
"""How a segment shows the end of a line, before and after which sentences are translated by themselves."""

SPACE = " \t\r\n\f"
"""White space that means no more than one space, in HTML and XML."""


class Options(NamedTuple):
    """What a format may need to know besides the file."""

    columns: tuple[str, ...] = ()
    """Which columns or fields of a table to translate: in place, or a source and a target."""
    source_language: str | None = None
    target_language: str | None = None


class Segment(NamedTuple):
    """A text to translate."""

    text: str
    """With the tags inside of it, if the document has markup (see `inline`)."""
    place: str
    """Where it is, for messages: "line 12"."""


class Document(Protocol):
    """A file to translate."""

    name: str
    """The path, for messages."""
    markup: bool
    """Whether segments have tags, which their translations must have, too."""
    segments: Sequence[Segment]
    notes: Sequence[str]
    """Remarks on how the file is read."""

    def write(self, translations: Sequence[str | None]) -> bytes:
        """The file's bytes, unpacked, with a translation in place of each segment; None leaves it as it is."""


class Format(NamedTuple):
    """A document format: what reads a file of it."""

    read: Callable[[str, Options], Document]
    columns: bool = False
    """Whether it has columns or fields to choose from."""


# --- blocks ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """A part of a block: a text, or markup that stays as it is."""

    start: int
    end: int
    text: str | None = None
    """The text that is meant; None if this is markup."""
    name: str = ""
    """The element, for markup. A piece that opens and one that closes belong together if their names are equal."""
    role: str = "void"
    """For markup: `open`, `close` or `void`."""
    tag: str = ""
    """How a segment shows markup; a short tag if this is empty, long or odd."""
    short: str = "g"
    """The letter of that short tag: `a` for a link, `g` for other pairs."""


Raw = Callable[[int, int], str]
"""The document's text in a range, with the blocks inside of it translated."""


@dataclass
class Block:
    """A range of a document that is one segment."""

    pieces: list[Piece]
    escape: Callable[[str], str] = str
    """Writes a text as the format needs it."""
    wrap: Callable[[str], str] = str
    """Wraps the translation before that."""
    target: tuple[int, int] | None = None
    """The range that the translation is written to, if it is another than that of the text."""
    frame: tuple[str, str] = ("", "")
    """What is written around the translation."""
    fills: bool = False
    """Whether the target is a gap, which is filled even if the translation is the same as the text."""
    markup: bool = True
    tags: list[str] = field(init=False)
    """How each piece is shown; empty for a text."""
    text: str = field(init=False)

    def __post_init__(self) -> None:
        self.tags = _tags(self.pieces)
        show = inline.shown if self.markup else str
        self.text = "".join(tag or show(piece.text or "") for tag, piece in zip(self.tags, self.pieces, strict=True))

    @property
    def start(self) -> int:
        return self.target[0] if self.target else self.pieces[0].start

    @property
    def end(self) -> int:
        return self.target[1] if self.target else self.pieces[-1].end

    def written(self, translation: str, raw: Raw) -> str:
        """The block with a translation in place of its text."""
        before, after = self.frame
        text = self.wrap(translation)
        if not self.markup:
            return before + self.escape(text) + after
        parts = [self._markup(tag, raw) + self.escape(inline.meant(words)) for tag, words in self._parts(text)]
        return before + "".join(parts) + after

    def _parts(self, text: str) -> Iterator[tuple[Piece | None, str]]:
        """The markup of a translation, and the text after each."""
        waiting = defaultdict(list)
        for tag, piece in zip(self.tags, self.pieces, strict=True):
            waiting[tag].append(piece)
        for tag, words in inline.parts(text):
            yield waiting[tag].pop(0) if tag else None, words

    def _markup(self, piece: Piece | None, raw: Raw) -> str:
        return raw(piece.start, piece.end) if piece else ""


def _tags(pieces: Sequence[Piece]) -> list[str]:
    """A tag for each piece of markup: its own, or a short one with a number."""
    closings = dict(partners(pieces))
    opened = {closing: opening for opening, closing in closings.items()}
    result: list[str] = []
    number = 0
    for place, piece in enumerate(pieces):
        opening = result[opened[place]] if place in opened else ""
        if piece.text is not None:
            tag = ""
        elif re.fullmatch(r"<[ag]\d+>", opening):
            tag = f"</{opening[1:]}"
        elif piece.tag and len(piece.tag) <= LONGEST_TAG and inline.TAG.fullmatch(piece.tag):
            tag = piece.tag
        else:
            number += 1
            tag = f"<{piece.short}{number}>" if place in closings else f"<x{number}/>"
        result.append(tag)
    return result


def partners(pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """The places of pieces that belong together."""
    return inline.matched([(piece.name, piece.role if piece.text is None else "text") for piece in pieces])


def append(pieces: list[Piece], piece: Piece) -> None:
    """Add a piece. A pair that encloses nothing (an anchor, an icon) becomes one void piece, which is never lost."""
    last = pieces[-1] if pieces else None
    if last is not None and last.text is None and (last.role, piece.role, last.name) == ("open", "close", piece.name):
        pieces[-1] = Piece(last.start, piece.end)
    else:
        pieces.append(piece)


def core(pieces: Sequence[Piece], space: str = SPACE) -> tuple[int, int]:
    """The range of pieces without white space and markup around all text, which needs no translator."""
    closings = dict(partners(pieces))
    paired = {*closings, *closings.values()}
    first, end = 0, len(pieces)

    def loose(place: int) -> bool:
        text = pieces[place].text
        return place not in paired if text is None else not text.strip(space)

    while first < end:
        if loose(first):
            first += 1
        elif loose(end - 1):
            end -= 1
        elif pieces[first].text is None and closings.get(first) == end - 1:
            first, end = first + 1, end - 1
        else:
            break
    return first, end


def trimmed(pieces: Sequence[Piece], source: str, space: str = SPACE) -> list[Piece]:
    """The core of some pieces, without white space at its ends; nothing if there is nothing to translate."""
    first, end = core(pieces, space)
    inner = list(pieces[first:end])
    if inner and inner[0].text is not None:
        raw = source[inner[0].start : inner[0].end]
        lead = len(raw) - len(raw.lstrip(space))
        inner[0] = replace(inner[0], start=inner[0].start + lead, text=inner[0].text.lstrip(space))
    if inner and inner[-1].text is not None:
        raw = source[inner[-1].start : inner[-1].end]
        trail = len(raw) - len(raw.rstrip(space))
        inner[-1] = replace(inner[-1], end=inner[-1].end - trail, text=inner[-1].text.rstrip(space))
    return inner if is_text("".join(piece.text or "" for piece in inner)) else []


def is_text(text: str) -> bool:
    """Whether there is anything to translate: a letter that is not part of an address or a placeholder."""
    if not any(map(str.isalpha, text)):
        return False
    for kind in ("url", "placeholder"):
        for kept in found(text)[kind]:
            text = text.replace(kept, " ")
    return any(map(str.isalpha, text))


def one_line(text: str) -> str:
    """A text whose white space means no more than one space."""
    return re.sub(f"[{SPACE}]+", " ", text)


# --- documents that are a text --------------------------------------------------------------------------------------


class Source(NamedTuple):
    """The text of a file, and what it takes to write it again."""

    name: str
    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    """A byte order mark."""
    errors: str = "strict"
    """What is done with characters that the encoding lacks."""

    def encode(self, text: str) -> bytes:
        return self.mark + text.encode(self.encoding, self.errors)

    def line(self, place: int) -> int:
        return self.text.count("\n", 0, place) + 1


class TextDocument:
    """A document that is one text, of which blocks are replaced. Blocks may be inside of each other."""

    def __init__(
        self, source: Source, blocks: Sequence[Block], notes: Sequence[str] = (), places: Sequence[str] | None = None
    ):
        order = sorted(range(len(blocks)), key=lambda number: (blocks[number].start, -blocks[number].end))
        self.source, self.name, self.notes = source, source.name, notes
        self.blocks = [blocks[number] for number in order]
        self.markup = any(block.markup for block in blocks)
        where = [places[number] for number in order] if places is not None else self._lines()
        self.segments: Sequence[Segment] = [
            Segment(block.text, place) for block, place in zip(self.blocks, where, strict=True)
        ]

    def _lines(self) -> list[str]:
        """The line of each block's text."""
        result, line, last = {}, 1, 0
        for place in sorted({block.pieces[0].start for block in self.blocks}):
            line, last = line + self.source.text.count("\n", last, place), place
            result[place] = f"line {line}"
        return [result[block.pieces[0].start] for block in self.blocks]

    def write(self, translations: Sequence[str | None]) -> bytes:
        return self.source.encode(self.text(translations))

    def text(self, translations: Sequence[str | None]) -> str:
        """The text with a translation in place of each segment."""
        for segment, translation in zip(self.segments, translations, strict=True):
            if self.markup and translation is not None and not inline.may_be_written(segment.text, translation):
                raise DataError(f"{self.name}, {segment.place}: its translation has different tags; correct them")
        starts = [block.start for block in self.blocks]

        def raw(start: int, end: int, after: int) -> str:
            """The range, with those blocks translated that begin in it, after the one with that number."""
            result, done = [], start
            for number in range(max(after + 1, bisect_left(starts, start)), len(self.blocks)):
                block = self.blocks[number]
                if block.start > end or (block.start == end and block.start != block.end):
                    break
                if block.start < done or block.end > end:  # inside of the last one
                    continue
                inside = partial(raw, after=number)
                translation = translations[number]
                if translation is None or (translation == block.text and not block.fills):
                    new = inside(block.start, block.end)
                else:
                    new = block.written(translation, inside)
                result += [self.source.text[done : block.start], new]
                done = block.end
            return "".join([*result, self.source.text[done:end]])

        return raw(0, len(self.source.text), after=-1)


# --- reading --------------------------------------------------------------------------------------------------------

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def read_bytes(path: StrPath) -> bytes:
    """The bytes of a file, unpacked."""
    with faults_named(path), opened(path) as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise DataError(f"{shown_path(path)}: more than {LARGEST // 2**20} MiB, too large for a document; split it")
    return content


def read_source(path: StrPath, declared: Callable[[bytes], str | None] = lambda content: None) -> Source:
    """The text of a file: UTF-8, UTF-16 with a byte order mark, or in the encoding that it declares."""
    return decoded(read_bytes(path), shown_path(path), declared)


def decoded(content: bytes, name: str, declared: Callable[[bytes], str | None] = lambda content: None) -> Source:
    """The text of a file's bytes."""
    mark, encoding = next(((mark, name) for mark, name in _MARKS if content.startswith(mark)), (b"", ""))
    body = content[len(mark) :]
    encoding = encoding or declared(body) or "utf-8"
    try:
        text = body.decode(encoding)
    except LookupError:
        raise DataError(f"{name}: says that its encoding is {shown_text(encoding)}, which is unknown here") from None
    except UnicodeDecodeError as fault:
        line = body.count(b"\n", 0, fault.start) + 1
        raise DataError(
            f"{name}, line {line}: not {encoding.upper()}: byte 0x{body[fault.start]:02x}; if the file is Latin-1, "
            "convert it with `iconv -f latin1 -t utf8`"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{name}, line {line}: a NUL byte: looks like binary data or a damaged file")
    source = Source(name, text, encoding, mark)
    if source.encode(text) != content:
        raise DataError(f"{name}: cannot be kept as it is in its encoding {encoding}; convert it to UTF-8")
    return source

"""DOCX, Word documents: paragraphs, also in tables, footnotes, text boxes, headers and footers.

A paragraph is a row of runs, each with its own formatting (`rPr`). Runs that look the same are one text; those that
look different from most of the paragraph, and links, are tags in the segment.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mirada.documents import inline
from mirada.documents.archive import ArchiveDocument
from mirada.documents.document import (
    LINE_BREAK,
    SPACE,
    Block,
    Document,
    Format,
    Options,
    Piece,
    Raw,
    TextDocument,
    core,
    is_text,
    one_line,
    trimmed,
)
from mirada.documents.xml import Token, end_of, escape, read_xml, unescape

_PART = re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes)\.xml")
_AROUND = "w:hyperlink w:ins w:moveTo w:smartTag w:customXml w:dir w:bdo w:sdt"
_CONTAINERS = frozenset(_AROUND.split())
"""Elements around runs whose text is translated. All others are kept as a whole: fields, what was deleted, formulas."""
_UNSEEN = frozenset(["w:proofErr", "w:lastRenderedPageBreak"])
"""Marks of the spelling checker and of page ends, which Word makes anew."""
_RANGES = ("w:bookmark", "w:commentRange", "w:perm", "w:moveToRange", "w:moveFromRange")
_STARTS = frozenset(f"{name}Start" for name in _RANGES)
_ENDS = frozenset(f"{name}End" for name in _RANGES)
"""Marks of a range; it is widened to the text that is translated."""
_BREAK = re.compile(r"<w:(?:cr|br(?![^<>]*w:type=\"(?:page|column)\"))\b")
_LETTERS = {"w:noBreakHyphen": "\u2011", "w:softHyphen": "\u00ad"}
_UNIMPORTANT = re.compile(r"<w:(?:lang|noProof|rFonts w:hint)\b[^<>]*/>")
"""Formatting that is not seen."""


@dataclass
class _Item:
    """A part of a paragraph: a text with its formatting, something that is kept, or a container of items."""

    start: int
    end: int
    text: str | None = None
    style: str = ""
    """The formatting (`<w:rPr>…</w:rPr>`) of a text, or of a container's text."""
    run: bool = False
    """Whether it must be put into a run, since it is a part of one."""
    tag: str = ""
    """How a segment shows it."""
    items: list[_Item] | None = None
    """What a container holds; `start` and `end` are then those of its beginning."""
    close: tuple[int, int] = (0, 0)


class _Paragraph:
    """Reads the items of one paragraph."""

    def __init__(self, tokens: Sequence[Token], text: str, first: int, last: int):
        self.tokens, self.text = tokens, text
        self.starts: list[str] = []
        self.ends: list[str] = []
        self.items = self.read(first, last)

    def _raw(self, first: int, last: int) -> str:
        return self.text[self.tokens[first].start : self.tokens[last].end]

    def read(self, first: int, last: int) -> list[_Item]:
        """The items of the tokens from `first` to before `last`."""
        items: list[_Item] = []
        at = first
        while at < last:
            token, end = self.tokens[at], end_of(self.tokens, at)
            field_end = self._field(at, last) if token.name == "w:r" else None
            if token.name == "w:pPr" or token.name in _UNSEEN or not token.name:
                pass
            elif token.name in _STARTS:
                self.starts.append(self._raw(at, end))
            elif token.name in _ENDS:
                self.ends.append(self._raw(at, end))
            elif field_end is not None:
                items.append(self._field_item(at, field_end))
                end = field_end
            elif token.name == "w:r" and token.kind == "start":
                items += self._run(at, end)
            elif token.name in _CONTAINERS and token.kind == "start":
                items.append(self._container(at, end))
            else:
                items.append(_Item(token.start, self.tokens[end].end))
            at = end + 1
        return items

    def _container(self, at: int, end: int) -> _Item:
        inside, last = at, end
        if self.tokens[at].name == "w:sdt":
            inside = next((n for n in range(at, end) if self.tokens[n].name == "w:sdtContent"), at)
            last = end_of(self.tokens, inside)
        begin = self.tokens[at].start, self.tokens[inside].end
        return _Item(*begin, items=self.read(inside + 1, last), close=(self.tokens[last].start, self.tokens[end].end))

    def _run(self, at: int, end: int) -> list[_Item]:
        """The texts of a run, and what else is in it."""
        style, items = "", []
        inside = at + 1
        while inside < end:
            token, last = self.tokens[inside], end_of(self.tokens, inside)
            if token.name == "w:rPr":
                style = self._raw(inside, last)
            elif token.name == "w:t" and token.kind == "start":
                raw = self.text[token.end : self.tokens[last].start]
                items.append(_Item(token.start, self.tokens[last].end, unescape(raw), style))
            elif token.name in _LETTERS:
                items.append(_Item(token.start, self.tokens[last].end, _LETTERS[token.name], style))
            elif token.name and token.name != "w:t" and token.name not in _UNSEEN:
                tag = LINE_BREAK if _BREAK.match(self.text, token.start) else ""
                items.append(_Item(token.start, self.tokens[last].end, None, style, run=True, tag=tag))
            inside = last + 1
        if len(items) == 1 and items[0].text is None:
            return [_Item(self.tokens[at].start, self.tokens[end].end, tag=items[0].tag)]  # all of it is kept
        return items

    # --- fields: runs from a mark that begins one to a mark that ends it ---

    def _marks(self, at: int) -> list[str]:
        """The marks of fields in a run."""
        return re.findall(r'<w:fldChar\b[^<>]*?w:fldCharType="(\w+)"', self._raw(at, end_of(self.tokens, at)))

    def _field(self, at: int, last: int) -> int | None:
        """The last token of a field that begins in this run and ends in the same part of the paragraph."""
        if "begin" not in self._marks(at):
            return None
        depth = 0
        while at < last:
            end = end_of(self.tokens, at)
            if self.tokens[at].name == "w:r":
                marks = self._marks(at)
                depth += marks.count("begin") - marks.count("end")
                if depth == 0:
                    return end
            at = end + 1
        return None

    def _field_item(self, at: int, end: int) -> _Item:
        """A field is kept as it is, but the text of a link is translated."""
        whole = _Item(self.tokens[at].start, self.tokens[end].end)
        raw = self._raw(at, end)
        command = "".join(re.findall(r"<w:instrText[^<>]*>([^<]*)<", raw)).strip()
        if not command.startswith("HYPERLINK") or raw.count('w:fldCharType="begin"') > 1:
            return whole
        runs = []
        while at <= end:
            runs.append((at, end_of(self.tokens, at)))
            at = runs[-1][1] + 1
        middle = next((n for n, run in enumerate(runs) if "separate" in self._marks(run[0])), None)
        if middle is None or middle == len(runs) - 1 or "<w:t" in self._raw(runs[0][0], runs[middle][1]):
            return whole
        return _Item(
            whole.start,
            self.tokens[runs[middle][1]].end,
            items=self.read(runs[middle][1] + 1, runs[-1][0]),
            close=(self.tokens[runs[-1][0]].start, whole.end),
        )


@dataclass(frozen=True)
class _RunPiece(Piece):
    """A piece of a paragraph."""

    style: str = ""
    """The formatting of what a piece encloses, or of the run that it must be put into."""
    run: bool = False


@dataclass
class _Runs(Block):
    """A block whose texts are written as runs."""

    base: str = ""
    """The formatting of the text outside of all tags."""
    before: Sequence[Piece] = ()
    after: Sequence[Piece] = ()
    """Pieces of the paragraph around those that are translated."""
    space: tuple[str, str] = ("", "")
    """White space around the text."""

    def written(self, translation: str, raw: Raw) -> str:
        parts = [(piece, piece.text or "") for piece in self.before]
        inner = list(self._parts(self.space[0] + one_line(translation) + self.space[1]))
        parts += [(piece, inline.meant(words)) for piece, words in inner]  # type: ignore[misc]
        parts += [(piece, piece.text or "") for piece in self.after]
        result, styles = [self.frame[0]], [self.base]
        for piece, words in parts:
            if isinstance(piece, _RunPiece) and piece.text is None:
                markup = raw(piece.start, piece.end)
                result.append(f"<w:r>{piece.style}{markup}</w:r>" if piece.run else markup)
                if piece.role == "open":
                    styles.append(piece.style)
                elif piece.role == "close":
                    styles.pop()
            if words:
                result.append(f'<w:r>{styles[-1]}<w:t xml:space="preserve">{escape(words)}</w:t></w:r>')
        return "".join([*result, self.frame[1]])


def _same(style: str) -> str:
    """A formatting without what is not seen, to compare it."""
    seen = _UNIMPORTANT.sub("", style)
    return "" if re.fullmatch(r"<w:rPr/>|<w:rPr>\s*</w:rPr>", seen) else seen


def _most(items: Sequence[_Item]) -> str:
    """The formatting that most of the text has."""
    sizes: Counter[str] = Counter()
    for item in items:
        if item.text is not None:
            sizes[item.style] += len(item.text)
    return sizes.most_common(1)[0][0] if sizes else ""


def _pieces(items: Sequence[_Item], base: str) -> Iterator[_RunPiece]:
    """The pieces of items; texts that look different from the base are enclosed."""
    now, at = base, 0  # the formatting of the text before, and where it ends
    for item in (*items, None):
        style = item.style if item is not None and item.text is not None else base
        at = item.start if item is not None else at
        if _same(style) != _same(now):
            if _same(now) != _same(base):
                yield _RunPiece(at, at, None, "style", "close")
            if _same(style) != _same(base):
                yield _RunPiece(at, at, None, "style", "open", style=style)
            now = style
        if item is None:
            return
        at = item.end
        if item.items is None:
            yield _RunPiece(item.start, item.end, item.text, tag=item.tag, style=item.style, run=item.run)
            continue
        name, inner = f"in{item.start}", _most(item.items)
        yield _RunPiece(item.start, item.end, None, name, "open", short="a", style=inner)
        yield from _pieces(item.items, inner)
        yield _RunPiece(*item.close, None, name, "close")
        at = item.close[1]


def _block(tokens: Sequence[Token], text: str, at: int, end: int) -> _Runs | None:
    """The block of a paragraph."""
    first = at + 1
    while first < end and (tokens[first].kind == "text" or tokens[first].name == "w:pPr"):
        first = end_of(tokens, first) + 1
    paragraph = _Paragraph(tokens, text, first, end)
    base = _most(paragraph.items)
    pieces = list(_pieces(paragraph.items, base))
    kept, (begin, finish) = trimmed(pieces, ""), core(pieces)
    if not kept:
        return None
    first_text, last_text = pieces[begin].text or "", pieces[finish - 1].text or ""
    space = first_text[: len(first_text) - len(first_text.lstrip(SPACE))], last_text[len(last_text.rstrip(SPACE)) :]
    block = _Runs(kept, escape, base=base, before=pieces[:begin], after=pieces[finish:], space=space)
    block.target = tokens[first].start, tokens[end].start
    block.frame = "".join(paragraph.starts), "".join(paragraph.ends)
    return block


_DESCRIPTION = re.compile(r'<(?:wp:docPr|pic:cNvPr)\s[^<>]*?\sdescr="([^"]*)"')


def _descriptions(text: str) -> Iterator[Block]:
    """The descriptions of pictures."""
    for match in _DESCRIPTION.finditer(text):
        said = unescape(match[1])
        if is_text(said):
            yield Block([Piece(*match.span(1), said)], lambda new: escape(new).replace('"', "&quot;"), one_line)


def _document(content: bytes, name: str) -> TextDocument:
    source, tokens = read_xml(content, name)
    part = re.sub(r".*\(word/|\.xml\)$", "", name)
    blocks: list[Block] = []
    places, count = [], 0
    for at, token in enumerate(tokens):
        if token.name == "w:p" and token.kind == "start":
            count += 1
            if block := _block(tokens, source.text, at, end_of(tokens, at)):
                blocks.append(block)
                places.append(f"paragraph {count}" + ("" if part == "document" else f" of {part}"))
    for description in _descriptions(source.text):
        blocks.append(description)
        places.append("the description of a picture")
    return TextDocument(source, blocks, places=places)


def _choose(parts: Sequence[str]) -> Sequence[str]:
    return [part for part in parts if _PART.fullmatch(part)] if "word/document.xml" in parts else []


def read(path: str, options: Options) -> Document:
    """A Word document."""
    return ArchiveDocument(path, "a Word document (DOCX)", _choose, _document)


FORMATS = {"docx": Format(read)}

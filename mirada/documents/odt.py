"""ODT, OpenDocument texts: paragraphs and headings, also in tables, footnotes, frames, headers and footers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mirada.documents.archive import ArchiveDocument
from mirada.documents.document import (
    LINE_BREAK,
    Block,
    Document,
    Format,
    Options,
    Source,
    TextDocument,
    one_line,
    trimmed,
)
from mirada.documents.xml import Mark, Token, attribute, end_of, escape, inline_pieces, read_xml

_PARTS = ("content.xml", "styles.xml")
_PARAGRAPHS = frozenset(["text:p", "text:h", "svg:title", "svg:desc"])
"""Paragraphs, headings, and the titles and descriptions of pictures."""
_INLINE = frozenset(["text:span", "text:a", "text:meta"])
"""Elements whose text is part of the paragraph. All others (fields, notes, frames) are kept as a whole."""
_KEPT = frozenset(["office:annotation", "text:tracked-changes", "office:scripts"])
"""Elements whose paragraphs are not translated: comments, what was deleted."""


def _document(content: bytes, name: str) -> TextDocument:
    source, tokens = read_xml(content, name)
    plain = _without_editing_marks(tokens, source.text)
    blocks, places = [], []
    at, count = 0, 0
    while at < len(plain):
        token = plain[at]
        if token.kind == "start" and token.name in _KEPT:
            at = end_of(plain, at)
        elif token.kind == "start" and token.name in _PARAGRAPHS:
            count += 1
            if block := _block(source, plain, at):
                blocks.append(block)
                places.append(f"paragraph {count}" + ("" if "content.xml" in name else " of its styles"))
        at += 1
    return TextDocument(source, blocks, places=places)


def _block(source: Source, tokens: Sequence[Token], at: int) -> Block | None:
    """The block of the paragraph that begins at a token."""
    end = end_of(tokens, at)
    pieces = list(inline_pieces(tokens, at + 1, end, source.text, _mark, one_line))
    kept = trimmed(pieces, source.text)
    if not kept:
        return None
    target = tokens[at].end, tokens[end].start
    whole = "".join(source.text[piece.start : piece.end] for piece in pieces)
    if len(whole) == target[1] - target[0]:
        return Block(kept, escape, one_line)
    # Spans are left out that mean nothing; they may begin in what is translated and end elsewhere, or the reverse.
    before = [
        source.text[piece.start : min(piece.end, kept[0].start)] for piece in pieces if piece.start < kept[0].start
    ]
    after = [source.text[max(piece.start, kept[-1].end) : piece.end] for piece in pieces if piece.end > kept[-1].end]
    return Block(kept, escape, one_line, target=target, frame=("".join(before), "".join(after)))


def _mark(token: Token) -> Mark:
    if token.name == "text:line-break":
        return Mark(tag=LINE_BREAK)
    return Mark(token.name, short="a" if token.name == "text:a" else "g") if token.name in _INLINE else Mark()


def _without_editing_marks(tokens: Sequence[Token], text: str) -> list[Token]:
    """The tokens without spans that only say in which session a text was written, as LibreOffice does."""
    unseen = set(_editing_styles(tokens, text))
    left_out: set[int] = set()
    for at, token in enumerate(tokens):
        if token.kind == "start" and token.name == "text:span":
            style = attribute(text[token.start : token.end], "text:style-name")
            if style in unseen:
                left_out |= {at, end_of(tokens, at)}
    return [token for at, token in enumerate(tokens) if at not in left_out]


def _editing_styles(tokens: Sequence[Token], text: str) -> Iterator[str]:
    """Names of automatic styles that hold nothing but the number of a session."""
    for at, token in enumerate(tokens):
        if token.kind != "start" or token.name != "style:style":
            continue
        tag = text[token.start : token.end]
        inside = text[token.end : tokens[end_of(tokens, at)].start]
        only_session = inside.startswith("<style:text-properties ") and inside.count("<") == 1
        only_session &= {*re.findall(r"\s([\w:-]+)=", inside)} <= {"officeooo:rsid", "officeooo:paragraph-rsid"}
        if only_session and attribute(tag, "style:family") == "text" and "parent-style-name" not in tag:
            yield attribute(tag, "style:name")


def _choose(parts: Sequence[str]) -> Sequence[str]:
    return [part for part in _PARTS if part in parts] if "content.xml" in parts else []


def read(path: str, options: Options) -> Document:
    """An OpenDocument text."""
    return ArchiveDocument(path, "an OpenDocument text (ODT)", _choose, _document)


FORMATS = {"odt": Format(read)}

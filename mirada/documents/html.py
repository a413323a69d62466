"""HTML pages: paragraphs, headings, cells and so on, each with the inline elements inside of it; and some attributes.

The page is cut up by `html.parser`, which says where each tag and text is; no tree is made, so that a page that is not
well-formed stays as it is.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from typing import NamedTuple

from mirada.documents import inline
from mirada.documents.document import (
    Block,
    Document,
    Format,
    Options,
    Piece,
    TextDocument,
    append,
    is_text,
    one_line,
    read_source,
    trimmed,
)

_IN_SENTENCES = """a abbr acronym b bdi bdo big cite data del dfn em font i img ins label mark nobr q s small span
strike strong sub sup time u wbr"""
_INLINE = frozenset(_IN_SENTENCES.split())
"""Elements that are part of a sentence. All others begin and end blocks."""
_CODE = "code kbd samp var tt svg math object canvas"
_KEPT_INLINE = frozenset(_CODE.split())
"""Elements that are part of a sentence, and whose content is not translated."""
_OTHER_KEPT = "script style iframe audio video template textarea pre xmp noembed noframes plaintext"
_KEPT = _KEPT_INLINE | frozenset(_OTHER_KEPT.split())
"""All elements whose content is not translated."""
_READ = "alt title placeholder aria-label aria-description aria-placeholder aria-roledescription"
_ATTRIBUTES = frozenset(_READ.split())
"""Attributes that people read."""
_DESCRIBING = """description keywords og:title og:description og:image:alt og:site_name twitter:title
twitter:description"""
_META = frozenset(_DESCRIBING.split())
"""The names of `meta` elements that people read."""
_BUTTONS = frozenset(["button", "submit", "reset"])
_VALUE = r"""(?P<open>["']?)(?P<value>(?<=")[^"]*|(?<=')[^']*|(?<!["'])[^\s"'>]+)"""
_ATTRIBUTE = re.compile(rf"""(?P<name>[^\s"'<>/=]+)(?:\s*=\s*{_VALUE}["']?)?""")


class Token(NamedTuple):
    """A tag, a text, or something else (a comment, a declaration) in a page."""

    kind: str
    """`start`, `end`, `text` or `other`."""
    start: int
    end: int
    name: str = ""


class _Cutter(HTMLParser):
    """Cuts a page up into tokens."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=False)
        self._found: list[tuple[str, int, str]] = []
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self.feed(text)
        self.close()
        ends = [*(start for _, start, _ in self._found[1:]), len(text)][: len(self._found)]
        self.tokens = [
            Token(kind, start, end, name) for (kind, start, name), end in zip(self._found, ends, strict=True)
        ]

    def _add(self, kind: str, name: str = "") -> None:
        line, column = self.getpos()
        self._found.append((kind, self._lines[line - 1] + column, name))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._add("start", tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self._add("void", tag)

    def handle_endtag(self, tag: str) -> None:
        self._add("end", tag)

    def handle_data(self, data: str) -> None:
        self._add("text")

    def handle_entityref(self, name: str) -> None:
        self._add("text")

    def handle_charref(self, name: str) -> None:
        self._add("text")

    def handle_comment(self, data: str) -> None:
        self._add("other")

    def handle_decl(self, decl: str) -> None:
        self._add("other")

    def handle_pi(self, data: str) -> None:
        self._add("other")

    def unknown_decl(self, data: str) -> None:
        self._add("other")


def blocks_of(text: str, offset: int = 0) -> list[Block]:
    """The blocks of a page, or of a part of one that begins at `offset` of a document."""
    tokens = _Cutter(text).tokens
    found: list[Block] = []
    waiting: list[Piece] = []

    def flush() -> None:
        if pieces := trimmed(waiting, text):
            found.append(_block(pieces, text, offset))
        waiting.clear()

    place = 0
    while place < len(tokens):
        token = tokens[place]
        last = place
        if token.kind in ("start", "void") and _is_kept(token, text):
            last = _end_of(tokens, place)
        whole = Piece(token.start, tokens[last].end)
        if token.kind in ("start", "void") and not _is_marked(token, text):
            found += _attributes(token, text, offset)
        if token.kind == "text":
            raw = text[token.start : token.end]
            waiting.append(Piece(token.start, token.end, one_line(html.unescape(raw))))
        elif last > place or token.name in _KEPT:
            if token.name in _KEPT_INLINE or (token.name in _INLINE and last > place):
                waiting.append(whole)
            else:
                flush()
        elif token.kind == "other" and text.startswith("<!--", token.start):
            waiting.append(whole)
        elif token.name in _INLINE and token.kind != "other":
            role = "close" if token.kind == "end" else "void" if token.name in inline.VOID else "open"
            role = "void" if token.kind == "void" else role
            tag, short = text[token.start : token.end], "a" if token.name == "a" else "g"
            append(waiting, Piece(token.start, token.end, None, token.name, role, tag, short))
        else:
            flush()
        place = last + 1
    flush()
    return found


def _block(pieces: Sequence[Piece], text: str, offset: int) -> Block:
    """A block of merged pieces, at their places in the whole document."""
    raw = text[pieces[0].start : pieces[-1].end]
    moved = [replace(piece, start=piece.start + offset, end=piece.end + offset) for piece in _merged(pieces, text)]
    return Block(moved, lambda said: escape(said, raw))


def _merged(pieces: Sequence[Piece], text: str) -> Iterator[Piece]:
    """The pieces with neighbouring texts as one: an entity is a piece of its own before."""
    last: Piece | None = None
    for piece in pieces:
        if last is not None and piece.text is not None:
            joined = text[last.start : piece.end]
            last = Piece(last.start, piece.end, one_line(html.unescape(joined)))
            continue
        if last is not None:
            yield last
        last = piece if piece.text is not None else None
        if last is None:
            yield piece
    if last is not None:
        yield last


def escape(text: str, raw: str = "") -> str:
    """A text as HTML; a no-break space as the page writes it."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;" if "&gt;" in raw else ">")
    return text.replace("\xa0", "&nbsp;") if "&nbsp;" in raw else text


def _is_kept(token: Token, text: str) -> bool:
    """Whether an element is not translated."""
    return token.name in _KEPT or _is_marked(token, text)


def _is_marked(token: Token, text: str) -> bool:
    """Whether a tag has `translate="no"`."""
    if "translate" not in text[token.start : token.end]:
        return False
    return _values(token, text).get("translate", ("", 0, 0))[0].lower() == "no"


def _end_of(tokens: Sequence[Token], place: int) -> int:
    """The place of the tag that ends an element, or of the last token."""
    name, depth = tokens[place].name, 0
    if tokens[place].kind == "void" or name in inline.VOID:
        return place
    for at in range(place, len(tokens)):
        if tokens[at].name == name:
            depth += {"start": 1, "end": -1}.get(tokens[at].kind, 0)
            if not depth:
                return at
    return len(tokens) - 1


def _values(token: Token, text: str) -> dict[str, tuple[str, int, int]]:
    """The attributes of a tag by their names: the value, and where it is."""
    result: dict[str, tuple[str, int, int]] = {}
    begin = token.start + 1 + len(token.name)
    for match in _ATTRIBUTE.finditer(text, begin, token.end):
        if match["value"] is not None:
            value = html.unescape(match["value"]), match.start("value"), match.end("value")
            result.setdefault(match["name"].lower(), value)
    return result


def _attributes(token: Token, text: str, offset: int) -> Iterator[Block]:
    """The attributes of a tag that are translated."""
    if "=" not in text[token.start : token.end]:
        return
    values = _values(token, text)

    def said(name: str) -> str:
        return values.get(name, ("", 0, 0))[0].lower()

    for name, (value, start, end) in values.items():
        wanted = name in _ATTRIBUTES
        wanted |= name == "content" and bool({said("name"), said("property")} & _META)
        wanted |= name == "value" and token.name == "input" and said("type") in _BUTTONS
        wanted |= name == "label" and token.name in ("option", "optgroup", "track")
        if wanted and is_text(value) and text[start - 1] in "\"'":
            quote = text[start - 1]
            named = {'"': "&quot;", "'": "&#39;"}[quote]
            piece = Piece(start + offset, end + offset, one_line(value).strip())
            yield Block([piece], lambda new, quote=quote, named=named: escape(new).replace(quote, named))  # type: ignore[misc]


_CHARSET = re.compile(rb"""(?i)<meta[^>]+charset\s*=\s*["']?([\w.:-]+)|<\?xml[^>]+encoding\s*=\s*["']([\w.:-]+)""")
_WINDOWS = frozenset(["iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"])


def charset(content: bytes) -> str | None:
    """The encoding that a page declares in its head."""
    match = _CHARSET.search(content[:4096])
    name = (match[1] or match[2]).decode("ascii").lower() if match else None
    return "cp1252" if name in _WINDOWS else name  # as browsers read it


def read(path: str, options: Options) -> Document:
    """A page. A character that its encoding lacks is written as a reference (`&#8364;`)."""
    source = read_source(path, charset)._replace(errors="xmlcharrefreplace")
    return TextDocument(source, blocks_of(source.text))


FORMATS = {"html": Format(read)}

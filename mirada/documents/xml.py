"""XML in documents: checked by expat, which fetches nothing and expands nothing, then cut up where its tags are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from mirada.data.text import shown_text
from mirada.documents.document import Piece, Source, decoded
from mirada.errors import DataError

DEEPEST = 1000
"""Elements inside of each other, beyond which a document is refused."""

_TOKEN = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<!(?:[^<>\"'\[]|\"[^\"]*\"|'[^']*'|\[[^\]]*\])*>"
    r"|<(/?)([^\s<>/!?]+)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?(/?)>|[^<]+",
    re.DOTALL,
)
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_REFERENCE = re.compile(r"&(?:#(\d{1,7})|#x([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));")
_DECLARED = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']""")
_NO_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Token(NamedTuple):
    """A tag, a text or something else (a comment, a declaration)."""

    kind: str
    """`start`, `end`, `void` (`<x/>`), `text`, `cdata` or `other`."""
    start: int
    end: int
    name: str = ""


def read_xml(content: bytes, name: str) -> tuple[Source, list[Token]]:
    """The text of a well-formed XML file, and its tokens."""
    _check(content, name)
    source = decoded(content, name, _encoding)
    tokens = list(_tokens(source.text))
    if sum(token.end - token.start for token in tokens) != len(source.text):
        raise DataError(f"{name}: has a document type that is not understood; delete its DOCTYPE")
    return source._replace(errors="xmlcharrefreplace"), tokens


def _encoding(content: bytes) -> str | None:
    match = _DECLARED.match(content)
    return match[1].decode("ascii") if match else None


def _tokens(text: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        raw = match[0]
        if not raw.startswith("<"):
            kind = "text"
        elif match[2]:
            kind = "end" if match[1] else "void" if match[3] else "start"
        else:
            kind = "cdata" if raw.startswith("<![CDATA[") else "other"
        yield Token(kind, *match.span(), match[2] or "")


def _check(content: bytes, name: str) -> None:
    """Refuse what is not well-formed, defines entities, or is nested too deeply."""
    parser = expat.ParserCreate()
    depth = 0

    def refuse(why: str) -> NoReturn:
        raise DataError(f"{name}, line {parser.CurrentLineNumber}: {why}")

    def refuse_entity(entity: str | None, *_: object) -> NoReturn:
        refuse(f"the entity {shown_text(entity or '')} is not one of XML's own, and no others are read")

    def start(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            refuse(f"elements are nested more than {DEEPEST} deep")

    def end(*_: object) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.EntityDeclHandler = parser.ExternalEntityRefHandler = parser.SkippedEntityHandler = refuse_entity
    try:
        parser.Parse(content, True)
    except expat.ExpatError as fault:
        reason = expat.ErrorString(fault.code)
        raise DataError(
            f"{name}, line {fault.lineno}, column {fault.offset + 1}: not well-formed XML: {reason}; correct it there, "
            "or export the file again"
        ) from None
    except (LookupError, ValueError) as fault:
        raise DataError(f"{name}: its encoding cannot be read ({fault}); convert it to UTF-8") from None


def unescape(raw: str) -> str:
    """The text that is meant."""

    def meaning(match: re.Match[str]) -> str:
        if match[3]:
            return _ENTITIES[match[3]]
        return chr(int(match[1]) if match[1] else int(match[2], 16))

    return _REFERENCE.sub(meaning, raw) if "&" in raw else raw


def escape(text: str) -> str:
    """A text as XML, without characters that XML cannot hold."""
    text = _NO_CHARACTER.sub("", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def attribute(tag: str, name: str) -> str:
    """The value of an attribute of a tag, or nothing."""
    match = re.search(rf"\s{re.escape(name)}\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", tag)
    return unescape(match[1] if match[1] is not None else match[2]) if match else ""


def end_of(tokens: Sequence[Token], place: int) -> int:
    """The number of the token that ends the element which begins at one."""
    if tokens[place].kind != "start":
        return place
    depth = 0
    for at in range(place, len(tokens)):
        depth += {"start": 1, "end": -1}.get(tokens[at].kind, 0)
        if not depth:
            return at
    return len(tokens) - 1


class Mark(NamedTuple):
    """How an element inside of a paragraph is seen by a translator."""

    name: str = ""
    """Not empty for an element that encloses text."""
    tag: str = ""
    """What is shown; a short tag if empty."""
    short: str = "g"
    """The letter of the short tag."""
    role: str = ""
    """`open` or `close` for an element that is half of a pair itself; else its tags are the pair."""


def inline_pieces(
    tokens: Sequence[Token],
    first: int,
    last: int,
    text: str,
    mark: Callable[[Token], Mark],
    normal: Callable[[str], str] = str,
) -> Iterator[Piece]:
    """The pieces of the tokens from `first` to before `last`; an element whose mark has no name is kept as a whole.

    `normal` is done to each text.
    """
    at = first
    while at < last:
        token = tokens[at]
        end = at
        if token.kind == "text":
            yield Piece(token.start, token.end, normal(unescape(text[token.start : token.end])))
        elif token.kind == "cdata":
            yield Piece(token.start, token.end, normal(text[token.start + 9 : token.end - 3]))
        else:
            seen = mark(token)
            role = "void"
            if not seen.name or seen.role:
                end = end_of(tokens, at)
                role = seen.role or role
            elif token.kind != "void":
                role = "open" if token.kind == "start" else "close"
            yield Piece(token.start, tokens[end].end, None, seen.name, role, seen.tag, seen.short)
        at = end + 1

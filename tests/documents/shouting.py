"""A translator that makes texts upper case, and leaves tags and entities as they are."""

from __future__ import annotations

import re
from pathlib import Path

from mirada.documents import Document, Options, read_document

NOTHING = Options()


def shout(text: str) -> str:
    return re.sub(r"(</?[A-Za-z][^<>]*>|&\w+;)|([^<&]+|[&<])", lambda match: match[1] or match[2].upper(), text)


def opened(path: Path, content: str | bytes, options: Options = NOTHING) -> Document:
    """A document of that content; unchanged segments leave it byte for byte as it is."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    document = read_document(path, options)
    unchanged = document.write([None for _ in document.segments])
    assert unchanged == path.read_bytes()
    return document


def texts(document: Document) -> list[str]:
    return [segment.text for segment in document.segments]


def same(document: Document) -> bytes:
    """The document with each text for its translation."""
    return document.write(texts(document))


def shouted(document: Document) -> bytes:
    return document.write([shout(text) for text in texts(document)])

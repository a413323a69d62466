"""Plain text: each line is a segment, without the spaces around it."""

from __future__ import annotations

import re

from mirada.documents.document import Block, Document, Format, Options, Piece, TextDocument, read_source, trimmed


def read(path: str, options: Options) -> Document:
    """A text file. Lines, spaces around them and blank lines stay."""
    source = read_source(path)
    blocks = []
    for line in re.finditer(r"[^\r\n]+", source.text):
        if pieces := trimmed([Piece(*line.span(), line[0])], source.text):
            blocks.append(Block(pieces, markup=False))
    return TextDocument(source, blocks)


FORMATS = {"": Format(read)}

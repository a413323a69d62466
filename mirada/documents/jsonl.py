"""JSONL: the texts in chosen fields of the object on each line, in place or into another field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from mirada.data.checks import has_invalid_bytes
from mirada.data.readers.names import nearest
from mirada.data.text import shown_text
from mirada.documents.columns import chosen
from mirada.documents.document import (
    Block,
    Document,
    Format,
    Options,
    Piece,
    Source,
    TextDocument,
    is_text,
    read_source,
)
from mirada.errors import DataError, UsageError

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


class _Value(NamedTuple):
    """A value in a line: where it is, and the text if it is one."""

    start: int
    end: int
    text: str | None


def read(path: str, options: Options) -> Document:
    """A file with a JSON object on each line. A field inside of another has a dot in its name: `data.title`."""
    source = read_source(path)
    rows = list(_rows(source))
    names = list(dict.fromkeys(key for _, _, values in rows for key in values))
    if not options.columns:
        raise UsageError(f"{source.name}: which fields should be translated? It has {_listed(names)}: --columns text")
    blocks: list[Block] = []
    for field, target in chosen(options.columns):
        if rows and field not in names:
            near = nearest(field, names)
            raise DataError(f"{source.name}: has no field {shown_text(field)}{near}; it has {_listed(names)}")
        for start, end, values in rows:
            line = source.text[start:end]
            if values.get(field) and target not in values and _parent(target) != _parent(field):
                raise DataError(
                    f"{source.name}, line {source.line(start)}: has no field {shown_text(target)}, and one is added "
                    f"only beside {shown_text(field)}; choose such a name"
                )
            blocks += _blocks(line, start, values, field, target)
    return TextDocument(source, blocks)


def _blocks(line: str, start: int, values: dict[str, list[_Value]], field: str, target: str) -> Iterator[Block]:
    """The texts of a field of one line."""
    found = values.get(field, [])
    ascii_only = line.isascii() and "\\u" in line
    escape = partial(_escaped, ascii_only=ascii_only)
    texts = [(value, value.text) for value in found if value.text is not None and is_text(value.text)]
    if target == field:
        for value, text in texts:
            yield Block([Piece(start + value.start, start + value.end, text)], escape, markup=False)
        return
    if len(found) != 1 or not texts:
        return
    (value, text), there = texts[0], values.get(target, [])
    pieces = [Piece(start + value.start, start + value.end, text)]
    if not there:
        at, name = start + value.end, _escaped(target.rpartition(".")[2], ascii_only)
        yield Block(pieces, escape, target=(at, at), fills=True, frame=(f", {name}: ", ""), markup=False)
    elif len(there) == 1 and line[there[0].start : there[0].end] in ("null", '""'):
        yield Block(pieces, escape, target=(start + there[0].start, start + there[0].end), fills=True, markup=False)


def _parent(field: str) -> str:
    """The object that a field is in."""
    return field.rpartition(".")[0]


def _escaped(text: str, ascii_only: bool) -> str:
    return json.dumps(text, ensure_ascii=ascii_only)


def _rows(source: Source) -> Iterator[tuple[int, int, dict[str, list[_Value]]]]:
    """The objects: where each is, and its fields."""
    for number, match in enumerate(re.finditer(r"[^\n]*\n?", source.text), 1):
        line = match[0].strip()
        if not line:
            continue
        place = f"{source.name}, line {number}"
        try:
            value = json.loads(line)
            fields = _fields(line) if isinstance(value, dict) else {}
        except json.JSONDecodeError as fault:
            raise DataError(
                f"{place}, column {fault.pos + 1}: not JSON: {fault.msg}: {shown_text(line[fault.pos :], 30)}"
            ) from None
        except RecursionError:
            raise DataError(f"{place}: values are nested too deeply") from None
        except ValueError as fault:  # a number that is too long, half of a character
            raise DataError(f"{place}: cannot be read ({fault}); correct it") from None
        if not isinstance(value, dict):
            raise DataError(f"{place}: not an object ({{…}}), but {shown_text(line, 30)}; write one on each line")
        start = match.start() + match[0].index(line[0])
        yield start, start + len(line), fields


def _fields(line: str) -> dict[str, list[_Value]]:
    """The values of a valid object by their names; those inside of others have dots, those of a list one name."""
    found: dict[str, list[_Value]] = {}
    tokens = list(_TOKEN.finditer(line))

    def read_value(at: int, name: str) -> int:
        """Read the value that begins at a token; returns the number of the token after it."""
        token = tokens[at][0]
        if token not in ("{", "["):
            text = json.loads(token) if token.startswith('"') else None
            if text is not None and has_invalid_bytes(text):
                raise ValueError("half of a surrogate pair")
            found.setdefault(name, []).append(_Value(*tokens[at].span(), text))
            return at + 1
        at += 1
        while tokens[at][0] not in ("}", "]"):
            if token == "{":
                key = json.loads(tokens[at][0])
                at = read_value(at + 2, f"{name}.{key}" if name else key)
            else:
                at = read_value(at, name)
            at += tokens[at][0] == ","
        return at + 1

    read_value(0, "")
    return found


def _listed(names: list[str]) -> str:
    return ", ".join(shown_text(name, 30) for name in names[:20]) + (", …" if len(names) > 20 else "")


FORMATS = {"jsonl": Format(read, columns=True)}

"""JSON and YAML that somebody may have altered: read within bounds, then checked against the shape it should have.

A file is a regular one of at most some size (`files.read_bytes`); what is parsed is nested `DEPTH` deep at most, has no
aliases, no key twice, no number beyond 64 bits and no half characters. `shape` is what pydantic can check: a model, a
dataclass, `list[str]`. Whatever does not fit is an error that names the file and the field.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from mirada.errors import MiradaError
from mirada.files import SMALL_FILE, read_bytes

DEPTH = 64
LARGEST_INTEGER = 2**63 - 1


class Malformed(ValueError):
    """What is wrong with a text or a value, as the end of a sentence that begins with its file."""


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_json(path: Path, shape: Any, error: type[MiradaError], most: int = SMALL_FILE) -> Any:
    """What a JSON file holds, in the given shape."""
    return load_json(read_bytes(path, error, most), shape, path, error)


def load_json(content: bytes | str, shape: Any, where: str | Path, error: type[MiradaError]) -> Any:
    """The same for content that has been read already."""
    try:
        return check(shape, parse_json(content))
    except Malformed as fault:
        raise error(f"{where}: is damaged ({fault})") from None


def read_json_lines(path: Path, shape: Any, error: type[MiradaError], most: int = SMALL_FILE) -> list[Any]:
    """What the lines of a JSONL file hold, each in the given shape."""
    content = read_bytes(path, error, most)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise error(f"{path}: is damaged (it is not UTF-8 text)") from None
    return load_json_lines(text, shape, path, error)


def load_json_lines(text: str, shape: Any, where: str | Path, error: type[MiradaError]) -> list[Any]:
    """The same for text; every line ends with a newline."""
    lines = text.split("\n")
    if lines.pop():
        raise error(f"{where}: is damaged (its last line is cut)")
    return [load_json(line, shape, f"{where} line {number}", error) for number, line in enumerate(lines, 1)]


# ── text ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_json(content: bytes | str, halves: bool = False) -> Any:
    """The value of a JSON text; Malformed if it is none. With `halves`, texts may have half characters (file names)."""
    try:
        value = json.loads(content, object_pairs_hook=_once)
    except Malformed:
        raise
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except ValueError as error:
        raise Malformed(f"it is not JSON: {shown(str(error))}") from None
    _check_plain(value, halves=halves)
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise Malformed(f"it has the key {shown(twice)} twice")
    return found


def parse_yaml(text: str) -> Any:
    """The value of a YAML text: plain values under names, without aliases, tags and dates; Malformed if it is none."""
    try:
        _check_events(text)
        value = yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise Malformed(f"{line}is not valid YAML ({shown(problem)})") from None
    except Malformed:
        raise
    except (ValueError, RecursionError) as error:
        raise Malformed(f"is not valid YAML ({shown(str(error))})") from None
    try:
        _check_plain(value, names=True)
    except Malformed as fault:
        raise Malformed(f"cannot be taken: {fault}") from None
    return value


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):
    """Plain values only: a date stays the text it is written as, and a key may not come twice."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        found = super().construct_mapping(node, deep)
        if len(found) < len(node.value):
            raise Malformed(f"line {node.start_mark.line + 1}: has a key twice in one section")
        return found


def _check_events(text: str) -> None:
    """Refuse what a few lines can make huge or endless, before anything is built from it."""
    depth = 0
    for event in yaml.parse(text, Loader=_SafeLoader):
        line = f"line {event.start_mark.line + 1}: " if event.start_mark else ""
        if isinstance(event, yaml.AliasEvent):
            raise Malformed(f"{line}has an alias (*{shown(str(event.anchor))}): write the value itself there")
        if (tag := getattr(event, "tag", None)) not in (None, "!"):
            raise Malformed(f"{line}has a tag ({shown(str(tag))}): only plain values are taken")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH:
                raise Malformed(f"{line}is nested more than {DEPTH} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_plain(value: Any, names: bool = False, halves: bool = False) -> None:
    """Refuse values that are not plain, too deep or too large (and keys that are no `names`); without recursion."""
    waiting = [(value, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > DEPTH:
            raise Malformed(f"it is nested more than {DEPTH} deep")
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, str) or (names and not key.isprintable()):
                    raise Malformed(f"{shown(str(key))} stands where a name should be")
                _check_text(key, halves)
            waiting += [(child, depth + 1) for child in value.values()]
        elif isinstance(value, list):
            waiting += [(child, depth + 1) for child in value]
        elif isinstance(value, str):
            _check_text(value, halves)
            if names and "\0" in value:
                raise Malformed(f"{shown(value)} has a NUL character")
        elif isinstance(value, int):
            if abs(value) > LARGEST_INTEGER:
                raise Malformed(f"it has a number of {value.bit_length()} bits")
        elif not (value is None or isinstance(value, float)):
            raise Malformed(f"it has a value of type {type(value).__name__}")


def _check_text(text: str, halves: bool) -> None:
    if not halves and not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise Malformed(f"{shown(text)} has half a character") from None


# ── shapes ────────────────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def check(shape: Any, value: Any) -> Any:
    """A value in the given shape; Malformed, with the name of the field, if it does not fit."""
    try:
        return _adapter(shape).validate_python(value)
    except ValidationError as error:
        detail = error.errors(include_url=False, include_context=False)[0]
        field = shown(".".join(map(str, detail["loc"]))) or "it"
        message = detail["msg"].removeprefix("Value error, ")
        raise Malformed(f"{field}: {shown(message[0].lower() + message[1:])}") from None


def shown(text: str, most: int = 80) -> str:
    """Text of a stranger's on one line of a message."""
    plain = text if text.isprintable() else repr(text)[1:-1]
    return plain if len(plain) <= most else plain[:most] + "…"

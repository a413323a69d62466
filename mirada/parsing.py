"""Parse untrusted JSON and YAML within limits, and validate it against a schema.

Files are regular and limited in size (`files.read_bytes`). Values are nested at most `MAX_DEPTH` deep and have no
aliases, duplicate keys, integers beyond 64 bits or unpaired surrogates. A schema is any type that pydantic can
validate: a model, a dataclass, `list[str]`. Errors name the file and the field.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from mirada.errors import MiradaError
from mirada.files import SMALL_FILE, read_bytes

MAX_DEPTH = 64
LARGEST_INTEGER = 2**63 - 1


class Malformed(ValueError):
    """A text or value is malformed; the message continues a line that begins with the file's name."""


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_json(path: Path, schema: Any, error: type[MiradaError], most: int = SMALL_FILE) -> Any:
    """Read a JSON file and validate it."""
    return load_json(read_bytes(path, error, most), schema, path, error)


def load_json(content: bytes | str, schema: Any, where: str | Path, error: type[MiradaError]) -> Any:
    """Parse JSON and validate it; `where` is named in errors."""
    try:
        return check(schema, parse_json(content))
    except Malformed as fault:
        raise error(f"{where}: is damaged ({fault})") from None


def read_json_lines(path: Path, schema: Any, error: type[MiradaError], most: int = SMALL_FILE) -> list[Any]:
    """Read a JSONL file and validate each line."""
    content = read_bytes(path, error, most)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise error(f"{path}: is damaged (it is not UTF-8 text)") from None
    return load_json_lines(text, schema, path, error)


def load_json_lines(text: str, schema: Any, where: str | Path, error: type[MiradaError]) -> list[Any]:
    """Parse JSONL text and validate each line; the last line must end with a newline too."""
    lines = text.split("\n")
    if lines.pop():
        raise error(f"{where}: is damaged (its last line is cut off)")
    return [load_json(line, schema, f"{where} line {number}", error) for number, line in enumerate(lines, 1)]


# ── text ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_json(content: bytes | str, surrogates: bool = False) -> Any:
    """Parse JSON, or raise Malformed. Strings may have unpaired `surrogates` if allowed (file names)."""
    try:
        value = json.loads(content, object_pairs_hook=_unique_keys)
    except Malformed:
        raise
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except ValueError as error:
        raise Malformed(f"it is not JSON: {shown(str(error))}") from None
    _check_plain(value, surrogates=surrogates)
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(repeated, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise Malformed(f"it has the key {shown(repeated)} twice")
    return found


def parse_yaml(text: str) -> Any:
    """Parse YAML without aliases, tags and dates, or raise Malformed."""
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
        raise Malformed(f"is not supported: {fault}") from None
    return value


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):
    """Loads plain values only: dates stay strings, and duplicate keys are refused."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        found = super().construct_mapping(node, deep)
        if len(found) < len(node.value):
            raise Malformed(f"line {node.start_mark.line + 1}: has a duplicate key")
        return found


def _check_events(text: str) -> None:
    """Refuse aliases, tags and deep nesting before building values, which a few lines could make huge."""
    depth = 0
    for event in yaml.parse(text, Loader=_SafeLoader):
        line = f"line {event.start_mark.line + 1}: " if event.start_mark else ""
        if isinstance(event, yaml.AliasEvent):
            raise Malformed(f"{line}has an alias (*{shown(str(event.anchor))}): write the value itself there")
        if (tag := getattr(event, "tag", None)) not in (None, "!"):
            raise Malformed(f"{line}has a tag ({shown(str(tag))}): only plain values are supported")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise Malformed(f"{line}is nested more than {MAX_DEPTH} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_plain(value: Any, names: bool = False, surrogates: bool = False) -> None:
    """Refuse values of other types, too deep or too large, and keys that are not printable `names`; no recursion."""
    waiting = [(value, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise Malformed(f"it is nested more than {MAX_DEPTH} deep")
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, str) or (names and not key.isprintable()):
                    raise Malformed(f"{shown(str(key))} should be a name")
                _check_text(key, surrogates)
            waiting += [(child, depth + 1) for child in value.values()]
        elif isinstance(value, list):
            waiting += [(child, depth + 1) for child in value]
        elif isinstance(value, str):
            _check_text(value, surrogates)
            if names and "\0" in value:
                raise Malformed(f"{shown(value)} has a NUL character")
        elif isinstance(value, int):
            if abs(value) > LARGEST_INTEGER:
                raise Malformed(f"it has a number of {value.bit_length()} bits")
        elif not (value is None or isinstance(value, float)):
            raise Malformed(f"it has a value of type {type(value).__name__}")


def _check_text(text: str, surrogates: bool) -> None:
    if not surrogates and not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise Malformed(f"{shown(text)} has an unpaired surrogate") from None


# ── schemas ───────────────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache
def _adapter(schema: Any) -> TypeAdapter[Any]:
    return TypeAdapter(schema)


def check(schema: Any, value: Any) -> Any:
    """Validate a value, or raise Malformed with the name of the field."""
    try:
        return _adapter(schema).validate_python(value)
    except ValidationError as error:
        detail = error.errors(include_url=False, include_context=False)[0]
        field = shown(".".join(map(str, detail["loc"]))) or "it"
        message = detail["msg"].removeprefix("Value error, ")
        raise Malformed(f"{field}: {shown(message[0].lower() + message[1:])}") from None


def shown(text: str, most: int = 80) -> str:
    """Format untrusted text for one line of a message."""
    plain = text if text.isprintable() else repr(text)[1:-1]
    return plain if len(plain) <= most else plain[:most] + "…"

"""The mechanics of configuration: YAML, overrides, presets; every problem reported at once, with the nearest name.

Each layer owns its section (a `Section` subclass next to the code that reads it). This file only reads, merges and
reports.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from mirada.errors import ConfigError
from mirada.files import read_bytes
from mirada.parsing import Malformed, parse_yaml

Values = dict[str, Any]
"""Settings as plain nested values: {"model": {"width": 256}, …}."""


LARGEST = 4 * 2**20
"""Bytes that a configuration has at most: the names of a hundred thousand data files."""


class Section(BaseModel):
    """A part of the configuration. Unknown keys are errors; a built section does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), use_attribute_docstrings=True)


S = TypeVar("S", bound=Section)


def read(path: str | Path) -> Values:
    """The settings of a YAML file."""
    return parse(read_bytes(Path(path), ConfigError, LARGEST), path)


def parse(content: bytes, where: str | Path) -> Values:
    """The settings of a YAML text."""
    try:
        values = parse_yaml(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise ConfigError(f"{where}: is not UTF-8 text, so it is no configuration file") from None
    except Malformed as fault:
        raise ConfigError(f"{where}: {fault}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(
            f"{where}: a configuration is made of 'section:' and 'key: value' lines, not of {values!r:.40}"
        )
    return values


def override(text: str) -> Values:
    """`train.lr=0.001` as nested values. The value is read as YAML, so numbers, true, [lists] and words all work."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {text}: write it as section.key=value, for example --set train.warmup=200")
    try:
        parsed = parse_yaml(value)
    except Malformed:
        parsed = value
    for name in reversed(key.strip().split(".")):
        parsed = {name: parsed}
    return parsed


def model_name(values: Mapping[str, Any]) -> str:
    """The name of the model that settings describe."""
    model = values.get("model")
    if not isinstance(model, dict) or not isinstance(model.get("name"), str):
        raise ConfigError("model.name: does not say which model it is (`mirada models` lists them)")
    name: str = model["name"]
    return name


def merge(*layers: Mapping[str, Any]) -> Values:
    """Settings laid over each other, the later ones on top."""
    merged: Values = {}
    for layer in layers:
        for key, value in layer.items():
            below = merged.get(key)
            merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def build(sections: Mapping[str, type[Section]], values: Mapping[str, Any]) -> dict[str, Any]:
    """Each section built from its values; all that is wrong with any of them in one ConfigError."""
    problems = [f"{key}: there is no such section{nearest(key, sections)}" for key in values if key not in sections]
    built: dict[str, Any] = {}
    for name, section in sections.items():
        given = values.get(name) or {}  # a section with nothing in it is empty, not wrong
        if not isinstance(given, dict):
            problems.append(f"{name}: is a section with keys ({name}.key=value), not the value {given!r}")
            continue
        try:
            built[name] = section.model_validate(given)
        except ValidationError as error:
            problems += [_explain(name, section, detail) for detail in error.errors()]
    if problems:
        raise ConfigError("; ".join(problems))
    return built


def nearest(name: str, valid: Iterable[str]) -> str:
    """' (did you mean …?)' for a misspelt name, or the valid ones when none is near."""
    names = sorted(valid)
    close = difflib.get_close_matches(str(name), names, n=1)
    return f" (did you mean {close[0]}?)" if close else f" (there are: {', '.join(names)})"


def _explain(name: str, section: type[Section], detail: ErrorDetails) -> str:
    path = ".".join([name, *map(str, detail["loc"])])
    if detail["type"] == "extra_forbidden":
        return f"{path}: there is no such setting{nearest(str(detail['loc'][-1]), section.model_fields)}"
    if detail["type"] == "value_error":  # raised by a section's own check, whose message names both fields
        return f"{path}: {detail['ctx']['error']}"
    return f"{path}={detail['input']!r}: {detail['msg'][0].lower()}{detail['msg'][1:]}"


def dump(values: Mapping[str, Any]) -> str:
    """Settings as YAML."""
    return yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True)

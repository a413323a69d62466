"""Damage JSON, lines of JSON and YAML: one value changed, deleted, renamed or replaced by one that nothing expects."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import yaml

from tests.tampering.files import as_bytes

DEEP, HUGE = "@deep@", "@huge@"
"""Stand for text that no library would write: replaced after the JSON is written."""
RAW = {DEEP: "[" * 50_000 + "]" * 50_000, HUGE: "9" * 6000}
NASTY: list[Any] = [
    None, True, False, "", "x", "1", -1, 0, 1, 2, 3, 7, 255, 65_536, 2**31, 2**53, 2**64, -(2**63), 10**30, 0.5, -0.5,
    1e-320, 1e38, 1e308, float("nan"), float("inf"), float("-inf"), [], {}, [[]], [None], ["x"], [1, 2], {"x": 1},
    {"": None}, "\0", "a\0b", "\ud800", "../x", "/dev/zero", "a/b", ".", "NaN", "1e999", "x" * 5000, DEEP, HUGE,
    [DEEP], "2024-13-45",
]  # fmt: skip
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
YAMLS = [
    "", "#\n", "---\n", "...", "null\n", "[]\n", "- a\n", "x\n", "a: &a\n  b: *a\n", "&a [*a]\n", BOMB, "model: *x\n",
    "a: 2024-13-45\n", "a: 2024-01-01\n", f"a: {'9' * 6000}\n", "a: 0x" + "f" * 9000 + "\n", "a: " + "[" * 9000,
    "{" * 20_000, "- " * 30_000, "? " * 9000, "a: !!python/name:os.system\n", "a: !!binary eA==\n", "a: !!set {x}\n",
    "a: !!timestamp x\n", "? [a]\n: b\n", "1: 2\n", "null: 3\n", "a: 1\na: 2\n", "a: b: c\n", "\ta: 1\n",
    "a: '\\0'\n", "a: \"\\ud800\"\n", "%YAML 9.9\n---\na: 1\n", "a: 1:2:3:4\n", "a: 190:20:30.15\n",
    "<<: {model: 1}\n", "a: !!int x\n", "a: !!float x\n", "a: .nan\n", "a: .inf\n", "\ufeffa: 1\n", "a: 1_0_\n",
    "a: 0b_\n", "a: +_\n", "=: =\n",
]  # fmt: skip


def _places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [above, *(place for key, child in inside for place in _places(child, (*above, key)))]


def mutate(value: Any, chance: random.Random) -> tuple[Any, str]:
    """A value of plain dicts and lists with one place changed, and what was done."""
    places = _places(value)
    shallow = [place for place in places if len(place) <= 2]  # large tables must not hide what is above them
    place = chance.choice(shallow if chance.random() < 0.6 else places)
    new = chance.choice(NASTY)
    if not place:
        return new, f"all is {str(new)[:30]!r}"
    inner = value
    for key in place[:-1]:
        inner = inner[key]
    last = place[-1]
    how = chance.choice(["set", "set", "set", "set", "near", "delete", "wrap", "swap", "extra", "rename"])
    if how == "near" and isinstance(inner[last], (int, float)) and not isinstance(inner[last], bool):
        new = inner[last] * chance.choice([-1, 2, 10, 1000, 0.5]) + chance.choice([-1, 0, 1])
        inner[last] = int(new) if isinstance(inner[last], int) and abs(new) < 2**63 else new
    elif how == "delete":
        del inner[last]
    elif how == "wrap":
        inner[last] = [inner[last]]
    elif how == "swap":
        other = chance.choice(shallow[1:] or places[1:])
        taken = value
        for key in other:
            taken = taken[key]
        inner[last] = json.loads(json.dumps(taken))
    elif how == "extra" and isinstance(inner, dict):
        inner[chance.choice(["x", "", "a\0b", "../x", "files", "\ud800"])] = new
    elif how == "extra":
        inner.append(new)
    elif how == "rename" and isinstance(inner, dict):
        inner[chance.choice([f"{last}x", "", "a\0b", "../x", str(last).upper()])] = inner.pop(last)
    else:
        inner[last] = new
    return value, f"{how} {'.'.join(map(str, place))[:80]} ({str(new)[:30]!r})"


def written(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    for stand_in, raw in RAW.items():
        text = text.replace(f'"{stand_in}"', raw)
    return text


def as_json(path: Path, chance: random.Random) -> str:
    try:
        value, done = mutate(json.loads(path.read_text(encoding="utf-8")), chance)
        text = written(value)
    except (ValueError, TypeError, RecursionError):
        return as_bytes(path, chance)
    if chance.random() < 0.05 and text.startswith("{"):
        text, done = text[:-1] + ', "format": 1, "format": 2}', "a key twice"
    path.write_text(text, encoding="utf-8")
    return f"JSON {done}"


def as_lines(path: Path, chance: random.Random) -> str:
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").split("\n")
    at = chance.randrange(len(lines))
    how = chance.choice(["mutate", "mutate", "mutate", "repeat", "drop", "junk"])
    try:
        if how == "mutate":
            value, done = mutate(json.loads(lines[at]), chance)
            lines[at], how = written(value), f"{how}: {done}"
    except (ValueError, TypeError, RecursionError):
        how = "junk"
    if how == "repeat":
        lines.insert(at, lines[at])
    elif how == "drop":
        del lines[at]
    elif how == "junk":
        lines[at] = chance.choice(
            ["{", "[", "null", "1", '"', "\0", "[" * 50_000, "x" * 10_000, '{"kind": "step"}', "NaN"]
        )
    path.write_text("\n".join(lines), encoding="utf-8", errors="surrogateescape")
    return f"line {at}: {how}"


def as_yaml(path: Path, chance: random.Random) -> str:
    if chance.random() < 0.3:
        text = chance.choice(YAMLS)
        before = path.read_text(encoding="utf-8") if chance.random() < 0.4 else ""
        path.write_text(before + text, encoding="utf-8")
        return f"YAML {'after' if before else 'is'} {text[:40]!r}"
    given = path.read_text(encoding="utf-8")
    if BOMB in given:  # it was damaged before, and all of its values would fill the memory
        return as_bytes(path, chance)
    try:
        value, done = mutate(yaml.safe_load(given) or {"x": 1}, chance)
        text = yaml.safe_dump(value, sort_keys=False)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError):  # it was damaged before
        return as_bytes(path, chance)
    for stand_in, raw in RAW.items():
        text = text.replace(f"'{stand_in}'", raw)
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return f"YAML {done}"

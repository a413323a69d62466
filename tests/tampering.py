"""Ways to damage the files of bundles and run folders, each chosen by a seeded `random.Random`.

A file is damaged as bytes, as what it is (JSON, YAML, safetensors, a tokenizer, an array), or replaced by something
that is no regular file. Checksums that other files keep of it are corrected, so that the change gets past them.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

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
Change = Callable[[Path, random.Random], str]
SPARSE = 2**26
"""Bytes of a sparse file that stands where a small one should."""


def damage(folder: Path, chance: random.Random) -> str:
    """Damage one file of a folder (seldom two); what was done."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in UNREAD)
    if (folder / "run").exists():  # to be resumed: what the bundle holds besides is written anew
        files = [path for path in files if path.is_relative_to(folder / "run") or path.name in RESUMED]
    done = []
    for _ in range(chance.choice([1, 1, 1, 1, 2])):
        path = chance.choice(files)
        if not path.is_file() or path.stat().st_size >= SPARSE:  # damaged a moment ago
            continue
        change = chance.choice(_changes(path)) if chance.random() < 0.85 else chance.choice([*REPLACEMENTS, as_bytes])
        done.append(f"{path.relative_to(folder)}: {change(path, chance)}")
        if path.is_file() and not path.is_symlink() and path.stat().st_size < SPARSE and chance.random() < 0.9:
            correct(folder, path)
    return "; ".join(done)


def correct(folder: Path, path: Path) -> None:
    """Write a damaged file's checksum into whatever file beside or above it keeps one."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    for keeper in [path.with_suffix(".json"), *(above / name for above in path.parents for name in KEEPERS)]:
        if keeper == path or not keeper.is_relative_to(folder) or keeper.is_symlink() or not keeper.is_file():
            continue
        if keeper.stat().st_size >= SPARSE:  # damaged before
            continue
        try:
            about = json.loads(keeper.read_bytes())
            if path.suffix == ".safetensors" and "sha256" in about:
                about["sha256"] = digest
            name = path.relative_to(keeper.parent).as_posix()
            for kept in (about.get("files"), about.get("optional")):
                if isinstance(kept, dict) and name in kept:
                    prepared = isinstance(kept[name], dict)
                    kept[name] = {"bytes": path.stat().st_size, "sha256": digest} if prepared else digest
            keeper.write_text(json.dumps(about, indent=2), encoding="utf-8", errors="surrogatepass")
        except (ValueError, TypeError, AttributeError, RecursionError):
            continue


KEEPERS = ("card.json", "prepared.json")
UNREAD = ("curves.png", "excluded.tsv")
RESUMED = ("config.yaml", "log.jsonl", "card.json")


def _changes(path: Path) -> Sequence[Change]:
    if path.name.startswith("tokenizer.") or path.name in ("target.json", "source.json"):
        return [as_tokenizer, as_tokenizer, as_json]
    kinds: dict[str, Sequence[Change]] = {
        ".json": [as_json],
        ".jsonl": [as_lines],
        ".yaml": [as_yaml],
        ".safetensors": [as_tensors],
    }
    return kinds.get(path.suffix, [as_array, as_bytes])


# ── as bytes, and as no file at all ───────────────────────────────────────────────────────────────────────────────


def as_bytes(path: Path, chance: random.Random) -> str:
    content = bytearray(path.read_bytes())
    how = chance.choice(["flip", "cut", "empty", "insert", "double", "zeros"])
    at = chance.randrange(len(content) + 1)
    if how == "flip" and content:
        for _ in range(chance.choice([1, 1, 3, 20])):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif how == "cut":
        del content[at:]
    elif how == "empty":
        content.clear()
    elif how == "insert":
        content[at:at] = bytes(chance.randrange(256) for _ in range(chance.choice([1, 4, 100])))
    elif how == "double":
        content += bytes(content)
    else:
        content[at : at + 64] = bytes(len(content[at : at + 64]))
    path.write_bytes(content)
    return f"bytes {how} at {at}"


def to_directory(path: Path, chance: random.Random) -> str:
    path.unlink()
    path.mkdir()
    return "a directory"


def to_fifo(path: Path, chance: random.Random) -> str:
    path.unlink()
    os.mkfifo(path)
    return "a FIFO"


def to_loop(path: Path, chance: random.Random) -> str:
    path.unlink()
    path.symlink_to(path.name)
    return "a symlink to itself"


def to_zeros(path: Path, chance: random.Random) -> str:
    path.unlink()
    path.symlink_to("/dev/zero")
    return "a symlink to /dev/zero"


def to_sparse(path: Path, chance: random.Random) -> str:
    size = chance.choice([2**20, 2**31, 2**36, 2**40])
    keep = chance.random() < 0.5
    with open(path, "r+b" if keep else "wb") as file:
        file.truncate(max(size, path.stat().st_size))
    return f"a sparse file of {size} bytes{' behind what it held' if keep else ''}"


def to_nothing(path: Path, chance: random.Random) -> str:
    path.unlink()
    return "deleted"


REPLACEMENTS: list[Change] = [to_directory, to_fifo, to_loop, to_zeros, to_sparse, to_nothing]


# ── JSON and YAML ─────────────────────────────────────────────────────────────────────────────────────────────────


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


def _written(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    for stand_in, raw in RAW.items():
        text = text.replace(f'"{stand_in}"', raw)
    return text


def as_json(path: Path, chance: random.Random) -> str:
    try:
        value, done = mutate(json.loads(path.read_text(encoding="utf-8")), chance)
        text = _written(value)
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
            lines[at], how = _written(value), f"{how}: {done}"
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
        return f"YAML {'behind' if before else 'is'} {text[:40]!r}"
    try:
        value, done = mutate(yaml.safe_load(path.read_text(encoding="utf-8")) or {"x": 1}, chance)
        text = yaml.safe_dump(value, sort_keys=False)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError):  # it was damaged before
        return as_bytes(path, chance)
    for stand_in, raw in RAW.items():
        text = text.replace(f"'{stand_in}'", raw)
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return f"YAML {done}"


# ── safetensors ───────────────────────────────────────────────────────────────────────────────────────────────────


DTYPES = ["F64", "F32", "F16", "BF16", "I64", "I32", "I8", "U8", "BOOL", "F8_E4M3", "C64", "X"]


def as_tensors(path: Path, chance: random.Random) -> str:
    content = path.read_bytes()
    if len(content) < 8:
        return as_bytes(path, chance)
    (size,) = struct.unpack("<Q", content[:8])
    try:
        header, body = json.loads(content[8 : 8 + size]), bytearray(content[8 + size :])
    except ValueError:
        return as_bytes(path, chance)
    names = [name for name in header if name != "__metadata__"]
    if not names:
        return as_bytes(path, chance)
    name = chance.choice(names)
    about = header[name]
    how = chance.choice(
        ["values", "values", "values", "shape", "dtype", "offsets", "drop", "rename", "add", "json", "length"]
    )
    if how == "values" and about["data_offsets"][1] > about["data_offsets"][0]:
        how = f"values of {name} {_poison(body, about, chance)}"
    elif how == "shape":
        about["shape"] = chance.choice(
            [
                about["shape"][::-1],
                [*about["shape"], 1],
                [2 * side for side in about["shape"]],
                [2**40, 2**40],
                [-1],
                [0],
                [],
            ]
        )
        if chance.random() < 0.5:  # with as many bytes as the new shape needs, if those are not too many
            count = abs(int(_product(about["shape"])))
            if count < 10**6:
                begin, end = about["data_offsets"]
                body[begin:end] = bytes(4 * count)
                moved = 4 * count - (end - begin)
                for other in names:
                    a, b = header[other]["data_offsets"]
                    header[other]["data_offsets"] = [a + moved * (a >= end), b + moved * (b >= end)]
                about["data_offsets"] = [begin, begin + 4 * count]
    elif how == "dtype":
        about["dtype"] = chance.choice(DTYPES)
    elif how == "offsets":
        about["data_offsets"] = chance.choice([[0, 0], [-1, 4], [0, 2**62], about["data_offsets"][::-1], [1, 2, 3]])
    elif how == "drop":
        begin, end = about["data_offsets"]
        del header[name], body[begin:end]
        for other in header.values():
            if "data_offsets" in other:
                other["data_offsets"] = [place - (end - begin) * (place >= end) for place in other["data_offsets"]]
    elif how == "rename":
        header[chance.choice([name + "x", "", "\0", "__metadata__", "x" * 3000])] = header.pop(name)
    elif how == "add":
        header["extra"] = {"dtype": "F32", "shape": [1], "data_offsets": [len(body), len(body) + 4]}
        body += bytes(4)
    elif how == "json":
        header, done = mutate(header, chance)
        how = f"header {done}"
    written = _written(header).encode()
    written += b" " * (-len(written) % 8)
    length = chance.choice([0, 1, 2**40, 2**63, 2**64 - 1]) if how == "length" else len(written)
    path.write_bytes(struct.pack("<Q", length) + written + body)
    return f"tensors {how} of {name}"


def _poison(body: bytearray, about: dict[str, Any], chance: random.Random) -> str:
    begin, end = about["data_offsets"]
    kind = {"F32": ("<f", 4), "I64": ("<q", 8), "F64": ("<d", 8)}.get(about["dtype"], ("<B", 1))
    whole = kind[0] in ("<q", "<B")
    value = chance.choice([-1, 0, 2**62, -(2**62)] if whole else [float("nan"), float("inf"), 1e38, -3e38, 0.0, 1e-40])
    packed = struct.pack(kind[0], int(value) & 255 if kind[0] == "<B" else value)
    if chance.random() < 0.5:
        body[begin:end] = packed * ((end - begin) // kind[1])
        return f"all {value}"
    at = begin + kind[1] * chance.randrange((end - begin) // kind[1])
    body[at : at + kind[1]] = packed
    return f"one {value}"


def _product(sides: list[int]) -> int:
    found = 1
    for side in sides:
        found *= side
    return found


# ── tokenizers ────────────────────────────────────────────────────────────────────────────────────────────────────


def _added(id: int, content: str = "<new>", **flags: bool) -> dict[str, Any]:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": id, "content": content, **plain, **flags}


PADDING = {"direction": "Right", "pad_type_id": 0, "pad_token": "x"}
EXPANDING = {"type": "Replace", "pattern": {"Regex": "."}, "content": "xxxxxxxxxxxxxxxx"}
PARTS: dict[str, list[Any]] = {
    "padding": [
        {"strategy": {"Fixed": 10**12}, "pad_to_multiple_of": None, "pad_id": 0, **PADDING},
        {"strategy": "BatchLongest", "pad_to_multiple_of": 2**40, "pad_id": 10**6, **PADDING},
    ],
    "truncation": [
        {"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 0},
        {"direction": "Left", "max_length": 3, "strategy": "OnlySecond", "stride": 7},
    ],
    "normalizer": [
        {"type": "Sequence", "normalizers": [EXPANDING] * 12},
        {"type": "Replace", "pattern": {"Regex": "(a*)*$"}, "content": ""},
        {"type": "Replace", "pattern": {"Regex": "("}, "content": ""},
        {"type": "Replace", "pattern": {"String": ""}, "content": "x"},
        {"type": "Replace", "pattern": {"Regex": "(x+x+)+y"}, "content": "y" * 10**5},
        {"type": "Prepend", "prepend": "x" * 10**6},
        {"type": "Precompiled", "precompiled_charsmap": "AAAA"},
        {"type": "NFKD"},
        {"type": "Nothing"},
    ],
    "pre_tokenizer": [
        {"type": "Split", "pattern": {"Regex": "(x+x+)+y"}, "behavior": "Isolated", "invert": False},
        {"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": True},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        {"type": "Whitespace"},
        None,
        {"type": "Sequence", "pretokenizers": []},
    ],
    "decoder": [
        {"type": "Replace", "pattern": {"String": ""}, "content": "x" * 10**5},
        {"type": "Strip", "content": " ", "start": 10**9, "stop": 10**9},
        {"type": "CTC", "pad_token": "x", "word_delimiter_token": "", "cleanup": True},
        {"type": "ByteFallback"},
        None,
    ],
    "post_processor": [
        {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}},
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    ],
    "added_tokens": [
        [], [_added(10**6)], [_added(2**32 - 1)], [_added(0, ""), _added(1, "")], [_added(0, "a", normalized=True)],
        [_added(3), _added(3)],
    ],
}  # fmt: skip


MERGES: list[Any] = [[], [["a", "b"]], ["a b"], ["a"], [[]], None, [["<pad>", "<s>"]], "x", [["", ""]]]


def as_tokenizer(path: Path, chance: random.Random) -> str:
    try:
        parts = json.loads(path.read_text(encoding="utf-8"))
        vocabulary = parts["model"]["vocab"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return as_json(path, chance)
    if not isinstance(vocabulary, dict | list) or not vocabulary:
        return as_json(path, chance)
    how = chance.choice(["part", "part", "part", "id", "id", "key", "empty", "model", "merges", "unk"])
    if how == "part":
        part = chance.choice(list(PARTS))
        choice = chance.randrange(len(PARTS[part]))
        parts[part], how = PARTS[part][choice], f"{part} {choice}"
    elif how == "id" and isinstance(vocabulary, dict):
        id = chance.choice([-1, 0, 2**16, 10**6, 10**9, 2**32 - 1, 2**32, 1.5, "1", None, len(vocabulary)])
        vocabulary[chance.choice(list(vocabulary))], how = id, f"id {id}"
    elif how == "id":
        score = chance.choice([float("nan"), float("inf"), -1e308, "x", None])
        chance.choice(vocabulary)[1], how = score, f"score {score}"
    elif how == "key" and isinstance(vocabulary, dict):
        vocabulary[chance.choice(["", "\0", "x" * 9000, "<pad> "])] = vocabulary.pop(chance.choice(list(vocabulary)))
    elif how == "empty":
        parts["model"]["vocab"] = type(vocabulary)()
    elif how == "model":
        key = chance.choice(list(parts["model"]))
        parts["model"][key] = chance.choice(NASTY)
        how = f"model.{key} {str(parts['model'][key])[:30]!r}"
    elif how == "merges":
        parts["model"]["merges"] = chance.choice(
            [[], [["a", "b"]], ["a b"], ["a"], [[]], None, [["<pad>", "<s>"]], "x", [["", ""]]]
        )
    else:
        parts["model"]["unk_token"] = chance.choice([None, "", "nowhere", 3])
        parts["model"]["unk_id"] = chance.choice([None, -1, 0, 10**6])
    path.write_text(_written(parts), encoding="utf-8")
    return f"tokenizer {how}"


# ── arrays ────────────────────────────────────────────────────────────────────────────────────────────────────────


def as_array(path: Path, chance: random.Random) -> str:
    """Numbers where numbers are: offsets that go back, ids beyond the vocabulary, values that are not finite."""
    content = bytearray(path.read_bytes())
    width = 2 if path.suffix == ".ids" else 8
    if len(content) < width:
        return as_bytes(path, chance)
    at = width * chance.randrange(len(content) // width)
    value = chance.choice(
        [b"\xff" * width, bytes(width), b"\0" * (width - 1) + b"\x40", b"\xff" * (width - 1) + b"\x7f"]
    )
    count = chance.choice([1, 1, 10, len(content)])
    end = min(len(content), at + count * width)
    content[at:end] = (value * count)[: end - at]
    path.write_bytes(content)
    return f"numbers from {at}: {count} times {value.hex()}"

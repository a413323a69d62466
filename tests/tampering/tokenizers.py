"""Damage tokenizers: their vocabulary, their merges, and parts that the library accepts but no model has."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tests.tampering.documents import NASTY, as_json, written


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
        parts["model"]["merges"] = chance.choice(MERGES)
    else:
        parts["model"]["unk_token"] = chance.choice([None, "", "nowhere", 3])
        parts["model"]["unk_id"] = chance.choice([None, -1, 0, 10**6])
    path.write_text(written(parts), encoding="utf-8")
    return f"tokenizer {how}"

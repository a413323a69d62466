"""Damage safetensors: their values, shapes, types, offsets and header."""

from __future__ import annotations

import json
import math
import random
import struct
from pathlib import Path
from typing import Any

from tests.tampering.documents import mutate, written
from tests.tampering.files import as_bytes

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
            count = abs(math.prod(about["shape"]))
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
    start = written(header).encode()
    start += b" " * (-len(start) % 8)
    length = chance.choice([0, 1, 2**40, 2**63, 2**64 - 1]) if how == "length" else len(start)
    path.write_bytes(struct.pack("<Q", length) + start + body)
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

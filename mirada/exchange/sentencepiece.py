"""Read SentencePiece models (.spm) without SentencePiece: a protobuf of pieces, their scores and a normalizer.

ModelProto       1 pieces: {1 text, 2 score, 3 kind}     2 trainer: {3 type}
                 3 normalizer: {2 character map, 3 add a leading space, 4 remove extra spaces}
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import tokenizers
from tokenizers import normalizers

from mirada.errors import DataError
from mirada.files import read_bytes

NORMAL, USER_DEFINED = 1, 4
UNIGRAM = 1


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: number and value (an integer, or bytes)."""
    position = 0

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = message[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    while position < len(message):
        tag = varint()
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            yield number, varint()
            continue
        if kind not in (1, 2, 5):
            raise ValueError(f"unknown wire type {kind}")
        length = varint() if kind == 2 else 8 if kind == 1 else 4
        if position + length > len(message):
            raise ValueError("a field exceeds the message")
        yield number, message[position : position + length]
        position += length


class SentencePieceModel:
    """The pieces, scores and normalization rules of a SentencePiece model."""

    def __init__(self, path: Path):
        self.scores: dict[str, float] = {}
        trainer: dict[int, Any] = {}
        rules: dict[int, Any] = {}
        try:
            content = read_bytes(path, DataError)
            for number, value in fields(content):
                if number == 1:
                    piece = dict(fields(value))
                    if piece.get(3, NORMAL) in (NORMAL, USER_DEFINED):
                        self.scores[piece[1].decode("utf-8")] = struct.unpack("<f", piece.get(2, bytes(4)))[0]
                elif number == 2:
                    trainer = dict(fields(value))
                elif number == 3:
                    rules = dict(fields(value))
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from None
        except (ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error):
            raise DataError(f"{path}: is damaged, or not a SentencePiece model") from None
        if not self.scores:
            raise DataError(f"{path}: is damaged, or not a SentencePiece model (it has no pieces)")
        if trainer.get(3, UNIGRAM) != UNIGRAM:
            raise DataError(f"{path}: is not a unigram SentencePiece model; other kinds are not supported")
        self.prepend: Literal["always", "never"] = "always" if rules.get(3, 1) else "never"
        self.within_words = not any("▁" in piece[1:] for piece in self.scores)
        self.normalizers = self._rules(rules, path)

    @staticmethod
    def _rules(rules: dict[int, Any], path: Path) -> list[normalizers.Normalizer]:
        found: list[normalizers.Normalizer] = []
        if rules.get(2):
            try:
                found.append(normalizers.Precompiled(rules[2]))
            except Exception as error:  # the library raises bare Exception
                raise DataError(f"{path}: its character map is damaged ({error})") from None
        if rules.get(4, 1):
            found += [normalizers.Strip(), normalizers.Replace(tokenizers.Regex(" {2,}"), " ")]
        return found

"""Word vectors that others have trained: the text files of word2vec and GloVe, as the start of an embedding table."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mirada.data.text import faults_named, opened_text, raw_lines, shown_path, shown_text
from mirada.data.tokenizer import Tokenizer
from mirada.data.tokenizer_learning import SPECIALS
from mirada.errors import ConfigError, DataError

Vector = npt.NDArray[np.float32]

_LARGEST = float(np.finfo(np.float32).max)
_HEADER = re.compile(rb"(\d{1,15}) +([1-9]\d{0,8})")


@dataclass(frozen=True)
class Vectors:
    """The vectors of the words that were asked for."""

    dimension: int
    found: dict[str, Vector]  # word -> [D]
    read: int
    """Vectors in the whole file."""


def read_vectors(path: str | Path, wanted: Collection[str]) -> Vectors:
    """The vectors of the wanted words in a text file of word2vec or GloVe, plain or gzipped.

    A line is a word, a space, numbers; a first line with the count and the dimension may stand above them. Words may
    have spaces in them. If a word occurs twice, its first vector counts. Other words cost next to nothing.
    """
    names = {word.encode("utf-8"): word for word in wanted}
    found: dict[str, Vector] = {}
    count: int | None = None
    dimension = read = 0
    for number, line in _lines(path):
        header = _HEADER.fullmatch(line) if number == 1 else None
        if header:
            count, dimension = int(header[1]), int(header[2])
            continue
        dimension = dimension or _numbers_after(line)
        spaces = line.count(b" ")
        # Most words have no space in them. Then it is known where the word ends, without a look at the numbers.
        word = line[: line.find(b" ")] if spaces == dimension > 0 else _word_with_spaces(path, number, line, dimension)
        read += 1
        name = names.get(word)
        if name is not None and name not in found:
            found[name] = _parse(path, number, line, line[len(word) + 1 :])
    if not read:
        raise DataError(f"{shown_path(path)}: has no word vectors")
    if count not in (None, read):
        raise DataError(
            f"{shown_path(path)}: its first line promises {count} vectors, but there are {read}; copy or download it "
            "again, or delete the first line if it is wrong"
        )
    return Vectors(dimension, found, read)


def wanted_words(tokenizer: Tokenizer) -> set[str]:
    """The words of a vocabulary as they are and in lower case: all that `initialize` will ask for."""
    words = _words(tokenizer).values()
    return {*words, *(word.lower() for word in words)}


def initialize(table: Tensor, tokenizer: Tokenizer, vectors: Vectors) -> int:
    """Put the vectors into the rows [V, D] of the words they belong to; returns the number of rows.

    A word that the file has only in lower case takes that vector. All vectors are scaled by one factor, so that
    their mean norm is that of the rows drawn at random: vectors from elsewhere may be ten times as long, and would
    drown the words the file does not have, the positions added to them, and a softmax that shares the table.
    """
    width = table.shape[1]
    if vectors.dimension != width:
        raise ConfigError(
            f"the word vectors have {vectors.dimension} numbers each, but model.width={width}: "
            f"--set model.width={vectors.dimension}"
        )
    chosen: dict[int, Vector] = {}
    for id, word in _words(tokenizer).items():
        vector = vectors.found.get(word, vectors.found.get(word.lower()))
        if vector is not None:
            chosen[id] = vector
    if not chosen:
        return 0
    new = torch.from_numpy(np.stack(list(chosen.values()))).to(table)  # [n, D]
    with torch.no_grad():
        norms = table.norm(dim=1)
        random = norms[norms > 0]  # the row of padding is often zero, and was not drawn
        if len(random) and (own := new.norm(dim=1).mean()) > 0:
            new *= random.mean() / own
        table[list(chosen)] = new
    return len(chosen)


def _words(tokenizer: Tokenizer) -> dict[int, str]:
    """The tokens that can be whole words, by id; of subwords those that begin with a space, as a word does."""
    ids = range(len(SPECIALS) + (tokenizer.unknown is not None), tokenizer.size)
    pieces = zip(ids, tokenizer.pieces(ids), strict=True)
    if tokenizer.unit != "subwords":
        return dict(pieces)
    return {id: piece[1:] for id, piece in pieces if piece.startswith(" ") and piece[1:].strip() and "�" not in piece}


# ── lines and numbers ─────────────────────────────────────────────────────────────────────────────────────────────


def _lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """The lines of the file with their numbers, without white space after them; empty ones are passed over."""
    with faults_named(path), opened_text(path) as stream:
        for number, raw in raw_lines(stream, shown_path(path)):
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if b"\0" in raw:
                raise _fault(path, number, raw, "not a line of text")
            line = raw.rstrip(b" \t\r\n")
            if line:
                yield number, line


def _number(field: bytes) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


def _numbers_after(line: bytes) -> int:
    """How many numbers stand at the end of a line, after one field at least for the word."""
    fields = line.split(b" ")[1:]
    return sum(1 for _ in itertools.takewhile(lambda field: _number(field) is not None, reversed(fields)))


def _word_with_spaces(path: str | Path, number: int, line: bytes, dimension: int) -> bytes:
    """The word of a line that has other than `dimension` spaces: all before the last `dimension` fields."""
    numbers = _numbers_after(line)
    if not dimension or numbers != dimension:
        expected = f"{dimension} numbers" if dimension else "numbers"
        raise _fault(path, number, line, f"expected a word and {expected}, but found {numbers}")
    return line.rsplit(b" ", dimension)[0]


def _parse(path: str | Path, number: int, line: bytes, rest: bytes) -> Vector:
    """The numbers after a word, [D]."""
    fields = rest.split(b" ")
    try:
        values = np.array([float(field) for field in fields])
    except ValueError:
        wrong = next(field for field in fields if _number(field) is None)
        raise _fault(path, number, line, f"{_shown(wrong)} is not a number") from None
    finite = np.abs(values) <= _LARGEST  # which no comparison with NaN is
    if not finite.all():
        raise _fault(path, number, line, f"{_shown(fields[finite.argmin()])} is not a finite number")
    return values.astype(np.float32)


def _fault(path: str | Path, number: int, line: bytes, what: str) -> DataError:
    """The error for a line that is not a word with numbers; it names known files of another kind."""
    name = shown_path(path)
    if number == 1 and line.startswith(b"PK\x03\x04"):
        return DataError(f"{name}: is a zip archive; unpack it with `unzip`")
    if not _is_text(line):
        return DataError(
            f"{name}, line {number}: looks like the binary format of word2vec, or like no text at all; save the "
            "vectors as text (in gensim: save_word2vec_format with binary=False)"
        )
    return DataError(f"{name}, line {number}: {what} ({_shown(line)})")


def _is_text(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not re.search(rb"[\0-\x08\x0e-\x1f]", line)


def _shown(line: bytes) -> str:
    return shown_text(line.decode("utf-8", "replace"), 40)

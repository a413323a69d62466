"""A tokenized corpus on disk: ids and offsets, memory-mapped, so that memory does not grow with the text.

    <folder>/source.ids  source.offsets  target.ids  target.offsets  corpus.json

`corpus.json` is written last: a corpus without it was interrupted and is made again.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from mirada.data.folder import open_numbers
from mirada.errors import DataError
from mirada.files import write_text
from mirada.parsing import read_json

Ids = npt.NDArray[np.integer]
Item = TypeVar("Item")
CHUNK = 2048
"""Sentences tokenized at a time."""


class About(BaseModel):
    """What corpus.json says."""

    fingerprint: str
    dtype: Literal["uint16", "uint32"]


class Side:
    """One language of a corpus: sentence i is ids[offsets[i] : offsets[i+1]]."""

    def __init__(self, folder: Path, name: str, dtype: str):
        self.name, self.folder = name, folder
        self.offsets: npt.NDArray[np.int64] = open_numbers(folder / f"{name}.offsets", np.int64)
        self.ids: Ids = open_numbers(folder / f"{name}.ids", dtype)
        if not len(self.offsets) or self.offsets[0] != 0 or (np.diff(self.offsets) < 0).any():
            raise DataError(f"{folder}: {name}.offsets is damaged (its numbers do not rise from 0)")
        if len(self.ids) != (size := int(self.offsets[-1])):
            raise DataError(f"{folder}: {name}.ids has {len(self.ids)} ids, its offsets say {size}")

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        return np.diff(self.offsets).astype(np.int32)

    def check(self, vocabulary: int, longest: int, shortest: int = 0) -> None:
        """Refuse ids beyond a vocabulary, and sentences that are longer or shorter than they may be."""
        most = int(self.ids.max()) if len(self.ids) else -1
        if most >= vocabulary:
            raise DataError(f"{self.folder}: {self.name}.ids is damaged (it has the id {most} of {vocabulary})")
        lengths = self.lengths
        if len(lengths) and not shortest <= int(lengths.min()) <= int(lengths.max()) <= longest:
            raise DataError(f"{self.folder}: {self.name}.offsets is damaged (it has sentences of a wrong length)")

    def padded(self, rows: npt.NDArray[np.integer], before: int | None, after: int, pad: int) -> npt.NDArray[np.int64]:
        """The sentences of `rows` side by side [B, length], framed by the ids `before` (if any) and `after`."""
        begins = self.offsets[rows]
        lengths = self.offsets[rows + 1] - begins
        first = int(before is not None)
        columns = np.arange(int(lengths.max()))
        real = columns < lengths[:, None]  # [B, longest]
        table = np.full((len(rows), first + len(columns) + 1), pad, dtype=np.int64)
        body = table[:, first : first + len(columns)]
        body[real] = self.ids[(begins[:, None] + columns)[real]]
        if before is not None:
            table[:, 0] = before
        table[np.arange(len(rows)), first + lengths] = after
        return table


class Corpus:
    """Pairs of tokenized sentences on disk."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.about: About = read_json(folder / "corpus.json", About, DataError)
        self.source = Side(folder, "source", self.about.dtype)
        self.target = Side(folder, "target", self.about.dtype)
        if len(self.source.offsets) != len(self.target.offsets):
            raise DataError(f"{folder}: is damaged (its two sides have different numbers of sentences)")

    def __len__(self) -> int:
        return len(self.source.offsets) - 1

    def check(self, vocabularies: tuple[int, int], longest: int) -> None:
        """Refuse a corpus that was altered since it was written, as far as that can be seen."""
        if not len(self):
            raise DataError(f"{self.folder}: is damaged (it has no sentences)")
        for side, vocabulary in zip((self.source, self.target), vocabularies, strict=True):
            side.check(vocabulary, longest)

    @property
    def tokens(self) -> int:
        """The tokens on both sides, with the end of every sentence."""
        return len(self.source.ids) + len(self.target.ids) + 2 * len(self)

    @property
    def fingerprint(self) -> str:
        """A hash of all ids in order, which identifies the data and the tokenizer."""
        return self.about.fingerprint


def write_corpus(
    folder: Path,
    pairs: Iterable[tuple[Any, Any, Item]],
    encode_source: Callable[[list[Any]], list[Any]] = list,
    encode_target: Callable[[list[Any]], list[Any]] = list,
    *,
    vocabulary: int,
    longest: int,
    before: Callable[[Item], Sequence[int]] = lambda place: (),
    too_long: Callable[[Item, int], None] = lambda place, tokens: None,
    progress: Callable[[int], None] = lambda done: None,
) -> Corpus:
    """Tokenize pairs into `folder`. A side without an encoder consists of ids already.

    Each pair comes with its place. If it has over `longest` tokens on a side, it is left out, and
    `too_long(place, tokens)` is called. The ids `before(place)` are put before a source, and not counted in its length.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpus.json").unlink(missing_ok=True)
    dtype: np.dtype[Any] = np.dtype(np.uint16 if vocabulary <= 65_536 else np.uint32)
    done = 0
    with _SideWriter(folder, "source", dtype) as source_out, _SideWriter(folder, "target", dtype) as target_out:
        for chunk in batched(pairs, CHUNK):
            sources = encode_source([source for source, _, _ in chunk])
            targets = encode_target([target for _, target, _ in chunk])
            kept = []
            for source, target, (_, _, place) in zip(sources, targets, chunk, strict=True):
                size = max(len(source), len(target))
                if size > longest:
                    too_long(place, size)
                else:
                    tags = before(place)
                    kept.append(([*tags, *source] if tags else source, target))
            source_out.add([source for source, _ in kept])
            target_out.add([target for _, target in kept])
            done += len(chunk)
            progress(done)
    fingerprint = hashlib.sha256((source_out.digest + target_out.digest).encode()).hexdigest()
    write_text(folder / "corpus.json", json.dumps({"fingerprint": fingerprint, "dtype": dtype.name}))
    return Corpus(folder)


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """The items in lists of at most `size`."""
    iterator = iter(items)
    while chunk := list(itertools.islice(iterator, size)):
        yield chunk


class _SideWriter:
    """Appends sentences to the two files of one side."""

    def __init__(self, folder: Path, name: str, dtype: np.dtype[Any]):
        self.dtype = dtype
        self.end = 0
        self._digests = hashlib.sha256(), hashlib.sha256()  # of the ids, and of where each sentence ends
        self._files = ExitStack()
        self._ids = self._files.enter_context((folder / f"{name}.ids").open("wb"))
        self._offsets = self._files.enter_context((folder / f"{name}.offsets").open("wb"))
        self._offsets.write(bytes(8))

    def add(self, sentences: Sequence[Sequence[int]]) -> None:
        lengths = [len(ids) for ids in sentences]
        ends = np.cumsum(lengths, dtype=np.int64)
        body = np.fromiter(itertools.chain.from_iterable(sentences), self.dtype, sum(lengths)).tobytes()
        offsets = (self.end + ends).tobytes()
        self._ids.write(body)
        self._offsets.write(offsets)
        for digest, part in zip(self._digests, (body, offsets), strict=True):
            digest.update(part)
        self.end += sum(lengths)

    @property
    def digest(self) -> str:
        """A hash of what was written, however many sentences were added at a time."""
        return "".join(digest.hexdigest() for digest in self._digests)

    def __enter__(self) -> _SideWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self._files.close()

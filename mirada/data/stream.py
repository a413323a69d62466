"""A corpus as one long stream of ids, for models that say what comes next: on disk, memory-mapped, cut into batches.

    <folder>/stream.ids  stream.json

`stream.json` is written last: a stream without it was interrupted and is made again. Step i of a stream reads id i and
must say id i+1, so a stream of n ids has n−1 steps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from pydantic import BaseModel

from mirada.contracts import PAD, SequenceBatch
from mirada.data.corpus import CHUNK, Ids
from mirada.data.folder import open_numbers
from mirada.errors import DataError
from mirada.files import write_text
from mirada.parsing import read_json

Spans = npt.NDArray[np.int64]
"""[B, 2]: the steps [begin, end) of each row of a batch."""

CHUNK_CHARACTERS = 2**20
"""Characters tokenized at a time, unless one text alone has more."""


class About(BaseModel):
    """What stream.json says."""

    fingerprint: str
    dtype: Literal["uint16", "uint32"]
    tokens: int


class Stream:
    """The ids of all texts, one after the other, on disk."""

    def __init__(self, folder: Path):
        self.folder = folder
        try:
            self.about: About = read_json(folder / "stream.json", About, DataError)
        except DataError as fault:
            raise DataError(f"{folder}: has no finished stream of ids; delete the folder ({fault})") from None
        path, expected = folder / "stream.ids", self.about.tokens * np.dtype(self.about.dtype).itemsize
        if path.is_file() and (size := path.stat().st_size) != expected:
            raise DataError(f"{path}: has {size} bytes, but {self.about.tokens} ids need {expected}: delete the folder")
        self.ids: Ids = open_numbers(path, self.about.dtype)

    def __len__(self) -> int:
        return len(self.ids)

    def check(self, vocabulary: int) -> None:
        """Refuse ids that a vocabulary does not have."""
        if len(self.ids) and (most := int(self.ids.max())) >= vocabulary:
            raise DataError(f"{self.folder / 'stream.ids'}: is damaged (it has the id {most} of {vocabulary})")

    @property
    def tokens(self) -> int:
        return len(self.ids)

    @property
    def fingerprint(self) -> str:
        """A hash of all ids in order, which identifies the data and the tokenizer."""
        return self.about.fingerprint


def write_stream(
    folder: Path,
    texts: Iterable[str],
    encode: Callable[[Sequence[str]], list[list[int]]],
    vocabulary: int,
    progress: Callable[[int], None] = lambda done: None,
    end: int | None = None,
) -> Stream:
    """Tokenize the texts into `folder`, with the id `end` after each of them if it is given; nothing is left out."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stream.json").unlink(missing_ok=True)
    dtype: np.dtype[Any] = np.dtype(np.uint16 if vocabulary <= 65_536 else np.uint32)
    digest = hashlib.sha256()
    done = tokens = 0
    with (folder / "stream.ids").open("wb") as out:
        for chunk in _chunks(texts):
            ids = encode(chunk)
            if end is not None:
                ids = [[*row, end] for row in ids]
            body = np.concatenate([np.asarray(row, dtype=dtype) for row in ids]).tobytes()
            out.write(body)
            digest.update(body)
            tokens += len(body) // dtype.itemsize
            done += len(chunk)
            progress(done)
    about = About(fingerprint=digest.hexdigest(), dtype=dtype.name, tokens=tokens)
    write_text(folder / "stream.json", about.model_dump_json())
    return Stream(folder)


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts in lists that are neither long nor large."""
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if len(chunk) == CHUNK or size >= CHUNK_CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


@dataclass
class StreamBatches:
    """The batches of a stream. Epoch e is the same list of batches whenever it is asked for.

    Carried (not shuffled): the stream is cut into `rows` parts that are read side by side, and row r of a batch
    continues where row r of the previous one stopped, so that a recurrent state can be carried over (truncated
    backpropagation through time). The last steps of the stream, fewer than there are rows, are left over when it cannot
    be shared out evenly. Shuffled: windows of the stream in random order, each for itself.

    Cuts lie `length` steps apart and fall elsewhere in every epoch, so the first and the last piece may be shorter.
    """

    stream: Stream
    rows: int
    """Rows in a batch; fewer when a short stream would not fill them."""
    length: int
    """Steps in a row, and so how far gradients flow back."""
    seed: int
    shuffled: bool

    def __post_init__(self) -> None:
        assert self.rows >= 1
        assert self.length >= 1
        if len(self.stream) < 2:
            raise DataError(
                f"{self.stream.folder}: the text has {len(self.stream)} token{'s' * (len(self.stream) != 1)}; "
                "training needs at least two, and thousands to be useful"
            )
        steps = len(self.stream) - 1
        self.rows = max(1, min(self.rows, steps // self.length))
        self.part = steps if self.shuffled else steps // self.rows

    @property
    def fingerprint(self) -> str:
        return self.stream.fingerprint

    @property
    def tokens(self) -> int:
        """The steps of an epoch."""
        return self.part if self.shuffled else self.rows * self.part

    def epoch(self, epoch: int) -> list[Spans]:
        """The steps of every batch of an epoch, in the order they are trained on."""
        random = np.random.default_rng([self.seed, epoch])
        cuts = np.arange(random.integers(self.length), self.part, self.length)
        edges = np.unique(np.concatenate([[0], cuts, [self.part]]))
        spans = np.stack([edges[:-1], edges[1:]], axis=1)  # [windows, 2]
        if self.shuffled:
            spans = random.permutation(spans)
            return [spans[first : first + self.rows] for first in range(0, len(spans), self.rows)]
        begins = np.arange(self.rows)[:, None] * self.part  # [rows, 1]
        return [begins + span for span in spans]

    def load(self, rows: Spans) -> SequenceBatch:
        """The batch of the given spans: the ids there, and after each the one that follows it."""
        begins, lengths = rows[:, 0], rows[:, 1] - rows[:, 0]
        columns = np.arange(int(lengths.max()) + 1)
        places = np.minimum(begins[:, None] + columns, len(self.stream) - 1)
        ids = np.asarray(self.stream.ids[places], dtype=np.int64)  # [B, T+1]
        real = columns[:-1] < lengths[:, None]  # [B, T]
        return SequenceBatch(
            inputs=torch.from_numpy(np.where(real, ids[:, :-1], PAD)),
            lengths=torch.from_numpy(lengths),
            truth=torch.from_numpy(np.where(real, ids[:, 1:], PAD)),
            rows=None if self.shuffled else torch.from_numpy(begins.copy()),
        )

    def padding(self, epoch: int = 0) -> float:
        """The share of an epoch's cells that are padding."""
        cells = sum(len(spans) * int((spans[:, 1] - spans[:, 0]).max()) for spans in self.epoch(epoch))
        return 1 - self.tokens / cells

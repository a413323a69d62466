"""The input of a verb: texts, the lines of a file, or standard input as it arrives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from mirada.errors import DataError, UsageError

CHUNK = 512
"""Lines of a file that are processed at a time: enough to batch them well, few enough to see progress."""
READ = 2**16
"""The most bytes of standard input that are read at a time."""


class Input:
    """The user's input in chunks. Lines of standard input are yielded as soon as they arrive."""

    def __init__(
        self,
        texts: list[str] | None,
        file: Path | None,
        *,
        as_text: bool = False,
        allowed: tuple[str, ...] = (),
        unit: str = "lines",
    ):
        """`as_text` reads any file as text; otherwise only text and the `allowed` formats are read."""
        if texts and file:
            raise UsageError(f"--file {file}: give texts or a file, not both")
        if file is not None and not as_text:
            from mirada.data.foreign import refuse_foreign

            refuse_foreign(file, allowed=allowed)
        self.texts, self.file, self.unit = texts, file, unit

    @cached_property
    def total(self) -> int | None:
        """The number of lines, if it is known."""
        if self.texts:
            return len(self.texts)
        return _count_lines(self.file) if self.file is not None and self.file.is_file() else None

    def __iter__(self) -> Iterator[list[str]]:
        from mirada.data.checks import has_invalid_bytes
        from mirada.data.corpus import batched
        from mirada.data.text import lines

        if self.texts:
            for number, text in enumerate(self.texts, 1):
                if has_invalid_bytes(text):
                    raise UsageError(f"text {number} has bytes that are not UTF-8; set your terminal to UTF-8")
            return batched(self.texts, CHUNK)
        return batched(lines(self.file), CHUNK) if self.file is not None else _arriving()


def _arriving() -> Iterator[list[str]]:
    """Lines of standard input: those that have arrived, at most a chunk, without waiting for more."""
    from mirada.data.corpus import batched
    from mirada.data.text import LONGEST_LINE

    number, rest, size = 0, list[bytes](), 0  # lines so far; the pieces of an unfinished line, their size
    while block := sys.stdin.buffer.read1(READ):  # type: ignore[union-attr]
        *ended, last = block.split(b"\n")
        if ended:
            ended[0] = b"".join([*rest, ended[0]])
            rest, size = [], 0
        for raw in batched(ended, CHUNK):
            yield from _decoded(raw, number)
            number += len(raw)
        rest.append(last)
        size += len(last)
        if size > LONGEST_LINE:
            raise DataError(
                f"standard input, line {number + 1}: longer than {LONGEST_LINE // 2**20} MiB, "
                "so this does not look like text with a sentence on each line"
            )
    if size:
        yield from _decoded([b"".join(rest)], number)


def _decoded(raw: list[bytes], number: int) -> Iterator[list[str]]:
    """Decode the lines after the first `number`; those before an invalid one are still yielded."""
    found: list[str] = []
    for place, line in enumerate(raw, number + 1):
        try:
            text = line.removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            if found:
                yield found
            raise DataError(
                f"standard input, line {place}: byte {error.start} is not UTF-8; convert it first"
            ) from None
        found.append(text.removeprefix("\ufeff") if place == 1 else text)
    yield found


def _count_lines(path: Path) -> int:
    """The number of lines of a text file, plain or gzipped, in UTF-8 or UTF-16."""
    from mirada.data.text import faults_named, opened_text

    count, last = 0, b"\n"
    with faults_named(path), opened_text(path) as stream:
        while block := stream.read(2**20):
            count, last = count + block.count(b"\n"), block[-1:]
    return count + (last != b"\n")

"""Reads text files a line at a time, and says exactly where one cannot be read.

A line ends at LF or CR LF and nowhere else: many tools also break at U+2028, U+0085, a form feed or a lone CR, and two
files that were aligned then no longer are. Text is handed on as it stands: nothing is stripped, unescaped or dropped.
"""

import gzip
import io
import itertools
import os
import zlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NoReturn

from mirada.errors import DataError, UsageError

StrPath = str | os.PathLike[str]

LONGEST_LINE = 16 * 2**20
"""Bytes in a line, beyond which the file is taken for something else than lines of text."""

TSV_PROBE = 100
"""Non-blank lines without a single tab, after which a file is not taken for TSV."""

_GZIP_MAGIC = b"\x1f\x8b"

# UTF-32 stands before UTF-16, because its little-endian mark starts with that of UTF-16.
_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)

_OTHER_FORMATS = (
    (b"PK\x03\x04", "a zip archive or an office document", "export its text as UTF-8"),
    (b"\xd0\xcf\x11\xe0", "an old office document", "export its text as UTF-8"),
    (b"%PDF-", "a PDF", "export its text as UTF-8"),
    (b"\xfd7zXZ\x00", "an xz file", "unpack it with `xz -d`"),
    (b"BZh", "a bzip2 file", "unpack it with `bzip2 -d`"),
    (b"\x28\xb5\x2f\xfd", "a zstd file", "unpack it with `zstd -d`"),
    (b"SQLite format 3", "an SQLite database", "export its text as UTF-8"),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation, with the place they came from.

    The first target is the translation and is always there, if only as an empty text. Any others are further
    references; there are no empty ones at the end, since an empty column or line is a reference nobody wrote.
    """

    source: str
    targets: tuple[str, ...]
    file: str
    """The file as the user named it; of parallel files, the source."""
    line: int
    """Counted from 1."""


def lines(path: StrPath) -> Iterator[str]:
    """The exact lines of a UTF-8 text file, plain or gzipped (known by its content, not by its name)."""
    name = _shown_path(path)
    with _faults_named(path), _opened(path) as stream:
        head = stream.peek(16)[:16]
        for number in itertools.count(1):
            raw = stream.readline(LONGEST_LINE + 1)
            if len(raw) > LONGEST_LINE:
                raise DataError(
                    f"{name}, line {number}: longer than {LONGEST_LINE // 2**20} MiB, "
                    "so this does not look like text with a sentence on each line"
                )
            if b"\0" in raw:
                raise _zero_byte(name, number, raw, head)
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as fault:
                raise _not_utf8(name, number, fault, head) from None
            if number == 1:
                text = text.removeprefix("\ufeff")
            if not text:
                return
            yield text[:-2] if text.endswith("\r\n") else text[:-1] if text.endswith("\n") else text


def read_tsv(path: StrPath) -> Iterator[Pair]:
    """The pairs of a file with source, tab, target and any further references (tab between) on each line.

    Every line gives a pair: a blank one an empty pair, one without a tab an empty target, for later checks to count.
    """
    name = os.fspath(path)
    numbered = enumerate(lines(path), 1)
    # Held back, so that nobody works on the start of a file that then turns out not to be TSV.
    held: list[tuple[int, str]] = []
    untabbed: list[str] = []
    for number, line in numbered:
        held.append((number, line))
        if "\t" in line:
            untabbed.clear()
            break
        if line.strip():
            untabbed.append(line)
        if len(untabbed) == TSV_PROBE:
            break
    if untabbed:
        which = f"the first {TSV_PROBE} lines" if len(untabbed) == TSV_PROBE else "its lines"
        raise DataError(
            f"{_shown_path(path)}: does not look like a TSV file: none of {which} has a tab; the first is "
            f"{_shown_text(untabbed[0])}; put a tab between source and target, "
            "or give two files with --source and --target"
        )
    for number, line in itertools.chain(held, numbered):
        source, *targets = line.split("\t")
        yield Pair(source, _references(targets or [""]), name, number)


def read_parallel(source: StrPath, targets: Sequence[StrPath]) -> Iterator[Pair]:
    """The pairs of one source file and one or more target files, line by line; further files are further references.

    Files of different length are an error, raised where the shortest ends: it tells where they seem to part.
    """
    if isinstance(targets, (str, os.PathLike)):
        targets = [targets]
    if not targets:
        raise UsageError("reading parallel text needs at least one target file")
    name = os.fspath(source)
    paths = [source, *targets]
    readers = [lines(path) for path in paths]
    for number, row in enumerate(itertools.zip_longest(*readers), 1):
        if None in row:
            # The rest is only counted here: a pipe cannot be read a second time.
            counts = [
                number - (line is None) + sum(1 for _ in reader) for line, reader in zip(row, readers, strict=True)
            ]
            _raise_unequal(paths, counts)
        yield Pair(row[0], _references(row[1:]), name, number)


def _references(targets: Sequence[str]) -> tuple[str, ...]:
    """The targets without the empty ones at the end; the first one stays."""
    end = len(targets)
    while end > 1 and not targets[end - 1]:
        end -= 1
    return tuple(targets[:end])


# --- opening, and what can go wrong with a file -------------------------------------------------------------------


@contextmanager
def _opened(path: StrPath) -> Iterator[io.BufferedReader]:
    """A buffered stream of the file's bytes, unpacked if they are gzip."""
    with ExitStack() as stack:
        stream = stack.enter_context(open(path, "rb"))
        if stream.peek(2)[:2] == _GZIP_MAGIC:
            packed = stack.enter_context(gzip.GzipFile(fileobj=stream))
            # GzipFile reads lines in Python; the buffer above it does so in C, several times as fast.
            stream = stack.enter_context(io.BufferedReader(packed, 2**16))
        yield stream


@contextmanager
def _faults_named(path: StrPath) -> Iterator[None]:
    """Turns what the system says about a file into one line that names it."""
    name = _shown_path(path)
    try:
        yield
    except EOFError:
        raise DataError(f"{name}: the gzip file is cut short; copy or download it again") from None
    except (gzip.BadGzipFile, zlib.error) as fault:
        raise DataError(f"{name}: the gzip file is damaged ({fault}); copy or download it again") from None
    except FileNotFoundError:
        raise DataError(f"{name}: no such file") from None
    except OSError as fault:
        # Windows calls the opening of a directory a lack of permission.
        if os.path.isdir(path):
            raise DataError(f"{name}: is a directory, not a text file") from None
        if isinstance(fault, PermissionError):
            raise DataError(f"{name}: no permission to read it") from None
        raise DataError(f"{name}: cannot be read ({fault.strerror or fault})") from None


def _not_utf8(name: str, number: int, fault: UnicodeDecodeError, head: bytes) -> DataError:
    """The error for bytes that are not UTF-8, with the place and the way out."""
    alien = _known_format(name, head)
    if alien:
        return alien
    return DataError(
        f"{name}, line {number}: not UTF-8: byte 0x{fault.object[fault.start]:02x} at byte offset {fault.start} of "
        "the line; if the file is Latin-1, convert it with `iconv -f latin1 -t utf8`"
    )


def _zero_byte(name: str, number: int, raw: bytes, head: bytes) -> DataError:
    """The error for a NUL byte: text never has one, UTF-16 and binary files do."""
    alien = _known_format(name, head)
    if alien:
        return alien
    encoding = _wide_encoding(raw) if number == 1 else ""
    if encoding:
        return DataError(
            f"{name}: looks like {encoding} without a byte order mark; convert it with `iconv -f {encoding} -t utf8`"
        )
    return DataError(
        f"{name}, line {number}: a NUL byte at byte offset {raw.index(0)} of the line: looks like binary data or a "
        "damaged file; if it is text, delete such bytes with `tr -d '\\000'`"
    )


def _known_format(name: str, head: bytes) -> DataError | None:
    """The error for a file whose first bytes tell what it is instead of UTF-8 text."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return DataError(f"{name}: looks like {encoding}; convert it with `iconv -f {encoding} -t utf8`")
    for mark, what, way_out in _OTHER_FORMATS:
        if head.startswith(mark):
            return DataError(f"{name}: looks like {what}, not like text; {way_out}")
    return None


def _wide_encoding(raw: bytes) -> str:
    """UTF-16LE and the like if the zeros of a file's first line lie as that encoding puts them, else nothing."""
    patterns = (("UTF-32LE", 4, (1, 2, 3)), ("UTF-32BE", 4, (0, 1, 2)), ("UTF-16LE", 2, (1,)), ("UTF-16BE", 2, (0,)))
    for encoding, width, zeros in patterns:
        columns = [raw[offset::width] for offset in range(width)]
        # Text has some characters outside Latin-1, hence a share; and it never has a zero for a whole character.
        zero = [bool(column) and column.count(0) >= 0.6 * len(column) for column in columns]
        if len(raw) > width and zero == [offset in zeros for offset in range(width)]:
            return encoding
    return ""


def _shown_path(path: StrPath) -> str:
    """The path for a message: one line, printable on any terminal."""
    name = os.fspath(path)
    return name if name.isprintable() else repr(name)


def _shown_text(text: str, width: int = 60) -> str:
    """The text for a message: quoted, shortened, without characters that act on a terminal."""
    return repr(text if len(text) <= width else text[: width - 1] + "…")


# --- parallel files of different length ---------------------------------------------------------------------------


def _raise_unequal(paths: Sequence[StrPath], counts: Sequence[int]) -> NoReturn:
    """Raises the error for files of different length, with both counts and the place where they seem to part."""
    other = next(index for index, count in enumerate(counts) if count != counts[0])
    first, second = paths[0], paths[other]
    message = (
        f"the files do not have the same number of lines: {_shown_path(first)} has {counts[0]}, "
        f"{_shown_path(second)} has {counts[other]}"
    )
    if os.path.isfile(first) and os.path.isfile(second):
        parting = _parting(_lengths(first), _lengths(second))
        message += (
            f"; they seem to part near line {parting + 1}: {_shown_line(first, parting)} "
            f"against {_shown_line(second, parting)}"
        )
    raise DataError(message)


def _lengths(path: StrPath) -> Sequence[int]:
    """The length of every line in characters, in a few bytes each."""
    return array("I", (len(line) for line in lines(path)))


def _shown_line(path: StrPath, index: int) -> str:
    """One line of a file for a message, or a word for its end."""
    for line in itertools.islice(lines(path), index, index + 1):
        return _shown_text(line)
    return "the end of the file"


def _parting(first: Sequence[int], second: Sequence[int]) -> int:
    """The index k where lengths agree best if the longer file has all its extra lines there.

    The cost of k is Σ_{i<k} c(aᵢ, bᵢ) + Σ_{i≥k} c(aᵢ, bᵢ₊ₑ) with a the shorter file, b the longer and e the number of
    extra lines; going from k to k+1 changes two terms. The distance c(a, b) = |a − rb| / √(a + rb) is that of Gale
    and Church (1993), "A program for aligning sentences in bilingual corpora", r the files' ratio of lengths.
    """
    short, long = sorted((first, second), key=len)
    extra = len(long) - len(short)
    ratio = max(1, sum(short)) / max(1, sum(long)) * (len(long) / max(1, len(short)))

    def distance(a: int, b: int) -> float:
        return abs(a - ratio * b) / (a + ratio * b + 1) ** 0.5

    best = 0
    cost = lowest = 0.0
    for index, length in enumerate(short, 1):
        cost += distance(length, long[index - 1]) - distance(length, long[index - 1 + extra])
        # Of equal places the last: the usual cause is a file that was cut short.
        if cost <= lowest:
            best, lowest = index, cost
    return best

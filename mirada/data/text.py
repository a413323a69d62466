"""Reads text files a line at a time, and says exactly where one cannot be read.

A line ends at LF or CR LF and nowhere else: many tools also break at U+2028, U+0085, a form feed or a lone CR, and two
files that were aligned then no longer are. Only a file without any LF has lines that end at CR, as on old Macs. Text is
handed on as it stands: nothing is stripped, unescaped or dropped.

Files are UTF-8, or UTF-16 with a byte order mark; plain or gzipped (known by their content, not by their name). Lines,
runs of blank lines and what a gzip file unpacks to are bounded, so that no file can take all memory or hours.
"""

from __future__ import annotations

import codecs
import gzip
import io
import itertools
import os
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING

from mirada.errors import DataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

StrPath = str | os.PathLike[str]

LONGEST_LINE = 16 * 2**20
"""The most bytes of a line; with more, the file is not taken for lines of text."""
MAX_BLANK = 100_000
"""The most blank lines in a row; with more, a file is taken for damaged."""
MAX_UNPACKED, MAX_RATIO = 32 * 2**20, 200
"""Bytes that a gzip file may unpack to whatever its own size; then how many for each of its bytes. Text reaches 30."""

_SHORT_LINE = 64
"""The most bytes of a line that is tested for being blank."""
_BLOCK = 2**16
_GZIP_MAGIC = b"\x1f\x8b"

# UTF-32 is looked for before UTF-16, because its little-endian mark starts with that of UTF-16.
_UTF32_MARKS = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")
_UTF16_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}

_OTHER_FORMATS = (
    (b"PK\x03\x04", "a zip archive or an office document", "export its text as UTF-8"),
    (b"\xd0\xcf\x11\xe0", "an old office document", "export its text as UTF-8"),
    (b"%PDF-", "a PDF", "export its text as UTF-8"),
    (b"\xfd7zXZ\x00", "an xz file", "unpack it with `xz -d`"),
    (b"BZh", "a bzip2 file", "unpack it with `bzip2 -d`"),
    (b"\x28\xb5\x2f\xfd", "a zstd file", "unpack it with `zstd -d`"),
    (b"SQLite format 3", "an SQLite database", "export its text as UTF-8"),
)


def lines(path: StrPath, keep_ends: bool = False, lenient: bool | None = None) -> Iterator[str]:
    """The exact lines of a text file.

    Bytes that are not UTF-8 are an error; leniently read they become lone surrogates, which valid text never has. False
    means that a setting asks for the error, which names it; None, that there is no such choice.
    """
    name = shown_path(path)
    with faults_named(path), opened_text(path) as stream:
        head = stream.peek(16)[:16]
        for number, raw in raw_lines(stream, name):
            if b"\0" in raw:
                raise _known_format(name, head) or _zero_byte(name, number, raw)
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as fault:
                alien = _known_format(name, head)
                if not lenient or alien:
                    utf16 = isinstance(stream.raw, _FromUtf16)
                    raise alien or _not_utf(name, number, fault, utf16, choice=lenient is not None) from None
                text = raw.decode("utf-8", "surrogateescape")
            if number == 1:
                text = text.removeprefix("\ufeff")
                if not text:
                    continue
            end = 0 if keep_ends else 2 if text.endswith("\r\n") else 1 if text.endswith("\n") else 0
            yield text[: len(text) - end]


def raw_lines(stream: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a stream with their numbers and ends, none longer than may be, and no endless row of blank ones."""
    blank = 0
    for number in itertools.count(1):
        raw = stream.readline(LONGEST_LINE + 1)
        if not raw:
            return
        if len(raw) > LONGEST_LINE:
            hint = "; if its lines end in CR alone, convert it with `tr '\\r' '\\n'`" if b"\r" in raw else ""
            raise DataError(
                f"{name}, line {number}: longer than {LONGEST_LINE // 2**20} MiB, "
                f"so this does not look like text with a sentence on each line{hint}"
            )
        blank = 0 if len(raw) > _SHORT_LINE or raw.strip() else blank + 1
        if blank > MAX_BLANK:
            raise too_many_blank_lines(name, number)
        if number == 1 and b"\r" in raw and not raw.endswith(b"\n"):  # the file has no LF, and this is all of it
            yield from raw_lines(io.BytesIO(raw.replace(b"\r", b"\n")), name)
            return
        yield number, raw


def too_many_blank_lines(name: str, number: int) -> DataError:
    """The error for a file with a long run of blank lines."""
    return DataError(
        f"{name}, line {number}: more than {MAX_BLANK:,} blank lines in a row, so the file looks damaged; delete them "
        "with `grep -v '^$'`, or export it again"
    )


# --- opening, and what can go wrong with a file -------------------------------------------------------------------


@contextmanager
def stored(path: StrPath) -> Iterator[io.BufferedReader]:
    """A buffered stream of the file's bytes. Only a regular file is opened.

    Data is read more than once, which a pipe does not allow; and opening one would wait for somebody to write to it.
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise DataError(f"{shown_path(path)}: is not a regular file, and it is read more than once; save it first")
    if "\0" in os.fspath(path):
        raise DataError(f"{shown_path(path)}: no such file")
    with open(path, "rb") as stream:
        yield stream


@contextmanager
def opened(path: StrPath) -> Iterator[io.BufferedReader]:
    """The same, unpacked if it is gzip."""
    with ExitStack() as stack:
        stream = stack.enter_context(stored(path))
        if stream.peek(2)[:2] == _GZIP_MAGIC:
            packed = stack.enter_context(_Gzip(stream))
            # GzipFile reads lines in Python; the buffer above it does so in C, several times as fast.
            stream = stack.enter_context(io.BufferedReader(packed, _BLOCK))
        yield stream


@contextmanager
def opened_text(path: StrPath) -> Iterator[io.BufferedReader]:
    """The file's bytes as `opened` gives them, but UTF-16 with a byte order mark becomes UTF-8 with one."""
    with opened(path) as stream:
        head = stream.peek(4)[:4]
        encoding = None if head in _UTF32_MARKS else _UTF16_MARKS.get(head[:2])
        yield io.BufferedReader(_FromUtf16(stream, encoding), _BLOCK) if encoding else stream


class _Gzip(gzip.GzipFile):
    """A gzip file that may not unpack to many times more than text can have been."""

    def __init__(self, packed: io.BufferedReader):
        super().__init__(fileobj=packed)
        self._packed = packed

    def read(self, size: int | None = -1) -> bytes:
        block = super().read(size)
        if self.tell() > MAX_UNPACKED and self.tell() > MAX_RATIO * self._packed.tell():
            raise gzip.BadGzipFile(f"it unpacks to over {MAX_RATIO} times its size, which no text does")
        return block


class _FromUtf16(io.RawIOBase):
    """UTF-16 as UTF-8. Invalid UTF-16 becomes invalid UTF-8, so that it is found and reported."""

    def __init__(self, stream: io.BufferedReader, encoding: str):
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
        self._waiting, self._ended = b"", False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        while not self._waiting and not self._ended:
            block = self._stream.read(_BLOCK)
            self._ended = not block
            try:
                self._waiting = self._decoder.decode(block, self._ended).encode("utf-8", "surrogatepass")
            except UnicodeDecodeError:  # an odd number of bytes
                self._waiting = b"\xff"
        view = memoryview(buffer)
        taken = self._waiting[: len(view)]
        view[: len(taken)] = taken
        self._waiting = self._waiting[len(taken) :]
        return len(taken)


@contextmanager
def faults_named(path: StrPath) -> Iterator[None]:
    """Turns what the system says about a file into one line that names it."""
    name = shown_path(path)
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


def _not_utf(name: str, number: int, fault: UnicodeDecodeError, utf16: bool, choice: bool) -> DataError:
    """The error for bytes that are not UTF-8 or UTF-16, with the place and the way out."""
    what = (
        "not UTF-16, though the file begins so: half a character; save it again as UTF-8"
        if utf16
        else f"not UTF-8: byte 0x{fault.object[fault.start]:02x} at byte offset {fault.start} of the line; "
        "if the file is Latin-1, convert it with `iconv -f latin1 -t utf8`"
    )
    setting = "; to leave such lines out of a training: --set data.invalid_bytes=drop" if choice else ""
    return DataError(f"{name}, line {number}: {what}{setting}")


def _zero_byte(name: str, number: int, raw: bytes) -> DataError:
    """The error for a NUL byte: text never has one, UTF-16 and binary files do."""
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
    if head[:4] in _UTF32_MARKS:
        return DataError(f"{name}: looks like UTF-32; convert it with `iconv -f UTF-32 -t utf8`")
    for mark, what, hint in _OTHER_FORMATS:
        if head.startswith(mark):
            return DataError(f"{name}: looks like {what}, not like text; {hint}")
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


def shown_path(path: StrPath) -> str:
    """The path for a message: one line, printable on any terminal."""
    name = os.fspath(path)
    return name if name.isprintable() else repr(name)


def shown_text(text: str, width: int = 60) -> str:
    """The text for a message: quoted, shortened, without characters that act on a terminal."""
    return repr(text if len(text) <= width else text[: width - 1] + "…")

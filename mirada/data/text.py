"""Reads text files a line at a time, and says exactly where one cannot be read.

A line ends at LF or CR LF and nowhere else: many tools also break at U+2028, U+0085, a form feed or a lone CR, and two
files that were aligned then no longer are. Text is handed on as it stands: nothing is stripped, unescaped or dropped.
"""

import gzip
import io
import itertools
import os
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from mirada.errors import DataError

StrPath = str | os.PathLike[str]

LONGEST_LINE = 16 * 2**20
"""Bytes in a line, beyond which the file is taken for something else than lines of text."""

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


def lines(path: StrPath, keep_ends: bool = False, lenient: bool = False) -> Iterator[str]:
    """The exact lines of a UTF-8 text file, plain or gzipped (known by its content, not by its name).

    Bytes that are not UTF-8 are an error; leniently read they become lone surrogates, which valid text never has.
    """
    name = shown_path(path)
    with faults_named(path), opened(path) as stream:
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
                if not lenient or _known_format(name, head):
                    raise _not_utf8(name, number, fault, head) from None
                text = raw.decode("utf-8", "surrogateescape")
            if number == 1:
                text = text.removeprefix("\ufeff")
            if not text:
                return
            end = 0 if keep_ends else 2 if text.endswith("\r\n") else 1 if text.endswith("\n") else 0
            yield text[: len(text) - end]


# --- opening, and what can go wrong with a file -------------------------------------------------------------------


@contextmanager
def opened(path: StrPath) -> Iterator[io.BufferedReader]:
    """A buffered stream of the file's bytes, unpacked if they are gzip."""
    with ExitStack() as stack:
        stream = stack.enter_context(open(path, "rb"))
        if stream.peek(2)[:2] == _GZIP_MAGIC:
            packed = stack.enter_context(gzip.GzipFile(fileobj=stream))
            # GzipFile reads lines in Python; the buffer above it does so in C, several times as fast.
            stream = stack.enter_context(io.BufferedReader(packed, 2**16))
        yield stream


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


def _not_utf8(name: str, number: int, fault: UnicodeDecodeError, head: bytes) -> DataError:
    """The error for bytes that are not UTF-8, with the place and the way out."""
    alien = _known_format(name, head)
    if alien:
        return alien
    return DataError(
        f"{name}, line {number}: not UTF-8: byte 0x{fault.object[fault.start]:02x} at byte offset {fault.start} of "
        "the line; if the file is Latin-1, convert it with `iconv -f latin1 -t utf8`; to leave such lines out "
        "of a training: --set data.invalid_bytes=drop"
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


def shown_path(path: StrPath) -> str:
    """The path for a message: one line, printable on any terminal."""
    name = os.fspath(path)
    return name if name.isprintable() else repr(name)


def shown_text(text: str, width: int = 60) -> str:
    """The text for a message: quoted, shortened, without characters that act on a terminal."""
    return repr(text if len(text) <= width else text[: width - 1] + "…")

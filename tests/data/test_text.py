"""Files that are no plain UTF-8 text with LF, and files made to take all memory or hours: one clear line each."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from mirada.data import text
from mirada.data.po import whole
from mirada.data.readers import find_format, open_pairs
from mirada.data.readers.conll import Conll
from mirada.data.text import lines
from mirada.data.vectors import read_vectors
from mirada.errors import DataError
from mirada.tasks.forecasting.table import read_table
from tests.data.readers import fault, packed, write

BOM = "\ufeff"
UTF16 = pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])


# --- UTF-16 -----------------------------------------------------------------------------------------------------------


@packed
@UTF16
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", []),
        ("\n", [""]),
        ("a\tb\r\n\r\nñ 日本 😀\n", ["a\tb", "", "ñ 日本 😀"]),
        ("a\u0a0ab\u0d0a\nc", ["a\u0a0ab\u0d0a", "c"]),  # bytes that look like line ends
        (BOM + "a\n" + BOM + "b", [BOM + "a", BOM + "b"]),
        ("😀" * 50_000 + "\nb\n", ["😀" * 50_000, "b"]),
    ],
)
def test_utf16_with_a_mark_is_read(
    tmp_path: Path, pack: Callable[[bytes], bytes], encoding: str, content: str, expected: list[str]
) -> None:
    path = write(tmp_path / "text", pack((BOM + content).encode(encoding)))
    assert list(lines(path)) == expected


@UTF16
def test_broken_utf16_is_located_and_can_be_left_out(tmp_path: Path, encoding: str) -> None:
    half = (BOM + "a\nb\ud83dc\nd\n").encode(encoding, "surrogatepass")
    path = write(tmp_path / "half", half)
    assert fault(lambda: lines(path)).startswith(f"{path}, line 2: not UTF-16")
    assert [line.isprintable() for line in lines(path, lenient=True)] == [True, False, True]
    odd = write(tmp_path / "odd", (BOM + "a\nb").encode(encoding) + b"x")
    assert "line 2: not UTF-16" in fault(lambda: lines(odd))
    zero = write(tmp_path / "zero", (BOM + "a\nb\0\n").encode(encoding))
    assert "line 2: a NUL byte at byte offset 1" in fault(lambda: lines(zero))


@UTF16
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pairs.tsv", "Hola\tHello\nAdiós\tBye\n"),
        ("pairs.txt", "Hola\tHello\nAdiós\tBye\n"),  # "Unicode Text", as Excel calls it
        ("pairs.csv", "es;en\r\nHola;Hello\r\nAdiós;Bye\r\n"),
        ("pairs.jsonl", '{"source": "Hola", "target": "Hello"}\n{"source": "Adiós", "target": "Bye"}\n'),
        ("no-suffix", '{"source": "Hola", "target": "Hello"}\n{"source": "Adiós", "target": "Bye"}\n'),
        (
            "pairs.tmx",
            '<?xml version="1.0" encoding="UTF-16"?><tmx version="1.4"><header srclang="es"/><body>'
            '<tu><tuv xml:lang="es"><seg>Hola</seg></tuv><tuv xml:lang="en"><seg>Hello</seg></tuv></tu>'
            '<tu><tuv xml:lang="es"><seg>Adiós</seg></tuv><tuv xml:lang="en"><seg>Bye</seg></tuv></tu></body></tmx>',
        ),
    ],
)
def test_every_reader_of_pairs_takes_utf16(tmp_path: Path, encoding: str, name: str, content: str) -> None:
    path = write(tmp_path / name, (BOM + content).encode(encoding))
    assert [pair.fields for pair in open_pairs(str(path))] == [("Hola", "Hello"), ("Adiós", "Bye")]


@UTF16
def test_tagged_text_series_and_vectors_may_be_utf16(tmp_path: Path, encoding: str) -> None:
    def save(content: str) -> Path:
        return write(tmp_path / "text", (BOM + content).encode(encoding))

    (sentence,) = Conll(save("El\tDET\nñandú\tNOUN\n"))
    assert sentence.fields[0] == ("El", "ñandú")
    assert read_table(save("day,peso\n2024-01-01,1\n2024-01-02,2\n")).values.tolist() == [[1.0], [2.0]]
    assert read_vectors(save("ñandú 1 2\n"), {"ñandú"}).found["ñandú"].tolist() == [1.0, 2.0]


# --- line ends of old Macs --------------------------------------------------------------------------------------------


@packed
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a\tb\rc\td\r", ["a\tb", "c\td"]),
        (b"a\r\rb", ["a", "", "b"]),
        (b"\xef\xbb\xbfa\rb", ["a", "b"]),
        (b"a\rb\nc", ["a\rb", "c"]),  # one LF, and a CR is a character like others
    ],
)
def test_a_file_without_lf_has_lines_that_end_in_cr(
    tmp_path: Path, pack: Callable[[bytes], bytes], content: bytes, expected: list[str]
) -> None:
    assert list(lines(write(tmp_path / "text", pack(content)))) == expected


def test_old_line_ends_in_every_table(tmp_path: Path) -> None:
    for name, content in (("t.tsv", "Hola\tHello\rAdiós\tBye\r"), ("t.csv", "es;en\rHola;Hello\rAdiós;Bye\r")):
        pairs = list(open_pairs(str(write(tmp_path / name, content))))
        assert [pair.fields[0] for pair in pairs] == ["Hola", "Adiós"]
    long = write(tmp_path / "long", b"a\tb\r" * (text.LONGEST_LINE // 4 + 1))
    assert "`tr '\\r' '\\n'`" in fault(lambda: lines(long))


# --- hostile files ----------------------------------------------------------------------------------------------------

READERS: dict[str, Callable[[Path], object]] = {
    "lines": lambda path: list(lines(path)),
    "tsv": lambda path: open_pairs(str(path), format_="tsv"),
    "csv": lambda path: open_pairs(str(path), format_="csv"),
    "jsonl": lambda path: open_pairs(str(path), format_="jsonl"),
    "po": lambda path: open_pairs(str(path), format_="po"),
    "conll": lambda path: Conll(path),
    "series": read_table,
    "vectors": lambda path: read_vectors(path, set()),
}
every_reader = pytest.mark.parametrize("kind", READERS)


@packed
@every_reader
def test_endless_blank_lines_are_refused_early(tmp_path: Path, kind: str, pack: Callable[[bytes], bytes]) -> None:
    path = write(tmp_path / "blank", pack(b"\n" * 3_000_000))
    message = fault(lambda: [READERS[kind](path)])
    assert message.startswith(f"{path}, line 10000{2 if kind == 'po' else 1}: more than 100,000 blank lines in a row")


def test_many_blank_lines_are_no_fault(tmp_path: Path) -> None:
    path = write(tmp_path / "text", b" \n" * 100_000 + b"a\tb\n" + b"\n" * 100_000)
    assert sum(1 for _ in lines(path)) == 200_001
    assert whole(path).endswith(b"\n")


def test_a_gzip_bomb_is_refused_within_bounded_memory(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    with gzip.open(bomb, "wb", compresslevel=6) as out:
        for _ in range(40):
            out.write((b"a" * 2**19 + b"\n") * 2)
    tracemalloc.start()
    message = fault(lambda: [sum(1 for _ in lines(bomb))])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message.startswith(f"{bomb}: the gzip file is damaged (it unpacks to over 200 times its size")
    assert peak < 2**23


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@every_reader
def test_only_regular_files_are_opened(tmp_path: Path, kind: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        assert fault(lambda path=path: [READERS[kind](path)]).startswith(f"{path}: is not a regular file")  # type: ignore[misc]
    assert "is a directory" in fault(lambda: [READERS[kind](tmp_path)])
    assert "no such file" in fault(lambda: [READERS[kind](tmp_path / "a\0b")])
    with pytest.raises(DataError, match="pipe: is not a regular file"):
        find_format(str(pipe))

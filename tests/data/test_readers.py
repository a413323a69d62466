"""SequenceBatch text: the exact lines of odd files, and one clear line of error for each that cannot be read."""

import gzip
import os
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.data import text as readers
from mirada.data.readers import Parallel, open_pairs
from mirada.data.readers.tsv import Tsv
from mirada.data.records import Record
from mirada.data.text import lines
from mirada.errors import DataError, UsageError

PACKERS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress]
packed = pytest.mark.parametrize("pack", PACKERS, ids=["plain", "gzip"])


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def fault(reading: Iterable[object]) -> str:
    """The message of the DataError that the reading ends with; always a single line."""
    with pytest.raises(DataError) as caught:
        list(reading)
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- lines ---


@packed
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\nb\rc\n", ["a\r", "b\rc"]),
        (b"a\nb\r", ["a", "b\r"]),
        (b"\r\n", [""]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\n", [""]),
        (b"\xef\xbb\xbf\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["\ufeffa", "\ufeffb"]),
        ("a\u2028b\u2029c\x0bd\x0ce\x85f\x1cg\n".encode(), ["a\u2028b\u2029c\x0bd\x0ce\x85f\x1cg"]),
        (b"  a \t\n", ["  a \t"]),
        ("¿Qué? 日本語 👩‍👩‍👧\n".encode(), ["¿Qué? 日本語 👩‍👩‍👧"]),
    ],
)
def test_lines_end_at_newlines_only(
    tmp_path: Path, pack: Callable[[bytes], bytes], content: bytes, expected: list[str]
) -> None:
    assert list(lines(write(tmp_path / "text", pack(content)))) == expected


def test_gzip_is_known_by_content_not_by_name(tmp_path: Path) -> None:
    assert list(lines(write(tmp_path / "plain.gz", "a\n"))) == ["a"]
    assert list(lines(str(write(tmp_path / "packed.txt", gzip.compress(b"a\n") + gzip.compress(b"b\n"))))) == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_since_data_is_read_more_than_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match=r"pipe: is not a regular file.*save it first"):
        open_pairs(str(tmp_path / "pipe"))


def test_invalid_utf8_is_located(tmp_path: Path) -> None:
    path = write(tmp_path / "text", "bien\nañ".encode() + b"o \xf1\n")
    message = fault(lines(path))
    assert str(path) in message
    assert "line 2" in message
    assert "0xf1" in message
    assert "offset 5 " in message
    assert "iconv -f latin1 -t utf8" in message


def test_the_offset_counts_a_byte_order_mark(tmp_path: Path) -> None:
    assert "offset 4 " in fault(lines(write(tmp_path / "text", b"\xef\xbb\xbfa\xe9\n")))


def test_encoded_surrogates_are_not_utf8(tmp_path: Path) -> None:
    assert "0xed" in fault(lines(write(tmp_path / "text", b"a\xed\xa0\x80\n")))


@packed
@pytest.mark.parametrize(
    ("content", "looks", "hint"),
    [
        ("año\n".encode("utf-32"), "UTF-32", "iconv -f UTF-32 -t utf8"),
        (b"\x00\x00\xfe\xff" + "año\n".encode("utf-32-be"), "UTF-32", "iconv -f UTF-32 -t utf8"),
        ("hola, año\n".encode("utf-16-le"), "UTF-16LE", "iconv -f UTF-16LE -t utf8"),
        ("hola, año\n".encode("utf-16-be"), "UTF-16BE", "iconv -f UTF-16BE -t utf8"),
        ("hola, año\n".encode("utf-32-le"), "UTF-32LE", "iconv -f UTF-32LE -t utf8"),
        ("hola, año\n".encode("utf-32-be"), "UTF-32BE", "iconv -f UTF-32BE -t utf8"),
        (b"a\nbc\0d\n", "line 2: a NUL byte at byte offset 2", "tr -d"),
        (b"\0\0\0\0\0\0\n", "line 1: a NUL byte", "tr -d"),
        (b"PK\x03\x04\x14\0\x06\0 ...", "office document", "export"),
        (b"\xfd7zXZ\x00\x00\x04", "xz file", "xz -d"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "PDF", "export"),
    ],
)
def test_other_encodings_and_formats_are_recognised(
    tmp_path: Path, pack: Callable[[bytes], bytes], content: bytes, looks: str, hint: str
) -> None:
    message = fault(lines(write(tmp_path / "text", pack(content))))
    assert looks in message
    assert hint in message


def test_text_that_starts_like_another_format_is_text(tmp_path: Path) -> None:
    assert list(lines(write(tmp_path / "text", "%PDF- es un formato\nBZh\n"))) == ["%PDF- es un formato", "BZh"]


@packed
def test_a_giant_line_is_an_error_within_bounded_memory(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "LONGEST_LINE", 2**20)
    path = write(tmp_path / "text", pack(b"a\n" + b"b" * 2**25))
    tracemalloc.start()
    message = fault(lines(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "line 2" in message
    assert "1 MiB" in message
    assert peak < 2**23


@packed
def test_memory_stays_flat(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = write(tmp_path / "text", pack((b"una frase " * 15 + b"\t" + b"a sentence " * 15 + b"\n") * 20_000))
    tracemalloc.start()
    count = sum(1 for _ in zip(Tsv(path), Parallel(path, [path]), strict=True))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 2**20


# --- files that cannot be read ---


def test_missing_file_and_directory(tmp_path: Path) -> None:
    assert fault(lines(tmp_path / "none")) == f"{tmp_path / 'none'}: no such file"
    assert fault(lines(tmp_path)) == f"{tmp_path}: is a directory, not a text file"
    assert "cannot be read" in fault(lines(write(tmp_path / "text", "a\n") / "inside"))


def test_names_that_break_a_terminal_are_escaped(tmp_path: Path) -> None:
    assert r"a\nb\udce9" in fault(lines(tmp_path / "a\nb\udce9"))


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(readers, "open", refuse, raising=False)
    assert fault(lines(tmp_path / "secret")) == f"{tmp_path / 'secret'}: no permission to read it"


def test_damaged_gzip(tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"{n} {n * n}\n" for n in range(1000)).encode())
    for end in (2, 9, 15, len(whole) // 2, len(whole) - 4):
        assert "cut short" in fault(lines(write(tmp_path / "short.gz", whole[:end])))
    for damage in (whole[:20] + b"\xff" * 20 + whole[40:], whole[:-8] + b"\0" * 8, whole + b"more"):
        message = fault(lines(write(tmp_path / "damaged.gz", damage)))
        assert "damaged" in message
        assert "damaged.gz" in message


# --- TSV ---


def fault_of(path: Path) -> str:
    """The message of the DataError that opening a TSV file gives."""
    with pytest.raises(DataError) as caught:
        Tsv(path)
    return str(caught.value)


def tsv(tmp_path: Path, content: str) -> list[tuple[str, tuple[str, ...], int]]:
    path = write(tmp_path / "pairs.tsv", content)
    return [(pair.fields[0], pair.fields[1:], pair.line) for pair in Tsv(path)]


def test_every_line_of_a_tsv_file_gives_a_pair(tmp_path: Path) -> None:
    content = 'a\tb\n\n "c" \t\' d\ne\tf\tg\t\th\t\t\nno tab\n  \n\tx\ny\t\nz\t\tw\n\t\t'
    assert tsv(tmp_path, content) == [
        ("a", ("b",), 1),
        ("", ("",), 2),
        (' "c" ', ("' d",), 3),
        ("e", ("f", "g", "", "h"), 4),
        ("no tab", ("",), 5),
        ("  ", ("",), 6),
        ("", ("x",), 7),
        ("y", ("",), 8),
        ("z", ("", "w"), 9),
        ("", ("",), 10),
    ]


def test_a_pair_keeps_the_name_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.tsv", "x\ty\n")
    assert list(Tsv("./a.tsv")) == [Record(("x", "y"), "./a.tsv", 1)]
    assert next(iter(Tsv(Path("a.tsv")))).file == "a.tsv"
    assert next(iter(Parallel("./a.tsv", ["a.tsv"]))) == Record(("x\ty", "x\ty"), "./a.tsv", 1)


def test_a_file_without_tabs_is_not_tsv(tmp_path: Path) -> None:
    path = write(tmp_path / "text", "\n" + "palabra " * 20 + "\x1b[31m\nb\n")
    message = fault_of(path)
    assert "none of its lines has a tab" in message
    assert "'palabra palabra" in message
    assert "\x1b" not in message
    assert len(message) < 300 + len(str(path))
    assert "--source and --target" in message


def test_only_the_first_lines_decide_whether_it_is_tsv(tmp_path: Path) -> None:
    path = write(tmp_path / "late", "a\n\n" * 99 + "b\tc\n")
    assert list(Tsv(path))[-1] == Record(("b", "c"), str(path), 199)
    assert "the first 100 lines" in fault_of(write(tmp_path / "later", "a\n\n" * 100 + "b\tc\n"))
    assert len(list(Tsv(write(tmp_path / "once", "b\tc\n" + "a\n" * 300)))) == 301


def test_blank_files_are_left_to_later_checks(tmp_path: Path) -> None:
    assert tsv(tmp_path, "") == []
    assert tsv(tmp_path, "\n\n") == [("", ("",), 1), ("", ("",), 2)]


# --- parallel files ---


def parallel(tmp_path: Path, *contents: str) -> Parallel:
    paths = [write(tmp_path / f"text.{index}", content) for index, content in enumerate(contents)]
    return Parallel(paths[0], paths[1:])


def test_parallel_files_give_pairs_and_references(tmp_path: Path) -> None:
    pairs = list(parallel(tmp_path, "a\n\nb\tB\r\n", "c\nd\ne", "f\n\n\n", "\ng\n\n"))
    assert [(pair.fields[0], pair.fields[1:], pair.line) for pair in pairs] == [
        ("a", ("c", "f"), 1),
        ("", ("d", "", "g"), 2),
        ("b\tB", ("e",), 3),
    ]
    assert {pair.file for pair in pairs} == {str(tmp_path / "text.0")}


def test_parallel_needs_a_target(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        Parallel(write(tmp_path / "text", "a\n"), [])


def numbered_text(count: int, scale: int = 1) -> list[str]:
    """Lines of clearly different length, each opening with its number."""
    return [f"{number} " + "x" * (scale * (number * 37 % 101)) for number in range(1, count + 1)]


@pytest.mark.parametrize("scale", [1, 3])
@pytest.mark.parametrize("missing", [1, 4])
@pytest.mark.parametrize("place", [1, 50, 197])
def test_the_place_where_files_part_is_found(tmp_path: Path, place: int, missing: int, scale: int) -> None:
    whole, cut = numbered_text(200), numbered_text(200, scale)
    del cut[place - 1 : place - 1 + missing]
    for first, second in ((whole, cut), (cut, whole)):
        message = fault(parallel(tmp_path, "\n".join(first), "\n".join(second)))
        assert f"text.0 has {len(first)}," in message
        assert f"text.1 has {len(second)};" in message
        near = int(message.split("near line ")[1].split(":")[0])
        assert abs(near - place) <= 1
        assert f"'{near} x" in message


def test_a_file_cut_short_parts_at_its_end(tmp_path: Path) -> None:
    message = fault(parallel(tmp_path, "a\nb\nc\nd\n", "a\nb\nc\nd\n", "a\nb\n"))
    assert message.endswith("text.2 has 2; they seem to diverge near line 3: 'c' against the end of the file")
    message = fault(parallel(tmp_path, "", "a\n"))
    assert message.endswith("text.1 has 1; they seem to diverge near line 1: the end of the file against 'a'")


def test_pairs_come_until_the_shorter_file_ends(tmp_path: Path) -> None:
    reading = iter(parallel(tmp_path, "a\nb\n", "c\n"))
    assert next(reading).fields[1:] == ("c",)
    with pytest.raises(DataError):
        next(reading)


# --- any text ---

TEXT = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\t\0"), max_size=20)
    .filter(lambda text: not text.startswith("\ufeff"))
    .filter(lambda text: not text.endswith("\r"))
)
ROWS = st.lists(st.lists(TEXT, min_size=2, max_size=4).filter(lambda row: row[-1] != ""), max_size=8)
any_text = settings(derandomize=True, max_examples=100, deadline=None, database=None)


@any_text
@given(rows=ROWS, ending=st.sampled_from(["\n", "\r\n"]), last=st.booleans(), bom=st.booleans(), pack=st.booleans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], ending: str, last: bool, bom: bool, pack: bool
) -> None:
    folder = tmp_path_factory.getbasetemp()
    written = [Record(tuple(row), str(folder / "tsv"), number) for number, row in enumerate(rows, 1)]

    def save(name: str, texts: list[str]) -> Path:
        content = "\ufeff" * bom + ending.join(texts) + ending * (last or texts[-1:] == [""] or len(texts) == 1)
        return write(folder / name, PACKERS[pack](content.encode() if texts else b""))

    assert list(Tsv(save("tsv", ["\t".join(row) for row in rows]))) == written
    sources, targets = save("source", [row[0] for row in rows]), save("target", [row[1] for row in rows])
    pairs = list(Parallel(sources, [targets]))
    assert [pair.fields for pair in pairs] == [(row[0], row[1]) for row in rows]

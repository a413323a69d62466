"""Damaged catalogs are read or refused with their place, and any text survives."""

import contextlib
import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.data import po
from mirada.data.readers import catalogs
from mirada.data.readers.catalogs import Mo, Po
from mirada.data.records import Record
from mirada.errors import DataError
from tests.data.readers import PACKERS, any_text, fault, packed, texts, write
from tests.data.readers.catalog_files import ANY, FILES, MULTILINE, SAMPLE, po_fault, read

# --- damage ---


@pytest.mark.parametrize(
    ("content", "line", "what"),
    [
        ('msgid "a"\nmsgstr "b', 2, "neither a comment nor msgid"),
        ('msgid "a"\nmsgstr "b\\"\n', 2, "'msgstr \"b"),
        ('msgid "a" b\nmsgstr "b"\n', 1, "neither a comment nor msgid"),
        ('msgid "a"\nmsgstr\n', 2, "neither a comment nor msgid"),
        ('msgid "a"b"\nmsgstr "c"\n', 1, "neither a comment nor msgid"),
        ("| msgid", 1, "neither a comment nor msgid"),
        ("a sentence\tuna frase\n", 1, "'a sentence\\tuna frase'"),
        ('# first\n\nmsgid "a"\n', 1, "the last entry has no msgstr; the file seems to be cut short"),
        ('msgctxt "a"\n', 1, "has no msgstr"),
        ('msgid "a"\nmsgid "b"\nmsgstr "c"\n', 2, "msgid has no place here"),
        ('msgid "a"\nmsgctxt "b"\nmsgstr "c"\n', 2, "msgctxt has no place here"),
        ('msgstr "a"\n', 1, "msgstr has no place here"),
        ('msgid "a"\nmsgstr "b"\nmsgstr "c"\n', 3, "msgstr has no place here"),
        ('msgid "a"\nmsgstr "b"\nmsgid_plural "c"\n', 3, "msgid_plural has no place here"),
        ('msgid "a"\nmsgstr[0] "b"\n', 2, "msgstr[0] has no place here"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr "c"\n', 3, "msgstr has no place here"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[1] "c"\n', 3, "msgstr[1] has no place here"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\nmsgstr[0] "d"\n', 4, "msgstr[0] has no place here"),
        ('"a"\n', 1, "a text without msgid"),
        ('msgid "a"\nmsgstr "b"\n# c\n"d"\n', 4, "a text without msgid"),
        ("msgid \0", 1, "a NUL byte"),
    ],
)
def test_damage_is_located(tmp_path: Path, content: str, line: int, what: str) -> None:
    for end in ("\n", "\r\n"):
        message = po_fault(tmp_path, content.replace("\n", end))
        assert f"line {line}: " in message
        assert what in message


@pytest.mark.parametrize(
    "content", ["año".encode("utf-16"), (FILES / "little.mo").read_bytes(), bytes(range(256)), b"\xff"]
)
def test_other_files_are_no_po(tmp_path: Path, content: bytes) -> None:
    assert "line 1: " in po_fault(tmp_path, content)


def test_a_po_file_cut_anywhere_is_read_or_refused(tmp_path: Path) -> None:
    """A text of several lines and an entry of several forms may end early, but no text within a line."""
    whole = texts(read(tmp_path, SAMPLE))
    early = [("%d files", "%d archivo"), (MULTILINE[0], ""), (MULTILINE[0], "Primera línea\n")]
    start, refused = SAMPLE.index(b"#. Seen"), 0
    for end in range(start, len(SAMPLE)):
        path = write(tmp_path / "a.po", SAMPLE[:end])
        try:
            found = texts(Po(path, ANY))
        except DataError:
            refused += 1
            continue
        assert found[:-1] == whole[: len(found)][:-1]
        assert found[-1:] == whole[: len(found)][-1:] or found[-1] in early
    assert refused > (len(SAMPLE) - start) / 2


@pytest.mark.parametrize("name", ["little.mo", "big.mo"])
def test_a_mo_file_cut_anywhere_is_refused(tmp_path: Path, name: str) -> None:
    content = (FILES / name).read_bytes()
    for end in range(len(content)):
        path = write(tmp_path / name, content[:end])
        message = fault(lambda: Mo(path, ANY))  # noqa: B023
        assert str(path) in message
        assert ("damaged or cut short" if end >= 4 else "does not begin like a compiled catalog") in message


@pytest.mark.parametrize("number", [0, 1, 0x7FFFFFFF, 0xFFFFFFFF, po.LARGEST])
@pytest.mark.parametrize(("name", "order"), [("little.mo", "<"), ("big.mo", ">")])
def test_no_number_in_a_mo_file_is_trusted(tmp_path: Path, name: str, order: str, number: int) -> None:
    content = (FILES / name).read_bytes()
    read_well = 0
    for offset in range(0, 400, 4):
        path = write(tmp_path / name, content[:offset] + struct.pack(order + "I", number) + content[offset + 4 :])
        with contextlib.suppress(DataError):
            read_well += len(list(Mo(path, ANY))) > 0
    assert 0 < read_well < 60


def test_texts_that_lie_upon_each_other_do_not_grow_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogs, "LARGEST", 10_000)
    table = struct.pack("<2I", 999, 28 + 8 * 100) * 100
    content = struct.pack("<7I", 0x950412DE, 0, 100, 28, 28, 0, 0) + table + b"a" * 999 + b"\0"
    path = write(tmp_path / "a.mo", content)
    assert "damaged" in fault(lambda: Mo(path, ANY))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (struct.pack("<2I", 0x950412DE, 2 << 16) + bytes(20), "unknown revision 2"),
        (struct.pack("<11I", 0x950412DE, 0, 1, 28, 36, 0, 0, 1, 44, 1, 46) + b"a\0bc\0", "damaged"),
        (b"PK\x03\x04 and more", "does not begin like a compiled catalog"),
        (struct.pack("<11I", 0x950412DE, 0, 1, 28, 36, 0, 0, 1, 44, 3, 46) + b"a\0b\0c\0", "entry 1: has more texts"),
        (
            struct.pack("<11I", 0x950412DE, 0, 1, 28, 36, 0, 0, 5, 44, 1, 50) + b"a\0b\0c\0d\0",
            "entry 1: has more texts",
        ),
    ],
)
def test_odd_mo_files(tmp_path: Path, content: bytes, what: str) -> None:
    path = write(tmp_path / "a.mo", content)
    assert what in fault(lambda: Mo(path, ANY))


@pytest.mark.parametrize(("count", "what"), [(1, "aI"), (0, "damaged")])
def test_parts_that_differ_between_systems_must_be_there(tmp_path: Path, count: int, what: str) -> None:
    numbers = [0x950412DE, 1, 0, 28, 28, 0, 0, count, 48, 1, 56, 56, 2, 84, 60, 86, 1, 0, 1, 0xFFFFFFFF, 0]
    path = write(tmp_path / "a.mo", struct.pack(f"<{len(numbers)}I", *numbers) + b"I\0a\0")
    if count:
        assert texts(Mo(path, ANY)) == [(what, what)]
    else:
        assert what in fault(lambda: Mo(path, ANY))


def test_a_mo_file_may_be_in_another_charset(tmp_path: Path) -> None:
    catalog = polib.POFile(encoding="ISO-8859-1")
    catalog.metadata = {"Content-Type": "text/plain; charset=ISO-8859-1"}
    catalog.append(polib.POEntry(msgid="year", msgstr="año"))
    content = catalog.to_binary()
    assert b"a\xf1o" in content
    assert texts(Mo(write(tmp_path / "a.mo", content), ANY)) == [("year", "año")]


def test_a_mo_file_without_header_or_entries(tmp_path: Path) -> None:
    content = struct.pack("<11I", 0x950412DE, 0, 1, 28, 36, 0, 0, 3, 44, 1, 48) + b"c\x04a\0b\0"
    assert texts(Mo(write(tmp_path / "es.mo", content), ANY)) == [("a", "b")]
    assert list(Mo(write(tmp_path / "es.mo", struct.pack("<7I", 0x950412DE, 0, 0, 28, 28, 0, 28)), ANY)) == []


@packed
def test_catalogs_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]) -> None:
    monkeypatch.setattr(po, "LARGEST", 2**20)
    assert read(tmp_path, pack(b"#" * 2**20)) == []
    assert "more than 1 MiB" in po_fault(tmp_path, pack(b"#" * (2**20 + 1)))


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for kind in (Po, Mo):
        assert fault(lambda: kind(tmp_path / "none", ANY)) == f"{tmp_path / 'none'}: no such file"  # noqa: B023
        path = write(tmp_path / "short.gz", gzip.compress(SAMPLE)[:100])
        assert "cut short" in fault(lambda: kind(path, ANY))  # noqa: B023
    assert fault(lambda: Po(tmp_path / "a\nb", ANY)).endswith("a\\nb': no such file")


# --- any text ---

# What the formats cannot hold: NUL ends a text, and in MO U+0004 ends a context. An empty msgid is the header.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\x04"), max_size=30)
ENTRIES = st.lists(st.tuples(TEXT.filter(bool), TEXT, st.none() | TEXT), max_size=6)


@any_text
@given(entries=ENTRIES, pack=st.sampled_from(PACKERS), newline=st.sampled_from(["\n", "\r\n"]))
def test_what_polib_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    entries: list[tuple[str, str, str | None]],
    pack: Callable[[bytes], bytes],
    newline: str,
) -> None:
    base = tmp_path_factory.getbasetemp()
    catalog = polib.POFile(wrapwidth=10_000)
    catalog.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
    catalog.extend(polib.POEntry(msgid=source, msgstr=target, msgctxt=context) for source, target, context in entries)
    po = write(base / "any.po", pack(str(catalog).replace("\n", newline).encode()))
    assert texts(Po(po, ANY)) == [(source, target) for source, target, _ in entries]
    mo = write(base / "any.mo", pack(catalog.to_binary()))
    assert sorted(texts(Mo(mo, ANY))) == sorted((source, target) for source, target, _ in entries if target)


@any_text
@given(content=st.binary(max_size=200), mo=st.booleans())
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes, mo: bool) -> None:
    path = write(tmp_path_factory.getbasetemp() / "bytes", b"\xde\x12\x04\x95" * mo + content)
    with contextlib.suppress(DataError):
        assert all(isinstance(pair, Record) for pair in (Mo if mo else Po)(path, ANY))

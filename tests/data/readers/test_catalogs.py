"""Gettext catalogs: every kind of entry, languages and directions, odd encodings, damage, and a folder's catalogs."""

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
from mirada.data.readers import Pair, Wanted, catalogs, open_pairs
from mirada.data.readers.catalogs import Mo, Po, choose
from mirada.errors import DataError, UsageError
from tests.data.readers import PACKERS, any_text, fault, packed, texts, write

FILES = Path(__file__).parent / "files"
SAMPLE = (FILES / "sample.po").read_bytes()
ANY = Wanted()
HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=%s\\nLanguage: %s\\n"\n'


def read(tmp_path: Path, content: str | bytes, wanted: Wanted = ANY) -> list[Pair]:
    return list(Po(write(tmp_path / "a.po", content), wanted))


def po_fault(tmp_path: Path, content: str | bytes, wanted: Wanted = ANY) -> str:
    path = write(tmp_path / "a.po", content)
    message = fault(lambda: Po(path, wanted))
    assert str(path) in message
    return message


# --- entries ---

MULTILINE = (
    'First line\nsecond "line"\twith a tab\n',
    "Primera línea\nsegunda «línea»\tcon \\ barra\n",
)
TRANSLATED = [
    ("Open", "Abrir"),
    ("Open", "Abierta"),
    ("%d file", "%d archivo"),
    ("%d files", "%d archivos"),
    MULTILINE,
    ("%<PRIu64> bytes of %<PRIuMAX>", "%<PRIu64> bytes de %<PRIuMAX>"),
    ("page %d", "página %Id"),
]


@packed
def test_every_entry_of_a_po_file_gives_a_pair(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = write(tmp_path / "sample.po", pack(SAMPLE))
    reader = Po(path, Wanted(source_language="en", target_language="es"))
    assert reader.about == "PO catalog, en → es"
    pairs = list(reader)
    assert pairs == list(reader)
    assert texts(pairs) == [*TRANSLATED, ("Close", "Cerrado"), ("Untranslated", ""), ("Old", "Viejo")]
    assert [pair.problem for pair in pairs] == [""] * 7 + ["fuzzy", "untranslated", "obsolete"]
    assert [pair.line for pair in pairs] == [14, 20, 24, 24, 30, 37, 41, 45, 50, 53]
    assert {pair.file for pair in pairs} == {str(path)}


@packed
@pytest.mark.parametrize("name", ["little.mo", "big.mo"])
def test_a_compiled_catalog_has_the_same_pairs(tmp_path: Path, pack: Callable[[bytes], bytes], name: str) -> None:
    path = write(tmp_path / name, pack((FILES / name).read_bytes()))
    reader = Mo(path, Wanted(source_language="en", target_language="es"))
    assert reader.about == "MO catalog, en → es"
    pairs = list(reader)
    assert pairs == list(reader)
    assert sorted(texts(pairs)) == sorted(TRANSLATED)
    assert [pair.line for pair in pairs] == [1, 1, 2, 3, 4, 5, 6]
    assert {(pair.file, pair.problem) for pair in pairs} == {(str(path), "")}


def test_catalogs_are_opened_by_name_and_content(tmp_path: Path) -> None:
    for name, kind in (("sample.po", Po), ("little.mo", Mo), ("big.mo", Mo)):
        assert isinstance(open_pairs(str(FILES / name)), kind)
        assert isinstance(
            open_pairs(str(write(tmp_path / "any", (FILES / name).read_bytes())), format_=kind.kind.lower()), kind
        )


def test_fuzzy_entries_can_be_wanted(tmp_path: Path) -> None:
    content = '#, fuzzy\nmsgid "a"\nmsgstr "b"\n#,x,fuzzy\nmsgid "c"\nmsgstr ""\n#, fuzzy\n#~ msgid "d"\n#~ msgstr "e"'
    assert [pair.problem for pair in read(tmp_path, content)] == ["fuzzy", "untranslated", "obsolete"]
    assert [pair.problem for pair in read(tmp_path, content, Wanted(fuzzy=True))] == ["", "untranslated", "obsolete"]


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        (["ja"], [("%d files", "ja")]),
        (["one", "many"], [("a file", "one"), ("%d files", "many")]),
        (["one", "few", "many"], [("a file", "one"), ("%d files", "few", "many")]),
        (list("012345"), [("a file", "1"), ("%d files", "0", "2", "3", "4", "5")]),
        (["", "many"], [("a file", ""), ("%d files", "many")]),
        (["one", "", "many"], [("a file", "one"), ("%d files", "many")]),
        (["", ""], [("a file", ""), ("%d files", "")]),
        ([""], [("%d files", "")]),
    ],
)
def test_plural_forms(tmp_path: Path, forms: list[str], expected: list[tuple[str, ...]]) -> None:
    written = "".join(f'msgstr[{index}] "{form}"\n' for index, form in enumerate(forms))
    pairs = read(tmp_path, f'# first line\nmsgid "a file"\nmsgid_plural "%d files"\n{written}')
    assert texts(pairs) == expected
    assert [pair.problem for pair in pairs] == ["" if pair[1] else "untranslated" for pair in expected]
    assert {pair.line for pair in pairs} == {1}


def test_many_plural_forms_are_counted_in_full(tmp_path: Path) -> None:
    written = "".join(f'msgstr[{index}] "{index}"\n' for index in range(12))
    assert texts(read(tmp_path, f'msgid "a"\nmsgid_plural "b"\n{written}'))[1] == ("b", *map(str, range(1, 12)))


def test_comments_of_every_kind_are_no_text(tmp_path: Path) -> None:
    content = """
#!/shebang
#No space
# fuzzy
#. extracted
#:
#,
#| msgid "old"
#| "er"

msgctxt "context"
"goes on"
msgid "a"

msgstr "b"
domain "other"
#~| msgid "older"
#~ # a comment
#~msgid "c"
#~ msgstr ""
#~ "d"
msgid "e" "f"
  msgstr   "g"\t"h"
#.
"""
    pairs = read(tmp_path, content)
    assert texts(pairs) == [("a", "b"), ("c", "d"), ("ef", "gh")]
    assert [pair.problem for pair in pairs] == ["", "obsolete", ""]
    assert [pair.line for pair in pairs] == [2, 16, 22]


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (r"a\nb\tc\rd\\e\"f", 'a\nb\tc\rd\\e"f'),
        (r"\a\b\f\v", "\a\b\f\v"),
        (r"\\n", "\\n"),
        (r"C:\\", "C:\\"),
        (r"\303\251\x41\1013", "éAA3"),
        (r"\q\(", r"\q\("),
        (r"\377 \0 \777", r"\377 \0 \777"),
        ("# no comment", "# no comment"),
        ("a\u2028b\u2029c\x85d\x1ce\x0bf\x0cg\rh\ufeff", "a\u2028b\u2029c\x85d\x1ce\x0bf\x0cg\rh\ufeff"),
    ],
)
def test_escapes_and_unusual_characters(tmp_path: Path, escaped: str, text: str) -> None:
    assert texts(read(tmp_path, f'msgid "{escaped}"\nmsgstr "x"\n"{escaped}"\n')) == [(text, "x" + text)]


def test_duplicates_and_headers(tmp_path: Path) -> None:
    twice = 'msgid "a"\nmsgstr "b"\n\nmsgid "a"\nmsgstr "c"\n'
    assert texts(read(tmp_path, twice)) == [("a", "b"), ("a", "c")]
    assert texts(read(tmp_path, HEADER % ("UTF-8", "es") + twice + HEADER % ("UTF-8", "es"))) == [
        ("a", "b"),
        ("a", "c"),
    ]
    assert texts(read(tmp_path, 'msgctxt "x"\nmsgid ""\nmsgstr "b"\n')) == [("", "b")]
    assert texts(read(tmp_path, 'msgid ""\nmsgid_plural "a"\nmsgstr[0] "b"\n')) == [("a", "b")]


def test_files_without_entries(tmp_path: Path) -> None:
    for content in (b"", b"\n \n", b"\xef\xbb\xbf", b"# only\n#, comments", (HEADER % ("UTF-8", "es")).encode()):
        assert read(tmp_path, content) == []


# --- encodings ---


@pytest.mark.parametrize("charset", ["ISO-8859-1", "CP1252", "utf8", "UTF-8", "CHARSET", "", "GB18030"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_charsets_and_line_ends(tmp_path: Path, charset: str, newline: str) -> None:
    content = (HEADER % (charset, "es") + 'msgid "year"\nmsgstr "a" "ñ"\n"o"').replace("\n", newline)
    encoded = content.encode("utf-8" if charset in ("CHARSET", "") else charset)
    assert texts(read(tmp_path, encoded)) == [("year", "año")]


def test_a_trail_byte_may_look_like_a_backslash(tmp_path: Path) -> None:
    content = (HEADER % ("SHIFT_JIS", "ja") + 'msgid "table"\nmsgstr "表"\n').encode("shift_jis")
    assert b'\\"\n' in content
    assert texts(read(tmp_path, content)) == [("table", "表")]


def test_the_charset_is_found_in_any_header(tmp_path: Path) -> None:
    entry = 'msgid "year"\nmsgstr "año"\n'
    wrapped = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; "\n"charset=latin1\\n"\n'
    commented = '# "Content-Type: text/plain; charset=UTF-8"\n' + wrapped
    crowded = 'msgid ""\nmsgstr "Project-Id-Version: #1\\ncontent-type: text/plain; CHARSET=latin1\\n"\n'
    for header in (wrapped, commented, crowded):
        assert texts(read(tmp_path, (header + entry).encode("latin-1"))) == [("year", "año")]


def test_a_byte_order_mark_means_utf8(tmp_path: Path) -> None:
    content = HEADER % ("ISO-8859-1", "es") + 'msgid "year"\nmsgstr "año"\n'
    assert read(tmp_path, b"\xef\xbb\xbf" + content.encode())[0].targets == ("año",)


def test_comments_may_be_in_another_charset(tmp_path: Path) -> None:
    content = "# José\n".encode("latin-1") + 'msgid "year"\nmsgstr "año"\n'.encode()
    assert texts(read(tmp_path, content)) == [("year", "año")]
    assert "line 1: not UTF-8" in po_fault(tmp_path, '#~ msgid "año"\n#~ msgstr ""\n'.encode("latin-1"))


@pytest.mark.parametrize(
    "charset",
    ["klingon", "utf-16", "UTF-16LE", "utf-7", "utf-8-sig", "base64", "unicode_escape", "raw_unicode_escape", "cp037"],
)
def test_unknown_and_unfit_charsets(tmp_path: Path, charset: str) -> None:
    message = po_fault(tmp_path, HEADER % (charset, "es") + 'msgid "a"\nmsgstr "b"\n')
    assert f"charset={charset}," in message
    assert "msgconv -t UTF-8" in message


def test_bytes_that_are_not_in_the_charset(tmp_path: Path) -> None:
    content = (HEADER % ("UTF-8", "es") + 'msgid "year"\nmsgstr "año"\n').encode("latin-1")
    message = po_fault(tmp_path, content)
    assert "line 4: not UTF-8: byte 0xf1 at byte offset 9" in message
    mo = struct.pack("<7I", 0x950412DE, 0, 1, 28, 36, 0, 0) + struct.pack("<4I", 1, 44, 2, 46) + b"a\0" + b"\xf1\xf1\0"
    path = write(tmp_path / "a.mo", mo)
    assert "entry 1: not UTF-8: byte 0xf1" in fault(lambda: Mo(path, ANY))


# --- languages ---


@pytest.mark.parametrize(
    ("path", "said", "language"),
    [
        ("a.po", "pt_BR", "pt_BR"),
        ("es.po", "pt_BR", "pt_BR"),
        ("a.po", "sr@latin", "sr@latin"),
        ("a.po", "es.UTF-8", "es"),
        ("a.po", "", "msgstr"),
        ("a.po", "Spanish (Castilian)", "msgstr"),
        ("es.po", "Spanish", "es"),
        ("locale/pt_BR/LC_MESSAGES/app.po", "", "pt_BR"),
        ("locale/de.UTF-8/LC_MESSAGES/es.po", "", "de"),
        ("po/pt_BR.po", "", "pt_BR"),
        ("po/pt-br.po", "", "pt-br"),
        ("app.pt_BR.po", "", "pt_BR"),
        ("app-pt_BR.po.gz", "", "pt_BR"),
        ("my-app-zh_Hant_TW.po", "", "zh_Hant_TW"),
        ("ca@valencia.po", "", "ca@valencia"),
        ("ast.po", "", "ast"),
        ("app.po", "", "msgstr"),
        ("foo-bar.po", "", "msgstr"),
        ("LC_MESSAGES/app.po", "", "msgstr"),
    ],
)
def test_the_language_is_in_the_header_or_the_path(tmp_path: Path, path: str, said: str, language: str) -> None:
    file = tmp_path / "top-folder" / path
    file.parent.mkdir(parents=True)
    assert Po(write(file, HEADER % ("UTF-8", said)), ANY).about == f"PO catalog, msgid → {language}"


@pytest.mark.parametrize(
    ("language", "source", "target", "about"),
    [
        ("es", "en", "es", "PO catalog, en → es"),
        ("es_MX", "en", "es", "PO catalog, en → es_MX"),
        ("ES-mx", None, "es_MX", "PO catalog, msgid → ES-mx"),
        ("es", "en", "es_ES", "PO catalog, en → es"),
        ("sr@latin", "en", "sr", "PO catalog, en → sr@latin"),
        ("es", "es", "en", "PO catalog read from msgstr to msgid, es → en"),
        ("es_MX", "es", "en", "PO catalog read from msgstr to msgid, es_MX → en"),
        ("es", "es_ES", "en", "PO catalog read from msgstr to msgid, es → en"),
        ("es", "es", None, "PO catalog read from msgstr to msgid, es → msgid"),
        ("es", "es", "es", "PO catalog, es → es"),
        ("es", "en", None, "PO catalog, en → es"),
        ("", "en", "es", "PO catalog, en → es"),
        ("", None, None, "PO catalog, msgid → msgstr"),
    ],
)
def test_the_direction(tmp_path: Path, language: str, source: str | None, target: str | None, about: str) -> None:
    content = HEADER % ("UTF-8", language) + 'msgid "id"\nmsgstr "str"\n'
    reader = Po(write(tmp_path / "a.po", content), Wanted(source_language=source, target_language=target))
    assert reader.about == about
    assert texts(reader) == [("str", "id") if "msgstr to msgid" in about else ("id", "str")]


@pytest.mark.parametrize(
    ("source", "target"), [("en", "de"), (None, "de"), ("es_MX", "de"), ("en", "es_MX"), (None, "e"), ("e", "s")]
)
def test_another_language_is_refused(tmp_path: Path, source: str | None, target: str) -> None:
    content = HEADER % ("UTF-8", "es_AR") + 'msgid "id"\nmsgstr "str"\n'
    message = po_fault(tmp_path, content, Wanted(source_language=source, target_language=target))
    assert "its language is es_AR" in message
    assert f"not {target}" in message
    assert "--to es_AR" in message
    assert "--from es_AR" in message


def test_backward_every_plural_form_is_a_source(tmp_path: Path) -> None:
    content = HEADER % ("UTF-8", "pl") + (
        'msgid "file"\nmsgid_plural "files"\nmsgstr[0] "plik"\nmsgstr[1] "pliki"\nmsgstr[2] "plików"\n'
        'msgid "a"\nmsgstr ""\n'
    )
    pairs = read(tmp_path, content, Wanted(source_language="pl", target_language="en"))
    assert texts(pairs) == [("plik", "file"), ("pliki", "files"), ("plików", "files"), ("", "a")]
    assert [pair.problem for pair in pairs] == ["", "", "", "untranslated"]


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
        assert ("damaged or cut short" if end >= 4 else "does not begin as a compiled catalog") in message


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
        (b"PK\x03\x04 and more", "does not begin as a compiled catalog"),
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


# --- a folder ---


def folder(tmp_path: Path, *names: str, **languages: str) -> list[str]:
    """Writes catalogs, whose header may tell a language, and other files."""
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith((".mo", ".gmo")):
            write(tmp_path / name, polib_mo([]))
        else:
            write(tmp_path / name, HEADER % ("UTF-8", languages.get(name.partition(".")[0], "")))
    return sorted(str(tmp_path / name) for name in names)


def polib_mo(entries: list[tuple[str, str]], language: str = "") -> bytes:
    catalog = polib.POFile()
    catalog.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Language": language}
    catalog.extend(polib.POEntry(msgid=source, msgstr=target) for source, target in entries)
    content: bytes = catalog.to_binary()
    return content


def chosen(tmp_path: Path, names: list[str], source: str | None, target: str | None) -> tuple[list[str], list[str]]:
    files, notes = choose(
        str(tmp_path), folder(tmp_path, *names), Wanted(source_language=source, target_language=target)
    )
    return [str(Path(file).relative_to(tmp_path)) for file in files], notes


def test_catalogs_in_the_target_language_are_chosen(tmp_path: Path) -> None:
    names = ["de.po", "es.po", "es_MX.po", "fr.po", "it.po", "pt.po", "app.po", "pairs.tsv", "app.pot"]
    assert chosen(tmp_path, names, "en", "es") == (
        ["app.po", "es.po", "es_MX.po", "pairs.tsv"],
        ["4 catalogs in other languages (de, fr, it, …)", "1 template (app.pot)"],
    )
    assert chosen(tmp_path, names, "en", "es_MX")[0] == ["app.po", "es_MX.po", "pairs.tsv"]
    assert chosen(tmp_path, names, "en", "pt_BR")[0] == ["app.po", "pairs.tsv", "pt.po"]
    assert chosen(tmp_path, names, "en", "ja")[0] == ["app.po", "pairs.tsv"]


def test_the_language_in_a_header_decides(tmp_path: Path) -> None:
    files = folder(tmp_path, "a.po", "de.po", "c.po", a="es", de="es_AR", c="fr")
    files.append(str(write(tmp_path / "d.mo", polib_mo([("x", "y")] * 3, "es"))))
    files.append(str(write(tmp_path / "e.mo.gz", gzip.compress(polib_mo([], "it")))))
    read_files, notes = choose(str(tmp_path), files, Wanted(target_language="es"))
    assert [Path(file).name for file in read_files] == ["a.po", "de.po", "d.mo"]
    assert notes == ["2 catalogs in other languages (fr, it)"]


def test_a_long_or_damaged_beginning_leaves_the_path(tmp_path: Path) -> None:
    long = "# comment\n" * 10_000 + HEADER % ("UTF-8", "fr")
    files = [str(write(tmp_path / "de.po", long)), str(write(tmp_path / "es.po", "damage"))]
    files += [str(write(tmp_path / "es.mo", "damage")), str(tmp_path / "es" / "missing.es.po")]
    read_files, notes = choose(str(tmp_path), files, Wanted(target_language="es"))
    assert [Path(file).name for file in read_files] == ["es.po", "missing.es.po"]
    assert notes == ["1 catalog in another language (de)", "1 .mo file beside a .po of the same name (es.mo)"]


def test_only_the_beginning_of_catalogs_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogs, "whole", lambda path: pytest.fail("read it all"))
    entries = 'msgid "a"\nmsgstr "b"\n' * 20_000
    path = write(tmp_path / "a.po", HEADER % ("UTF-8", "es") + entries)
    assert choose(str(tmp_path), [str(path)], Wanted(target_language="es")) == ([str(path)], [])


def test_catalogs_in_the_source_language_are_read_backward(tmp_path: Path) -> None:
    both = ["de.po", "en.po", "es.po"]
    assert chosen(tmp_path, ["de.po", "es.po"], "es", "en") == (["es.po"], ["1 catalog in another language (de)"])
    assert chosen(tmp_path, both, "es", "en") == (["es.po"], ["2 catalogs in other languages (de, en)"])
    assert chosen(tmp_path, both, "en", "es") == (["es.po"], ["2 catalogs in other languages (de, en)"])
    assert chosen(tmp_path, both, None, "en")[0] == ["en.po"]
    assert chosen(tmp_path, both, "es", "de")[0] == ["de.po"]
    assert chosen(tmp_path, ["en.po", "en_GB.po"], "en", "en_GB")[0] == ["en_GB.po"]


def test_compiled_catalogs_beside_their_source_are_left_out(tmp_path: Path) -> None:
    names = ["es.po", "es.mo", "es.gmo", "sub/es.mo", "app.es.po.gz", "app.es.mo"]
    assert chosen(tmp_path, names, "en", "es") == (
        ["app.es.po.gz", "es.po", "sub/es.mo"],
        ["3 .mo files beside a .po of the same name (app.es.mo, es.gmo, es.mo)"],
    )


def test_folders_where_nothing_fits(tmp_path: Path) -> None:
    def choose_error(source: str | None, target: str | None, *names: str) -> str:
        files, wanted = folder(tmp_path, *names), Wanted(source_language=source, target_language=target)
        kind = DataError if target else UsageError
        return fault(lambda: choose(str(tmp_path), files, wanted), kind)

    expected = f"{tmp_path}: no catalog is in es or en, but in de, fr; choose one: --to de"
    assert choose_error("en", "es", "de.po", "fr.po", "sub/de.po", "a.pot") == expected
    assert "only templates" in choose_error("en", "es", "a.pot")
    several = choose_error("en", None, "fr.po", "es.po", "pairs.tsv")
    assert several == f"{tmp_path}: has catalogs in 2 languages: es, fr; choose one: --to es"


def test_one_language_needs_no_choice(tmp_path: Path) -> None:
    assert chosen(tmp_path, ["pt_BR.po", "app.pt-br.po", "app.po"], None, None) == (
        ["app.po", "app.pt-br.po", "pt_BR.po"],
        [],
    )


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
        assert all(isinstance(pair, Pair) for pair in (Mo if mo else Po)(path, ANY))

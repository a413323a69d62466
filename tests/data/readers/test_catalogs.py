"""Gettext catalogs, source and compiled: entries, encodings, languages."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from mirada.data.readers import Wanted, open_pairs
from mirada.data.readers.catalogs import Mo, Po
from tests.data.readers import fault, packed, texts, write
from tests.data.readers.catalog_files import ANY, FILES, HEADER, MULTILINE, SAMPLE, po_fault, read

# --- entries ---

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
    assert read(tmp_path, b"\xef\xbb\xbf" + content.encode())[0].fields[1:] == ("año",)


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

"""Filling catalogs: the gaps are found and filled as gettext demands, and every other byte stays."""

import gzip
import subprocess
from pathlib import Path

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.data import po
from mirada.data.po import Catalog, Gap
from mirada.errors import DataError

SAMPLE = (Path(__file__).parent / "readers" / "files" / "sample.po").read_bytes()


def header(charset: str = "UTF-8", plurals: str = "nplurals=2; plural=n != 1;") -> str:
    """A header with which `msgfmt -c` is content."""
    return f"""msgid ""
msgstr ""
"Project-Id-Version: a 1\\n"
"PO-Revision-Date: 2026-01-01 00:00+0000\\n"
"Last-Translator: a <a@example.org>\\n"
"Language-Team: none\\n"
"Language: es\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset={charset}\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: {plurals}\\n"

"""


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def fill(tmp_path: Path, content: bytes | str, *translations: str, plurals: tuple[str, ...] | None = None) -> str:
    return fill_bytes(tmp_path, content, *translations, plurals=plurals).decode()


def fill_bytes(
    tmp_path: Path, content: bytes | str, *translations: str, plurals: tuple[str, ...] | None = None
) -> bytes:
    catalog = Catalog(write(tmp_path / "a.po", content))
    return catalog.filled(translations, plurals if plurals is not None else ("",) * len(translations))


def check(path: Path) -> None:
    """Lets msgfmt judge a file."""
    judged = subprocess.run(["msgfmt", "-c", "-o", "/dev/null", str(path)], capture_output=True, text=True)
    assert judged.returncode == 0, judged.stderr


def parsed(path: Path) -> dict[str, polib.POEntry]:
    """The entries as another program reads them."""
    return {entry.msgid: entry for entry in polib.pofile(str(path))}


def fault(tmp_path: Path, content: bytes | str, *translations: str) -> str:
    with pytest.raises(DataError) as caught:
        fill_bytes(tmp_path, content, *translations)
    message = str(caught.value)
    assert message.isprintable()
    assert str(tmp_path / "a.po") in message
    return message


# --- gaps ---


def test_gaps_are_the_entries_without_any_translation(tmp_path: Path) -> None:
    content = header() + (
        'msgid "a"\nmsgstr ""\n\n'
        'msgid "b"\nmsgstr "B"\n\n'
        '#, fuzzy\nmsgid "c"\nmsgstr "C"\n\n'
        '#, fuzzy\nmsgid "d"\nmsgstr ""\n\n'
        '# comment\nmsgctxt "x"\nmsgid ""\n"e\\n"\n"f"\nmsgstr ""\n""\n\n'
        'msgid "g"\nmsgid_plural "h"\nmsgstr[0] ""\nmsgstr[1] ""\n\n'
        'msgid "i"\nmsgid_plural "j"\nmsgstr[0] ""\nmsgstr[1] "J"\n\n'
        'msgctxt "x"\nmsgid ""\nmsgstr ""\n\n'
        '#~ msgid "k"\n#~ msgstr ""\n'
    )
    catalog = Catalog(write(tmp_path / "a.po", content))
    lines = content.split("\n")
    assert catalog.gaps == [
        Gap(lines.index('msgid "a"') + 1, "a", ""),
        Gap(lines.index('msgid "d"'), "d", ""),
        Gap(lines.index("# comment") + 1, "e\nf", ""),
        Gap(lines.index('msgid "g"') + 1, "g", "h"),
    ]
    assert catalog.filled([""] * 4, [""] * 4) == content.encode()


def test_a_catalog_without_gaps_stays(tmp_path: Path) -> None:
    for content in (b"", b"\xef\xbb\xbf", b"# only\r\n", header().encode(), b'msgid "a"\nmsgstr "b"'):
        assert fill_bytes(tmp_path, content) == content


def test_the_numbers_of_gaps_and_texts_must_agree(tmp_path: Path) -> None:
    catalog = Catalog(write(tmp_path / "a.po", 'msgid "a"\nmsgstr ""\n'))
    for translations, plurals in (([], []), (["x"], []), (["x", "y"], ["", ""])):
        with pytest.raises(ValueError, match="zip"):
            catalog.filled(translations, plurals)


# --- flags ---


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "#, fuzzy\n"),
        ("# comment\n\n", "# comment\n\n#, fuzzy\n"),
        ("#, c-format\n", "#, fuzzy, c-format\n"),
        ("#,c-format, no-wrap\n# x\n", "#, fuzzy,c-format, no-wrap\n# x\n"),
        ("#,\n", "#, fuzzy\n"),
        ("#, fuzzy\n", "#, fuzzy\n"),
        ("#, c-format, fuzzy\n", "#, c-format, fuzzy\n"),
        ("#, c-format\n#, no-wrap\n", "#, fuzzy, c-format\n#, no-wrap\n"),
        ('#| msgid "old"\n', '#, fuzzy\n#| msgid "old"\n'),
        ('#, c-format\n#| msgid "old"\n', '#, fuzzy, c-format\n#| msgid "old"\n'),
        ('msgctxt "x"\n', '#, fuzzy\nmsgctxt "x"\n'),
        ('# x\n#: a.c:1\nmsgctxt "x"\n', '# x\n#: a.c:1\n#, fuzzy\nmsgctxt "x"\n'),
    ],
)
def test_filled_entries_are_fuzzy(tmp_path: Path, before: str, after: str) -> None:
    rest = '\nmsgid "z"\nmsgstr "Z"\n'
    filled = fill(tmp_path, f'{header()}{before}msgid "a"\nmsgstr ""\n{rest}', "b")
    assert filled == f'{header()}{after}msgid "a"\nmsgstr "b"\n{rest}'
    path = write(tmp_path / "b.po", filled)
    check(path)
    assert parsed(path)["a"].fuzzy


# --- texts ---


@pytest.mark.parametrize(
    ("source", "translation", "written"),
    [
        ("a", "b", 'msgstr "b"\n'),
        ("a", 'q"\\\t\r\x1b1\x7f', 'msgstr "q\\"\\\\\\t\\r\\0331\\177"\n'),
        ("a", "año 日本 👩‍👧 \u2028", 'msgstr "año 日本 👩‍👧 \u2028"\n'),
        ("a", r"C:\000", 'msgstr "C:\\\\000"\n'),
        ("a", "b\nc", 'msgstr ""\n"b\\n"\n"c"\n'),
        ("a", "b\n\nc", 'msgstr ""\n"b\\n"\n"\\n"\n"c"\n'),
        ("a", "\nb\n", 'msgstr "b"\n'),
        ("a\\n", "b", 'msgstr "b\\n"\n'),
        ("a\\n", "b\nc\n", 'msgstr ""\n"b\\n"\n"c\\n"\n'),
        ("\\na", "b", 'msgstr ""\n"\\n"\n"b"\n'),
        ("\\n\\na\\n\\n", "\nb", 'msgstr ""\n"\\n"\n"\\n"\n"b\\n"\n"\\n"\n'),
        ("a", "", 'msgstr ""\n'),
        ("a", "\n", 'msgstr ""\n'),
        ("\\n", "b", 'msgstr ""\n'),
    ],
)
def test_texts_are_written_as_gettext_writes_them(tmp_path: Path, source: str, translation: str, written: str) -> None:
    content = f'{header()}msgid "{source}"\nmsgstr ""\n\n# end\n'
    flag = "" if written == 'msgstr ""\n' else "#, fuzzy\n"
    assert fill(tmp_path, content, translation) == f'{header()}{flag}msgid "{source}"\n{written}\n# end\n'
    check(write(tmp_path / "b.po", fill(tmp_path, content, translation)))


@pytest.mark.parametrize("empty", ['msgstr ""\n', 'msgstr ""\n""\n  ""\n', '  msgstr\t"" ""\n'])
def test_every_way_to_be_empty_is_replaced(tmp_path: Path, empty: str) -> None:
    filled = fill(tmp_path, f'msgid ""\n"a"\n{empty}# end', "b")
    assert filled == '#, fuzzy\nmsgid ""\n"a"\nmsgstr "b"\n# end'


def test_the_last_line_may_have_no_end(tmp_path: Path) -> None:
    assert fill(tmp_path, 'msgid "a"\nmsgstr ""', "b\nc") == '#, fuzzy\nmsgid "a"\nmsgstr ""\n"b\\n"\n"c"'
    assert fill(tmp_path, 'msgid "a"\r\nmsgstr ""', "b\nc") == '#, fuzzy\r\nmsgid "a"\r\nmsgstr ""\r\n"b\\n"\r\n"c"'


def test_duplicates_are_filled_each(tmp_path: Path) -> None:
    entry = 'msgid "a"\nmsgstr "%s"\n'
    filled = fill(tmp_path, (entry + entry) % ("", ""), "b", "c")
    assert filled == "#, fuzzy\n" + entry % "b" + "#, fuzzy\n" + entry % "c"


# --- plurals ---


@pytest.mark.parametrize(
    ("rule", "forms"),
    [
        ("nplurals=1; plural=0;", ["plural"]),
        ("nplurals=2; plural=n != 1;", ["single", "plural"]),
        (" nplurals = 3 ; plural=n==1 ? 0 : n==2 ? 1 : 2;", ["single", "plural", "plural"]),
        ("nplurals=6; plural=n<5 ? n : 5;", ["plural", "single", "plural", "plural", "plural", "plural"]),
    ],
)
@pytest.mark.parametrize("lines", [1, 2, 3])
def test_as_many_plural_forms_as_the_header_says(tmp_path: Path, rule: str, forms: list[str], lines: int) -> None:
    entry = '#, c-format\nmsgid "one"\nmsgid_plural "many"\n'
    empty = "".join(f'msgstr[{index}] ""\n' for index in range(lines))
    top = header(plurals=rule)
    filled = fill(tmp_path, f"{top}{entry}{empty}\n# end\n", "single", plurals=("plural",))
    written = "".join(f'msgstr[{index}] "{form}"\n' for index, form in enumerate(forms))
    assert filled == f"{top}{entry.replace('#,', '#, fuzzy,')}{written}\n# end\n"
    path = write(tmp_path / "b.po", filled)
    check(path)
    assert parsed(path)["one"].msgstr_plural == dict(enumerate(forms))


def test_two_forms_without_a_rule(tmp_path: Path) -> None:
    entry = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    old = '#~ msgid ""\n#~ msgstr "Plural-Forms: nplurals=1;\\n"\n\n'
    for top in ("", old, header(plurals="nplurals=INTEGER; plural=EXPRESSION;"), header().replace("Plural-Forms", "X")):
        filled = fill(tmp_path, top + entry, "c", plurals=("d",))
        assert filled == f'{top}#, fuzzy\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\nmsgstr[1] "d"\n'


@pytest.mark.parametrize(("single", "plural"), [("", "d"), ("c", ""), ("", "")])
def test_half_a_plural_leaves_the_gap(tmp_path: Path, single: str, plural: str) -> None:
    content = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    assert fill(tmp_path, content, single, plurals=(plural,)) == content


def test_all_forms_have_the_newlines_of_msgid(tmp_path: Path) -> None:
    content = header() + 'msgid "a\\n"\nmsgid_plural "b\\n"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    filled = fill(tmp_path, content, "c", plurals=("\nd",))
    assert filled.endswith('msgstr[0] "c\\n"\nmsgstr[1] "d\\n"\n')
    check(write(tmp_path / "b.po", filled))


@pytest.mark.parametrize("number", ["0", "21", "9" * 5000])
def test_a_number_of_forms_that_cannot_be(tmp_path: Path, number: str) -> None:
    message = fault(tmp_path, header(plurals=f"nplurals={number}; plural=0;"))
    assert f"line 1: the header says nplurals='{number[:59]}" in message
    assert "from 1 to 20" in message


# --- bytes ---


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_and_byte_order_mark_stay(tmp_path: Path, mark: bytes, newline: str) -> None:
    content = '#, c-format\nmsgid "a"\nmsgstr ""\n\nmsgid "b"\nmsgstr ""\n'.replace("\n", newline)
    expected = '#, fuzzy, c-format\nmsgid "a"\nmsgstr ""\n"x\\n"\n"ñ"\n\n#, fuzzy\nmsgid "b"\nmsgstr "y"\n'
    assert fill_bytes(tmp_path, mark + content.encode(), "x\nñ", "y") == mark + expected.replace("\n", newline).encode()
    first = fill_bytes(tmp_path, mark + b'msgid "a"\nmsgstr ""', "x")
    assert first == mark + b'#, fuzzy\nmsgid "a"\nmsgstr "x"'


def test_other_bytes_stay_even_where_they_are_odd(tmp_path: Path) -> None:
    odd = '# José\n#   \t\n\n\n#,  c-format ,\t\n#: a.c:1\r\n  msgid\t"ma\\q\\303\\261ana"  \n'.encode("latin-1")
    top = header("ISO-8859-1").encode()
    filled = fill_bytes(tmp_path, top + odd + b'msgstr ""\n#~ msgid  "x"\n#~ msgstr ""\n \n', "mañana")
    fuzzy = odd.replace(b"#,  c-format", b"#, fuzzy,  c-format")
    assert filled == top + fuzzy + 'msgstr "mañana"\n#~ msgid  "x"\n#~ msgstr ""\n \n'.encode("latin-1")


@pytest.mark.parametrize(
    ("charset", "translation", "alien"),
    [
        ("ISO-8859-1", "Łódź", r"'\u0141'"),
        ("ASCII", "año", r"'\xf1'"),
        ("SHIFT_JIS", "5¥", r"'\xa5'"),
        ("UTF-8", "a\ud800", r"'\ud800'"),
        ("UTF-8", "a\0", r"'\x00'"),
    ],
)
def test_characters_that_the_charset_lacks(tmp_path: Path, charset: str, translation: str, alien: str) -> None:
    message = fault(tmp_path, header(charset) + 'msgid "a"\nmsgstr ""\n', translation)
    assert f"line 13: {alien} in the translation" in message
    assert f"cannot be written in {charset}" in message
    assert "msgconv -t UTF-8" in message


@pytest.mark.parametrize(("charset", "text"), [("ISO-8859-1", "añ\\o"), ("SHIFT_JIS", "表"), ("GB18030", "日本 ñ")])
def test_the_charset_stays(tmp_path: Path, charset: str, text: str) -> None:
    content = (header(charset) + f'msgid "z"\nmsgstr "{text}"\n\nmsgid "a"\nmsgstr ""\n').replace("\\o", "o")
    filled = fill_bytes(tmp_path, content.encode(charset), text)
    written = text.replace("\\", "\\\\")
    assert filled.decode(charset) == content.replace('msgid "a"\nmsgstr ""', f'#, fuzzy\nmsgid "a"\nmsgstr "{written}"')
    check(write(tmp_path / "b.po", filled))


def test_a_packed_catalog_comes_back_unpacked(tmp_path: Path) -> None:
    assert fill_bytes(tmp_path, gzip.compress(SAMPLE), "hecho") == fill_bytes(tmp_path, SAMPLE, "hecho")


def test_the_sample(tmp_path: Path) -> None:
    gap = b'msgid "Untranslated"\nmsgstr ""\n'
    assert fill_bytes(tmp_path, SAMPLE, "hecho") == SAMPLE.replace(
        gap, b'#, fuzzy\nmsgid "Untranslated"\nmsgstr "hecho"\n'
    )


def test_files_that_cannot_be_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "line 2: neither a comment" in fault(tmp_path, 'msgid "a"\nmsgstr "')
    assert "charset=klingon" in fault(tmp_path, header("klingon"))
    assert "a NUL byte" in fault(tmp_path, "msgid".encode("utf-16"))
    with pytest.raises(DataError, match="no such file"):
        Catalog(tmp_path / "none.po")
    monkeypatch.setattr(po, "LARGEST", 10)
    assert "too large" in fault(tmp_path, "#" * 11)


# --- any text ---

# polib knows no octal escapes, so control characters other than these are left to the tests above.
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t\r"), min_size=1, max_size=20)
ENTRY = st.tuples(
    TEXT, st.none() | TEXT, st.booleans(), st.sampled_from(["", "# comment\n", "#, c-format\n", "#: a.c:1\n"])
)


def po_entry(number: int, source: str, plural: str | None, translated: bool, comment: str) -> str:
    form = '"' + ("\\n" * source.startswith("\n") + "x" + "\\n" * source.endswith("\n")) * translated + '"'
    start = f'{comment}msgctxt "{number}"\nmsgid ""\n"{polib.escape(source)}"\n'
    if plural is None:
        return f"{start}msgstr {form}\n\n"
    return f'{start}msgid_plural "{polib.escape(plural)}"\nmsgstr[0] {form}\nmsgstr[1] {form}\n\n'


@settings(derandomize=True, max_examples=60, deadline=None, database=None)
@given(
    entries=st.lists(ENTRY, max_size=5),
    words=st.lists(TEXT | st.just(""), min_size=10, max_size=10),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_gaps_are_filled_and_nothing_else_changes(
    tmp_path_factory: pytest.TempPathFactory,
    entries: list[tuple[str, str | None, bool, str]],
    words: list[str],
    newline: str,
) -> None:
    base = tmp_path_factory.getbasetemp()
    content = header() + "".join(po_entry(number, *entry) for number, entry in enumerate(entries))
    content = content.replace("\n", newline)
    catalog = Catalog(write(base / "any.po", content))
    gaps = [(number, entry) for number, entry in enumerate(entries) if not entry[2]]
    assert [(gap.text, gap.plural) for gap in catalog.gaps] == [(entry[0], entry[1] or "") for _, entry in gaps]
    translations, plurals = words[: len(gaps)], words[5 : 5 + len(gaps)]
    result = write(base / "filled.po", catalog.filled(translations, plurals))

    remaining = iter(result.read_bytes().decode().split(newline))
    for line in content.split(newline):
        if not line.startswith(("msgstr", "#,")):
            assert line in remaining  # and all before it are used up

    filled = {entry.msgctxt: entry for entry in polib.pofile(str(result))}
    assert len(filled) == len(entries)
    for (number, (source, plural, _, _)), translation, many in zip(gaps, translations, plurals, strict=True):
        entry = filled[str(number)]
        forms = [translation] if plural is None else [translation, many]
        done = all(form.strip("\n") for form in (*forms, source))
        assert (entry.msgid, entry.msgid_plural or None, entry.fuzzy) == (source, plural, done)
        found = [entry.msgstr] if plural is None else [entry.msgstr_plural[0], entry.msgstr_plural[1]]
        assert [form.strip("\n") for form in found] == [form.strip("\n") if done else "" for form in forms]
        for form in found if done else []:
            assert edges(form) == edges(source)
    if all(plural is None or edges(plural) == edges(source) for source, plural, _, _ in entries):
        check(write(result, result.read_bytes().replace(b"c-format", b"no-wrap")))  # percent signs are at random


def edges(text: str) -> tuple[bool, bool]:
    """Whether a text begins and ends with a newline."""
    return text.startswith("\n"), text.endswith("\n")

"""TMX: languages and variants, inline tags, encodings, and files that are damaged, hostile or something else."""

import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.data.readers import Wanted, open_pairs, tmx
from mirada.data.readers.tmx import Tmx
from mirada.data.records import Record
from mirada.errors import DataError, UsageError
from tests.data.readers import PACKERS, any_text, check_memory, fault, packed, texts, write

ES_EN = Wanted(source_language="es", target_language="en")
FILES = Path(__file__).parent / "files"
TAGS = ("inline_tags_removed",)


def unit(*variants: tuple[str, str], attribute: str = "xml:lang") -> str:
    """A unit of languages and their texts, which may hold tags."""
    inside = "".join(f"<tuv {attribute}={quoteattr(tag)}><seg>{text}</seg></tuv>" for tag, text in variants)
    return f"<tu>{inside}</tu>\n"


def document(body: str, declaration: str = '<?xml version="1.0"?>', header: str = "") -> str:
    return f'{declaration}\n<tmx version="1.4"><header {header}/><body>\n{body}</body></tmx>\n'


def read(tmp_path: Path, body: str, wanted: Wanted = ES_EN) -> list[Record]:
    return list(Tmx(write(tmp_path / "memory.tmx", document(body)), wanted))


def tmx_fault(tmp_path: Path, content: bytes | str, wanted: Wanted = ES_EN) -> str:
    path = write(tmp_path / "memory.tmx", content)
    message = fault(lambda: Tmx(path, wanted))
    assert str(path) in message
    return message


# --- units ---


def test_what_another_tool_wrote_is_read() -> None:
    path = FILES / "translate_toolkit.tmx"
    reader = open_pairs(str(path))
    assert texts(reader) == [
        ("¿Dónde está el tren de las ocho?", "Where is the eight o'clock train?"),
        ("La niña comió un plátano <verde> & frío.", "The girl ate a <green> & cold banana."),
        ("Hoy llueve 🌧️, mañana no.", "It is raining today 🌧️, not tomorrow."),
        ("Una línea\ny otra", "One line\nand another"),
        ("Niño descompuesto: nin\u0303o", "Child, decomposed: nin\u0303o"),
        ("Familia: 👨‍👩‍👧", "Family: 👨‍👩‍👧"),
    ]
    assert [pair.line for pair in reader] == [6, 14, 22, 30, 40, 48]
    assert {(pair.file, pair.problem, pair.marks) for pair in reader} == {(str(path), "", ())}
    assert reader.about == "TMX, es → en"


def test_every_unit_gives_a_pair(tmp_path: Path) -> None:
    body = (
        unit(("en-US", "Hello"), ("ES", " Hola "), ("fr", "Salut"))
        + unit(("es", "A"), ("fr", "B"))
        + unit(("en", "C"), ("fr", "D"))
        + unit(("fr", "E"), ("", "F"))
        + "<tu/>\n"
        + "<tu><note>x</note><tuv xml:lang='es'><prop>y</prop><seg>G</seg></tuv><tuv xml:lang='en'/></tu>\n"
        + unit(("es", ""), ("en", "H"))
        + unit(("esp", "x"), ("english", "y"))
    )
    path = str(tmp_path / "memory.tmx")
    assert read(tmp_path, body) == [
        Record((" Hola ", "Hello"), path, 3),
        Record(("A", ""), path, 4, "missing_target"),
        Record(("", "C"), path, 5, "missing_source"),
        Record(("", ""), path, 6, "missing_source"),
        Record(("", ""), path, 7, "missing_source"),
        Record(("G", ""), path, 8, "missing_target"),
        Record(("", "H"), path, 9),
        Record(("", ""), path, 10, "missing_source"),
    ]


def test_variants_are_sources_and_references(tmp_path: Path) -> None:
    body = unit(("es-ES", "A"), ("es-MX", "B"), ("es", "A"), ("en-US", ""), ("en-GB", "c"), ("en", "d"), ("en-AU", "c"))
    assert texts(read(tmp_path, body)) == [("A", "c", "d"), ("B", "c", "d")]
    mexican = Wanted(source_language="es", target_language="es_mx")
    assert texts(read(tmp_path, body, mexican)) == [("A", "B")]


def test_languages_may_stand_in_lang(tmp_path: Path) -> None:
    assert texts(read(tmp_path, unit(("ES", "a"), ("EN", "b"), attribute="lang"))) == [("a", "b")]


@pytest.mark.parametrize(
    ("segment", "text", "marks"),
    [
        ("a &lt;b&gt; &amp; &#233;", "a <b> & é", ()),
        ("<![CDATA[<b>]]> a<!-- no -->b", "<b> ab", ()),
        ("a <hi type='x'>b <hi>c</hi></hi> d", "a b c d", ()),
        ("<bpt i='1'>&lt;b&gt;</bpt>a<ept i='1'>&lt;/b&gt;</ept>", "a", TAGS),
        ("uno<ph x='1'/>dos <it pos='begin'>x</it>tres<ut>{\\b}</ut>", "unodos tres", TAGS),
        ("a<ph>x<sub>y <ph>z</ph> y</sub>x</ph>b", "ab", TAGS),
        ("<hi>a<ph>x</ph></hi>b", "ab", TAGS),
        ("a <b>c</b> <seg>d</seg> e", "a c d e", TAGS),
        ("<ph/>", "", TAGS),
    ],
)
def test_inline_tags_are_removed(tmp_path: Path, segment: str, text: str, marks: tuple[str, ...]) -> None:
    path = str(tmp_path / "memory.tmx")
    last = unit(("es", "x"), ("en", "y"))
    expected = Record(("x", "y"), path, 4)
    assert read(tmp_path, unit(("es", segment), ("en", "z")) + last) == [
        Record((text, "z"), path, 3, "", marks),
        expected,
    ]
    assert read(tmp_path, unit(("es", "z"), ("en", segment)) + last) == [
        Record(("z", text), path, 3, "", marks),
        expected,
    ]


def test_the_texts_that_are_used_are_marked(tmp_path: Path) -> None:
    assert read(tmp_path, unit(("es", "<ph/>a"), ("es", "a"), ("en", "b")))[0].marks == TAGS
    assert read(tmp_path, unit(("es", "a"), ("en", "b"), ("fr", "<ph/>c")))[0].marks == ()


# --- languages ---


@pytest.mark.parametrize(
    ("header", "wanted", "about"),
    [
        ("", Wanted(), "en-US → es"),
        ("srclang='*all*'", Wanted(), "en-US → es"),
        ("srclang='ES-mx'", Wanted(), "es → en-US"),
        ("srclang='en'", Wanted(), "en-US → es"),
        ("", Wanted(target_language="en"), "es → en-US"),
        ("srclang='en'", Wanted(source_language="es"), "es → en-US"),
    ],
)
def test_two_languages_need_not_be_named(tmp_path: Path, header: str, wanted: Wanted, about: str) -> None:
    content = document(unit(("en-US", "Hello"), ("es", "Hola")), header=header)
    reader = Tmx(write(tmp_path / "memory.tmx", content), wanted)
    assert reader.about == f"TMX, {about}"
    assert texts(reader) == [("Hola", "Hello") if about.startswith("es") else ("Hello", "Hola")]


def test_varieties_are_one_language(tmp_path: Path) -> None:
    body = unit(("en-US", "a"), ("es", "b")) + unit(("en_GB", "c"), ("es", "d"))
    reader = Tmx(write(tmp_path / "memory.tmx", document(body)), Wanted())
    assert reader.about == "TMX, en → es"
    assert texts(reader) == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize(
    ("tags", "wanted", "listed"),
    [
        (("es", "en", "fr", "es"), Wanted(), "es (2), en (1), fr (1); say which with --from es --to en"),
        (("es", "en", "fr"), Wanted(target_language="en"), "es (1), en (1), fr (1)"),
        (("pt-PT", "pt-BR"), Wanted(), "pt-PT (1), pt-BR (1); say which with --from pt-PT --to pt-BR"),
        (("es", "en"), Wanted(source_language="fr"), "es (1), en (1)"),
        (("es",), Wanted(), "es (1)"),
        (("e\u200bs", "en", "fr"), Wanted(), "'e\\u200bs' (1), en"),
    ],
)
def test_other_languages_need_a_choice(tmp_path: Path, tags: tuple[str, ...], wanted: Wanted, listed: str) -> None:
    path = write(tmp_path / "memory.tmx", document(unit(*((tag, "x") for tag in tags))))
    assert f"has texts in {listed}" in fault(lambda: Tmx(path, wanted), UsageError)


def test_languages_that_never_occur_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = unit(("es", "a"), ("fr", "b")) * 3
    assert "has no text in en; it has es (3), fr (3)" in tmx_fault(tmp_path, document(body))
    with pytest.raises(DataError):
        Tmx(tmp_path / "memory.tmx", ES_EN)
    assert "has no text in en" in tmx_fault(
        tmp_path, document(body), Wanted(source_language="en", target_language="es")
    )
    monkeypatch.setattr(tmx, "TMX_PROBE", 2)
    reading = iter(Tmx(tmp_path / "memory.tmx", ES_EN))
    assert [next(reading).fields[0] for _ in range(3)] == ["a", "a", "a"]
    assert "it has es (3), fr (3)" in fault(lambda: reading)
    assert "does not say its languages" in tmx_fault(tmp_path, document(unit(("", "a"), ("", "b"))), Wanted())
    assert "xml:lang is missing" in tmx_fault(tmp_path, document(unit(("", "a"), ("", "b"))))


def test_a_memory_without_units_is_left_to_later_checks(tmp_path: Path) -> None:
    assert read(tmp_path, "") == read(tmp_path, "", Wanted()) == []


# --- encodings ---


@packed
@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("", "utf-8"),
        ("", "utf-8-sig"),
        ("", "utf-16"),
        ("UTF-8", "utf-8-sig"),
        ("UTF-16", "utf-16"),
        ("utf-16", "utf-16-le"),
        ("utf-16", "utf-16-be"),
        ("ISO-8859-1", "latin1"),
        ("windows-1252", "cp1252"),
    ],
)
def test_encodings(tmp_path: Path, pack: Callable[[bytes], bytes], declared: str, encoding: str) -> None:
    declaration = f'<?xml version="1.0"{f" encoding={declared!r}" if declared else ""}?>'
    content = document(unit(("es", "ñandú\r\nx"), ("en", "rhea &#8211; &#x1F600;")), declaration).encode(encoding)
    path = write(tmp_path / "memory", pack(content))
    pairs = list(open_pairs(str(path), ES_EN, None if encoding == "utf-8" else "tmx"))
    assert pairs == [Record(("ñandú\nx", "rhea – 😀"), str(path), 3)]


@pytest.mark.parametrize("encoding", ["nonsense", "shift_jis", "hex", "utf-7"])
def test_encodings_that_cannot_be_read_are_named(tmp_path: Path, encoding: str) -> None:
    message = tmx_fault(tmp_path, document("", f'<?xml version="1.0" encoding="{encoding}"?>'))
    assert "encoding cannot be read" in message
    assert "iconv" in message


# --- what is refused ---


@pytest.mark.parametrize(
    ("declaration", "text"),
    [
        ('<!DOCTYPE tmx [<!ENTITY a "x">]>', "&a;"),
        ('<!DOCTYPE tmx [<!ENTITY a "x"><!ENTITY b "&a;&a;"><!ENTITY c "&b;&b;">]>', "&c;"),
        ('<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]>', "&a;"),
        ('<!DOCTYPE tmx [<!ENTITY % a SYSTEM "http://localhost/a.dtd"> %a;]>', "x"),
        ('<!DOCTYPE tmx [%a; <!ENTITY b "x">]>', "&b;"),
        ('<!DOCTYPE tmx SYSTEM "tmx14.dtd">', "x&nbsp;y"),
    ],
)
def test_entities_are_refused(tmp_path: Path, declaration: str, text: str) -> None:
    message = tmx_fault(tmp_path, document(unit(("es", text), ("en", "x")), declaration))
    assert "the entity " in message
    assert ", line " in message


@pytest.mark.parametrize(
    "declaration",
    ['<!DOCTYPE tmx SYSTEM "tmx14.dtd">', '<!DOCTYPE tmx PUBLIC "-//LISA//TMX" "http://localhost/x.dtd">'],
)
def test_a_doctype_is_fine_and_not_fetched(tmp_path: Path, declaration: str) -> None:
    path = write(tmp_path / "memory.tmx", document(unit(("es", "a"), ("en", "b")), declaration))
    assert texts(Tmx(path, ES_EN)) == [("a", "b")]


@pytest.mark.parametrize(
    ("bad", "parts"),
    [
        (b"a\0b", ("line 4, column 30", "byte 0x00")),
        (b"a\x07b", ("byte 0x07",)),
        (b"a\xf1b", ("byte 0xf1", "iconv -f latin1")),
        (b"a\xed\xa0\x80b", ("byte 0xed",)),
        (b"a & b", ("line 4, column 32", "invalid token", "' '")),
        (b"a &nbsp; b", ("undefined entity",)),
        (b"a &#0; b", ("character number",)),
        (b"a</tuv>", ("mismatched tag",)),
    ],
)
def test_damage_is_located(tmp_path: Path, bad: bytes, parts: tuple[str, ...]) -> None:
    good = unit(("es", "a"), ("en", "b")).encode()
    content = document("").encode().replace(b"</body>", good + b"<tu><tuv xml:lang='es'><seg>" + bad + b"</body>")
    message = tmx_fault(tmp_path, content)
    assert ", line 4, column " in message
    assert all(part in message for part in parts)


def test_damage_after_the_first_block_is_located(tmp_path: Path) -> None:
    body = unit(("es", "a"), ("en", "b")) * 2000
    path = write(tmp_path / "memory.tmx", document(body + "\x01"))
    reading = iter(Tmx(path, ES_EN))
    assert next(reading).fields[0] == "a"
    assert "line 2003, column 1: not well-formed (invalid token): byte 0x01" in fault(lambda: reading)


@pytest.mark.parametrize("end", [0, 10, 30, 60, -5])
def test_a_file_that_is_cut_short_is_located(tmp_path: Path, end: int) -> None:
    content = document(unit(("es", "a"), ("en", "b")))
    assert "again" in tmx_fault(tmp_path, content[:end])
    assert "cut short" in tmx_fault(tmp_path, gzip.compress(content.encode())[:-20])


def test_other_xml_is_named(tmp_path: Path) -> None:
    assert "is XLIFF, not TMX" in tmx_fault(tmp_path, "<xliff version='1.2'/>")
    assert "root element is 'html', not TMX" in tmx_fault(tmp_path, "<html><tmx/></html>")
    assert "line 1, column 1" in tmx_fault(tmp_path, "Hola\tHello\n")
    assert "no such file" in fault(lambda: Tmx(tmp_path / "none.tmx", ES_EN))


def test_a_unit_inside_of_a_unit_is_refused(tmp_path: Path) -> None:
    inner = unit(("es", "a"), ("en", "b"))
    assert "line 4: a unit inside the unit of line 3" in tmx_fault(tmp_path, document(f"<tu>\n{inner}</tu>"))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("<tu><tuv xml:lang='es'><seg>" + "a " * 2**21, "line 3: the texts of a unit are longer than 1 MiB"),
        ("<!-- " + "a " * 2**21, "a tag or comment is longer than 1 MiB"),
        ("<a>" * 2**20, "more than 1000 deep"),
    ],
)
def test_giants_are_errors_within_bounded_memory(
    tmp_path: Path, body: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tmx, "LONGEST_LINE", 2**20)
    path = write(tmp_path / "memory.tmx", document(body))
    del body
    tracemalloc.start()
    message = fault(lambda: Tmx(path, ES_EN))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert why in message
    assert peak < 2**22


def test_a_big_file_of_small_units_is_no_giant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tmx, "LONGEST_LINE", 2**12)
    assert len(read(tmp_path, unit(("es", "a" * 2**11), ("en", "b" * 2**10)) * 30)) == 30


@packed
def test_memory_stays_flat(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    body = unit(("es", "una frase " * 150), ("en", "a sentence " * 150)) * 3_000
    path = write(tmp_path / "memory.tmx", pack(document(body).encode()))
    check_memory(lambda: Tmx(path, Wanted()), 3_000)


# --- any text ---

TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff").filter(
        lambda c: c >= " " or c in "\t\n\r"
    ),
    max_size=20,
)
ROWS = st.lists(st.tuples(TEXT, TEXT), max_size=8)


@any_text
@given(
    rows=ROWS, encoding=st.sampled_from(["utf-8", "utf-16"]), block=st.sampled_from([1, 7, 2**16]), pack=st.booleans()
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], encoding: str, block: int, pack: bool
) -> None:
    body = "".join(
        unit(*((tag, escape(text, {"\r": "&#13;"})) for tag, text in zip(("es", "en"), row, strict=True)))
        for row in rows
    )
    content = document(body, f'<?xml version="1.0" encoding="{encoding}"?>').encode(encoding)
    path = write(tmp_path_factory.getbasetemp() / "any.tmx", PACKERS[pack](content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tmx, "_BLOCK", block)
        assert texts(Tmx(path, ES_EN)) == rows

"""CSV, and TSV with chosen columns: any dialect, odd rows, quotes that do not fit, and the choice of columns."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.data.readers import Wanted, open_pairs, table
from mirada.data.readers.table import Table
from mirada.data.records import Record
from mirada.errors import UsageError
from tests.data.readers import PACKERS, any_text, check_memory, fault, packed, texts, write

ANY = Wanted()
ES_EN = Wanted(source_language="es", target_language="en")


def read(tmp_path: Path, content: str, wanted: Wanted = ANY, name: str = "table.csv") -> list[tuple[str, ...]]:
    return texts(Table(write(tmp_path / name, content), wanted))


def table_fault(tmp_path: Path, content: str, wanted: Wanted = ANY, name: str = "table.csv") -> str:
    path = write(tmp_path / name, content)
    message = fault(lambda: Table(path, wanted))
    assert str(path) in message
    return message


# --- rows ---


def test_every_row_gives_a_pair_with_its_first_line(tmp_path: Path) -> None:
    content = 'a;b\r\n\r\n"c\r\nd";" e ""f"""\n;g\nh;\ni;j;k\nl\n ; \n"m;n\n";o'
    path = write(tmp_path / "table.csv", "\ufeff" + content)
    reader = Table(path, Wanted())
    assert list(reader) == [
        Record(("a", "b"), str(path), 1),
        Record(("", ""), str(path), 2),
        Record(("c\r\nd", ' e "f"'), str(path), 3),
        Record(("", "g"), str(path), 5),
        Record(("h", ""), str(path), 6),
        Record(("i", "j"), str(path), 7, "cell_count"),
        Record(("l", ""), str(path), 8, "cell_count"),
        Record(("", ""), str(path), 9),
        Record(("m;n\n", "o"), str(path), 10),
    ]
    assert list(reader) == list(reader)


@pytest.mark.parametrize("content", ["", "\n\n", " \n\r\n"])
def test_blank_files_are_left_to_later_checks(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, content) == [("", "")] * content.count("\n")


def test_further_columns_are_further_references(tmp_path: Path) -> None:
    content = "en2,es,en,en3\nx,hola,hello,\n,a,b,c\n,d,,\n"
    wanted = Wanted(columns=("es", "en", "en2", "en3"))
    assert read(tmp_path, content, wanted) == [("hola", "hello", "x"), ("a", "b", "", "c"), ("d", "")]


def test_long_cells_are_read_and_the_limit_of_the_csv_module_stays(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    reader = Table(write(tmp_path / "table.csv", "a;" + "b" * (limit + 1) + '\n"' + "c\n" * limit + '";d\n'), Wanted())
    for pair, length in zip(reader, (1, 2 * limit), strict=True):
        assert len(pair.fields[0]) == length
        assert csv.field_size_limit() == limit


@packed
def test_memory_stays_flat(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    row = b'"una frase,\n' + b"otra " * 300 + b'",' + b"a sentence " * 150 + b"\n"
    path = write(tmp_path / "table.csv", pack(row * 3_000))
    check_memory(lambda: Table(path, Wanted()), 3_000)


# --- what stands between cells ---


@pytest.mark.parametrize(
    ("content", "delimiter", "second"),
    [
        ("a,b\nc;d,e\n", "','", "c;d"),
        ("a;b\nc,d;e\n", "';'", "c,d"),
        ("a\tb\nc,d\te;f\n", "tab", "c,d"),
        ("a|b\nc,d|e\n", "'|'", "c,d"),
        ("Hola, amigo;Hello, friend\nHola, tú;Hi, you\n", "';'", "Hola, tú"),
        ('"a;b","c;d"\n"e;f","g;h"\n', "','", "e;f"),
        ("a, b,c\nd,e\nf, g,h\ni,j\nk, l,m\n", "','", "d"),
        ("Hola; tú,Hi; you\nAy; sí,Oh; yes\n", "','", "Ay; sí"),
        ("1,5;2,5\n3,5;4,5\n", "';'", "3,5"),
        ("sep=;\na,b;c\nd,e;f\n", "';'", "d,e"),
        ("SEP=^\r\na,b^c\r\nd,e^f\r\n", "'^'", "d,e"),
        ('"sep=|"\na,b|c\nd,e|f\n', "'|'", "d,e"),
    ],
)
def test_the_delimiter_is_found(tmp_path: Path, content: str, delimiter: str, second: str) -> None:
    reader = Table(write(tmp_path / "table.csv", content), Wanted(columns=("1", "2")))
    assert reader.about.startswith(f"CSV, {delimiter} between cells, columns 1 and 2 of ")
    assert texts(reader)[1][0] == second


def test_the_line_for_excel_is_no_entry(tmp_path: Path) -> None:
    assert read(tmp_path, "sep=;\na;b\n") == [("a", "b")]
    assert [pair.line for pair in Table(write(tmp_path / "t.csv", "sep=;\nes;en\na;b\n"), ES_EN)] == [3]


@pytest.mark.parametrize("name", ["table.tsv", "table.TSV.gz", "table.txt", "table"])
def test_quotes_are_characters_in_tsv(tmp_path: Path, name: str) -> None:
    content = '1\t"a\t b"\n2\tc,"d"\t\r\n3\te\r\tf\r'
    path = write(tmp_path / name, content)
    reader = open_pairs(str(path), Wanted(columns=("2", "3")))
    assert texts(reader) == [('"a', ' b"'), ('c,"d"', ""), ("e\r", "f\r")]
    assert reader.about == "TSV, tab between cells, columns 2 and 3 of 3"


def test_text_without_tabs_may_be_csv(tmp_path: Path) -> None:
    assert read(tmp_path, '"a;b";c\n', name="table.txt") == [("a;b", "c")]


@pytest.mark.parametrize("content", ["una palabra\notra\n", "Hola, tú\nuna\ndos\n", "sep=;\nuna, dos\n"])
def test_a_single_column_is_no_table(tmp_path: Path, content: str) -> None:
    message = table_fault(tmp_path, content)
    assert "no , ; | or tab divides" in message
    assert content.removeprefix("sep=;\n").splitlines()[0] in message
    assert "--source and --target" in message
    assert "no tab divides" in table_fault(tmp_path, "a,b\n", name="table.tsv")


def test_lines_may_end_as_on_old_macs(tmp_path: Path) -> None:
    for content in ("a;b\rc;d\r", '"a";"b"\r"c";"d"\r'):
        assert read(tmp_path, content) == [("a", "b"), ("c", "d")]
    assert read(tmp_path, 'a;"b\rc"\n') == [("a", "b\rc")]
    assert read(tmp_path, "a;b\rc\nd;e\r\r\n") == [("a", "b\rc"), ("d", "e\r")]


# --- quotes that do not fit ---


def test_a_quote_that_is_never_closed_is_located(tmp_path: Path) -> None:
    message = table_fault(tmp_path, 'a;b\n"c\nc";"d\nd";\ne;"f, g\nh;i\n' + "j;k\n" * 1000)
    assert "line 5:" in message
    assert "'\"c" not in message
    assert "never closed" in message
    assert "--set data.quotes=false" in message
    assert "line 3:" in table_fault(tmp_path, 'a;b\n"c\nc";"d\nd\n')
    assert "line 1:" in table_fault(tmp_path, '"c;d\ne;f\n')
    assert "the cell '\"d" in table_fault(tmp_path, 'a;b\n"c;""x""";"d\n')


def test_a_quote_that_is_never_closed_does_not_read_the_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "LONGEST_LINE", 1000)
    path = write(tmp_path / "table.csv", b'a;b\nc;"d\n' + b"e;f\n" * 1000 + b"not UTF-8: \xf1\n")
    monkeypatch.setattr(table, "_SAMPLE_SIZE", 100)
    assert "line 2: the quote" in fault(lambda: Table(path, Wanted()))
    write(path, 'a;b\nc;"' + "d" * 600 + "\n" + "d" * 600 + '"\n')
    assert "line 2: a cell is longer than" in fault(lambda: Table(path, Wanted()))


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ('a;b\nc;d\n"e" f;g\n', ("line 3:", "' f;g", 'cell \'"e" f', "begins in line 3")),
        ('a;b\nc;"d\nx;"e"\n', ("line 3:", "'e\"", "begins in line 2")),
        ('"a";"e" f\n', ("line 1:", "' f", 'cell \'"e" f')),
        ('a;b\n"c"\rd;e\n', ("line 2:", r"'\rd;e")),
    ],
)
def test_text_after_a_closing_quote_is_located(tmp_path: Path, content: str, parts: tuple[str, ...]) -> None:
    message = table_fault(tmp_path, content)
    assert all(part in message for part in (*parts, "write quotes inside a cell twice", "data.quotes=false"))


def test_quotes_can_be_plain_characters(tmp_path: Path) -> None:
    assert read(tmp_path, 'a;b\n"c;d\n"e" f;g""\n', Wanted(quotes=False)) == [
        ("a", "b"),
        ('"c', "d"),
        ('"e" f', 'g""'),
    ]


# --- which columns ---


@pytest.mark.parametrize(
    ("header", "wanted", "columns"),
    [
        ("es,en,id", ES_EN, "es en"),
        ("id,EN_us, es ", ES_EN, "es EN_us"),
        ("en-GB,en,es", ES_EN, "es en"),
        ("id,inglés,Español", ES_EN, "Español inglés"),
        ("English,Castellano,x", ES_EN, "Castellano English"),
        ("spa_Latn,eng_Latn,x", ES_EN, "spa_Latn eng_Latn"),
        ("Português,日本語,x", Wanted(source_language="pt-BR", target_language="ja"), "Português 日本語"),
        ("xx,yy,zz", Wanted(source_language="zz", target_language="xx"), "zz xx"),
        ("id,source,target", Wanted(), "source target"),
        ("Target,Source,id", ES_EN, "Source Target"),
        ("src,trg,id", Wanted(), "src trg"),
        ("source,text,translation", Wanted(), "text translation"),
        ("nota,Original,Traducción", Wanted(), "Original Traducción"),
        ("origem,destino,x", Wanted(), "origem destino"),
        ("en,es", Wanted(), "en es"),
        ("en,es", Wanted(target_language="en"), "es en"),
        ("en,es", Wanted(source_language="es"), "es en"),
        ("x,Spanish,English,y", Wanted(), "Spanish English"),
        ("a,b,C", Wanted(columns=(" c", "A ")), "C a"),
        ("a,b,c", Wanted(columns=("c", "1", "b")), "c a b"),
        ("x,es,en", Wanted(columns=("3", "2")), "en es"),
        ("x,source,target", Wanted(columns=("2", "3")), "source target"),
    ],
)
def test_a_header_says_which_columns(tmp_path: Path, header: str, wanted: Wanted, columns: str) -> None:
    names = header.split(",")
    path = write(tmp_path / "table.csv", f"\n{header}\n" + ",".join(f"text of {name.strip()}" for name in names) + "\n")
    reader = Table(path, wanted)
    chosen = columns.split()
    blank, pair = reader
    assert (blank.fields[0], blank.line) == ("", 1)
    assert pair.fields == tuple(f"text of {name}" for name in chosen)
    assert pair.line == 3
    shown = [repr(name) for name in chosen]
    about = f"columns {', '.join(shown[:-1])} and {shown[-1]} of {len(names)}, named in line 2"
    assert reader.about == f"CSV, ',' between cells, {about}"


def test_two_columns_need_no_header(tmp_path: Path) -> None:
    reader = Table(write(tmp_path / "table.csv", "Hola;Hello\nNo;No\n"), ES_EN)
    assert texts(reader) == [("Hola", "Hello"), ("No", "No")]
    assert reader.about == "CSV, ';' between cells, columns 1 and 2 of 2"
    assert read(tmp_path, "no;no\nx;y\n") == [("no", "no"), ("x", "y")]
    assert read(tmp_path, "1;2;3\n", Wanted(columns=("3", "1"))) == [("3", "1")]


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("7;Hola;Hello\n", ES_EN),
        ("es;fr;nota\n", ES_EN),
        ("en-US;en-GB;es\n", ES_EN),
        ("fr;en\nSalut;Hi\n", ES_EN),
        ("en;es;fr\n", Wanted()),
    ],
)
def test_more_columns_need_a_choice(tmp_path: Path, content: str, wanted: Wanted) -> None:
    path = write(tmp_path / "table.csv", content)
    message = fault(lambda: Table(path, wanted), UsageError)
    cells = content.splitlines()[0].split(";")
    assert f"has {len(cells)} columns" in message
    assert ", ".join(f"{number} '{cell}'" for number, cell in enumerate(cells, 1)) in message
    assert "--columns 1,2 or by name" in message


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        (("es", "inglish"), ("no column 'inglish'", "is 'English' meant", "1 'id', 2 'es', 3 'English', 4 'es2'")),
        (("es", "zzz"), ("no column 'zzz'; it has 1 'id'",)),
        (("1", "5"), ("no column 5; it has 4: 1 'id'",)),
        (("0", "1"), ("no column 0",)),
        (("1", "9" * 5000), ("no column '999",)),
        (("es", "7"), ("no column 7",)),
    ],
)
def test_columns_that_are_not_there_are_named(tmp_path: Path, columns: tuple[str, ...], parts: tuple[str, ...]) -> None:
    message = table_fault(tmp_path, "id, es,English,es2\n1,a,b,c\n", Wanted(columns=columns))
    assert all(part in message for part in parts)


def test_columns_must_be_two_and_unmistakable(tmp_path: Path) -> None:
    path = write(tmp_path / "table.csv", "es,en,EN\n1,2,3\n")
    assert "--columns es:" in fault(lambda: Table(path, Wanted(columns=("es",))), UsageError)
    assert "several columns named 'en'; choose by number" in fault(lambda: Table(path, Wanted(columns=("es", "en"))))


# --- any text ---

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
ROWS = st.lists(st.tuples(TEXT, TEXT), max_size=8)


@any_text
@given(
    rows=ROWS,
    delimiter=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    quote_all=st.booleans(),
    bom=st.booleans(),
    pack=st.booleans(),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    delimiter: str,
    end: str,
    quote_all: bool,
    bom: bool,
    pack: bool,
) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(
        stream, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    )
    # The csv module leaves a carriage return without quotes if lines end in LF, and then it may end a line.
    rows = [(source, target + "." * target.endswith("\r")) for source, target in rows]
    writer.writerows([("source", "target"), *rows])
    content = ("\ufeff" * bom + stream.getvalue()).encode()
    path = write(tmp_path_factory.getbasetemp() / "any.csv", PACKERS[pack](content))
    assert texts(Table(path, Wanted(columns=("source", "target")))) == [
        row if any(text.strip() for text in row) else ("", "") for row in rows
    ]

"""A header is never learned as a pair: it is found by its words or by what stands below it, and that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirada.data.readers import Wanted, open_pairs
from mirada.data.readers.table import Table
from mirada.data.sources import DataConfig
from mirada.errors import UsageError
from tests import toy
from tests.command import run
from tests.data.readers import fault, texts, write

PAIRS = [("Hola", "Hello"), ("Adiós", "Bye"), ("No", "No")]
ES_EN = Wanted(source_language="es", target_language="en")


def rows(header: str, layout: str, between: str) -> str:
    """A table with that header; in the layout s and t stand for a pair, n for the number of the row, x for a text."""
    lines = [header]
    for number, (source, target) in enumerate(PAIRS, 1):
        cells = {"s": source, "t": target, "n": str(number), "x": f"nota {number}"}
        lines.append(between.join(cells[letter] for letter in layout))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("header", "layout", "columns"),
    [
        ("id,Texto (es),Texto (en)", "nst", ("2", "3")),
        ("Nummer,Satz,Übersetzung", "nst", ("2", "3")),  # a text above numbers
        ("context,frase A,frase B", "xst", ("2", "3")),  # another column has a name that is known
        ("English_text,text_es", "ts", ("2", "1")),
        ("sentence1,sentence2", "st", ("1", "2")),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_columns_by_number_do_not_take_the_header(
    tmp_path: Path, header: str, layout: str, columns: tuple[str, ...], suffix: str
) -> None:
    between = "\t" if suffix == "tsv" else ","
    path = write(tmp_path / f"table.{suffix}", rows(header.replace(",", between), layout, between))
    files = DataConfig(files=(str(path),), columns=columns, source_language="es", target_language="en").open()
    assert texts(files) == PAIRS
    assert next(iter(files)).line == 2
    (note,) = files.notes
    assert note == f"{path}: line 1 is read as a header, not as a pair; if it is a pair: --set data.header=false"


@pytest.mark.parametrize("header", ["es\ten", "source\ttarget", "Spanish\tEnglish", "text\ttranslation"])
def test_a_tsv_file_may_have_a_header(tmp_path: Path, header: str) -> None:
    path = write(tmp_path / "pairs.tsv", rows(header, "st", "\t"))
    for wanted in (Wanted(), ES_EN):
        assert texts(open_pairs(str(path), wanted)) == PAIRS


def test_a_header_says_which_column_of_a_tsv_file_is_the_source(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.tsv", rows("English\tSpanish", "ts", "\t"))
    assert texts(open_pairs(str(path), ES_EN)) == PAIRS
    other = write(tmp_path / "other.tsv", rows("fr\ten", "st", "\t"))
    assert "its first row does not say" in fault(lambda: open_pairs(str(other), ES_EN), UsageError)


@pytest.mark.parametrize(
    "first",
    ["No\tNo", "Texto\tHi", "id\tego", "Hola\tHello\tHi there", "7\t7", "la fuente\tthe source", "language\tlanguage"],
)
def test_a_pair_is_not_taken_for_a_header(tmp_path: Path, first: str) -> None:
    path = write(tmp_path / "pairs.tsv", rows(first, "st", "\t"))
    pairs = list(open_pairs(str(path), ES_EN))
    assert pairs[0].fields == tuple(first.split("\t"))
    assert len(pairs) == 4


def test_the_setting_decides(tmp_path: Path) -> None:
    path = write(tmp_path / "table.csv", rows("uno;one", "st", ";"))
    assert texts(Table(path, Wanted(header=True))) == PAIRS
    assert texts(Table(path, Wanted(header=False))) == [("uno", "one"), *PAIRS]
    named = write(tmp_path / "named.tsv", rows("es\ten", "st", "\t"))
    assert texts(open_pairs(str(named), Wanted(header=False))) == [("es", "en"), *PAIRS]
    assert texts(open_pairs(str(named), Wanted(("2", "1"), header=False)))[0] == ("en", "es")
    assert "data.header=false" in fault(lambda: Table(named, Wanted(("es", "en"), header=False)), UsageError)
    assert texts(DataConfig(files=(str(named),), header=False).open())[0] == ("es", "en")


def test_a_check_says_that_a_row_is_taken_for_a_header(tmp_path: Path) -> None:
    content = "Nummer;Satz;Übersetzung\n" + "".join(f"{n};{s};{t}\n" for n, (s, t) in enumerate(toy.pairs(30)))
    path = write(tmp_path / "table.csv", content)
    said = run("check", path, "--columns", "2,3").stdout
    assert "line 1 is read as a header" in said
    assert "30 pairs read" in said


def test_what_is_wanted_of_catalogs_is_not_a_label() -> None:
    wanted = DataConfig(files=("a.po",), fuzzy=True).wanted
    assert (wanted.fuzzy, wanted.labels) == (True, False)

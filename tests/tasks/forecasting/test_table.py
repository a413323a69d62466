"""Series: what is read and what is refused."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirada.errors import DataError, MiradaError, UsageError
from mirada.tasks.forecasting import table as module
from mirada.tasks.forecasting.table import Missing, Series, read_table

PLAIN = "date,close\n2024-01-01,1.5\n2024-01-02,-2e1\n2024-01-03,.25\n"


def read(folder: Path, text: str, columns: Sequence[str] = (), time: str | None = None, **more: Any) -> Series:
    path = folder / more.pop("name", "table.csv")
    path.write_text(text, encoding="utf-8")
    return read_table(path, columns, time, **more)


def fault(folder: Path, text: str, *parts: str, kind: type[MiradaError] = DataError, **more: Any) -> None:
    with pytest.raises(kind) as caught:
        read(folder, text, **more)
    message = str(caught.value)
    assert type(caught.value) is kind
    assert "\n" not in message
    for part in (more.get("name", "table.csv"), *parts):
        assert part in message


# --- reading ---


def test_a_table_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, PLAIN)
    assert found.names == ("close",)
    assert found.values.tolist() == [[1.5], [-20.0], [0.25]]
    assert found.values.dtype == np.float64
    assert found.times == ["2024-01-01", "2024-01-02", "2024-01-03"]
    assert found.lines.tolist() == [2, 3, 4]
    assert found.notes == []
    assert str(found) == "3 rows from 2024-01-01 to 2024-01-03, 1 day apart; 'close'"


def test_gzip_and_tsv_give_the_same(tmp_path: Path) -> None:
    plain = read(tmp_path, PLAIN)
    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(PLAIN.encode()))
    for other in (read_table(packed), read(tmp_path, PLAIN.replace(",", "\t"), name="table.tsv")):
        assert other.fingerprint == plain.fingerprint
        assert other.times == plain.times


def test_the_fingerprint_knows_values_names_and_shape(tmp_path: Path) -> None:
    base = read(tmp_path, PLAIN)
    others = [
        read(tmp_path, PLAIN.replace("1.5", "1.50001")),
        read(tmp_path, PLAIN.replace("close", "open")),
        replace(base, values=base.values.reshape(1, 3)),
    ]
    assert len({base.fingerprint, *(other.fingerprint for other in others)}) == 4


def test_columns_are_chosen_by_name_and_number(tmp_path: Path) -> None:
    text = "day,a,b c,note\n2024-01-01,1,10,x\n2024-01-02,2,20,y\n"
    found = read(tmp_path, text, ["B C", "2"])
    assert found.names == ("b c", "a")
    assert found.values.tolist() == [[10, 1], [20, 2]]


def test_without_a_header_columns_have_numbers(tmp_path: Path) -> None:
    found = read(tmp_path, "2024-01-01,ABC,5\n2024-01-02,ABC,6\n")
    assert found.names == ("column 3",)
    assert found.lines.tolist() == [1, 2]
    assert found.values.tolist() == [[5], [6]]
    fault(tmp_path, "2024-01-01,5\n2024-01-02,6\n", "no header to find 'close'", "by number", columns=["close"])


def test_a_single_column_is_enough(tmp_path: Path) -> None:
    found = read(tmp_path, "x\n3\n1\n2\n")
    assert (found.names, found.values.tolist(), found.times) == (("x",), [[3], [1], [2]], None)
    assert "order of the file" in found.notes[0]


def test_which_column_must_be_said(tmp_path: Path) -> None:
    text = "Date,Adj Close,Volume,Who\n2024-01-01,1,2,x\n2024-01-02,1,3,y\n"
    parts = "which column? 'Adj Close', 'Volume' are numbers: --column 'Adj Close'"
    fault(tmp_path, text, parts, kind=UsageError)
    fault(tmp_path, text, "no column 'volum' (is 'Volume' meant?)", columns=["volum"])
    fault(tmp_path, text, "no column 9; it has 4", columns=["9"])
    fault(tmp_path, text, "'Volume' is asked for twice", kind=UsageError, columns=["Volume", "3"])
    fault(tmp_path, text, "'Date' is asked for twice", kind=UsageError, columns=["1"], time="Date")
    fault(tmp_path, "Date,Who\n2024-01-01,x\n2024-01-02,y\n", "no column of numbers", "'Who'")


@pytest.mark.parametrize(
    "cell", ["1,234.50", "1.234,50", "12 %", "5 kg", "1_000", "0x10", "--1", "1e", "٣", "abc", "12,5"]
)
def test_what_is_not_plainly_a_number_is_refused(tmp_path: Path, cell: str) -> None:
    text = f'date,close\n2024-01-01,1\n\n2024-01-02,"{cell}"\n'
    fault(tmp_path, text, f"table.csv, line 4, column 'close': '{cell}' is not a number", columns=["close"])


@pytest.mark.parametrize("cell", ["1e400", "-1e101"])
def test_what_is_too_large_is_refused(tmp_path: Path, cell: str) -> None:
    fault(tmp_path, f"t,x\n2024-01-01,{cell}\n", f"line 2, column 'x': '{cell}' is too large")


@pytest.mark.parametrize("cell", ["inf", "-Infinity"])
def test_infinities_are_refused(tmp_path: Path, cell: str) -> None:
    fault(tmp_path, f"t,x\n2024-01-01,{cell}\n", f"line 2, column 'x': '{cell}' is not a number", columns=["x"])


def test_decimal_commas_where_they_are_plain(tmp_path: Path) -> None:
    found = read(tmp_path, "date;x\n31.12.2023;12,5\n01.01.2024;1,234\n02.01.2024;7\n03.01.2024;0,125\n")
    assert found.values[:, 0].tolist() == [12.5, 1.234, 7, 0.125]
    fault(
        tmp_path,
        "date;x\n2024-01-01;1,234\n2024-01-02;7\n",
        "line 2",
        "'1,234' may have a decimal comma or a thousands",
    )
    fault(
        tmp_path, "date;x\n2024-01-01;1,5\n2024-01-02;7.5\n", "line 2", "'1,5' has a decimal comma, but '7.5' in line 3"
    )
    fault(tmp_path, "date;x\n2024-01-01;1,234\n2024-01-02;7.5\n", "'1,234'", "'7.5' in line 3")


def test_tables_that_are_none(tmp_path: Path) -> None:
    fault(tmp_path, "", "is empty")
    fault(tmp_path, "date,close\n", "no rows of numbers below its header", columns=["close"])
    fault(tmp_path, "date,close\n2024-01-01,1\n2024-01-02,1,2\n", "line 3: has 3 cells where the first row has 2")
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "nothing.csv")
    (tmp_path / "latin.csv").write_bytes("día,x\n2024-01-01,1\n".encode("latin1"))
    with pytest.raises(DataError, match=r"latin.csv, line 1: not UTF-8; convert it with `iconv"):
        read_table(tmp_path / "latin.csv")


def test_reading_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CELLS", 4)
    text = "t,x,y\n2024-01-01,1,2\n2024-01-02,1,2\n2024-01-03,1,2\n"
    assert len(read(tmp_path, text, ["x"]).values) == 3
    fault(tmp_path, text, "line 4: more than 4 cells", columns=["x", "y"])


def test_empty_rows_are_counted(tmp_path: Path) -> None:
    found = read(tmp_path, "t,x\n2024-01-01,1\n\n,\n2024-01-02,2\n")
    assert found.lines.tolist() == [2, 5]
    assert found.notes == ["2 empty rows left out"]


# --- missing values ---

CELLS = ["NA,1", "1,2", ",nan", ".,5", "7,-", "8,9", "null,9"]
GAPS = "t,x,y\n" + "".join(f"2024-01-0{day},{cells}\n" for day, cells in enumerate(CELLS, 1))


def test_missing_values_are_refused_with_a_way_out(tmp_path: Path) -> None:
    parts = (
        "line 2, column 'x': no value, and 6 are missing in 5 of 7 rows",
        "data.missing=interpolate",
        "missing=drop",
    )
    fault(tmp_path, GAPS, *parts, columns=["x", "y"])


def test_missing_values_are_filled_in(tmp_path: Path) -> None:
    found = read(tmp_path, GAPS, ["x", "y"], missing="interpolate")
    assert found.values.tolist() == [[1, 2], [3, 3.5], [5, 5], [7, 7], [8, 9]]
    assert found.lines.tolist() == [3, 4, 5, 6, 7]
    assert found.times == [f"2024-01-0{day}" for day in range(2, 7)]
    assert found.notes[0].startswith("4 missing values filled in")
    assert found.notes[1].startswith("2 rows at the ends left out")


def test_missing_values_are_dropped(tmp_path: Path) -> None:
    found = read(tmp_path, GAPS, ["x", "y"], missing="drop")
    assert found.values.tolist() == [[1, 2], [8, 9]]
    assert found.times == ["2024-01-02", "2024-01-06"]
    assert found.notes[0].startswith("5 of 7 rows left out")


@pytest.mark.parametrize("missing", ["interpolate", "drop"])
def test_nothing_but_missing_values(tmp_path: Path, missing: Missing) -> None:
    fault(tmp_path, "t,x\n2024-01-01,\n2024-01-02,NA\n", "every row lacks a value", columns=["x"], missing=missing)


def test_columns_that_never_overlap(tmp_path: Path) -> None:
    text = "t,x,y\n2024-01-01,1,\n2024-01-02,2,\n2024-01-03,,3\n2024-01-04,,4\n"
    fault(tmp_path, text, "no values at the same time", columns=["x", "y"], missing="interpolate")


# --- times ---


def test_the_time_column_is_found(tmp_path: Path) -> None:
    dated = read(tmp_path, ",day,x\n0,2024-01-01,5\n1,2024-01-02,4\n2,2024-01-03,3\n", ["x"])
    counted = read(tmp_path, "t,x\n0,5\n2,4\n4,9\n")
    years = read(tmp_path, "x,year\n5,1999\n4,2000\n9,2001\n")
    assert (dated.times, counted.times) == (["2024-01-01", "2024-01-02", "2024-01-03"], ["0", "2", "4"])
    assert (years.times, years.names) == (["1999", "2000", "2001"], ("x",))
    assert read(tmp_path, "a,x\n1500,5\n1700,4\n1600,9\n", ["x"]).times is None  # numbers, not years in order
    assert read(tmp_path, "when,a,x\n1,5,2\n5,9,2\n6,4,2\n", ["x"], "when").times == ["1", "5", "6"]


def test_numbers_that_began_like_years(tmp_path: Path) -> None:
    rows = [f"{number},5\n" for number in range(1900, 2400)]
    assert read(tmp_path, "n,x\n" + "".join(rows)).times == [str(number) for number in range(1900, 2400)]
    fault(tmp_path, "n,x\n" + "".join(rows) + "1999,5\n", "line 502", "'1999' is earlier than '2399'")
    fault(tmp_path, "n,x\n" + "".join(rows) + "soon,5\n", "line 502", "'soon' is not a time")


def test_newest_first_is_turned_round(tmp_path: Path) -> None:
    found = read(tmp_path, "t,x\n2024-01-03,1\n2024-01-02,2\n2024-01-01,3\n")
    assert found.values[:, 0].tolist() == [3, 2, 1]
    assert found.lines.tolist() == [4, 3, 2]
    assert found.times == ["2024-01-01", "2024-01-02", "2024-01-03"]
    assert found.notes == ["newest row first: order reversed"]


@pytest.mark.parametrize(
    ("days", "parts"),
    [
        ("01 02 05 04", ("line 5", "'2024-01-04' is earlier than '2024-01-05' in line 4; sort")),
        (
            "05 04 06",
            ("line 4", "'2024-01-06' is later than '2024-01-04' in line 3, but line 3 is earlier than line 2"),
        ),
        ("01 02 02", ("line 4", "'2024-01-02' is the time of line 3 too")),
        ("03 03", ("line 3", "is the time of line 2 too")),
        ("03 02 02", ("line 4", "is the time of line 3 too")),
    ],
)
def test_rows_out_of_order_are_refused(tmp_path: Path, days: str, parts: tuple[str, str]) -> None:
    text = "t,x\n" + "".join(f"2024-01-{day},1\n" for day in days.split())
    fault(tmp_path, text, "column 't'", *parts)


@pytest.mark.parametrize("label", ["", "soon", "2024-02-30", "01/02/2024", "2024-01-02 10:00", "05.01.2024"])
def test_what_is_no_time_is_refused(tmp_path: Path, label: str) -> None:
    rows = "".join(f"2024-01-{day:02},1\n" for day in range(1, 8))
    fault(tmp_path, f"t,x\n{rows}{label},1\n", "line 9, column 't': ", "times are read as 2024-05-31")


def test_a_time_column_that_has_no_times(tmp_path: Path) -> None:
    fault(tmp_path, "who,x\nme,1\nyou,2\n", "line 2, column 'who': 'me' is not a time", time="who")


def test_zones_order_by_the_moment(tmp_path: Path) -> None:
    labels = ["2024-10-27T02:30+02:00", "2024-10-27T02:00+01:00", "2024-10-27T02:30+01:00", "2024-10-27T01:45Z"]
    assert read(tmp_path, "t,x\n" + "".join(f"{label},1\n" for label in labels)).times == labels

"""Tables of a million columns, rows and units without end, deep and huge JSON: one clear line, in bounded time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirada.data.images import sources
from mirada.data.readers import Wanted, open_pairs, table
from mirada.data.readers.pair import MAX_COLUMNS
from mirada.errors import DataError, UsageError
from mirada.tasks.forecasting.table import read_table
from tests.data.readers import fault, texts, write

ES_EN = Wanted(source_language="es", target_language="en")


@pytest.mark.parametrize("suffix", ["tsv", "csv"])
@pytest.mark.parametrize("wanted", [Wanted(), ES_EN, Wanted(("1", "2")), Wanted(("c1", "zz"))])
def test_a_table_of_200_000_columns_is_refused_at_once(tmp_path: Path, suffix: str, wanted: Wanted) -> None:
    row = ("," if suffix == "csv" else "\t").join(f"c{number}" for number in range(200_000)) + "\n"
    path = write(tmp_path / f"wide.{suffix}", row * 3)
    assert f"{path}, line 1: 200,000 columns; the limit is 10,000" in fault(lambda: open_pairs(str(path), wanted))


@pytest.mark.parametrize("row", ["{}\n", '"{}"\n'])
def test_as_many_columns_as_may_be_are_looked_at_in_moments(tmp_path: Path, row: str) -> None:
    between = '","' if '"' in row else ","
    header = row.format(between.join(f"c{number}" for number in range(MAX_COLUMNS)))
    path = write(tmp_path / "wide.csv", header + header.replace("c", "x") * 3)
    assert "has 10000 columns" in fault(lambda: open_pairs(str(path), ES_EN), UsageError)
    assert "is 'c17' meant" in fault(lambda: open_pairs(str(path), Wanted(("c1", "c17_"))))
    assert len(texts(open_pairs(str(path), Wanted(("c1", "c10"))))) == 3


def test_wide_tables_of_numbers(tmp_path: Path) -> None:
    header = ",".join(f"c{number}" for number in range(MAX_COLUMNS))
    numbers = "\n".join(",".join(str(row * number % 7) for number in range(MAX_COLUMNS)) for row in range(6))
    path = write(tmp_path / "wide.csv", f"{header}\n{numbers}\n")
    assert "which column?" in fault(lambda: [read_table(path)], UsageError)
    assert read_table(path, ["c3"]).values[:3, 0].tolist() == [0, 3, 6]
    wider = write(tmp_path / "wider.csv", f"{header},{header}\n")
    assert "line 1: 20,000 columns" in fault(lambda: [read_table(wider)])


def test_a_row_that_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "LONGEST_LINE", 2**20)
    path = write(tmp_path / "endless.csv", 'a,b\n"' + '","\n' * 2**20)
    assert "line 2: a row is longer than 2 MiB; close its quotes" in fault(lambda: open_pairs(str(path), ES_EN))


def test_a_unit_that_never_ends_is_refused(tmp_path: Path) -> None:
    variants = '<tuv xml:lang="es"><seg/></tuv>' * 10_001
    path = write(tmp_path / "endless.tmx", f"<tmx><header/><body>\n<tu>{variants}</tu></body></tmx>")
    assert "line 2: a unit with more than 10,000 texts" in fault(lambda: open_pairs(str(path), ES_EN))


@pytest.mark.parametrize("value", ["[" * 200_000, '{"a":' * 200_000, "[" * 200_000 + "]" * 200_000])
def test_deep_json_is_refused(tmp_path: Path, value: str) -> None:
    path = write(tmp_path / "deep.jsonl", '{"es": "a", "en": "b"}\n' + value + "\n")
    message = fault(lambda: open_pairs(str(path), ES_EN))
    assert message.startswith(f"{path}, line 2")
    assert "too deep" in message


def test_huge_numbers_in_json_are_no_texts(tmp_path: Path) -> None:
    path = write(tmp_path / "huge.jsonl", '{"es": "a", "en": "b"}\n{"es": ' + "9" * 100_000 + ', "en": 1e999999}\n')
    assert [pair.problem for pair in open_pairs(str(path), ES_EN)] == ["", "not_text"]


def test_a_header_of_arrays_is_no_pair(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", '["es", "en"]\n["Hola", "Hello"]\n')
    assert texts(open_pairs(str(path))) == [("Hola", "Hello")]
    assert texts(open_pairs(str(path), Wanted(header=False))) == [("es", "en"), ("Hola", "Hello")]


def test_labels_of_an_archive_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "images.npz"
    np.savez(path, images=np.zeros((100, 4, 4), np.uint8), labels=np.arange(100))
    monkeypatch.setattr(sources, "MAX_LABELS", 99)
    with pytest.raises(DataError, match="800 bytes of labels; 99 is the most"):
        sources.open_images(str(path), "train")
    with pytest.raises(DataError, match="/dev/zero: is not a regular file"):
        sources.open_images("/dev/zero", "train")

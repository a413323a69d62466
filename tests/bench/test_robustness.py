"""The figures of `python -m bench robustness`, for outputs that are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.noise import Altered, Case
from bench.robustness import Output, main, measure, missing, odd_length, repeats


def test_a_span_counts_if_it_is_there_exactly_and_as_often() -> None:
    altered = Altered("", "", ("4721", "4721", "%s", "<b>"))
    assert missing(altered, "<b>4721 %s 4721") == []
    assert missing(altered, "<b>4721, %s 47210") == ["4721"]
    assert missing(altered, "4,721 % s") == ["4721", "4721", "%s", "<b>"]


def test_loops_and_odd_lengths() -> None:
    assert repeats("no no no no")
    assert not repeats("it is what it is")
    assert odd_length("A sentence of some words.", "")
    assert odd_length("A sentence of some words.", "word " * 40)
    assert not odd_length("Run!", "Corra já!")


def test_a_row_has_the_scores_and_the_shares() -> None:
    inputs = [
        Case("numbers", (), Altered("I saw 47 cats.", "Eu vi 47 gatos.", ("47",))),
        Case("numbers", (), Altered("I saw 53 dogs.", "Eu vi 53 cães.", ("53",))),
    ]
    outputs = [Output("Eu vi 47 gatos.", ()), Output("Eu vi 5 cães cães cães cães.", ("repetition", "lost"))]
    clean = [("Eu vi 5 gatos.", "Eu vi 5 gatos."), ("Eu vi 6 cães.", "Eu vi 6 cães.")]
    row = measure("ours", inputs, outputs, clean, "13a")
    assert (row.kind, row.system, row.lines, row.spans) == ("numbers", "ours", 2, 2)
    assert row.clean == pytest.approx(100)
    assert row.chrf is not None
    assert row.chrf < 90
    assert (row.kept, row.loops, row.length, row.flagged) == (0.5, 0.5, 0.0, 0.5)


def test_input_without_a_right_translation_has_shares_only() -> None:
    inputs = [Case("repeated", (), Altered("no no no no no", None))]
    row = measure("peer", inputs, [Output("não não não não")], [("Não.", "Não.")], "13a")
    assert (row.clean, row.chrf, row.bleu, row.kept, row.flagged) == (None, None, None, None, None)
    assert row.loops == 1


def test_bad_arguments_end_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([str(tmp_path / "no-bundle"), str(tmp_path / "no-test.tsv")])
    assert "no-test.tsv" in str(end.value)
    (tmp_path / "rows.json").touch()
    for wrong in (["--json", tmp_path / "rows.json"], ["--peer", tmp_path / "no-peer"], ["--sentences", 0]):
        with pytest.raises(SystemExit):
            main(["bundle", "test.tsv", *map(str, wrong)])
        assert str(wrong[0]) in capsys.readouterr().err

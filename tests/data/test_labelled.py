"""Labelled texts: read, checked, split by class; everything left out is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirada.contracts import EOS
from mirada.data.labelled import LabelledBatches, LabelledConfig, PreparedTexts, dump, load, prepare
from mirada.data.tokenizer import TokenizerConfig
from mirada.errors import DataError, UsageError
from tests import reviews


def ready(folder: Path, rows: list[tuple[str, str]], **settings: Any) -> PreparedTexts:
    path = reviews.write(folder / "reviews.csv", rows)
    data = LabelledConfig(files=(str(path),), **settings)
    return prepare(data, TokenizerConfig(unit="words"), folder / "data", lambda what, done, total: None)


def test_each_class_is_held_out_in_the_same_share_and_no_text_is_on_both_sides(tmp_path: Path) -> None:
    rows = reviews.rows(200)
    rows = [(text, label) for text, label in rows if label == "good"] + rows[1:60:2]  # unbalanced
    prepared = ready(tmp_path, rows)
    assert prepared.labels == ["bad", "good"]
    counts = {label: sum(own == label for _, own in prepared.dev) for label in prepared.labels}
    assert counts == {"bad": 3, "good": 10}
    assert prepared.report.classes == {"bad": 27, "good": 90}
    training = {prepared.tokenizer.decode([ids])[0] for ids in texts(prepared)}
    held = set(prepared.tokenizer.decode(prepared.tokenizer.encode([text for text, _ in prepared.dev])))
    assert len(training) == 117
    assert not training & held


def texts(prepared: PreparedTexts) -> list[list[int]]:
    side = prepared.corpus.source
    return [side.ids[a:b].tolist() for a, b in zip(side.offsets[:-1], side.offsets[1:], strict=True)]


def test_what_is_left_out_is_named_with_file_and_line(tmp_path: Path) -> None:
    rows = reviews.rows(60)
    rows[5] = ("", "good")
    rows[6] = ("una película", "")
    rows[7] = rows[0]  # the same again
    rows[8] = (rows[1][0], "good")  # the same with another label: neither is learned from
    prepared = ready(tmp_path, rows)
    listed = (tmp_path / "data" / "excluded.tsv").read_text(encoding="utf-8").splitlines()
    found = {tuple(line.split("\t")[1:]) for line in listed}
    assert found == {
        ("7", "labels without a text"),
        ("8", "texts without a label"),
        ("9", "exact duplicates of an earlier text"),
        ("3", "texts that occur with different labels"),
        ("10", "texts that occur with different labels"),
    }
    assert sum(prepared.report.excluded.values()) == 5
    assert prepared.report.training + prepared.report.dev == 55
    (tmp_path / "all").mkdir()
    kept = ready(tmp_path / "all", rows, contradictions="keep", duplicates="keep")
    assert kept.report.training + kept.report.dev == 58


def test_long_texts_are_cut_and_counted(tmp_path: Path) -> None:
    rows = [(f"uno dos tres cuatro cinco {number}", "ab"[number % 2]) for number in range(40)]
    prepared = ready(tmp_path, rows, max_tokens=4)
    assert prepared.report.cut == prepared.report.training
    assert {len(ids) for ids in texts(prepared)} == {4}


def test_texts_of_a_dev_file_are_not_learned_from(tmp_path: Path) -> None:
    rows = reviews.rows(60)
    dev = reviews.write(tmp_path / "dev.csv", rows[:10])
    prepared = ready(tmp_path, rows, dev=(str(dev),))
    assert prepared.dev == rows[:10]
    assert prepared.report.training == 50
    assert prepared.report.excluded == {"texts that are also in the dev part": 10}


def test_a_second_call_opens_what_the_first_made(tmp_path: Path) -> None:
    first = ready(tmp_path, reviews.rows(60))
    again = ready(tmp_path, reviews.rows(60, seed=9))
    assert again.corpus.fingerprint == first.corpus.fingerprint
    assert again.dev == first.dev
    assert load(dump(first.dev)) == first.dev


def test_batches_hold_texts_with_their_labels(tmp_path: Path) -> None:
    prepared = ready(tmp_path, reviews.rows(60))
    truth = dict(reviews.rows(60))
    lower = {text.lower().replace(":", " :").replace(",", " ,"): label for text, label in truth.items()}
    batches = LabelledBatches(prepared.corpus, 300, seed=1)
    seen = 0
    for rows in batches.epoch(0):
        batch = batches.load(rows)
        assert batch.truth is not None
        for ids, length, label in zip(batch.inputs.tolist(), batch.lengths.tolist(), batch.truth.tolist(), strict=True):
            assert ids[length - 1] == EOS
            assert not any(ids[length:])
            assert lower[prepared.tokenizer.decode([ids[: length - 1]])[0]] == prepared.labels[label]
            seen += 1
    assert seen == len(prepared.corpus)
    assert np.isclose(batches.padding(), 0, atol=0.3)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([("a b", "x")] * 4, "1 labelled texts|4 labelled texts"),
        ([(f"text {n}", "x") for n in range(30)], "all texts have the label 'x'"),
        (
            [(f"text {n}", "xy"[n % 2]) for n in range(30)] + [("other", "z")],
            "line 32: the label 'z' has a single text",
        ),
        (
            [(f"t {n}", f"label {n}") for n in range(1200)],
            "line 1002: over 1,000 different labels, the last is 'label 1000'",
        ),
        ([("", "x")] * 30, "0 labelled texts \\(left out: 30 labels without a text\\)"),
    ],
)
def test_bad_data_is_refused(tmp_path: Path, rows: list[tuple[str, str]], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        ready(tmp_path, rows)


def test_columns_that_nobody_can_guess_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("".join(f"{n},x,{'ab'[n % 2]},the text number {n}\n" for n in range(40)), encoding="utf-8")
    settings = {"files": (str(path),)}
    with pytest.raises(UsageError, match="choose them with --columns"):
        prepare(LabelledConfig(**settings), TokenizerConfig(), tmp_path / "d", lambda *told: None)
    data = LabelledConfig(**settings, columns=("4", "3"))
    prepared = prepare(data, TokenizerConfig(unit="words"), tmp_path / "d", lambda *told: None)
    assert prepared.labels == ["a", "b"]

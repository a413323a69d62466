"""Labelled texts: read, checked, split by class; everything left out is named."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirada.contracts import EOS
from mirada.data.folder import finish
from mirada.data.preparation import Prepared
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.errors import ConfigError, DataError, MiradaError, UsageError
from mirada.tasks.classification.data import ClassificationData, LabelledBatches, LabelledConfig, framed
from mirada.training.run import check_config
from tests import reviews
from tests.preparing import prepare


def ready(folder: Path, rows: list[tuple[str, str]], **settings: Any) -> Prepared:
    path = reviews.write(folder / "reviews.csv", rows)
    data = LabelledConfig(files=(str(path),), **settings)
    return prepare("classification", folder / "data", data=data, tokenizer=TokenizerConfig(unit="words"))


def test_each_class_is_held_out_in_the_same_share_and_no_text_is_on_both_sides(tmp_path: Path) -> None:
    rows = reviews.rows(200)
    rows = [(text, label) for text, label in rows if label == "good"] + rows[1:60:2]  # unbalanced
    prepared = ready(tmp_path, rows)
    assert prepared.preprocessor.labels == ["bad", "good"]
    counts = {label: sum(own == label for _, own in prepared.dev) for label in prepared.preprocessor.labels}
    assert counts == {"bad": 3, "good": 10}
    assert prepared.about.classes == {"bad": 27, "good": 90}
    training = {prepared.preprocessor.tokenizer.decode([ids])[0] for ids in texts(prepared)}
    held = set(
        prepared.preprocessor.tokenizer.decode(
            prepared.preprocessor.tokenizer.encode([text for text, _ in prepared.dev])
        )
    )
    assert len(training) == 117
    assert not training & held


def texts(prepared: Prepared) -> list[list[int]]:
    side = prepared.store.source
    return [side.ids[a:b].tolist() for a, b in zip(side.offsets[:-1], side.offsets[1:], strict=True)]


def test_what_is_left_out_is_named_with_file_and_line(tmp_path: Path) -> None:
    rows = reviews.rows(60)
    rows[5] = ("", "good")
    rows[6] = ("una película", "")
    rows[7] = rows[0]  # the same again
    rows[8] = (rows[1][0], "good")  # the same with another label: neither is learned from
    prepared = ready(tmp_path, rows)
    listed = (tmp_path / "data" / "excluded.tsv").read_text(encoding="utf-8").splitlines()
    found = {tuple(line.split("\t")[1:3]) for line in listed}
    assert found == {
        ("7", "no_text"),
        ("8", "no_label"),
        ("9", "duplicate"),
        ("3", "contradiction"),
        ("10", "contradiction"),
    }
    assert sum(prepared.about.excluded.values()) == 5
    assert prepared.about.training + prepared.about.dev == 55
    (tmp_path / "all").mkdir()
    kept = ready(tmp_path / "all", rows, contradictions="keep", duplicates="keep")
    assert kept.about.training + kept.about.dev == 58


def test_long_texts_are_cut_and_counted(tmp_path: Path) -> None:
    rows = [(f"uno dos tres cuatro cinco {number}", "ab"[number % 2]) for number in range(40)]
    prepared = ready(tmp_path, rows, max_tokens=4)
    assert prepared.about.cut == prepared.about.training
    assert {len(ids) for ids in texts(prepared)} == {4}


def test_texts_of_a_dev_file_are_not_learned_from(tmp_path: Path) -> None:
    rows = reviews.rows(60)
    dev = reviews.write(tmp_path / "dev.csv", rows[:10])
    prepared = ready(tmp_path, rows, dev=(str(dev),))
    assert prepared.dev == rows[:10]
    assert prepared.about.training == 50
    assert prepared.about.excluded == {"in_dev": 10}


def test_a_second_call_opens_what_the_first_made(tmp_path: Path) -> None:
    first = ready(tmp_path, reviews.rows(60))
    again = ready(tmp_path, reviews.rows(60, seed=9))
    assert again.store.fingerprint == first.store.fingerprint
    assert again.dev == first.dev
    assert ClassificationData.load(ClassificationData.dump(first.dev)) == first.dev


def test_batches_hold_texts_with_their_labels(tmp_path: Path) -> None:
    prepared = ready(tmp_path, reviews.rows(60))
    truth = dict(reviews.rows(60))
    lower = {text.lower().replace(":", " :").replace(",", " ,"): label for text, label in truth.items()}
    batches = LabelledBatches(prepared.store, 300, seed=1)
    seen = 0
    for rows in batches.epoch(0):
        batch = batches.load(rows)
        assert batch.truth is not None
        for ids, length, label in zip(batch.inputs.tolist(), batch.lengths.tolist(), batch.truth.tolist(), strict=True):
            assert ids[length - 1] == EOS
            assert not any(ids[length:])
            assert (
                lower[prepared.preprocessor.tokenizer.decode([ids[: length - 1]])[0]]
                == prepared.preprocessor.labels[label]
            )
            seen += 1
    assert seen == len(prepared.store)
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
        ([("", "x")] * 30, "0 labelled texts \\(left out: 30 labels without text\\)"),
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
        prepare("classification", tmp_path / "d", data=LabelledConfig(**settings), tokenizer=TokenizerConfig())
    data = LabelledConfig(**settings, columns=("4", "3"))
    prepared = prepare("classification", tmp_path / "d", data=data, tokenizer=TokenizerConfig(unit="words"))
    assert prepared.preprocessor.labels == ["a", "b"]


# --- two parts ---


def paired(folder: Path, rows: list[tuple[str, str, str]], name: str = "data", **settings: Any) -> Prepared:
    """Prepares a table of pairs, whose columns stand in another order."""
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([("same", "b", "id", "a"), *((label, b, 7, a) for a, b, label in rows)])
    data = LabelledConfig(files=(str(folder / f"{name}.csv"),), columns=("a", "b", "same"), **settings)
    return prepare("classification", folder / name, data=data, tokenizer=TokenizerConfig(unit="words"))


PAIRS = [(f"uno {n}", f"dos {n if n % 2 else -n} ?", "yes" if n % 2 else "no") for n in range(1, 61)]


def test_pairs_are_read_with_an_end_between_them_and_segments(tmp_path: Path) -> None:
    prepared = paired(tmp_path, PAIRS)
    assert (prepared.about.parts, prepared.about.training, len(prepared.dev)) == (2, 54, 6)
    known = {f"{a}\t{b}": label for a, b, label in PAIRS}
    assert all(known[text] == label for text, label in prepared.dev)
    assert ClassificationData.load(ClassificationData.dump(prepared.dev)) == prepared.dev
    batches, seen = LabelledBatches(prepared.store, 100, 1, prepared.about.parts), 0
    for rows in batches.epoch(0):
        batch = batches.load(rows)
        assert batch.truth is not None
        assert batch.segments is not None
        for ids, length, segment, label in zip(
            batch.inputs.tolist(), batch.lengths.tolist(), batch.segments.tolist(), batch.truth.tolist(), strict=True
        ):
            middle = ids.index(EOS)
            assert segment[:length] == [0] * (middle + 1) + [1] * (length - middle - 1)
            assert ids[length - 1] == EOS
            a, b = prepared.preprocessor.tokenizer.decode([ids[:middle], ids[middle + 1 : length - 1]])
            assert known[f"{a}\t{b.replace('- ', '-')}"] == prepared.preprocessor.labels[label]
            seen += 1
    assert seen == 54


def test_pairs_that_are_left_out_are_named(tmp_path: Path) -> None:
    rows = list(PAIRS)
    rows[3] = ("", "dos", "yes")
    rows[4] = ("uno", " ", "yes")
    rows[5] = ("uno", "dos", "")
    rows[6] = ("", "", "no")
    rows[7] = rows[0]
    rows[8] = (*rows[1][:2], "yes")
    rows[9] = (rows[10][1], rows[10][0], "no")  # the other way round is another pair
    prepared = paired(tmp_path, rows)
    listed = (tmp_path / "data" / "excluded.tsv").read_text(encoding="utf-8").splitlines()
    assert {tuple(line.split("\t")[1:3]) for line in listed} == {
        ("5", "one_sided"),
        ("6", "one_sided"),
        ("7", "no_label"),
        ("8", "no_text"),
        ("9", "duplicate"),
        ("3", "contradiction"),
        ("10", "contradiction"),
    }
    assert prepared.about.training + prepared.about.dev == 53


def test_pairs_of_a_dev_file_are_not_learned_from(tmp_path: Path) -> None:
    paired(tmp_path, PAIRS[:20], "dev")
    prepared = paired(tmp_path, PAIRS, dev=(str(tmp_path / "dev.csv"),))
    assert prepared.about.excluded == {"in_dev": 20}
    assert prepared.dev == [(f"{a}\t{b}", label) for a, b, label in PAIRS[:20]]


def test_a_tab_inside_of_a_part_is_a_space(tmp_path: Path) -> None:
    prepared = paired(tmp_path, [(f"{a}\tx", b, label) for a, b, label in PAIRS])
    assert all(text.count("\t") == 1 for text, _ in prepared.dev)
    assert all(" x\tdos" in text for text, _ in prepared.dev)


@pytest.mark.parametrize("longest", range(4, 14))
def test_the_longer_part_is_cut(longest: int) -> None:
    words = Tokenizer.learn(["a b"], 9, "words")
    sizes = [(a, b) for a in range(9) for b in range(9)]
    ids, cut = framed(words, [f"{'a ' * a}\t{'b ' * b}" for a, b in sizes], 2, longest)
    for (a, b), row, beyond in zip(sizes, ids, cut, strict=True):
        first, second = row.index(EOS), len(row) - row.index(EOS) - 1
        assert len(row) == min(a + b + 1, longest)
        assert beyond == a + b + 1 - len(row)
        if beyond:  # what was the shorter one is whole, or both are as long as the other
            assert (
                (first, second) == (a, longest - 1 - a)
                or (first, second) == (longest - 1 - b, b)
                or first - second in (0, 1)
            )
            assert first >= min(a, (longest - 1) // 2)
            assert second >= min(b, (longest - 1) // 2)
    assert framed(words, [], 2, longest) == ([], [])


def test_no_more_than_three_columns() -> None:
    data = {"files": ["x.csv"], "columns": ["a", "b", "c", "d"]}
    with pytest.raises(ConfigError, match="columns=a,b,c,d: name a text and its label, or two texts and a label"):
        check_config({"task": "classification", "model": {"name": "lstm"}, "data": data})


def test_a_dev_set_of_other_texts_than_the_labels_say_is_refused(tmp_path: Path) -> None:
    data = ready(tmp_path, reviews.rows(60))
    labels = tmp_path / "data" / "labels.json"
    labels.write_text(json.dumps({"labels": data.preprocessor.labels, "parts": 2}))
    finish(tmp_path / "data", data.about)
    with pytest.raises(DataError, match=r"dev\.jsonl: is damaged"):
        ready(tmp_path, reviews.rows(60))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "a,b,c\n" * 9, "does not say which are text and label: "),
        ("a.csv", "a\n" * 9, "; put one between text and label$"),
        ("a.tsv", "a\n" * 9, "; put one between text and label$"),
        ("a.jsonl", '{"a": "x", "b": "y"}\n', "which are text and label; it has 'a', 'b'; .* --columns text,label$"),
    ],
)
def test_a_table_that_is_not_one_is_described_as_the_task_reads_it(
    tmp_path: Path, name: str, content: str, says: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(MiradaError, match=says):
        ClassificationData({"data": LabelledConfig(files=(str(tmp_path / name),))}).open([str(tmp_path / name)])

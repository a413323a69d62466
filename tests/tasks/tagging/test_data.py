"""Tagged sentences: what is learned from, what is held out, what is left out, and what is refused."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.contracts import EOS
from mirada.data.folder import FolderFiles, finish
from mirada.data.preparation import Prepared
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.data.tokenizer_learning import Unit
from mirada.errors import BundleError, DataError, UsageError
from mirada.tasks.tagging.data import TaggingData
from mirada.tasks.tagging.tags import TaggedConfig, TaggingPreprocessor, as_number, cut
from tests.preparing import prepare

Sentence = list[tuple[str, str]]


def sentences(count: int) -> list[Sentence]:
    """Different sentences: "the dog3 sees 3 ." and the like."""
    return [
        [("the", "D"), (f"dog{n}", "N"), ("sees", "V"), *[("again", "A")] * (n % 3), (".", "P")] for n in range(count)
    ]


def write(path: Path, rows: Sequence[Sentence]) -> Path:
    text = "\n".join("".join(f"{word}\t{tag}\n" for word, tag in row) for row in rows)
    path.write_text(text, encoding="utf-8")
    return path


def prepared(
    folder: Path, files: Path, base: TaggingPreprocessor | None = None, unit: Unit = "subwords", **data: Any
) -> Prepared:
    if "dev" in data:
        data["dev"] = (str(data["dev"]),)
    config = TaggedConfig(files=(str(files),), **data)
    return prepare("tagging", folder, data=config, tokenizer=TokenizerConfig(unit=unit), base=base)


def training(data: Prepared) -> list[tuple[list[str], list[str]]]:
    """The words and tags that the corpus holds."""
    found = []
    for row in range(len(data.store.corpus)):
        ids, marks = (
            side.ids[side.offsets[row] : side.offsets[row + 1]].tolist()
            for side in (data.store.corpus.source, data.store.corpus.target)
        )
        starts = [*np.flatnonzero(marks).tolist(), len(ids)]
        words = data.preprocessor.tokenizer.decode([ids[a:b] for a, b in pairwise(starts)])
        found.append((words, [data.preprocessor.labels[mark - 1] for mark in marks if mark]))
    return found


# ── words and pieces ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module", params=["subwords", "words", "characters", "symbols"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return Tokenizer.learn(["the dog sees the umbrella , don't it ?"] * 3, 300, request.param)


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=5), max_size=4))
def test_every_word_has_its_own_pieces(tokenizer: Tokenizer, texts: list[list[str]]) -> None:
    for words, (ids, starts) in zip(texts, cut(tokenizer, texts), strict=True):
        ends = [*starts[1:], len(ids)]
        pieces = [ids[start:end] for start, end in zip(starts, ends, strict=False)] if words else []
        assert len(pieces) == len(words)
        for word, own in zip(words, pieces, strict=True):
            assert own == (tokenizer.encode([word])[0] or [tokenizer.unknown or EOS])


@pytest.mark.parametrize(
    ("tag", "value"),
    [("1", 1.0), ("-2.5", -2.5), (".5", 0.5), ("1e3", 1000.0), ("+7.", 7.0)]
    + [(tag, None) for tag in ("", "N", "nan", "inf", "1,5", "1_000", "１", "1e99", "0x1", "1 ")],
)
def test_what_a_number_is(tag: str, value: float | None) -> None:
    assert as_number(tag) == value


# ── what is learned from ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("unit", ["subwords", "symbols"])
def test_every_sentence_is_on_one_side(tmp_path: Path, unit: Unit) -> None:
    rows = sentences(60)
    data = prepared(tmp_path / "data", write(tmp_path / "a.conll", rows), hold_out=0.2, unit=unit)
    assert data.about.held_out
    assert data.preprocessor.labels == ["A", "D", "N", "P", "V"]
    assert len(data.dev) == 12
    both = [(words, tags) for words, tags in [*training(data), *data.dev]]
    assert sorted(both) == sorted(([w for w, _ in row], [t for _, t in row]) for row in rows)
    assert data.about.words == sum(len(words) for words, _ in training(data))
    assert data.about.tags == {tag: sum(tags.count(tag) for _, tags in training(data)) for tag in data.about.tags}
    again = prepared(tmp_path / "data", tmp_path / "a.conll", hold_out=0.5)  # opened, not made anew
    assert again.dev == data.dev
    assert again.about == data.about


def test_a_tag_that_occurs_once_is_learned_from(tmp_path: Path) -> None:
    rows = sentences(30)
    for number in range(15):
        rows[number][0] = ("the", f"RARE{number}")
    data = prepared(tmp_path / "data", write(tmp_path / "a.conll", rows), hold_out=0.9)
    assert {tag for _, tags in training(data) for tag in tags} == set(data.preprocessor.labels)
    assert len(data.dev) == 14  # all but those, and the first with the tag A
    alone = [[(f"w{n}", f"T{n}")] for n in range(12)]
    with pytest.raises(DataError, match=r"every sentence is needed .*--dev"):
        prepared(tmp_path / "other", write(tmp_path / "b.conll", alone))


def test_what_occurs_again(tmp_path: Path) -> None:
    rows = sentences(40)
    other = [(word, "N") for word, _ in rows[3]]
    file = write(tmp_path / "a.conll", [*rows, *rows[:5], other])
    data = prepared(tmp_path / "drop", file)
    assert data.about.excluded == {"duplicate": 5}
    listed = (tmp_path / "drop" / "excluded.tsv").read_text().splitlines()
    assert len(listed) == 5
    lines = file.read_text().splitlines()
    for row, place in zip(rows, listed, strict=False):
        name, line, reason, _ = place.split("\t")
        assert (name, reason) == (str(file), "duplicate")
        assert lines[int(line)] == "\t".join(row[1])  # the second word is the one that differs
    assert data.about.findings == {"contradiction": 1}
    kept = prepared(tmp_path / "keep", file, duplicates="keep", hold_out=0.4)
    assert kept.about.training + kept.about.dev == 46
    dev, learned = ({tuple(words) for words, _ in part} for part in (kept.dev, training(kept)))
    assert not dev & learned


def test_long_and_damaged_sentences_are_left_out_and_listed(tmp_path: Path) -> None:
    rows = sentences(30)
    rows.insert(4, [("very", "A")] * 50)
    file = write(tmp_path / "a.conll", rows)
    with file.open("a") as out:
        out.write("\nthe\tD\ndog\n\nthe\tD\ndog\t\n")
    data = prepared(tmp_path / "data", file, max_tokens=40, unit="symbols", hold_out=0.01)
    assert data.about.read == 33
    assert data.about.training + data.about.dev == 30
    assert data.about.excluded == {
        "cell_count": 1,
        "no_tag": 1,
        "too_many_tokens": 1,
    }
    assert len((tmp_path / "data" / "excluded.tsv").read_text().splitlines()) == 3
    with pytest.raises(DataError, match=r"no sentence is left to learn from .*data\.max_tokens"):
        prepared(tmp_path / "short", write(tmp_path / "b.conll", [row * 2 for row in rows]), max_tokens=4)


def test_a_dev_file(tmp_path: Path) -> None:
    rows = sentences(40)
    file, dev = write(tmp_path / "a.conll", rows), write(tmp_path / "dev.conll", [*rows[:4], sentences(41)[40]])
    data = prepared(tmp_path / "data", file, dev=dev)
    assert not data.about.held_out
    assert (data.about.training, data.about.dev) == (36, 5)
    assert data.about.excluded == {"in_dev": 4}
    write(dev, [*rows[:4], [("a", "X"), ("b", "N"), ("c", "Y")]])
    with pytest.raises(DataError, match="the dev set has the tags 'X', 'Y', which no training sentence has"):
        prepared(tmp_path / "other", file, dev=dev)
    dev.write_text("the\tD\n\ndog\t\n")
    with pytest.raises(
        DataError, match=r"dev.conll, line 3: sentences with a word without a tag; .* usable as a whole"
    ):
        prepared(tmp_path / "third", file, dev=dev)


def test_words_that_were_seen(tmp_path: Path) -> None:
    data = prepared(tmp_path / "data", write(tmp_path / "a.conll", sentences(20)))
    learned = {word for words, _ in training(data) for word in words}
    held = [words for words, _ in data.dev]
    assert data.preprocessor.unseen(held) == [[word not in learned for word in words] for words in held]
    assert data.preprocessor.unseen([[], ["the", "cat", "sees"], []]) == [[], [False, True, False], []]
    assert TaggingPreprocessor(data.preprocessor.tokenizer, data.preprocessor.labels).unseen(held) is None


# ── numbers ───────────────────────────────────────────────────────────────────────────────────────────────────────


def numbered(count: int, form: str = "{}") -> list[Sentence]:
    return [[("the", form.format(n % 7)), (f"dog{n}", form.format(n))] for n in range(count)]


def twice(rows: list[Sentence]) -> list[Sentence]:
    """Each tag in another sentence too."""
    return [*rows, *([(f"other{word}", tag) for word, tag in row] for row in rows)]


@pytest.mark.parametrize(
    ("rows", "tags", "numeric", "note"),
    [
        (twice(numbered(20)), "auto", False, "20 whole numbers; to change this: --set data.tags=numbers"),
        (numbered(60), "auto", True, "read as numbers, as all of them are; to change this: --set data.tags=labels"),
        (numbered(20, "{}.5"), "auto", True, "read as numbers"),
        (numbered(20), "numbers", True, "read as numbers"),
        (twice(numbered(60)), "labels", False, "read as labels"),
        ([*twice(numbered(60, "{}.5")), [("x", "N")]], "auto", False, "read as labels"),
    ],
)
def test_what_tags_are_taken_for(tmp_path: Path, rows: list[Sentence], tags: str, numeric: bool, note: str) -> None:
    data = prepared(tmp_path / "data", write(tmp_path / "a.conll", rows), tags=tags)
    assert data.preprocessor.numeric == numeric
    assert note in data.about.notes[-1]
    assert (data.store.numbers is not None) == numeric
    assert (data.preprocessor.sizes.numeric_outputs, data.preprocessor.sizes.outputs) == (
        numeric,
        len(data.preprocessor.labels) or 1,
    )


def test_numbers_are_kept_with_their_scale(tmp_path: Path) -> None:
    rows = numbered(200, "1000000{}.25")
    data = prepared(tmp_path / "data", write(tmp_path / "a.conll", rows))
    assert data.store.numbers is not None
    marks = data.store.corpus.target.ids
    held = {words[1] for words, _ in data.dev}
    expected = np.array([float(tag) for row in rows if row[1][0] not in held for _, tag in row])
    np.testing.assert_array_equal(data.store.numbers[marks > 0], expected)
    assert np.isnan(data.store.numbers[marks == 0]).all()
    assert len(marks) > len(expected)
    assert data.preprocessor.mean == pytest.approx(expected.mean(), rel=1e-12)
    assert data.preprocessor.deviation == pytest.approx(expected.std(), rel=1e-9)
    other = [[(word, f"{tag}1") for word, tag in row] for row in rows]
    moved = prepared(tmp_path / "other", write(tmp_path / "b.conll", other))
    assert moved.store.corpus.fingerprint == data.store.corpus.fingerprint
    assert moved.about.fingerprint != data.about.fingerprint


# ── what is refused ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (sentences(9), {}, "a.conll: 9 tagged sentences; training needs at least 10"),
        (
            sentences(6) * 2,
            {},
            r"6 tagged sentences \(left out: 6 exact duplicates of an earlier .*\); training needs at least 10",
        ),
        ([], {}, "0 tagged sentences; training needs"),
        ([[("dog", "N"), (f"x{n}", "N")] for n in range(20)], {}, "all words have the tag 'N'; nothing to learn"),
        ([[(f"x{n}", "2.0")] for n in range(20)], {}, "all words have the number 2; nothing to learn"),
        ([[(f"x{n}", f"T{n}")] for n in range(1200)], {}, "line 2001: over 1,000 different tags, the last is 'T1000'"),
        (
            [*numbered(1200), [("bad", "N")]],
            {},
            "line 3601: the tag 'N' of the word 'bad' is not a number, but the tags are read as numbers",
        ),
        (
            [*numbered(20), [("one", "1"), ("nan", "nan")]],
            {"tags": "numbers"},
            "line 61: the tag 'nan' of the word 'nan' is not",
        ),
    ],
)
def test_bad_data_gets_one_line(tmp_path: Path, rows: list[Sentence], options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as refused:
        prepared(tmp_path / "data", write(tmp_path / "a.conll", rows), **options)
    assert "\n" not in str(refused.value)


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        prepared(tmp_path / "data", tmp_path / "none.conll")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match=r"pipe: is not a regular file, .*save it first"):
        prepared(tmp_path / "data", tmp_path / "pipe")
    file = write(tmp_path / "a.conll", sentences(20))
    with pytest.raises(DataError, match="has no column 3"):
        prepared(tmp_path / "data", file, columns=("1", "3"))
    with pytest.raises(UsageError, match="there must be two"):
        prepared(tmp_path / "data", file, columns=("1",))
    (tmp_path / "empty").write_text("")
    with pytest.raises(DataError, match="has no tagged sentences to evaluate with"):
        TaggingData({"data": TaggedConfig(files=("x",))}).read_whole((str(tmp_path / "empty"),))


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    file = write(tmp_path / "a.conll", sentences(20))
    file.write_bytes(file.read_bytes() + b"\nthe\tD\nd\xe9j\tN\n")
    with pytest.raises(DataError, match=r"line 121: not UTF-8.*--set data.invalid_bytes=drop"):
        prepared(tmp_path / "data", file)
    data = prepared(tmp_path / "other", file, invalid_bytes="drop")
    assert data.about.excluded == {"invalid_bytes": 1}
    assert data.about.training + data.about.dev == 20


# ── with a base ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_base_decides_pieces_labels_and_scale(tmp_path: Path) -> None:
    base = prepared(tmp_path / "base", write(tmp_path / "a.conll", sentences(30))).preprocessor
    new = [[(f"{word}x", tag) for word, tag in row if tag != "A"] for row in sentences(30)]
    data = prepared(tmp_path / "data", write(tmp_path / "b.conll", new), base)
    assert data.preprocessor.labels == base.labels
    assert data.preprocessor.tokenizer.to_json() == base.tokenizer.to_json()
    assert data.about.tags["A"] == 0
    assert data.preprocessor.unseen([["the", "thex", "xx"]]) == [[False, False, True]]
    with pytest.raises(DataError, match=r"the base does not have the tags 'X'; it has A, D, N, P, V"):
        prepared(tmp_path / "other", write(tmp_path / "c.conll", [*new, [("a", "X")]]), base)
    with pytest.raises(DataError, match=r"data.tags=numbers: the tags of the base are labels"):
        prepared(tmp_path / "third", tmp_path / "b.conll", base, tags="numbers")
    scale = prepared(tmp_path / "numbers", write(tmp_path / "n.conll", numbered(30, "{}.5"))).preprocessor
    moved = prepared(tmp_path / "moved", write(tmp_path / "m.conll", numbered(20, "5{}.5")), scale)
    assert (moved.preprocessor.mean, moved.preprocessor.deviation) == (scale.mean, scale.deviation)
    with pytest.raises(DataError, match="is not a number"):
        prepared(tmp_path / "fourth", tmp_path / "b.conll", scale)


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b"{}", b'{"labels": [1]}', b'{"mean": 1, "deviation": 0}', b'{"labels": ["a"], "mean": 1}', b"3"],
)
def test_a_damaged_kit_is_refused(tmp_path: Path, content: bytes) -> None:
    preprocessor = TaggingPreprocessor(Tokenizer.learn(["a b"], 300), ["N", "V"], words=np.array([3, 5], np.uint64))
    for name, whole in preprocessor.files().items():
        (tmp_path / name).write_bytes(whole)
    assert TaggingPreprocessor.read(FolderFiles(tmp_path), tmp_path).words.tolist() == [3, 5]
    (tmp_path / "tags.json").write_bytes(content)
    with pytest.raises(BundleError, match=re.escape("tags.json")):
        TaggingPreprocessor.read(FolderFiles(tmp_path), tmp_path)


def test_a_dev_set_with_a_tag_that_training_never_had_is_refused(tmp_path: Path) -> None:
    files = write(tmp_path / "a.conll", sentences(60))
    data = prepared(tmp_path / "data", files)
    path = tmp_path / "data" / "dev.jsonl"
    path.write_text(path.read_text().replace('"V"', '"W"'))
    finish(tmp_path / "data", data.about)
    with pytest.raises(DataError, match=r"dev\.jsonl: is damaged \(it has the tag 'W'\)"):
        prepared(tmp_path / "data", files)

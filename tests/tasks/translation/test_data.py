"""From files to a corpus: nothing lost in silence, no sentence on both sides, flat memory."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.data.preparation import Prepared
from mirada.data.sources import DataConfig
from mirada.data.tokenizer import TokenizerConfig
from mirada.errors import BundleError, DataError
from mirada.tasks.translation.data import TranslationData
from tests import toy
from tests.preparing import prepare

SMALL = TokenizerConfig(vocabulary=300)


def ready(folder: Path, data: DataConfig, tokenizer: TokenizerConfig = SMALL) -> Prepared:
    return prepare("translation", folder, data=data, tokenizer=tokenizer)


def texts(prepared: Prepared) -> list[tuple[str, str]]:
    """The training pairs, decoded again."""
    found = []
    for side, tokenizer in (
        (prepared.store.source, prepared.preprocessor.source),
        (prepared.store.target, prepared.preprocessor.target),
    ):
        bounds = zip(side.offsets[:-1], side.offsets[1:], strict=True)
        found.append(tokenizer.decode([side.ids[begin:end].tolist() for begin, end in bounds]))
    return list(zip(*found, strict=True))


def test_every_pair_is_in_training_or_dev_or_listed(tmp_path: Path) -> None:
    rows = toy.pairs(200)
    lines = [f"{source}\t{target}" for source, target in rows]
    lines[10:10] = [
        "",
        "solo\t",
        "\tonly",
        f"{'x' * 25_000}\tlong",
        "\t".join(" ".join("qwzj"[i % 4] * 3 for i in range(90)) + end for end in "ab"),
        "palabra " * 10 + "\tword",
        "word " * 101 + "\tword",
        lines[0],
    ]
    (tmp_path / "p.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    prepared = ready(tmp_path / "data", DataConfig(files=(str(tmp_path / "p.tsv"),)))
    report = prepared.about
    assert report.read == 208
    assert report.training + report.dev + sum(report.excluded.values()) == 208
    assert report.excluded == {
        "blank": 1, "one_sided": 2, "too_long": 1, "too_many_words": 1, "duplicate": 1, "length_ratio": 1,
        "too_many_tokens": 1,
    }  # fmt: skip
    listed = [line.split("\t")[1] for line in (tmp_path / "data" / "excluded.tsv").read_text().splitlines()]
    assert sorted(map(int, listed)) == [11, 12, 13, 14, 15, 16, 17, 18]
    dev = {(source, target) for source, targets in prepared.dev for target in targets}
    assert set(texts(prepared)) | dev == set(rows)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_no_dev_sentence_is_in_training_on_either_side(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chance = random.Random(seed)
    rows = [(f"s{chance.randrange(150)}", f"t{chance.randrange(400)}") for _ in range(300)]
    folder = tmp_path_factory.mktemp("hold")
    toy.write(folder / "p.tsv", rows)
    try:
        prepared = ready(folder / "data", DataConfig(files=(str(folder / "p.tsv"),)))
    except DataError:
        return  # everything hangs together, and nothing can be held out: refused
    training = texts(prepared)
    dev = [(source, target) for source, targets in prepared.dev for target in targets]
    assert not {s for s, _ in training} & {s for s, _ in dev}
    assert not {t for _, t in training} & {t for _, t in dev}
    assert set(training) | set(dev) == set(rows)
    assert prepared.about.held_out


def test_several_references_are_several_training_pairs(tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text("".join(f"a{i}\tb{i}\tc{i}\n" for i in range(60)))
    (tmp_path / "dev.tsv").write_text("a\tb\tc\n")
    data = DataConfig(files=(str(tmp_path / "p.tsv"),), dev=(str(tmp_path / "dev.tsv"),))
    prepared = ready(tmp_path / "data", data)
    assert prepared.about.training == 120
    assert prepared.dev == [("a", ("b", "c"))]


def test_dev_pairs_are_left_out_of_training(tmp_path: Path) -> None:
    rows = toy.pairs(100)
    toy.write(tmp_path / "p.tsv", rows)
    toy.write(tmp_path / "dev.tsv", [*rows[:7], ("nuevo", "new")])
    data = DataConfig(files=(str(tmp_path / "p.tsv"),), dev=(str(tmp_path / "dev.tsv"),))
    prepared = ready(tmp_path / "data", data)
    assert prepared.about.excluded == {"in_dev": 7}
    assert set(texts(prepared)) == set(rows[7:])


def test_what_cannot_be_measured_with_is_counted(tmp_path: Path) -> None:
    rows = toy.pairs(60)
    toy.write(tmp_path / "p.tsv", rows[10:])
    toy.write(tmp_path / "dev.tsv", [*rows[:7], ("", ""), ("solo", ""), ("", "only")])
    data = DataConfig(files=(str(tmp_path / "p.tsv"),), dev=(str(tmp_path / "dev.tsv"),))
    prepared = ready(tmp_path / "data", data)
    assert prepared.about.dev == 7
    said = [note for note in prepared.about.notes if "left out of" in note]
    assert [note.partition(": ")[2] for note in said] == ["1 (blank lines)", "2 (lines with an empty side)"]


def test_what_is_prepared_is_opened_again_without_the_files(tmp_path: Path) -> None:
    pairs = toy.write(tmp_path / "p.tsv", toy.pairs(120))
    data = DataConfig(files=(str(pairs),))
    first = ready(tmp_path / "data", data, TokenizerConfig(vocabulary=300, joint=False))
    pairs.unlink()
    again = ready(tmp_path / "data", data, TokenizerConfig(vocabulary=300, joint=False))
    assert again.about == first.about
    assert again.dev == first.dev
    assert texts(again) == texts(first)
    assert again.preprocessor.source.to_json() != again.preprocessor.target.to_json()


def test_a_preparation_that_was_cut_off_is_made_anew(tmp_path: Path) -> None:
    pairs = toy.write(tmp_path / "p.tsv", toy.pairs(120))
    data = DataConfig(files=(str(pairs),))
    first = ready(tmp_path / "data", data)
    (tmp_path / "data" / "prepared.json").unlink()
    (tmp_path / "data" / "corpus" / "source.ids").write_bytes(b"half")
    again = ready(tmp_path / "data", data)
    assert again.about == first.about
    assert np.array_equal(again.store.source.ids, first.store.source.ids)


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """A file three times as long may cost at most 64 bytes a pair more."""

    def peak(pairs: int) -> int:
        path = tmp_path / f"{pairs}.tsv"
        with path.open("w") as out:
            for number in range(pairs):
                out.write(f"frase {number // 100} {number % 100}\tsentence {number // 100} {number % 100}\n")
        data = DataConfig(files=(str(path),), hold_out=100)
        tracemalloc.start()
        ready(tmp_path / f"data{pairs}", data)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    few, many = peak(6_000), peak(18_000)
    assert many - few < 64 * 12_000


def test_a_dev_example_without_references_is_refused() -> None:
    with pytest.raises(BundleError, match=r"dev\.jsonl line 2: is damaged"):
        TranslationData.load('["uno", ["one"]]\n["dos", []]\n')

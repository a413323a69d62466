"""Batches: every row once an epoch, the same for the same seed, within the budget, with little padding."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.contracts import BOS, EOS, PAD, Rows
from mirada.data.batching import Batches, by_length, collate, collate_pairs, cut, similar
from mirada.data.corpus import Corpus, Side, batched, write_corpus
from mirada.errors import DataError

Ids = Sequence[int]


def write(folder: Path, pairs: Sequence[tuple[Ids, Ids]], longest: int = 10**6, vocabulary: int = 1000) -> Corpus:
    """A corpus of these ids: the texts are the ids, written down."""

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [[int(word) for word in text.split()] for text in texts]

    written = ((" ".join(map(str, s)), " ".join(map(str, t)), row) for row, (s, t) in enumerate(pairs))
    return write_corpus(
        folder, written, encode, encode, vocabulary=vocabulary, longest=longest, too_long=lambda place, tokens: None
    )


def of_lengths(folder: Path, source: Sequence[int], target: Sequence[int]) -> Corpus:
    return write(folder, [([5] * s, [6] * t) for s, t in zip(source, target, strict=True)])


def realistic(rows: int, seed: int = 0) -> tuple[list[int], list[int]]:
    """Lengths as in a bilingual corpus: log-normal, and the sides of a pair alike."""
    random = np.random.default_rng(seed)
    source = np.clip(np.exp(random.normal(2.9, 0.6, rows)), 1, 120)
    target = np.clip(source * np.exp(random.normal(0, 0.18, rows)) + random.normal(0, 1, rows), 1, 120)
    return source.round().astype(int).tolist(), target.round().astype(int).tolist()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return of_lengths(tmp_path_factory.mktemp("corpus"), *realistic(5000))


def as_lists(runs: Sequence[Rows]) -> list[list[int]]:
    return [rows.tolist() for rows in runs]


# --- epochs ---


def test_every_row_comes_once_an_epoch(corpus: Corpus) -> None:
    batches = Batches(corpus, 2000, seed=1)
    for epoch in (0, 1, 7):
        assert sorted(np.concatenate(batches.epoch(epoch)).tolist()) == list(range(len(corpus)))
        assert all(len(rows) for rows in batches.epoch(epoch))


def test_an_epoch_is_the_same_whenever_it_is_asked_for(corpus: Corpus) -> None:
    batches = Batches(corpus, 2000, seed=1)
    first = as_lists(batches.epoch(0))
    batches.epoch(1)
    assert as_lists(batches.epoch(0)) == first
    assert as_lists(Batches(corpus, 2000, seed=1).epoch(0)) == first


def test_epochs_and_seeds_differ(corpus: Corpus) -> None:
    batches = Batches(corpus, 2000, seed=1)
    first, second = as_lists(batches.epoch(0)), as_lists(batches.epoch(1))
    assert first != second
    assert as_lists(Batches(corpus, 2000, seed=2).epoch(0)) != first
    # not only the order of the batches: sentences meet others in them
    assert {frozenset(rows) for rows in first} != {frozenset(rows) for rows in second}


def test_batches_come_in_no_order_of_length(corpus: Corpus) -> None:
    batches = Batches(corpus, 2000, seed=1)
    longest = [int(corpus.target.lengths[rows].max()) for rows in batches.epoch(0)]
    ups = sum(later > earlier for earlier, later in itertools.pairwise(longest))
    assert 0.3 < ups / (len(longest) - 1) < 0.7


# --- the budget and the padding ---


def test_the_budget_is_what_a_loaded_batch_has_in_cells(corpus: Corpus) -> None:
    batches = Batches(corpus, 700, seed=1)
    cells = [batches.load(rows).cells for rows in batches.epoch(0)]
    assert max(cells) <= 700
    assert np.mean(cells) > 0.85 * 700  # and the budget is used


def test_padding_is_little_and_counted_right(tmp_path: Path) -> None:
    corpus = of_lengths(tmp_path, *realistic(30_000))
    batches = Batches(corpus, 4000, seed=1)
    loaded = [batches.load(rows) for rows in batches.epoch(0)]
    real, cells = sum(batch.tokens for batch in loaded), sum(batch.cells for batch in loaded)
    assert batches.padding(0) == pytest.approx(1 - real / cells, abs=1e-12)
    assert corpus.tokens == real
    assert 0 < batches.padding(0) < 0.06
    source, target = corpus.source.lengths + 1, corpus.target.lengths + 1
    as_they_come = cut(source, target, np.arange(len(corpus)), 4000)
    unsorted = sum(len(rows) * int(source[rows].max() + target[rows].max()) for rows in as_they_come)
    assert 1 - real / unsorted > 0.4  # what sorting saves


def test_a_pair_beyond_the_budget_gets_a_batch_of_its_own(tmp_path: Path) -> None:
    batches = Batches(of_lengths(tmp_path, [2, 50, 2, 2], [2, 50, 2, 2]), 20, seed=0)
    runs = as_lists(batches.epoch(0))
    assert [1] in runs
    assert sorted(itertools.chain(*runs)) == [0, 1, 2, 3]


lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=60)


@settings(max_examples=80, deadline=None)
@given(lengths, st.integers(1, 200))
def test_runs_keep_to_the_budget_and_to_the_order(pairs: list[tuple[int, int]], budget: int) -> None:
    source, target = (np.array(side, dtype=np.int32) for side in zip(*pairs, strict=True))
    order = np.arange(len(pairs))[::-1].copy()
    runs = cut(source, target, order, budget)
    assert np.concatenate(runs).tolist() == order.tolist()

    def size(rows: Rows) -> int:
        return len(rows) * int(source[rows].max() + target[rows].max())

    assert all(len(rows) == 1 or size(rows) <= budget for rows in runs)
    for rows, after in itertools.pairwise(runs):  # and no run ends before it must
        assert size(np.append(rows, after[0])) > budget


@settings(max_examples=60, deadline=None)
@given(lengths, st.permutations(range(10)))
def test_sorting_by_length_is_stable_and_snakes(pairs: list[tuple[int, int]], first: list[int]) -> None:
    source, target = (np.array(side, dtype=np.int32) for side in zip(*pairs, strict=True))
    order = np.array([i for i in first if i < len(pairs)] + list(range(10, len(pairs))), dtype=np.int64)
    sorted_ = by_length(source, target, order).tolist()
    place = {row: number for number, row in enumerate(order.tolist())}
    expected = sorted(order.tolist(), key=lambda i: (target[i], -source[i] if target[i] % 2 else source[i], place[i]))
    assert sorted_ == expected


def test_there_is_nothing_to_batch_in_an_empty_order() -> None:
    nothing = np.zeros(0, dtype=np.int32)
    assert cut(nothing, nothing, np.zeros(0, dtype=np.int64), 10) == []


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(3, 999), max_size=9), st.lists(st.integers(3, 999), max_size=9)), min_size=1
    ),
    st.integers(1, 60),
    st.integers(0, 99),
)
def test_loaded_batches_hold_the_sentences(pairs: list[tuple[list[int], list[int]]], tokens: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        batches = Batches(write(Path(folder), pairs), tokens, seed)
        seen = []
        for rows in batches.epoch(seed):
            batch = batches.load(rows)
            assert batch.rows is not None
            assert batch.cells <= tokens or batch.size == 1
            for row, source, target in zip(
                batch.rows.tolist(), batch.source.tolist(), batch.target.tolist(), strict=True
            ):
                seen.append(row)
                s, t = pairs[row]
                assert source == [*s, EOS] + [PAD] * (len(source) - len(s) - 1)
                assert target == [BOS, *t, EOS] + [PAD] * (len(target) - len(t) - 2)
            assert batch.source[:, -1].ne(PAD).any()  # no column of padding alone
            assert batch.target[:, -1].ne(PAD).any()
        assert sorted(seen) == list(range(len(pairs)))


def test_a_batch_owns_the_shift_and_the_masks(tmp_path: Path) -> None:
    batches = Batches(write(tmp_path, [([5, 6], [7]), ([8], [9, 10])]), 100, 0)
    batch = batches.load(np.array([0, 1]))
    assert batch.source.tolist() == [[5, 6, EOS], [8, EOS, PAD]]
    assert batch.source_mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_input.tolist() == [[BOS, 7, EOS], [BOS, 9, 10]]
    assert batch.target_output.tolist() == [[7, EOS, PAD], [9, 10, EOS]]
    assert batch.tokens == 5 + 5
    assert batch.cells == 6 + 6
    assert batch.size == 2
    assert batch.source.dtype == batch.target.dtype == torch.int64


# --- one side ---


def test_padded_frames_sentences_and_empty_ones_too(tmp_path: Path) -> None:
    side = write(tmp_path, [([5, 6, 7], []), ([], [8]), ([9], [])]).source
    assert side.lengths.tolist() == [3, 0, 1]
    rows = np.array([2, 0, 1, 2])
    assert side.padded(rows, None, EOS, PAD).tolist() == [[9, 2, 0, 0], [5, 6, 7, 2], [2, 0, 0, 0], [9, 2, 0, 0]]
    assert side.padded(rows[:1], BOS, EOS, PAD).tolist() == [[1, 9, 2]]
    assert side.padded(np.array([1, 1]), BOS, EOS, PAD).tolist() == [[1, 2], [1, 2]]
    assert side.padded(np.array([1]), None, EOS, PAD).tolist() == [[2]]
    assert side.padded(np.array([0, 2]), None, 99, 77).tolist() == [[5, 6, 7, 99], [9, 99, 77, 77]]


def test_a_side_of_empty_sentences_alone(tmp_path: Path) -> None:
    corpus = write(tmp_path, [([5], []), ([6], [])])
    assert len(corpus) == 2
    assert corpus.target.padded(np.array([0, 1]), BOS, EOS, PAD).tolist() == [[1, 2], [1, 2]]


def test_ids_are_memory_mapped_and_read_only(corpus: Corpus) -> None:
    for side in (corpus.source, corpus.target):
        assert isinstance(side.ids, np.memmap)
        assert isinstance(side.offsets, np.memmap)
        assert side.ids.dtype == np.uint16
        with pytest.raises(ValueError, match="read-only"):
            side.ids[0] = 1


def test_a_large_vocabulary_has_ids_to_match(tmp_path: Path) -> None:
    corpus = write(tmp_path, [([70_000, 3], [65_536])], vocabulary=100_000)
    assert corpus.source.ids.tolist() == [70_000, 3]
    assert corpus.target.ids.tolist() == [65_536]


def test_a_corpus_that_is_opened_again_is_the_same(tmp_path: Path) -> None:
    pairs = [([5, 6], [7]), ([], [8, 9])]
    written, again = write(tmp_path, pairs), Corpus(tmp_path)
    assert again.fingerprint == written.fingerprint
    assert again.source.ids.tolist() == [5, 6]
    assert again.target.offsets.tolist() == [0, 1, 3]


def test_the_fingerprint_is_of_ids_and_their_borders(tmp_path: Path) -> None:
    variants = [
        [([5, 6], [7]), ([8], [9])],
        [([5], [7]), ([6, 8], [9])],
        [([5, 6], [7]), ([8], [10])],
        [([8], [9]), ([5, 6], [7])],
        [([7], [5, 6]), ([9], [8])],
    ]
    found = {write(tmp_path / str(number), pairs).fingerprint for number, pairs in enumerate(variants)}
    assert len(found) == len(variants)
    assert write(tmp_path / "again", variants[0]).fingerprint in found


def test_the_fingerprint_is_the_same_for_any_number_of_pairs_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [([number, 6], [7] * (number % 3)) for number in range(5, 20)]
    whole = write(tmp_path / "whole", pairs).fingerprint
    monkeypatch.setattr("mirada.data.corpus.CHUNK", 4)
    assert write(tmp_path / "parts", pairs).fingerprint == whole


def test_too_long_pairs_are_left_out_and_told(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    texts = [("a", "b", 0), ("a a a a", "b", 1), ("a a a", "b", 2), ("a", "b b b b b", 3)]
    corpus = write_corpus(
        tmp_path,
        texts,
        lambda several: [[5] * len(text.split()) for text in several],
        lambda several: [[6] * len(text.split()) for text in several],
        vocabulary=10,
        longest=3,
        too_long=lambda place, tokens: told.append((place, tokens)),
    )
    assert told == [(1, 4), (3, 5)]
    assert corpus.source.lengths.tolist() == [1, 3]


def test_a_damaged_corpus_is_refused(tmp_path: Path) -> None:
    write(tmp_path, [([5, 6, 7], [8])])
    ids = tmp_path / "source.ids"
    ids.write_bytes(ids.read_bytes()[:-2])
    with pytest.raises(DataError, match=r"source\.ids has 2 ids, its offsets say 3"):
        Side(tmp_path, "source", "uint16")


def test_an_interrupted_corpus_has_no_report(tmp_path: Path) -> None:
    write(tmp_path, [([5], [6])])

    def fails(texts: Sequence[str]) -> list[list[int]]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_corpus(
            tmp_path, [("a", "b", 0)], fails, fails, vocabulary=10, longest=9, too_long=lambda place, tokens: None
        )
    assert not (tmp_path / "corpus.json").exists()


# --- batches to generate from ---


def test_collate_pads_sources_and_puts_prefixes_after_bos() -> None:
    batch = collate([[5, 6], [], [7]], [[8, 9]] * 3)
    assert batch.source.tolist() == [[5, 6, EOS], [EOS, PAD, PAD], [7, EOS, PAD]]
    assert batch.target.tolist() == [[BOS, 8, 9]] * 3
    assert collate([[5]]).target.tolist() == [[BOS]]


@given(st.lists(st.integers(), max_size=20), st.integers(1, 7))
def test_batched_keeps_every_item_in_order(items: list[int], size: int) -> None:
    chunks = list(batched(iter(items), size))
    assert list(itertools.chain(*chunks)) == items
    assert all(len(chunk) == size for chunk in chunks[:-1])
    assert all(1 <= len(chunk) <= size for chunk in chunks)


def test_collate_pairs_pads_both_sides() -> None:
    batch = collate_pairs([[5, 6], [7]], [[8], [9, 3, 4]])
    assert batch.source.tolist() == [[5, 6, EOS], [7, EOS, PAD]]
    assert batch.target.tolist() == [[BOS, 8, EOS, PAD, PAD], [BOS, 9, 3, 4, EOS]]


def test_padding_is_the_share_of_cells_without_a_token(corpus: Corpus) -> None:
    batches = Batches(corpus, 300, seed=1)
    for epoch in (0, 1):
        loaded = [batches.load(rows) for rows in batches.epoch(epoch)]
        cells, tokens = sum(batch.cells for batch in loaded), sum(batch.tokens for batch in loaded)
        assert batches.padding(epoch) == pytest.approx(1 - tokens / cells)
    assert batches.padding() == batches.padding(0)


def test_texts_of_similar_length_fill_the_cells_and_no_more() -> None:
    """n texts of at most m tokens, each with its end, take n · (m + 1) cells."""
    assert [len(group) for group in similar([3] * 10, 20)] == [5, 5]
    assert [len(group) for group in similar([3] * 10, 19)] == [4, 4, 2]
    assert list(similar([1, 7, 2, 9], 20)) == [[3, 1], [2, 0]]
    assert list(similar([50, 1], 20)) == [[0], [1]]  # one that is larger than all cells goes alone


def test_groups_hold_every_text_once_and_keep_to_their_size() -> None:
    lengths = [3, 50, 7, 7, 1, 30, 2, 90]
    groups = list(similar(lengths, cells=64))
    assert sorted(number for group in groups for number in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) == 1 or len(group) * (max(lengths[i] for i in group) + 1) <= 64

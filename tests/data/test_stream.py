"""Streams of ids: all of the text, carried batches go on where they stopped, every step once an epoch."""

from __future__ import annotations

import hashlib
import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.contracts import EOS, PAD, Plan, SequenceBatch
from mirada.data.stream import CHUNK_CHARACTERS, Stream, StreamBatches, write_stream
from mirada.data.tokenizer import Tokenizer
from mirada.errors import DataError


def encode(texts: Sequence[str]) -> list[list[int]]:
    return [[int(word) for word in text.split()] for text in texts]


def write(folder: Path, ids: Sequence[int], vocabulary: int = 1000) -> Stream:
    """A stream of these ids: the text is the ids, written down."""
    return write_stream(folder, [" ".join(map(str, ids))], encode, vocabulary)


def counted(folder: Path, size: int) -> Stream:
    """10, 11, 12 …: every id says where it stands."""
    return write(folder, range(10, 10 + size), 10 + size)


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Stream:
    return counted(tmp_path_factory.mktemp("stream"), 5001)


def steps(batches: StreamBatches, epoch: int) -> list[int]:
    """The steps of an epoch as they are read; each must say what comes after it."""
    seen: list[int] = []
    for spans in batches.epoch(epoch):
        batch = batches.load(spans)
        assert batch.truth is not None
        assert batch.inputs.shape == batch.truth.shape == batch.mask.shape
        assert batch.inputs.dtype == batch.truth.dtype == batch.lengths.dtype == torch.int64
        assert (batch.inputs[~batch.mask] == PAD).all()
        assert (batch.truth[~batch.mask] == PAD).all()
        assert (batch.truth[batch.mask] == batch.inputs[batch.mask] + 1).all()
        assert batch.mask.any(0).all()  # no column of padding alone
        seen += (batch.inputs[batch.mask] - 10).tolist()
    return seen


def as_lists(batches: StreamBatches, epoch: int) -> list[list[list[int]]]:
    return [spans.tolist() for spans in batches.epoch(epoch)]


# --- the stream on disk ---


def test_a_stream_holds_all_texts_in_order(tmp_path: Path) -> None:
    done: list[int] = []
    texts = ["5 6", "", "7 8", "9"]
    stream = write_stream(tmp_path, iter(texts), encode, 100, done.append)
    assert stream.ids.tolist() == [5, 6, 7, 8, 9]
    assert (len(stream), stream.tokens) == (5, 5)
    assert done == [4]
    assert isinstance(stream.ids, np.memmap)
    assert stream.ids.dtype == np.uint16
    with pytest.raises(ValueError, match="read-only"):
        stream.ids[0] = 1


def test_a_stream_of_characters_holds_the_texts(tmp_path: Path) -> None:
    texts = ["niño\n", "漢字 👶\n"]
    tokenizer = Tokenizer.learn(texts, 100, "characters")
    stream = write_stream(tmp_path, texts, tokenizer.encode, tokenizer.size)
    assert len(stream) == 10
    assert tokenizer.decode([stream.ids.tolist()]) == ["".join(texts)]


def test_an_end_may_stand_behind_each_text(tmp_path: Path) -> None:
    assert write_stream(tmp_path, ["5 6", "", "7"], encode, 100, end=EOS).ids.tolist() == [5, 6, EOS, EOS, 7, EOS]


def test_a_large_vocabulary_has_ids_to_match(tmp_path: Path) -> None:
    assert write(tmp_path, [70_000, 3, 65_536], 100_000).ids.tolist() == [70_000, 3, 65_536]


def test_many_and_long_texts_are_written_in_chunks(tmp_path: Path) -> None:
    done: list[int] = []
    asked: list[int] = []

    def watched(texts: Sequence[str]) -> list[list[int]]:
        asked.append(sum(map(len, texts)))
        return [[len(text) % 1000] for text in texts]

    texts = ["x" * 1000] * 5000 + ["y" * (CHUNK_CHARACTERS + 7)] * 2
    stream = write_stream(tmp_path, texts, watched, 1000, done.append)
    assert stream.ids.tolist() == [len(text) % 1000 for text in texts]
    assert done[-1] == len(texts)
    assert done == sorted(set(done))
    assert max(asked) <= 2 * CHUNK_CHARACTERS + 7


def test_a_stream_that_is_opened_again_is_the_same(tmp_path: Path) -> None:
    written, again = write(tmp_path, [5, 6, 7]), Stream(tmp_path)
    assert again.ids.tolist() == [5, 6, 7]
    assert (
        again.fingerprint
        == written.fingerprint
        == hashlib.sha256(np.array([5, 6, 7], dtype="uint16").tobytes()).hexdigest()
    )
    assert write(tmp_path / "other", [5, 7, 6]).fingerprint != written.fingerprint


def test_an_interrupted_stream_is_not_taken_for_a_finished_one(tmp_path: Path) -> None:
    write(tmp_path, [5, 6])

    def fails(texts: Sequence[str]) -> list[list[int]]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_stream(tmp_path, ["5"], fails, 10)
    assert not (tmp_path / "stream.json").exists()
    with pytest.raises(DataError, match="has no finished stream of ids; delete the folder"):
        Stream(tmp_path)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"dtype": "uint16", "tokens": "x"}', '{"dtype": "?!", "tokens": 2}']
)
def test_a_damaged_report_is_refused(tmp_path: Path, content: str) -> None:
    write(tmp_path, [5, 6])
    (tmp_path / "stream.json").write_text(content)
    with pytest.raises(DataError, match="has no finished stream"):
        Stream(tmp_path)


def test_damaged_ids_are_refused(tmp_path: Path) -> None:
    write(tmp_path, [5, 6, 7])
    ids = tmp_path / "stream.ids"
    ids.write_bytes(ids.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"stream\.ids: has 5 bytes, but 3 ids need 6: delete the folder"):
        Stream(tmp_path)


# --- carried ---


@pytest.mark.parametrize("epoch", [0, 1, 7])
def test_carried_rows_go_on_where_they_stopped(stream: Stream, epoch: int) -> None:
    batches = StreamBatches(stream, rows=7, length=30, seed=3, shuffled=False)
    plan = batches.epoch(epoch)
    for before, after in itertools.pairwise(plan):
        assert (before[:, 1] == after[:, 0]).all()
        assert (batches.load(after).inputs[:, 0] == batches.load(before).truth[:, -1]).all()  # type: ignore[index]
    assert plan[0][:, 0].tolist() == [row * (5000 // 7) for row in range(7)]
    lengths = [int(spans[0, 1] - spans[0, 0]) for spans in plan]
    assert set(lengths[1:-1]) == {30}
    assert 1 <= min(lengths) <= max(lengths) == 30


def test_carried_batches_have_every_step_once_but_for_the_cut_at_the_end(stream: Stream) -> None:
    batches = StreamBatches(stream, rows=7, length=30, seed=3, shuffled=False)
    for epoch in (0, 1, 2):
        assert sorted(steps(batches, epoch)) == list(range(5000 - 5000 % 7))
    assert batches.tokens == 5000 - 5000 % 7
    assert batches.padding(0) == 0
    alone = StreamBatches(stream, rows=1, length=30, seed=3, shuffled=False)
    assert steps(alone, 0) == list(range(5000))


def test_cuts_fall_elsewhere_in_other_epochs(stream: Stream) -> None:
    batches = StreamBatches(stream, rows=7, length=30, seed=3, shuffled=False)
    offsets = {int(batches.epoch(epoch)[1][0, 0]) % 30 for epoch in range(40)}
    assert len(offsets) > 15


# --- shuffled ---


def test_shuffled_windows_have_every_step_once(stream: Stream) -> None:
    batches = StreamBatches(stream, rows=8, length=30, seed=3, shuffled=True)
    for epoch in (0, 1, 2):
        assert sorted(steps(batches, epoch)) == list(range(5000))
        plan = batches.epoch(epoch)
        assert {len(spans) for spans in plan[:-1]} == {8}
    assert batches.tokens == 5000


def test_shuffled_windows_come_in_no_order(stream: Stream) -> None:
    begins = np.concatenate(StreamBatches(stream, 8, 30, 3, True).epoch(0))[:, 0]
    assert 0.3 < (np.diff(begins) > 0).mean() < 0.7


def test_padding_is_counted_right(stream: Stream) -> None:
    batches = StreamBatches(stream, rows=8, length=30, seed=3, shuffled=True)
    for epoch in range(5):
        loaded = [batches.load(spans) for spans in batches.epoch(epoch)]
        cells = sum(batch.inputs.numel() for batch in loaded)
        assert batches.padding(epoch) == pytest.approx(1 - sum(batch.tokens for batch in loaded) / cells)
    assert max(batches.padding(epoch) for epoch in range(5)) > 0


# --- both ---


@pytest.mark.parametrize("shuffled", [False, True])
def test_an_epoch_is_the_same_whenever_it_is_asked_for(stream: Stream, shuffled: bool) -> None:
    batches = StreamBatches(stream, 7, 30, 3, shuffled)
    first, second = as_lists(batches, 0), as_lists(batches, 1)
    assert first != second
    assert as_lists(batches, 0) == first
    assert as_lists(StreamBatches(stream, 7, 30, 3, shuffled), 1) == second
    assert as_lists(StreamBatches(stream, 7, 30, 4, shuffled), 0) != first
    spans = batches.epoch(0)[-1]
    batches.epoch(1)  # the loop may ask for the next epoch before it loads the last batch of this one
    assert batches.load(spans).inputs.tolist() == StreamBatches(stream, 7, 30, 3, shuffled).load(spans).inputs.tolist()


def test_what_the_training_loop_asks_for(stream: Stream) -> None:
    batches = StreamBatches(stream, 7, 30, 3, False)
    plan: Plan[SequenceBatch] = batches  # the types say the same
    assert plan.tokens == 5000 - 5000 % 7
    assert batches.fingerprint == stream.fingerprint
    batch = batches.load(batches.epoch(0)[1])
    assert batch.size == 7
    assert batch.tokens == 7 * 30
    assert batch.rows is not None
    assert batch.rows.tolist() == (batch.inputs[:, 0] - 10).tolist()


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 60), st.integers(1, 9), st.integers(1, 70), st.integers(0, 99), st.booleans())
def test_streams_of_any_size(size: int, rows: int, length: int, seed: int, shuffled: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        batches = StreamBatches(counted(Path(folder), size), rows, length, seed, shuffled)
        assert batches.rows == max(1, min(rows, (size - 1) // length))
        assert all(1 <= len(spans) <= batches.rows for spans in batches.epoch(seed))
        left_over = 0 if shuffled else (size - 1) % batches.rows
        assert sorted(steps(batches, seed)) == list(range(size - 1 - left_over))
        assert batches.tokens == size - 1 - left_over
        assert 0 <= batches.padding(seed) < 1


@pytest.mark.parametrize(("size", "said"), [(0, "0 tokens"), (1, "1 token;")])
def test_a_stream_of_less_than_two_tokens_is_refused(tmp_path: Path, size: int, said: str) -> None:
    with pytest.raises(DataError, match=rf"the text has {said}.*at least two"):
        StreamBatches(counted(tmp_path, size), 2, 3, 0, False)

"""Vectors of word2vec and GloVe: what is read, what is refused and where, and how a table takes them."""

from __future__ import annotations

import gzip
import struct
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.data.tokenizer import Tokenizer
from mirada.data.vectors import Vectors, initialize, read_vectors, wanted_words
from mirada.errors import ConfigError, DataError

GLOVE = "the 0.1 -2 3e-1\n, 1 2 3\nniño 4 5 6\n. . . 7 8 9\nat name@domain.com 1 1 1\n5 2 2 2\n"


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "vectors.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# --- reading ---


@pytest.mark.parametrize("header", ["", "6 3\n"])
@pytest.mark.parametrize("trailing", ["", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_both_formats_are_read(tmp_path: Path, header: str, trailing: str, end: str, packed: bool) -> None:
    content = (header + GLOVE).replace("\n", trailing + end).encode()
    path = write(tmp_path, gzip.compress(content) if packed else content)
    vectors = read_vectors(path, ["the", "niño", ". . .", "at name@domain.com", "5", "unheard-of"])
    assert vectors.dimension == 3
    assert vectors.read == 6
    assert {word: vector.tolist() for word, vector in vectors.found.items()} == {
        "the": pytest.approx([0.1, -2, 0.3]),
        "niño": [4, 5, 6],
        ". . .": [7, 8, 9],
        "at name@domain.com": [1, 1, 1],
        "5": [2, 2, 2],
    }
    assert {vector.dtype for vector in vectors.found.values()} == {np.dtype(np.float32)}


def test_only_wanted_words_are_kept_and_the_first_vector_counts(tmp_path: Path) -> None:
    vectors = read_vectors(write(tmp_path, "a 1 2\nb 3 4\na 5 6\n\nc 7 8"), {"a", "c"})
    assert {word: vector.tolist() for word, vector in vectors.found.items()} == {"a": [1, 2], "c": [7, 8]}
    assert vectors.read == 4
    assert read_vectors(write(tmp_path, "a 1 2\n"), []).found == {}


def test_odd_words_are_words(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf\xc2\xa0 1 2\n\xff\xfe 3 4\n\xc2\x85 5 6\n\xe2\x80\xa8x 7 8\n"
    vectors = read_vectors(write(tmp_path, content), ["\u00a0", "\u0085", "\u2028x"])
    assert vectors.read == 4
    assert [vector.tolist() for vector in vectors.found.values()] == [[1, 2], [5, 6], [7, 8]]


word = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=" \ufeff0123456789"), min_size=1, max_size=5
)
number = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda size: st.dictionaries(
            st.lists(word, min_size=1, max_size=3).map(" x".join),
            st.lists(number, min_size=size, max_size=size),
            min_size=1,
            max_size=8,
        )
    ),
    st.booleans(),
)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, table: dict[str, list[float]], header: bool
) -> None:
    rows = [f"{name} {' '.join(map(repr, numbers))}\n" for name, numbers in table.items()]
    size = len(next(iter(table.values())))
    path = write(tmp_path_factory.mktemp("v"), header * f"{len(table)} {size}\n" + "".join(rows))
    vectors = read_vectors(path, table.keys())
    assert vectors.dimension == size
    assert {name: vector.tolist() for name, vector in vectors.found.items()} == table


# --- faults ---


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "vectors.txt: has no word vectors"),
        ("\n\n", "vectors.txt: has no word vectors"),
        ("4 3\n", "vectors.txt: has no word vectors"),
        ("a 1 2\nb 1\n", r"line 2: expected a word and 2 numbers, but found 1 \('b 1'\)"),
        ("a 1 2\nb 1 2 3\n", "line 2: expected a word and 2 numbers, but found 3"),
        ("a 1 2\n\nb\n", "line 3: expected a word and 2 numbers, but found 0"),
        ("a 1 2\nb 1 x 2\n", "line 2: expected a word and 2 numbers, but found 1"),
        ("2 3\na 1 2\n", "line 2: expected a word and 3 numbers, but found 2"),
        ("hello\nworld\n", r"line 1: expected a word and numbers, but found 0 \('hello'\)"),
        ("A sentence of text.\n", "line 1: expected a word and numbers, but found 0"),
        ("x 1 2\na 1 two\n", "line 2: 'two' is not a number"),
        ("x 1 2\na one 2\n", "line 2: 'one' is not a number"),
        ("x 1 2\na 1 nan\n", "line 2: 'nan' is not a finite number"),
        ("x 1 2\na -inf 2\n", "line 2: '-inf' is not a finite number"),
        ("x 1 2\na 1e39 2\n", "line 2: '1e39' is not a finite number"),
        ("3 2\na 1 2\nb 3 4\n", "its first line promises 3 vectors, but there are 2; copy or download it again"),
        (b"PK\x03\x04\x14\0\0\0", r"is a zip archive; unpack it with `unzip`"),
        (b"\x1f\x8b\x08\x00damaged", "gzip"),
    ],
)
def test_faults_name_the_file_the_line_and_the_way_out(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_vectors(write(tmp_path, content), ["a"])
    assert str(caught.value).startswith(str(tmp_path / "vectors.txt"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [0.0, 0.123, 1.5])
def test_a_binary_file_is_told_as_such(tmp_path: Path, value: float) -> None:
    rows = b"".join(word + b" " + struct.pack("<4f", *[value] * 4) + b"\n" for word in (b"the", b"a"))
    with pytest.raises(DataError, match=r"line 2: looks like the binary format of word2vec.*binary=False"):
        read_vectors(write(tmp_path, b"2 4\n" + rows), ["a"])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none: no such file"):
        read_vectors(tmp_path / "none", [])


def test_unwanted_words_cost_little(tmp_path: Path) -> None:
    rest = " ".join(["-0.12345"] * 100)
    path = write(tmp_path, "".join(f"w{n} {rest}\n" for n in range(6_000)))
    began = time.process_time()
    assert read_vectors(path, []).read == 6_000
    few = time.process_time() - began
    began = time.process_time()
    assert len(read_vectors(path, [f"w{n}" for n in range(6_000)]).found) == 6_000
    assert few < (time.process_time() - began) / 3


# --- an embedding table ---


def of(**found: list[float]) -> Vectors:
    arrays = {word: np.array(vector, dtype=np.float32) for word, vector in found.items()}
    return Vectors(len(next(iter(found.values()))), arrays, len(found))


def table_for(tokenizer: Tokenizer, width: int) -> torch.nn.Parameter:
    table = torch.randn(tokenizer.size, width, generator=torch.Generator().manual_seed(0))
    table[0] = 0  # padding
    return torch.nn.Parameter(table)


def test_rows_of_known_words_are_filled_and_scaled_by_one_factor() -> None:
    tokenizer = Tokenizer.learn(["the cat sat on the Mat"], 100, "words")
    table = table_for(tokenizer, 2)
    before = table.detach().clone()
    assert initialize(table, tokenizer, of(the=[30.0, 40.0], mat=[0.0, 100.0], dog=[1.0, 1.0])) == 2
    the, mat = (tokenizer.encode([word])[0][0] for word in ("the", "Mat"))
    changed = (table != before).any(1).nonzero().flatten().tolist()
    assert sorted(changed) == sorted([the, mat])
    torch.testing.assert_close(table[the] / table[the].norm(), torch.tensor([0.6, 0.8]))
    torch.testing.assert_close(table[mat] / table[the].norm(), torch.tensor([0.0, 2.0]))
    torch.testing.assert_close(table[[the, mat]].norm(dim=1).mean(), before[1:].norm(dim=1).mean())
    assert table.requires_grad


def test_a_word_as_it_is_goes_before_small_letters() -> None:
    tokenizer = Tokenizer.learn(["US us Paris"], 100, "words")
    assert wanted_words(tokenizer) == {"US", "us", "Paris", "paris"}
    table = table_for(tokenizer, 2)
    assert initialize(table, tokenizer, of(US=[1.0, 0.0], us=[0.0, 1.0], paris=[1.0, 1.0])) == 3
    big, small, paris = tokenizer.encode(["US us Paris"])[0]
    assert table[big, 1] == table[small, 0] == 0
    assert table[paris, 0] == table[paris, 1] > 0


def test_of_subwords_those_that_begin_a_word_are_filled() -> None:
    tokenizer = Tokenizer.learn(["singing the ring in the thing"] * 9, 320)
    pieces = tokenizer.pieces(range(tokenizer.size))
    assert {" the", "ing"} <= set(pieces)
    words = wanted_words(tokenizer)
    assert "the" in words
    assert "ing" not in words
    assert not words & {"", " ", "�", "<pad>", "</s>"}
    table = table_for(tokenizer, 2)
    before = table.detach().clone()
    assert initialize(table, tokenizer, of(the=[0.0, 1.0], ing=[1.0, 0.0])) == 1
    assert (table != before).any(1).nonzero().flatten().tolist() == [pieces.index(" the")]


def test_special_rows_are_never_filled() -> None:
    tokenizer = Tokenizer.learn(["a b"], 100, "symbols")
    table = table_for(tokenizer, 1)
    before = table.detach().clone()
    found = {"<pad>": [9.0], "<s>": [9.0], "</s>": [9.0], "<unk>": [9.0], "�": [9.0], "c": [1.0]}
    assert initialize(table, tokenizer, of(**found)) == 0
    assert torch.equal(table, before)


def test_vectors_of_zeros_stay_zeros() -> None:
    tokenizer = Tokenizer.learn(["a b"], 100, "words")
    table = table_for(tokenizer, 2)
    assert initialize(table, tokenizer, of(a=[0.0, 0.0])) == 1
    assert table[4].tolist() == [0, 0]
    assert table.isfinite().all()


def test_another_width_is_refused_with_the_way_out() -> None:
    tokenizer = Tokenizer.learn(["a b"], 100, "words")
    with pytest.raises(ConfigError, match=r"have 3 numbers each, but model\.width=2: --set model\.width=3"):
        initialize(table_for(tokenizer, 2), tokenizer, of(a=[0.0, 1.0, 2.0]))

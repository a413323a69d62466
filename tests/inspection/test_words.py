"""Tokens become words by the characters they stand for, in any script."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.data.tokenizer import Tokenizer
from mirada.inspection.words import Tokens, decoded_tokens, ended, merge, read_tokens
from tests.traced import TEXT, tokenizer


def words_of(text: str, *cuts: int) -> list[str]:
    """The words of a text that is cut into tokens at these places."""
    ends = [0, *cuts, len(text)]
    spans = tuple(pairwise(ends))
    return list(Tokens(tuple(text[slice(*span)] for span in spans), (), spans, text).merged().pieces)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("el gato", ["el", "gato"]),
        ("don't e-mail 5.20, ok.", ["don't", "e-mail", "5.20", ",", "ok", "."]),
        ("¿Qué...? (no)", ["¿", "Qué", "...", "?", "(", "no", ")"]),
        ("我喜欢你。", ["我", "喜", "欢", "你", "。"]),
        ("cafe\u0301 na\u00efve", ["cafe\u0301", "na\u00efve"]),
        ("👩\u200d🔬 👍🏽!", ["👩\u200d🔬", "👍🏽", "!"]),
        ("🇵🇹 هذه قطة", ["🇵🇹", "هذه", "قطة"]),
        ("l'eau d'«été»", ["l'eau", "d", "'", "«", "été", "»"]),
    ],
)
def test_single_characters_become_words(text: str, words: list[str]) -> None:
    assert words_of(text, *range(1, len(text))) == words


def test_tokens_that_begin_with_their_space_begin_words() -> None:
    assert words_of("The animal slept.", 3, 6, 10, 14, 16) == ["The", "animal", "slept", "."]
    assert words_of("a  b 1", 1, 3, 5) == ["a", "b", "1"]
    assert words_of("喜欢 你们", 2, 3, 4) == ["喜欢", "你", "们"]  # what is one token stays together


def test_halves_of_a_character_are_one_word_and_special_tokens_words_of_their_own() -> None:
    subwords = tokenizer()
    (ids,) = subwords.encode(["a 你好"])
    tokens = ended(decoded_tokens(subwords, ids))
    assert tokens.text == "a 你好"
    assert len(tokens) > 5
    assert tokens.merged().pieces == ("a", "你", "好", "</s>")
    read = read_tokens(subwords, "a 你好", ids)
    assert read.merged().pieces == ("a", "你", "好")
    assert "".join(read.pieces).strip() == "".join(tokens.pieces[:-1]).strip() == "a 你好"  # whole at its first token
    assert read.pieces == tokens.pieces[:-1]
    assert "" in read.pieces


def test_unknown_words_are_shown_as_they_are_written() -> None:
    words = Tokenizer.learn(["el gato ve"] * 3, 50, "words", lowercase=True)
    (ids,) = words.encode(["El perro ve"])
    assert read_tokens(words, "El perro ve", ids).pieces == ("el", "perro", "ve")
    assert decoded_tokens(words, ids).pieces == ("el", "�", "ve")


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=40))
def test_every_token_is_in_one_word_and_words_follow_the_text(text: str) -> None:
    for tokens in _both(text):
        groups = tokens.words()
        assert [place for group in groups for place in group] == list(range(len(tokens)))
        spans = [span for span in tokens.merged().spans if span is not None]
        assert all(0 <= first <= last <= len(tokens.text) for first, last in spans)
        assert all(one[1] <= other[1] for one, other in pairwise(spans))
        assert not any(len(piece.split()) > 1 for piece in tokens.merged().pieces if piece.strip())


SUBWORDS = tokenizer()


def _both(text: str) -> tuple[Tokens, Tokens]:
    (ids,) = SUBWORDS.encode([text])
    return read_tokens(SUBWORDS, text, ids), decoded_tokens(SUBWORDS, ids)


def test_what_is_decoded_has_the_text_that_was_read() -> None:
    read, decoded = _both(TEXT)
    assert read.merged().pieces == decoded.merged().pieces
    assert read.text == decoded.text == TEXT


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**20))
def test_merged_rows_still_sum_to_1(queries: int, keys: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    weights = chance.dirichlet(np.ones(keys), size=(2, queries)).astype(np.float32)
    groups = [np.array_split(np.arange(n), chance.integers(1, n + 1)) for n in (queries, keys)]
    rows, columns = ([group.tolist() for group in side] for side in groups)
    merged = merge(weights, rows, columns)
    assert merged.shape == (2, len(rows), len(columns))
    np.testing.assert_allclose(merged.sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(merge(weights, None, None), weights)

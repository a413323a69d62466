"""Subwords: any text comes back as it was, markers in it are text, digits stand alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, trainers

from mirada.contracts import BOS, EOS, PAD
from mirada.data import tokenizer as module
from mirada.data.normalize import normalize
from mirada.data.tokenizer import Tokenizer, suggest_vocabulary
from mirada.data.tokenizer_learning import LARGEST, SMALLEST, SPECIALS
from mirada.errors import BundleError

CORPUS = [
    "El bebé está llorando. The baby is crying.",
    "Él trabaja con los dos. He works with both.",
    "The book is on the table. O livro está em cima da mesa.",
    "Lucas is visiting Chile in January 2024, 2024 and 2025; he pays 1,250.75 dollars.",
    "See you! Nos vemos! </s> is a marker and <pad> another.",
] * 4


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.learn(CORPUS, 350)


TOKENIZER = Tokenizer.learn(CORPUS, 350)
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),  # any Unicode but lone surrogates, which are no text
    st.lists(
        st.sampled_from(
            ["</s>", "<s>", "<pad>", " ", "  ", "\n", "\x00", "baby", "é", "e\u0301", "2024", "👩‍👩‍👧", "\ufeff", "Ġ"]
        )
    ).map("".join),
)
quick = settings(max_examples=150, deadline=None)


# --- round trip ---


@quick
@given(texts)
@example("")
@example(" ")
@example("  two spaces before, two behind  ")
@example("</s>")
@example("<pad><s></s>")
@example("a</s>b")
@example("\x00")
@example("\r\n\t")
@example("\u2028\u00a0\u3000")
@example("ﬁ Å Å ①")  # nothing is normalised
def test_any_text_survives_a_round_trip(text: str) -> None:
    ids = TOKENIZER.encode([text])
    assert TOKENIZER.decode(ids) == [text]


@quick
@given(texts)
def test_markers_in_a_text_are_text(text: str) -> None:
    assert not {PAD, BOS, EOS} & set(TOKENIZER.encode([text])[0])
    assert max(TOKENIZER.encode([text])[0], default=0) < TOKENIZER.size


@quick
@given(st.lists(texts, max_size=5))
def test_a_text_has_the_same_ids_in_any_company(several: list[str]) -> None:
    assert TOKENIZER.encode(several) == [TOKENIZER.encode([text])[0] for text in several]
    assert TOKENIZER.decode(TOKENIZER.encode(several)) == several


def test_decoding_leaves_special_ids_out(tokenizer: Tokenizer) -> None:
    (ids,) = tokenizer.encode(["The baby is crying."])
    assert tokenizer.decode([[BOS, *ids, EOS, PAD, PAD], []]) == ["The baby is crying.", ""]


# --- the vocabulary ---


@given(st.lists(st.integers(0, TOKENIZER.size + 2), max_size=12))
def test_any_ids_are_decoded_as_the_library_decodes_them(ids: list[int]) -> None:
    assert TOKENIZER.decode([ids]) == TOKENIZER._backend.decode_batch([ids], skip_special_tokens=True)


def test_special_ids_are_the_contracts() -> None:
    assert (PAD, BOS, EOS) == (0, 1, 2)
    backend = tokenizers.Tokenizer.from_str(TOKENIZER.to_json())
    assert [backend.token_to_id(special) for special in SPECIALS] == [PAD, BOS, EOS]
    assert SPECIALS[EOS] == "</s>"


def test_the_vocabulary_has_the_size_asked_for(tokenizer: Tokenizer) -> None:
    assert tokenizer.size == 350
    assert Tokenizer.learn(CORPUS, 300).size == 300


def test_frequent_words_are_one_subword_and_a_first_word_is_like_any_other(tokenizer: Tokenizer) -> None:
    (first,), (later,) = tokenizer.encode(["is"]), tokenizer.encode(["baby is"])
    assert len(first) == 1
    assert later[-1] == first[0]


def test_learning_is_deterministic() -> None:
    assert Tokenizer.learn(CORPUS, 350).to_json() == TOKENIZER.to_json()


@quick
@given(st.text("0123456789 .,ab", max_size=20))
@example("2024")
@example("1,250.75")
def test_digits_stand_alone(text: str) -> None:
    pieces = TOKENIZER.pieces(TOKENIZER.encode([text])[0])
    assert [piece for piece in pieces if any(map(str.isdigit, piece))] == [c for c in text if c.isdigit()]


def test_pieces_show_half_characters_as_such(tokenizer: Tokenizer) -> None:
    (ids,) = tokenizer.encode(["baby 👶"])
    pieces = tokenizer.pieces(ids)
    assert "".join(pieces[:-4]).strip() == "baby"
    assert "�" in pieces[-1]


def test_the_suggested_vocabulary_grows_with_the_corpus_within_bounds() -> None:
    sizes = [suggest_vocabulary(words) for words in (0, 10, 10**4, 10**5, 10**6, 10**7, 10**9, 10**12)]
    assert sizes == sorted(sizes)
    assert sizes[0] == SMALLEST
    assert sizes[-1] == LARGEST
    assert SMALLEST < suggest_vocabulary(10**6) < LARGEST
    assert suggest_vocabulary(10**6, languages=2) == pytest.approx(2 * suggest_vocabulary(10**6), abs=16)
    assert suggest_vocabulary(10**8, languages=2) == LARGEST


# --- offsets and words ---


@quick
@given(texts)
def test_offsets_cover_the_text_in_order(text: str) -> None:
    tokens = TOKENIZER.tokens(text)
    assert [token.id for token in tokens] == TOKENIZER.encode([text])[0]
    assert all(0 <= token.start <= token.end <= len(text) for token in tokens)
    assert all(token.text == text[token.start : token.end] for token in tokens)
    starts, ends = [token.start for token in tokens], [token.end for token in tokens]
    assert starts == sorted(starts)
    assert ends == sorted(ends)
    covered = {place for token in tokens for place in range(token.start, token.end)}
    assert covered == set(range(len(text)))


def test_tokens_stand_for_their_characters(tokenizer: Tokenizer) -> None:
    text = "The baby is crying."
    tokens = tokenizer.tokens(text)
    assert "".join(token.text for token in tokens) == text
    assert [token.text.strip() for token in tokens] == [
        piece.strip() for piece in tokenizer.pieces([t.id for t in tokens])
    ]


# --- saving and loading ---


def test_a_saved_tokenizer_is_the_same(tmp_path: Path, tokenizer: Tokenizer) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.to_json(), encoding="utf-8")
    loaded = Tokenizer.load(path)
    several = ["El bebé </s> 12", "", "<pad> ñandú 👶", "  x "]
    assert loaded.encode(several) == tokenizer.encode(several)
    assert loaded.decode(loaded.encode(several)) == several
    assert loaded.size == tokenizer.size
    assert loaded.to_json() == tokenizer.to_json()


@pytest.mark.parametrize("content", [None, "", "{}", "not json", "[1, 2]"])
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(BundleError, match=r"tokenizer\.json: is not a tokenizer"):
        Tokenizer.load(path)


def test_a_tokenizer_with_other_special_ids_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizers.Tokenizer(models.BPE({"<s>": 0, "<pad>": 1, "</s>": 2}, [])).to_str())
    with pytest.raises(BundleError, match="not a tokenizer of Mirada's"):
        Tokenizer.load(path)


def test_few_words_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of words makes encoding quick and changes nothing, also when there are too many of them."""
    learned = Tokenizer.learn(["una frase larga", "otra frase"], 300)
    texts = [f"una frase {number} {'x' * number}" for number in range(200)]
    expected = [learned.encode([text])[0] for text in texts]
    monkeypatch.setattr(module, "MAX_KNOWN", 10)
    again = Tokenizer.learn(["una frase larga", "otra frase"], 300)
    for text, ids in zip(texts, expected, strict=True):
        assert again.encode([text, text]) == [ids, ids]
        assert again._words is not None
        assert len(again._words) <= 10
    assert again.encode(texts) == expected


ODD = (
    "una frase larga", "don't I'll", "1 2 34", "a  b", " lead", "trail ", "\tx\n", "e\u0301 é \u0301x", "a\xa0b",
    "\u200bzero", "Ġ </s>", "你好 世界", "", "a\x1cb", "a\x85b", "x" * 100, "3.14% (½ ²)", "👩\u200d👩",
    "\u180ey z", "\u2028 q",
)  # fmt: skip


@pytest.mark.parametrize("normalized", [True, False])
def test_subwords_learned_from_counted_words_are_those_of_the_texts(
    normalized: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are cut once and counted; the library, which cuts every text, learns the same from the texts."""
    texts = [f"{a} {b}" for a in ODD for b in ODD]
    found = [Tokenizer.learn(texts, 500, normalized=normalized)]
    monkeypatch.setattr(module, "MAX_KNOWN", 3)
    found.append(Tokenizer.learn(texts, 500, normalized=normalized))
    learned = tokenizers.Tokenizer.from_str(found[0].to_json())
    reference = tokenizers.Tokenizer(models.BPE())
    reference.normalizer, reference.pre_tokenizer = learned.normalizer, learned.pre_tokenizer
    reference.decoder = learned.decoder
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=SPECIALS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    reference.train_from_iterator([normalize(text) if normalized else text for text in texts], trainer)
    assert {one.to_json() for one in found} == {reference.to_str(pretty=True)}
    reference.encode_special_tokens = True
    for text in texts:
        ids = reference.encode(normalize(text) if normalized else text, add_special_tokens=False).ids
        assert found[0].encode([text, text]) == [ids, ids]

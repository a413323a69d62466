"""Words, characters and symbols: what a unit is, round trips, offsets, markers in a text, saving, settings."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any, get_args

import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers

from mirada import config
from mirada.contracts import BOS, EOS, PAD
from mirada.data.tokenizer import Tokenizer, TokenizerConfig, suggest_vocabulary
from mirada.data.tokenizer_learning import UNK, Unit
from mirada.errors import BundleError, ConfigError

CORPUS = [
    "The e-mail isn't here; the e-mail is THERE!\n",
    "C4 D4  E4\tC4\nC4 </s> <unk> <pad> <s>",
    "El niño está aquí, «l’eau» está allí.",
] * 3
OTHERS: list[Unit] = ["words", "characters", "symbols"]
LEARNED: dict[Unit, Tokenizer] = {unit: Tokenizer.learn(CORPUS, 1000, unit, unit == "words") for unit in OTHERS}
KNOWN = sorted(set("".join(CORPUS)))
quick = settings(max_examples=150, deadline=None)
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text(st.sampled_from(KNOWN)),
    st.lists(
        st.sampled_from(["</s>", "<s>", "<pad>", "<unk>", " ", "\n", "\x1c", "\u00a0", "C4", "THE", "é", "don't", "-"])
    ).map("".join),
)
every_unit = pytest.mark.parametrize("unit", OTHERS)


# --- what a unit is ---


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't stop", ["don't", "stop"]),
        ("an e-mail, re-sent", ["an", "e-mail", ",", "re-sent"]),
        ("l’eau 'quoted' -dash- a--b", ["l’eau", "'", "quoted", "'", "-", "dash", "-", "a", "-", "-", "b"]),
        ("¿Qué? 3.14 C4!!", ["¿", "Qué", "?", "3", ".", "14", "C4", "!", "!"]),
        ("cafe\u0301 हिन्दी\n漢字。", ["cafe\u0301", "हिन्दी", "漢字", "。"]),
        ("a_b </s> 👶👶", ["a", "_", "b", "<", "/", "s", ">", "👶", "👶"]),
        (" \n\t ", []),
    ],
)
def test_words_are_runs_of_letters_and_single_marks(text: str, words: list[str]) -> None:
    tokenizer = Tokenizer.learn([text], 100, "words")
    assert tokenizer.decode(tokenizer.encode([text])) == [" ".join(words)]
    assert [token.text for token in tokenizer.tokens(text)] == words
    assert tokenizer.size == 4 + len(set(words))


def test_words_are_lower_cased_when_asked() -> None:
    (ids,) = LEARNED["words"].encode(["THE E-Mail isn't There"])
    assert LEARNED["words"].pieces(ids) == ["the", "e-mail", "isn't", "there"]
    assert [token.text for token in LEARNED["words"].tokens("THE ÉTÁ")] == ["THE", "ÉTÁ"]
    kept = Tokenizer.learn(["The the"], 100, "words")
    assert kept.pieces(kept.encode(["The the"])[0]) == ["The", "the"]
    subwords = Tokenizer.learn(["The the"] * 9, 300, lowercase=True)
    assert subwords.decode(subwords.encode(["The THE"])) == ["the the"]


def test_symbols_stand_between_white_space_of_any_kind() -> None:
    tokenizer = LEARNED["symbols"]
    (ids,) = tokenizer.encode(["C4\tD4\n\nE4\u00a0C4  THERE!"])
    assert tokenizer.pieces(ids) == ["C4", "D4", "E4", "C4", "THERE!"]
    assert tokenizer.decode([ids]) == ["C4 D4 E4 C4 THERE!"]


@every_unit
def test_ids_are_in_the_order_of_frequency_and_ties_in_that_of_code_points(unit: Unit) -> None:
    text = {"words": "b c a b d a c b", "symbols": "b c a b d a c b", "characters": "bcabdacb"}[unit]
    tokenizer = Tokenizer.learn([text], 100, unit)
    assert tokenizer.pieces(range(4, tokenizer.size)) == ["b", "a", "c", "d"]
    assert Tokenizer.learn([text], 2, unit).pieces([4, 5, 6]) == ["b", "a", ""]
    assert Tokenizer.learn([text], 1, unit).encode([text]) == [[UNK if c != "b" else 4 for c in text if c != " "]]


@every_unit
def test_learning_is_deterministic(unit: Unit) -> None:
    again = Tokenizer.learn(iter(CORPUS), 1000, unit, unit == "words")
    assert again.to_json() == LEARNED[unit].to_json()


# --- round trips and offsets ---


@quick
@given(st.text(st.sampled_from(KNOWN)))
@example("")
@example(" \n\n ")
@example("</s><unk>")
def test_known_characters_survive_a_round_trip(text: str) -> None:
    tokenizer = LEARNED["characters"]
    (ids,) = tokenizer.encode([text])
    assert len(ids) == len(text)
    assert UNK not in ids
    assert tokenizer.decode([ids]) == [text]


@quick
@given(texts)
def test_unknown_characters_are_shown_as_such(text: str) -> None:
    tokenizer = LEARNED["characters"]
    (shown,) = tokenizer.decode(tokenizer.encode([text]))
    assert shown == "".join(c if c in KNOWN else "�" for c in text)


@every_unit
@quick
@given(texts)
def test_tokens_are_what_is_encoded_and_offsets_reproduce_the_text(unit: Unit, text: str) -> None:
    tokenizer = LEARNED[unit]
    tokens = tokenizer.tokens(text)
    assert [token.id for token in tokens] == tokenizer.encode([text])[0]
    assert all(token.text == text[token.start : token.end] for token in tokens)
    assert all(a.end <= b.start for a, b in itertools.pairwise(tokens))  # in order, no overlap
    covered = {place for token in tokens for place in range(token.start, token.end)}
    missing = "".join(c for place, c in enumerate(text) if place not in covered)
    assert not missing if unit == "characters" else not missing.strip()
    if unit != "words":  # those are lower-cased
        pieces = tokenizer.pieces([token.id for token in tokens])
        assert all(piece in ("�", token.text) for piece, token in zip(pieces, tokens, strict=True))


@every_unit
def test_a_long_text_has_the_same_ids_as_its_lines(unit: Unit) -> None:
    lines = [f"{text} {number}\n" for number, text in enumerate(CORPUS * 200)]
    lines.insert(300, "x" * 10_000 + "\x1c" + "y" * 10_000 + "\n")  # longer than any part
    tokenizer = Tokenizer.learn(lines, 60, unit)
    apart = [id for ids in tokenizer.encode(lines) for id in ids]
    assert tokenizer.encode(["".join(lines), "", lines[0]]) == [apart, [], tokenizer.encode(lines[:1])[0]]
    assert [token.id for token in tokenizer.tokens("".join(lines))] == apart  # which is not cut into parts


# --- markers, special ids ---


@every_unit
@quick
@given(texts)
@example("</s>")
@example("</S> <PAD> a</s>b <s>")
def test_markers_in_a_text_are_text(unit: Unit, text: str) -> None:
    (ids,) = LEARNED[unit].encode([text])
    assert not {PAD, BOS, EOS} & {*ids, *(token.id for token in LEARNED[unit].tokens(text))}
    assert all(UNK <= id < LEARNED[unit].size for id in ids)


def test_a_symbol_spelt_like_a_marker_is_unknown_and_takes_no_place() -> None:
    tokenizer = Tokenizer.learn(["</s> </s> <unk> </s> <pad> a a b"], 2, "symbols")
    assert tokenizer.size == 6
    assert tokenizer.encode(["a </s> b <unk> </s>x"]) == [[4, UNK, 5, UNK, UNK]]
    lower = Tokenizer.learn(["</S> a"], 9, "symbols", lowercase=True)
    assert lower.encode(["</S> A"]) == [[UNK, 4]]


@every_unit
def test_special_ids(unit: Unit) -> None:
    tokenizer = LEARNED[unit]
    assert (tokenizer.unit, tokenizer.unknown, UNK) == (unit, 3, 3)
    backend = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    assert [backend.token_to_id(name) for name in ("<pad>", "<s>", "</s>", "<unk>")] == [PAD, BOS, EOS, UNK]
    (ids,) = tokenizer.encode(["C4"])
    assert tokenizer.decode([[BOS, *ids, UNK, EOS, PAD], []])[0].replace(" ", "").lower() == "c4�"
    assert tokenizer.decode([[PAD, EOS], []]) == ["", ""]


def test_subwords_have_no_unknown() -> None:
    tokenizer = Tokenizer.learn(["a"], 300)
    assert (tokenizer.unit, tokenizer.unknown) == ("subwords", None)


# --- saving and loading ---


@every_unit
def test_a_saved_tokenizer_is_the_same(tmp_path: Path, unit: Unit) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(LEARNED[unit].to_json(), encoding="utf-8")
    loaded = Tokenizer.load(path)
    assert (loaded.unit, loaded.unknown, loaded.size) == (unit, UNK, LEARNED[unit].size)
    several = [*CORPUS, "THE unheard-of </s> 漢", ""]
    assert loaded.encode(several) == LEARNED[unit].encode(several)
    assert loaded.tokens(several[-2]) == LEARNED[unit].tokens(several[-2])
    assert loaded.to_json() == LEARNED[unit].to_json()


@pytest.mark.parametrize(
    ("vocabulary", "cutter", "message"),
    [
        (["<pad>", "<s>", "</s>", "<unk>"], pre_tokenizers.Metaspace(), "it cuts text neither into subwords nor"),
        (["<pad>", "<s>", "</s>", "<unk>"], None, "it cuts text neither into subwords nor"),
        (["<pad>", "<s>", "</s>", "a", "<unk>"], pre_tokenizers.WhitespaceSplit(), "the id of <unk> is not 3"),
        (["<unk>", "<pad>", "<s>", "</s>"], pre_tokenizers.WhitespaceSplit(), "its first ids are not <pad>"),
    ],
)
def test_a_tokenizer_of_another_kind_is_refused(
    tmp_path: Path, vocabulary: list[str], cutter: Any, message: str
) -> None:
    backend = tokenizers.Tokenizer(models.WordLevel({word: id for id, word in enumerate(vocabulary)}, "<unk>"))
    if cutter is not None:
        backend.pre_tokenizer = cutter
    path = tmp_path / "tokenizer.json"
    path.write_text(backend.to_str())
    with pytest.raises(BundleError, match=rf"tokenizer\.json: is not a tokenizer of Mirada's \({re.escape(message)}"):
        Tokenizer.load(path)


# --- settings ---


def test_the_defaults_of_every_unit() -> None:
    assert TokenizerConfig().unit == "subwords"
    asked = {unit: TokenizerConfig(unit=unit) for unit in get_args(Unit)}
    assert {unit: found.lowercased for unit, found in asked.items()} == {
        "subwords": False,
        "words": True,
        "characters": False,
        "symbols": False,
    }
    assert {unit: found.most(10**6) for unit, found in asked.items()} == {
        "subwords": suggest_vocabulary(10**6),
        "words": 30_000,
        "characters": 65_536,
        "symbols": 65_536,
    }
    assert TokenizerConfig(unit="words", vocabulary=7, lowercase=False).most(10**6) == 7
    assert not TokenizerConfig(unit="words", lowercase=False).lowercased
    assert TokenizerConfig(lowercase=True).lowercased


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"vocabulary": 299}, r"tokenizer: vocabulary=299 is too small for unit=subwords.*tokenizer\.vocabulary=300"),
        ({"unit": "words", "vocabulary": 0}, r"tokenizer\.vocabulary=0"),
        ({"unit": "symbols", "vocabulary": 65_537}, r"tokenizer\.vocabulary=65537"),
        ({"unit": "letters"}, r"tokenizer\.unit='letters'"),
    ],
)
def test_impossible_settings_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config.build({"tokenizer": TokenizerConfig}, {"tokenizer": values})


@pytest.mark.parametrize("unit", ["words", "characters", "symbols"])
def test_small_vocabularies_are_fine_for_other_units(unit: str) -> None:
    config.build({"tokenizer": TokenizerConfig}, {"tokenizer": {"unit": unit, "vocabulary": 1}})

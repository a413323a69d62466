"""TranslationPreprocessor that normalise what they read, those that do not, and what none of them can take."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.data.tokenizer_learning import LONGEST_TEXT, UNK, Unit
from mirada.errors import InputError

TEXTS = ["El señor llegó.", "La señora lo vio, ¿no?", "Más café y más pan."]
ODD = [
    " El señor llegó.",
    unicodedata.normalize("NFD", "El señor llegó."),
    "El\xa0señor\u2009llegó.\n",
    "\ufeffEl se\xadñor  llegó.\u200b",
]
UNITS: list[Unit] = ["subwords", "words", "characters", "symbols"]
LEARNED = {unit: Tokenizer.learn(TEXTS * 3, 400, unit, normalized=True) for unit in UNITS}
every_unit = pytest.mark.parametrize("unit", UNITS)


@every_unit
def test_odd_forms_have_the_ids_of_the_clean_text(unit: Unit) -> None:
    assert LEARNED[unit].encode(ODD) == LEARNED[unit].encode(TEXTS[:1]) * len(ODD)


@every_unit
def test_it_is_learned_from_clean_texts(unit: Unit) -> None:
    odd = Tokenizer.learn(
        [unicodedata.normalize("NFD", f" {text}\xa0") for text in TEXTS * 3], 400, unit, normalized=True
    )
    assert odd.to_json() == LEARNED[unit].to_json()


@every_unit
@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
def test_the_file_says_whether_texts_are_normalised(
    unit: Unit, lowercase: bool, normalized: bool, tmp_path: Path
) -> None:
    tokenizer = Tokenizer.learn(TEXTS, 400, unit, lowercase, normalized=normalized)
    (tmp_path / "tokenizer.json").write_text(tokenizer.to_json(), encoding="utf-8")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (again.unit, again.normalizes) == (unit, normalized)
    assert again.encode(ODD) == tokenizer.encode(ODD)


def test_one_that_does_not_normalise_reads_every_character() -> None:
    plain = Tokenizer.learn(TEXTS, 400)
    rows = plain.encode([*ODD, TEXTS[0]])
    assert len({tuple(ids) for ids in rows}) == len(rows)
    assert plain.decode(rows) == [*ODD, TEXTS[0]]


@every_unit
@given(text=st.text(st.one_of(st.sampled_from("señor n\u0303\xa0\u200b .,"), st.characters(exclude_categories=["Cs"]))))
def test_tokens_are_those_of_encode_and_stand_for_the_text_as_given(unit: Unit, text: str) -> None:
    tokenizer = LEARNED[unit]
    found = tokenizer.tokens(text)
    assert [token.id for token in found] == tokenizer.encode([text])[0]
    places = [(token.start, token.end) for token in found]
    assert all(0 <= start <= end <= len(text) for start, end in places)
    assert places == sorted(places)
    assert [token.text for token in found] == [text[start:end] for start, end in places]


def test_offsets_are_those_of_the_text_as_given() -> None:
    text = " el sen\u0303or\xa0\xa0llegó"
    found = LEARNED["words"].tokens(text)
    assert [token.text for token in found] == ["el", "sen\u0303or", "llegó"]


def test_a_base_of_characters_is_cut_nowhere_wrong() -> None:
    text = "sen\u0303or " * 2000
    assert LEARNED["characters"].decode(LEARNED["characters"].encode([text])) == [("señor " * 2000).strip()]


@every_unit
@pytest.mark.parametrize("normalized", [False, True])
def test_lone_surrogates_are_refused_in_a_line(unit: Unit, normalized: bool) -> None:
    tokenizer = Tokenizer.learn(TEXTS, 400, unit, normalized=normalized)
    for ask in (lambda: tokenizer.encode(["hola", "El se\udcf1or"]), lambda: tokenizer.tokens("El se\udcf1or")):
        with pytest.raises(InputError, match=r"se\\udcf1or' has bytes that are not UTF-8") as refused:
            ask()
        assert "\n" not in str(refused.value)
        str(refused.value).encode()


@pytest.mark.parametrize("unit", ["subwords", "words", "symbols"])
def test_texts_that_the_library_cannot_hold_are_refused(unit: Unit) -> None:
    long = "x" * (LONGEST_TEXT + 1)
    with pytest.raises(InputError, match="5,000,001 characters and no place to cut it; 5,000,000 are read at a time"):
        LEARNED[unit].encode(["hola", long])
    with pytest.raises(InputError, match="5,000,001 characters"):
        LEARNED[unit].tokens(long)
    if unit == "subwords":
        with pytest.raises(InputError, match="5,000,001 characters"):
            Tokenizer.learn([long], 400)


@pytest.mark.parametrize("unit", ["subwords", "words"])
def test_long_texts_are_read_in_parts_and_have_the_units_of_the_whole(
    unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "El señor 12, llegó. ¿No? a1 " * 300
    whole = LEARNED[unit].encode([text])
    monkeypatch.setattr("mirada.data.tokenizer_learning.AT_A_TIME", 100)
    monkeypatch.setattr("mirada.data.tokenizer_learning.LONGEST_TEXT", 5000)
    monkeypatch.setattr("mirada.data.tokenizer_learning._WORDS", re.compile(r".{1,50}[^ ]*"))
    assert LEARNED[unit].encode([text]) == whole
    learned = Tokenizer.learn([*TEXTS * 3, text], 400, unit, normalized=True).to_json()
    monkeypatch.undo()
    assert learned == Tokenizer.learn([*TEXTS * 3, text], 400, unit, normalized=True).to_json()


@pytest.mark.parametrize("unit", ["words", "symbols", "characters"])
def test_a_typed_mask_is_no_mask(unit: Unit) -> None:
    tokenizer = Tokenizer.learn(["a <mask> b", "<mask> a"], 50, unit, mask=True)
    assert tokenizer.mask == UNK + 1
    assert tokenizer.mask not in tokenizer.encode(["a <mask> b"])[0]
    assert tokenizer.mask not in [token.id for token in tokenizer.tokens("a <mask> b")]
    if unit == "symbols":
        assert tokenizer.encode(["<mask>"]) == [[UNK]]


def test_settings_decide() -> None:
    assert TokenizerConfig(unit="words").learn(TEXTS, 9).normalizes
    assert not TokenizerConfig(unit="words", normalize=False).learn(TEXTS, 9).normalizes

"""Text as a model reads it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mirada.data.normalize import aligned, normalize

# Letters, marks, Hangul parts, odd spaces and invisible characters, often enough for them to meet.
TRICKY = st.text(
    st.one_of(
        st.sampled_from("aé e\u0301\u0323ñn\u0303가\u1100\u1161\u11a8 \xa0\u2009\u3000\t\n\r\u200b\xad\ufeff\x00"),
        st.characters(),
    )
)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("El señor llegó.", "El señor llegó."),
        (" El señor\xa0llegó. ", "El señor llegó."),
        (unicodedata.normalize("NFD", "El señor llegó."), "El señor llegó."),
        ("El\u2009señor\t llegó.\r\n", "El señor llegó."),
        ("\ufeffEl se\xadñor lle\u200bgó.\x07", "El señor llegó."),
        ("他\u3000来了。", "他 来了。"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d🚀", "👩\u200d🚀"),
        ("\u200b \xa0", ""),
        ("", ""),
    ],
)
def test_odd_forms_are_the_plain_one(text: str, clean: str) -> None:
    assert normalize(text) == clean


@given(TRICKY)
def test_normalising_again_changes_nothing(text: str) -> None:
    clean = normalize(text)
    assert normalize(clean) == clean
    assert unicodedata.is_normalized("NFC", clean)
    assert "  " not in clean
    assert not any(character.isspace() and character != " " for character in clean)


@given(TRICKY)
@example("a\u0323\u0301 \xa0b")
@example("\u1100\u1161\u11a8")
@example("\u0301a\u200b\u0301")
def test_every_character_knows_where_it_came_from(text: str) -> None:
    clean, spans = aligned(text)
    assert clean == normalize(text)
    assert len(spans) == len(clean)
    assert spans == sorted(spans)
    for character, (start, end) in zip(clean, spans, strict=True):
        assert 0 <= start < end <= len(text)
        assert character in normalize(text[start:end]) or (character == " " and any(map(str.isspace, text[start:end])))


def test_places_are_those_of_the_text_as_it_was_given() -> None:
    text = " se\u006e\u0303or\xa0\xa0mío"
    clean, spans = aligned(text)
    assert clean == "señor mío"
    assert [text[start:end] for start, end in spans] == ["s", "e", "n\u0303", "o", "r", "\xa0", "m", "í", "o"]

"""Misspelt words are read as what they can only be meant for, and all others are left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.data.profile import Profile
from mirada.data.spelling import RARE, corrections
from tests.data.test_profile import profile_of

TEXTS = ["We left because it rained near the barns.", "Letters travel; we stop later, café letter.", "They left Tom."]
PROFILE = profile_of(TEXTS * 4)


def corrected(text: str, profile: Profile = PROFILE, **options: object) -> str:
    for start, end, word in reversed(corrections(text, profile, **options)):  # type: ignore[arg-type]
        text = text[:start] + word + text[end:]
    return text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("We left becuase it raind.", "We left because it rained."),  # swapped, left out
        ("It rainned.", "It rained."),  # doubled
        ("We left becausse, beccause.", "We left because, because."),
        ("cafe traavel", "cafe travel"),  # another letter is not one that is left out
        ("Becuase Tomm left", "Becuase Tomm left"),  # names have capital letters
        ("lefft stpo hte", "left stop hte"),  # too short
        ("beaus becauze", "beaus becauze"),  # two letters, or another one
        ("becuase's un-becuase x_becuase becuase2", "becuase's un-becuase x_becuase becuase2"),
        ("We left because it rained.", "We left because it rained."),
        ("因为下雨", "因为下雨"),
        ("", ""),
    ],
)
def test_what_a_text_is_read_as(text: str, read: str) -> None:
    assert corrected(text) == read


def test_of_two_words_that_it_can_be_meant_for_it_is_read_as_none() -> None:
    assert corrected("lettr") == "letter"
    both = profile_of([*TEXTS * 4, "Who said letter or lettre?", "Who said lettre?"])
    assert corrected("lettr", both) == "lettr"  # lettr+e, lett+e+r


def test_kept_words_and_those_of_texts_with_many_unknown_words_stay() -> None:
    assert corrected("we left becuase", kept=lambda word: word == "becuase") == "we left becuase"
    assert corrected("becuase", replace(PROFILE, unseen=RARE)) == "because"
    assert corrected("becuase", replace(PROFILE, unseen=RARE + 0.001)) == "becuase"
    assert corrected("becuase", Profile()) == "becuase"


def test_what_is_no_word_is_not_looked_at() -> None:
    assert corrections("becuase" * 100_000, PROFILE) == []
    long = profile_of(["The cat sees donaudampfschifffahrtskapitaens here."] * 5)
    assert corrections("the donaudampfschifffahrtskapiteans", long) == []


@given(st.text(st.sampled_from("abcesu éTZ'-.1"), max_size=40))
def test_places_are_those_of_unknown_words(text: str) -> None:
    for start, end, word in corrections(text, PROFILE):
        assert text[start:end].islower()
        assert not PROFILE.knows(text[start:end])
        assert PROFILE.knows(word)
        assert abs(len(word) - (end - start)) <= 1

"""What source texts are like: case, names, words, sentences."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.data.profile import Case, Profile, ProfileBuilder, in_case
from mirada.errors import BundleError

TEXTS = [
    "Tom lives in Boston.",
    "I saw Mary in Boston today.",
    "Yesterday Tom and Mary went to the USA.",
    "The cat sleeps while Tom reads.",
    "Nothing else is known about Mary and the USA.",
    "They stop every morning without reason.",
]


def profile_of(texts: list[str]) -> Profile:
    builder = ProfileBuilder()
    for text in texts:
        builder.add(text)
    return builder.build()


PROFILE = profile_of(TEXTS * 3)


@pytest.mark.parametrize(
    ("text", "case", "plain"),
    [
        ("TOM WENT TO BOSTON.", "upper", "Tom went to Boston."),
        ("I SAW THE USA!", "upper", "I saw the USA!"),
        ("tom saw mary in the usa.", "lower", "Tom saw Mary in the USA."),
        ("Nothing Else Sleeps Without Reason", "title", "Nothing else sleeps without reason"),
        ("«THE CAT SLEEPS»", "upper", "«The cat sleeps»"),
        ("STOP!", "upper", "Stop!"),
        ("Cat And Reason Of The Morning", "title", "Cat and reason of the morning"),
    ],
)
def test_texts_in_another_case_are_read_in_the_usual_one(text: str, case: str, plain: str) -> None:
    assert PROFILE.case_of(text) == case
    assert PROFILE.sentence_case(text) == plain


@pytest.mark.parametrize("text", ["Tom went to Boston.", "The cat.", "USA", "the", "I", "", "12:30", "今天下雨。"])
def test_texts_in_the_usual_case_are_left_alone(text: str) -> None:
    assert PROFILE.case_of(text) is None


def test_where_texts_have_no_capitals_case_means_nothing() -> None:
    small = profile_of(["el gato ve el tren", "el perro"])
    assert small.case_of("EL GATO") is None
    assert small.case_of("el gato duerme") is None


CASES: list[tuple[Case | None, str]] = [
    ("upper", "THE CAT IS ALSO WITH ÉMILE."),
    ("lower", "the cat is also with émile."),
    ("title", "The cat is Also With Émile."),
    (None, "The cat is also with Émile."),
]


@pytest.mark.parametrize(("case", "text"), CASES)
def test_a_translation_comes_back_in_the_case_of_its_source(case: Case | None, text: str) -> None:
    assert in_case("The cat is also with Émile.", case) == text


def test_names_that_no_text_has_are_unknown() -> None:
    def unknown(profile: Profile, sentence: str, word: str) -> bool:
        return profile.is_unknown_name(sentence, word, sentence.index(word))

    assert unknown(PROFILE, "Tom saw Kowalski", "Kowalski")
    assert not unknown(PROFILE, "Tom saw Boston", "Boston")
    assert not unknown(PROFILE, "Tom saw kowalski", "kowalski")
    assert not unknown(PROFILE, "Kowalski saw Tom", "Kowalski")  # any word may be the first
    assert unknown(PROFILE, "Jana Kowalski saw Tom", "Jana")
    rare = profile_of([*TEXTS * 3, "I met Nakamura.", "I met Nakamura again."])
    assert unknown(rare, "Tom saw Nakamura", "Nakamura")  # twice is not enough to learn from
    assert rare.knows("again")
    assert not unknown(Profile(), "Tom saw Kowalski", "Kowalski")  # nothing is known: nothing is unknown


def test_where_nouns_have_capitals_no_word_is_a_name() -> None:
    nouns = ["".join(letters).capitalize() for letters in product("abcdef", repeat=3)]
    german = profile_of([f"Der Mann sieht das {noun} und die Frau." for noun in nouns] * 2)
    assert not german.is_unknown_name("Er sieht Gustav.", "Gustav", 9)


def test_sentences_of_a_text_are_counted() -> None:
    assert profile_of(["One. Two. Three."] * 60).sentences == 3
    assert PROFILE.sentences == 1


def test_most_texts_have_at_most_so_many_words() -> None:
    texts = [" ".join(["one"] * (1 + n % 20)) for n in range(400)]  # 20 of each length from 1 to 20
    assert profile_of(texts).words == 19
    assert profile_of([*texts, *[" ".join(["one"] * 50)] * 40]).words == 50
    assert profile_of(texts).merged(profile_of(["One two."] * 9)).words == 19
    assert profile_of(["One two."] * 9).merged(profile_of(texts)).words == 19


def test_how_many_words_of_a_new_text_are_unknown() -> None:
    texts = ["The cat sleeps.", "The cat reads.", "The Zebra sleeps; a cat stays."]
    found = profile_of(texts)  # inside: cat 3, sleeps 2; reads, a and stays once, and a name
    assert found.unseen == pytest.approx(3 / 8, abs=1e-4)
    assert profile_of([*texts, *texts]).unseen == 0
    assert profile_of(["Tom."]).unseen == 1
    assert found.merged(profile_of([*texts, *texts])).unseen == found.unseen
    assert set(found.letters) == set("catsleepreadyb")
    assert set(found.merged(profile_of(["The ñandú."])).letters) == set(found.letters) | set("ñandú")


def test_a_merged_profile_knows_the_words_of_both() -> None:
    both = PROFILE.merged(profile_of(["Hier wohnt Jana mit Tom.", "Dort wohnt Jana."] * 2))
    assert both.knows("jana")
    assert both.knows("boston")
    assert both.names["jana"] == "Jana"
    assert both.names["usa"] == "USA"
    assert both.capitalized == PROFILE.capitalized


def test_a_profile_survives_its_file(tmp_path: Path) -> None:
    assert Profile.load(tmp_path / "profile.json", PROFILE.to_json().encode()) == PROFILE


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b'{"capitalized": 2, "sentences": 1, "names": {}, "known": ""}']
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BundleError, match="damaged"):
        Profile.load(tmp_path / "profile.json", content)


def test_damaged_words_are_refused(tmp_path: Path) -> None:
    for known in ("AAA", "AAAA", "!"):
        content = PROFILE.to_json().replace(PROFILE.to_json().split('"known": "')[1].split('"')[0], known)
        with pytest.raises(BundleError, match="known words"):
            Profile.load(tmp_path / "profile.json", content.encode())


@given(st.text())
def test_any_text_has_a_case(text: str) -> None:
    PROFILE.sentence_case(text)
    for case, _ in CASES:
        in_case(text, case)
    assert PROFILE.case_of(text) in (None, "upper", "title", "lower")

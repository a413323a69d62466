"""Flags: loops, lost spans, copies, other languages."""

from __future__ import annotations

import pytest

from mirada.data.masking import MARKERS, Masked
from mirada.tasks.translation.flags import faults, is_copy, loops, lost, other_language
from tests.data.test_profile import PROFILE, profile_of


@pytest.mark.parametrize(
    ("ids", "loop"),
    [
        ([1, 2, 3, 4], False),
        ([7, 7, 7], False),
        ([7, 7, 7, 7], True),
        ([1, 2, 1, 2], False),
        ([9, 1, 2, 1, 2, 1, 2, 5], True),
        ([1, 2, 3, 4, 5, 6, 7, 8] * 3, True),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9] * 3, False),
        ([1, 2, 3, 1, 2, 4, 1, 2, 5], False),
        ([], False),
    ],
)
def test_loops_are_the_same_tokens_over_and_over(ids: list[int], loop: bool) -> None:
    assert loops(ids) is loop


@pytest.mark.parametrize(
    ("source", "translation", "gone"),
    [
        ("at 12:30", "a las 12:30", False),
        ("at 12:30", "a las doce", True),
        ("1,000.50 euros", "1.000,50 euros", False),
        ("2 dogs", "dos perros", False),
        ("2 dogs", "1 perros", True),
        ("2 of 5 dogs", "5 de 2 perros", False),
        ("42 dogs", "perros", True),
        ("2 of 42 dogs", "2 perros", True),
        ("see %s", "ver %d", True),
        ("<b>so</b>", "así", True),
        ("great 👍", "genial", True),
        ("https://a.b/c", "https://a.b", True),
        ("nothing", "nada", False),
    ],
)
def test_what_is_lost(source: str, translation: str, gone: bool) -> None:
    assert lost(source, translation) is gone


def test_a_source_that_repeats_itself_may_be_repeated() -> None:
    ha = [5] * 6
    assert faults("ha ha ha ha", Masked("ha ha ha ha"), ha, "ja ja ja ja", ha) == set()
    assert faults("safety", Masked("safety"), [3, 4], "safety safety", ha) == {"repetition"}


def test_a_word_that_repeats_a_part_of_itself_is_a_loop() -> None:
    assert faults("línea", Masked("línea"), [1], "lineineine", [2, 3, 4]) == {"repetition"}
    assert faults("jajaja", Masked("jajaja"), [1], "hahaha", [2]) == set()
    assert faults("el río", Masked("el río"), [1], "the Mississippi banana", [2]) == set()


def test_a_marker_that_is_missing_or_repeated_is_lost() -> None:
    masked = Masked(f"at {MARKERS[0]}", ("12:30",))
    assert faults("at 12:30", masked, [1], f"a las {MARKERS[0]}", [2]) == set()
    assert faults("at 12:30", masked, [1], "a las 12:30", [2]) == {"lost"}
    assert faults("at 12:30", masked, [1], MARKERS[0] * 2, [2]) == {"lost"}


def test_a_copy_has_words_that_should_have_been_translated() -> None:
    assert is_copy("the cat sees it", "The cat sees it")
    assert not is_copy("Tom Smith Jones", "Tom Smith Jones")
    assert not is_copy("the cat", "the cat")
    assert not is_copy("the cat sees it", "el gato lo ve")


def test_texts_in_another_language_are_told() -> None:
    spanish = "Todos los gatos de la ciudad duermen durante el día y salen por la noche."
    assert other_language("en", spanish)
    assert not other_language("es", spanish)
    assert not other_language("nah", spanish)  # a language that cannot be told
    assert not other_language(None, spanish)
    assert not other_language("en", "sí")


def test_a_language_that_is_likely_counts_where_words_are_unknown() -> None:
    portuguese = "O que aconteceu com seu cachorro?"
    assert not other_language("en", portuguese)
    assert other_language("en", portuguese, PROFILE)


def test_a_text_of_known_words_is_in_the_language_of_the_model() -> None:
    spanish = "Todos los gatos de la ciudad duermen durante el día y salen por la noche."
    assert not other_language("en", spanish, profile_of([spanish]))
    assert other_language("en", spanish, profile_of(["Todos los gatos."]))


def test_a_translation_that_is_far_shorter_than_its_source_is_flagged() -> None:
    source, ids = Masked("a b c"), list(range(10, 22))
    assert faults("a b c", source, ids, "x", [7, 8, 9]) == {"short"}
    assert faults("a b c", source, ids, "x", [5, 6, 7, 8, 9]) == set()
    assert faults("a b c", source, ids[:9], "x", [7]) == set()

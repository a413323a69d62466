"""Noise for test sets: the same on both sides, the same in every run."""

from __future__ import annotations

import re
import unicodedata
from random import Random

import pytest

from bench import noise
from bench.noise import KINDS, Altered, cases

PAIRS = [
    ("I thanked Tom.", "Agradeci ao Tom."),
    ("There are only 28 days in February.", "Há apenas 28 dias em fevereiro."),
    ("If you go, Mary goes.", "Se você for, Mary vai."),
    ("Where is my old umbrella?", "Onde está meu velho guarda-chuva?"),
    ("Run!", "Corra!"),
] * 8
BY_NAME = {kind.name: kind for kind in KINDS}


def made(name: str) -> list[Altered]:
    return [case.altered for case in cases(BY_NAME[name], PAIRS, range(len(PAIRS)))]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_run_makes_the_same_noise(kind: noise.Kind) -> None:
    first = cases(kind, PAIRS, range(len(PAIRS)))
    assert first
    assert cases(kind, PAIRS, range(len(PAIRS))) == first


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_line_gets_the_same_noise_in_a_smaller_sample(kind: noise.Kind) -> None:
    every = cases(kind, PAIRS, range(len(PAIRS)))
    assert cases(kind, PAIRS, range(30))[0] == every[0]


@pytest.mark.parametrize("name", ["numbers", "addresses", "tags", "names", "emoji"])
def test_spans_are_on_both_sides(name: str) -> None:
    found = made(name)
    assert len(found) >= 16
    assert len({altered.spans for altered in found}) > 2
    for source, reference, spans, _ in found:
        assert spans
        assert reference is not None
        assert all(span in source and span in reference for span in spans)


def test_other_numbers_take_the_place_of_those_that_both_sides_have() -> None:
    source, reference, spans, _ = noise.numbers(*PAIRS[1], Random(1))
    assert spans != ("28",)
    assert source == f"There are only {spans[0]} days in February."
    assert reference == f"Há apenas {spans[0]} dias em fevereiro."


def test_a_number_is_inserted_where_the_sides_have_different_ones() -> None:
    source, reference, (span,), _ = noise.numbers("It costs 5 euros.", "Custa cinco euros.", Random(1))
    assert source.startswith("It costs 5 euros")
    assert source.endswith(".")
    assert reference == "Custa cinco euros" + source.removeprefix("It costs 5 euros")
    assert span in source


def test_only_a_name_that_both_sides_share_is_replaced() -> None:
    assert noise.names("I thanked Tom.", "Eu lhe agradeci.", Random(1)) is None
    altered = noise.names("Tom's dog saw Mary.", "O cachorro de Tom viu Maria.", Random(1))
    assert altered is not None
    assert altered.source == f"{altered.spans[0]}'s dog saw Mary."
    assert altered.reference == f"O cachorro de {altered.spans[0]} viu Maria."


def test_tags_enclose_the_shared_name_the_clause_or_the_sentence() -> None:
    found = {noise.tags(*pair, Random(seed)).source for pair in PAIRS[:5] for seed in range(30)}
    assert {"I thanked <b>Tom</b>.", "<i>If you go</i>, Mary goes.", "<p>Run!</p>"} <= found


def test_letter_case_changes_on_both_sides() -> None:
    assert noise.upper(*PAIRS[2], Random(1))[:2] == ("IF YOU GO, MARY GOES.", "SE VOCÊ FOR, MARY VAI.")
    assert noise.lower(*PAIRS[2], Random(1))[:2] == ("if you go, mary goes.", "se você for, mary vai.")
    assert noise.title(*PAIRS[2], Random(1))[:2] == ("If you go, Mary Goes.", "Se Você for, Mary vai.")


@pytest.mark.parametrize("name", ["odd spaces", "typos", "NFD"])
def test_spaces_typos_and_nfd_change_the_source_alone(name: str) -> None:
    for source, reference, *_ in made(name):
        assert source not in {pair[0] for pair in PAIRS}
        if name == "NFD":  # a shared name may have been replaced
            assert not unicodedata.is_normalized("NFC", source)
            assert reference is not None
            assert unicodedata.is_normalized("NFC", reference)
        else:
            assert reference in {pair[1] for pair in PAIRS}
        if name == "odd spaces":
            assert source.replace("\u200b", "").split() in [pair[0].split() for pair in PAIRS]


def test_a_typo_keeps_a_word_almost_as_it_is() -> None:
    words = PAIRS[3][0].split()
    for seed in range(50):
        altered = noise.typos(*PAIRS[3], Random(seed))
        assert altered is not None
        found = altered.source.split()
        assert len(found) == len(words)
        assert all(
            abs(len(one) - len(other)) <= 1 and one[0] == other[0] for one, other in zip(found, words, strict=True)
        )


def test_joined_lines_use_every_line_once_and_in_order() -> None:
    found = cases(BY_NAME["2 to 6 sentences"], PAIRS, range(len(PAIRS)))
    used = [pair for case in found for pair in case.clean]
    assert used == PAIRS[: len(used)]
    assert len(PAIRS) - len(used) <= 1
    for _, clean, altered in found:
        assert 2 <= len(clean) <= 6
        assert altered.source == " ".join(source for source, _ in clean)
        assert altered.reference == " ".join(reference for _, reference in clean)


def test_very_long_input_has_no_sentence_break() -> None:
    for source, *_ in made("very long"):
        assert len(source.split(", ")) >= 10
        assert not re.search(r"[.!?]\s", source)

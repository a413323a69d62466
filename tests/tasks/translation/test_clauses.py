"""Where a long sentence is split in two, and what stays whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.data.masking import spans
from mirada.tasks.translation.clauses import anywhere, between_clauses


def split(sentence: str) -> list[str]:
    place = between_clauses(sentence, spans(sentence))
    return [sentence] if place is None else [sentence[:place], sentence[place:]]


@pytest.mark.parametrize(
    "parts",
    [
        ["We know that, ", "but we stay here."],
        ["We know, that is true; ", "but we, for now, stay here."],
        ["They sell bread, milk, ", "tea and red apples."],
        ["我 知道 这 个，", "但是 我 还 在 这里。"],
        ["We know that but we stay here."],
        ["Well, we know that but we stay here."],  # one word is no clause
        ["We know that, <b>Tom, Ann and Eve</b>, ", "and we stay here."],
        ["We know that, Tom, ", "<b>we stay here, as ever</b> and ever."],
        ['We know the <a title="a, b c d" href="x">way, and so on, you see</a> and stay.'],
        ["We know 1,000,000 of them and stay here."],
    ],
)
def test_the_clauses_of_a_sentence(parts: list[str]) -> None:
    assert split("".join(parts)) == parts


@given(st.text(st.sampled_from("ab ,;:，\t"), min_size=2, max_size=80))
@settings(deadline=None)
def test_a_sentence_that_is_too_long_is_split_at_the_best_place(sentence: str) -> None:
    sentence = sentence.strip()
    place = anywhere(sentence, ())
    if place is None:
        assert not any(mark in sentence[:-1] for mark in " ;\t")
    else:
        assert 0 < place < len(sentence)
        assert sentence[place - 1] in " ,;:，\t"


@pytest.mark.parametrize(
    "parts",
    [
        ["aa, bbb bb; ", "ccc ccc, dd"],
        ["aaa aaa, ", "bbb bbb"],
        ["aaaa ", "bbbb"],
        ["aaa ", "<b>aaa aaa aaa</b>"],
        ["<b>aaa ", "aaa</b>"],  # there is no other place
    ],
)
def test_the_middle_semicolon_goes_before_commas_and_spaces(parts: list[str]) -> None:
    sentence = "".join(parts)
    assert anywhere(sentence, spans(sentence)) == len(parts[0])
    assert anywhere("aaaabbbb", ()) is None

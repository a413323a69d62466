"""Inline tags: taken out, and put back where the words have gone."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mirada.tasks.translation.markup import TAG, Tags, pairs, put_back, take_out


def words(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in re.finditer(r"\w+|[^\w\s]", text)]


def moved(source: str, target: str, links: dict[int, int]) -> str:
    """The target with the source's tags, where word t of the target looks at word links[t] of the source."""
    tags = re.findall(r"<[^>]*>", source)
    numbers = iter(range(len(tags)))
    plain, taken = take_out(re.sub(r"<[^>]*>", lambda _: chr(0xE100 + next(numbers)), source), tags)
    attention = np.zeros((len(words(target)), len(words(plain))), np.float32)
    for t, s in links.items():
        attention[t, s] = 1
    placed = put_back(taken, plain, words(plain), target, words(target), attention)
    return TAG.sub(lambda found: tags[ord(found[0]) - 0xE100], placed)


def test_tags_go_with_the_words_they_enclose() -> None:
    assert moved("The <b>black cat</b> sleeps.", "El gato negro duerme.", {0: 0, 1: 2, 2: 1, 3: 3, 4: 4}) == (
        "El <b>gato negro</b> duerme."
    )
    assert moved("The <b>black</b> cat", "El gato negro", {0: 0, 1: 2, 2: 1}) == "El gato <b>negro</b>"
    assert moved("<a href='x'>See</a> it", "Lo ve", {0: 1, 1: 0}) == "Lo <a href='x'>ve</a>"


def test_a_contraction_is_one_word() -> None:
    links = {0: 0, 1: 2, 2: 1, 3: 1, 4: 3}  # Tom isn ' t here
    assert moved("Tom <b>no</b> está aquí", "Tom isn't here", links) == "Tom <b>isn't</b> here"


def test_a_mark_at_the_end_stays_outside() -> None:
    links = {0: 0, 1: 1, 2: 1}
    assert moved("Click <b>here</b>.", "Pulse aquí.", links) == "Pulse <b>aquí</b>."
    assert moved("Click <b>here.</b>", "Pulse aquí.", links) == "Pulse <b>aquí.</b>"


def test_pairs_stay_nested() -> None:
    links = {0: 0, 1: 2, 2: 1}
    assert moved("<i>The <b>black</b> cat</i>", "El gato negro", links) == "<i>El gato <b>negro</b></i>"
    assert moved("The <i><b>black</b></i> cat", "El gato negro", links) == "El gato <i><b>negro</b></i>"
    assert moved("<b>The</b> <i>black</i> cat", "El gato negro", links) == "<b>El</b> gato <i>negro</i>"


def test_single_tags_stand_before_what_follows_them() -> None:
    assert moved("The <img src='x'>black cat", "El gato negro", {0: 0, 1: 2, 2: 1}) == "El gato <img src='x'>negro"


def test_a_tag_whose_words_have_no_counterpart_is_kept() -> None:
    found = moved("The <b>black</b> cat", "El gato", {0: 0, 1: 2})
    assert sorted(re.findall("<[^>]*>", found)) == ["</b>", "<b>"]
    assert re.sub("<[^>]*>", "", found) == "El gato"


def test_partners() -> None:
    assert pairs(["<b>", "<i>", "</i>", "</b>", "<br>", "<x/>", "</u>"]) == [3, 2, 1, 0, None, None, None]


class _Nesting(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


NESTED = st.recursive(
    st.sampled_from(["one ", "two ", "three ", ""]),
    lambda inner: st.tuples(st.sampled_from("biu"), inner, inner).map(lambda x: f"<{x[0]}>{x[1]}</{x[0]}>{x[2]}"),
    max_leaves=12,
)


@given(NESTED, st.lists(st.integers(0, 20), min_size=1, max_size=8))
def test_whatever_the_attention_says_all_tags_are_there_and_nested(source: str, links: list[int]) -> None:
    target = " ".join("abcdefgh"[: len(links)])
    count = max(1, len(words(re.sub("<[^>]*>", "", source))))
    looked = {t: s % count for t, s in enumerate(links)} if re.sub("<[^>]*>", "", source).strip() else {}
    found = moved(source, target, looked)
    assert re.sub("<[^>]*>", "", found) == target
    assert sorted(re.findall("<[^>]*>", found)) == sorted(re.findall("<[^>]*>", source))
    nesting = _Nesting()
    nesting.feed(found)
    assert nesting.open == []


def test_a_text_without_tags_is_as_it_was() -> None:
    assert take_out("one", []) == ("one", Tags((), ()))

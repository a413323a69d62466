"""Tags inside of texts: which belong together, and what is done about those that a translation lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.documents import inline


@given(st.text(st.sampled_from("<>&;/ ab#1ltamp")))
def test_what_is_shown_is_what_is_meant(text: str) -> None:
    shown = inline.shown(text)
    assert inline.meant(shown) == text
    assert inline.tags(shown) == []


def test_stripped() -> None:
    assert inline.stripped("uno<x1/>dos <x2/> <b>tres</b>.<br>") == "uno dos tres."


def test_pairs() -> None:
    assert inline.pairs(["<b>", "<br>", "<i>", "</i>", "</b>", "</a>", "<x1/>"]) == [(0, 4), (2, 3)]
    assert inline.pairs(["<b>", "</i>"]) == []


@pytest.mark.parametrize(
    ("source", "translation", "mended"),
    [
        ("el <b>gato</b>", "the <b>cat</b>", "the <b>cat</b>"),
        ("<b>Nota:</b> el gato", "Note:</b> the cat", "<b>Note:</b> the cat"),
        ("el <b>gato</b>", "the <b>cat", "the <b>cat</b>"),
        ("el <b>gato</b>", "<i>the</i> <b>cat</b></b>", "the <b>cat</b>"),
        ("<b><i>Ay</i>:</b> el <i><b>gato</b></i>", "<i>Oh</i>: the <i>cat</i>", None),
        (
            "<b><i>Ay</i>:</b> el <u><s>gato</s></u>",
            "Oh</i>:</b> the <u><s>cat",
            "<b><i>Oh</i>:</b> the <u><s>cat</s></u>",
        ),
        ("el <b>gato</b>", "the </b>cat<b>", None),
        ("el <b>gato</b> ve", "the cat sees", None),
        ("a <b>b</b> <i>c</i>", "a <b>b <i>c</b></i>", None),
        ("a <x1/> b", "a b", None),
        ("a & b", "a &amp; b", "a &amp; b"),
    ],
)
def test_mended(source: str, translation: str, mended: str | None) -> None:
    assert inline.mended(source, translation) == mended


@pytest.mark.parametrize(
    ("source", "plain", "parts", "placed", "lost"),
    [
        ("el <b>gato negro</b> ve", "the black cat sees", {"gato negro": "black cat"}, "the <b>black cat</b> sees", []),
        ("el <b>gato</b> ve", "the cat sees", {"gato": "feline"}, "the cat sees", ["gato"]),
        ("el <b>gato</b> ve", "a cat sees a cat", {"gato": "cat"}, "a cat sees a cat", ["gato"]),
        ('ve <a href="x">esto</a> y', "see this and", {"esto": "that"}, '<a href="x">see this and</a>', []),
        ("ve <a1>a</a1> y <a2>b</a2> hoy", "see x and z now", {}, "see <a1>x</a1> and <a2>z</a2> now", []),
        ("ve <a1>a</a1> y <a2>b</a2> hoy", "see z and x now", {"a": "x"}, "see z and <a1>x</a1> now", ["b"]),
        ("uno <x1/> dos tres", "one two three", {}, "one <x1/> two three", []),
        ("uno<x1/> dos tres", "one two three", {}, "one<x1/> two three", []),
        ("a <b><i>gato</i></b> b", "a Cat b", {"gato": "cat."}, "a <b><i>Cat</i></b> b", []),
        ("<b>x</b> y <i>x</i>", "x y", {"x": "x"}, "<b>x</b> y", ["x"]),
    ],
)
def test_placed(source: str, plain: str, parts: dict[str, str], placed: str, lost: list[str]) -> None:
    assert inline.placed(source, plain, parts) == (placed, lost)
    assert inline.may_be_written(source, placed)


TAGS = st.sampled_from(["<b>", "</b>", "<i>", "</i>", "<x1/>", "gato ", "tren ", "ve"])


@given(st.lists(TAGS, max_size=9).map("".join), st.lists(TAGS, max_size=9).map("".join))
def test_what_is_mended_fits(source: str, translation: str) -> None:
    mended = inline.mended(source, translation)
    if mended is not None:
        assert inline.fits(source, mended)
        assert inline.stripped(mended).replace(" ", "") == inline.stripped(translation).replace(" ", "")


def test_what_may_be_written() -> None:
    assert inline.may_be_written("el <b>gato</b> <x1/>", "the cat <x1/>")
    assert not inline.may_be_written("el <b>gato</b> <x1/>", "the <b>cat</b>")
    assert not inline.may_be_written("el <b>gato</b>", "the <b>cat")
    assert not inline.may_be_written("el <b>gato</b>", "the <i>cat</i>")

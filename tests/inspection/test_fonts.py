"""Fonts are chosen by the characters they have, and a script that none has is named."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from mirada.inspection import fonts
from mirada.inspection.fonts import FontWarning, choose_fonts, drawable, script_of, styled
from tests.inspection.test_attention import an_attention

HAS_CHINESE = not choose_fonts(frozenset("猫"))[1]
"""Whether a font for Chinese is installed here."""


@pytest.fixture
def two_fonts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installed are DejaVu and two fonts, one of which has two of three Chinese characters."""
    have = {"dejavu": "abc", "song": "猫喝", "all": "猫", "boxes": "猫喝奶"}

    def font(name: str, path: str, style: str = "normal") -> SimpleNamespace:
        return SimpleNamespace(name=name, fname=path, style=style, weight=400)

    listed = [font("All", "all"), font("Song", "song"), font("Last Resort X", "boxes"), font("I", "boxes", "italic")]
    monkeypatch.setattr("matplotlib.font_manager.fontManager", SimpleNamespace(ttflist=listed))
    monkeypatch.setattr(fonts, "_default", lambda: "dejavu")
    monkeypatch.setattr(fonts, "_characters", lambda path: frozenset(map(ord, have[path])))
    choose_fonts.cache_clear()
    yield
    choose_fonts.cache_clear()


@pytest.mark.usefixtures("two_fonts")
def test_the_font_that_has_most_is_taken_and_what_none_has_is_left() -> None:
    assert choose_fonts(frozenset("ab ")) == (("DejaVu Sans",), frozenset())
    assert choose_fonts(frozenset("a猫")) in (
        (("DejaVu Sans", "All"), frozenset()),
        (("DejaVu Sans", "Song"), frozenset()),
    )
    assert choose_fonts(frozenset("a猫喝奶\u200d")) == (("DejaVu Sans", "Song"), frozenset("奶"))


@pytest.mark.usefixtures("two_fonts")
def test_a_script_that_cannot_be_drawn_is_named_and_no_boxes_are_drawn() -> None:
    with (
        pytest.warns(FontWarning, match=r"no installed font has Chinese characters: each such character is drawn as ·"),
        styled(["a", "猫奶。"]) as shown,
    ):
        assert shown("猫奶a") == "猫·a"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with styled(["猫奶。"], keeps_text=True) as shown:  # an SVG is drawn with the reader's fonts
            assert shown("猫奶") == "猫奶"


def test_an_svg_keeps_text_that_no_font_here_has(tmp_path: Path) -> None:
    found = an_attention(["猫\U0001f9ec", "a"], ["x", "y"])
    found.save(tmp_path / "look.svg")
    text = (tmp_path / "look.svg").read_text(encoding="utf-8")
    assert HAS_CHINESE or "猫" in text


@pytest.mark.parametrize(
    ("letter", "script"),
    [("猫", "Chinese characters"), ("。", "Chinese characters"), ("か", "Japanese"), ("한", "Korean"),
     ("ब", "Devanagari"), ("😀", "emoji"), ("ش", "Arabic"), ("☂", "signs such as ☂")],
)  # fmt: skip
def test_scripts_are_called_as_people_call_them(letter: str, script: str) -> None:
    assert script_of(letter) == script


def test_selectors_are_not_drawn_and_control_characters_are_seen() -> None:
    assert drawable("❤\ufe0f a\x07\nb") == "❤ a\ufffd\nb"


def test_an_older_matplotlib_says_that_it_draws_from_left_to_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matplotlib.__version__", "3.9.2")
    said = r"matplotlib 3\.9\.2 draws right-to-left text from left to right"
    with pytest.warns(FontWarning, match=said), styled(["שלום"]):
        pass
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with styled(["hello"]):
            pass

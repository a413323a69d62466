"""How a text is cut into what a model reads, and its translations get case, spans and tags back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirada.data import profile as profiles
from mirada.data.masking import MARKERS
from mirada.data.profile import Profile
from mirada.tasks.translation.glossary import Glossary
from mirada.tasks.translation.pieces import Cutter, Piece
from tests.data.test_profile import PROFILE


def cut(text: str, *, profile: Profile | None = PROFILE, masks: bool = True, split: bool = True) -> list[Piece]:
    return list(Cutter(profile, masks).cut(0, text, split, "en"))


def read(text: str) -> list[str]:
    """The pieces of a text as the model reads them, markers shown as their numbers."""
    shown = str.maketrans({marker: f"[{number}]" for number, marker in enumerate(MARKERS)})
    return [piece.masked.text.translate(shown) for piece in cut(text)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("The cat sleeps. It stops at 12:30.", ["The cat sleeps.", "It stops at [0]."]),
        ("<p>The cat sleeps.</p> <p>It stops.</p>", ["The cat sleeps.", "It stops."]),
        ("The <b>cat</b> sleeps.<br>It stops.", ["The cat sleeps.", "It stops."]),
        ("The cat<br>sleeps.", ["The cat", "sleeps."]),
        ("<li>The cat</li><li>The USA</li>", ["The cat", "The USA"]),
        ("The <img src='x'> cat.", ["The  cat."]),
        ("<b>The cat</b> sleeps.", ["The cat sleeps."]),
        ("<i><b>The cat.</b></i>", ["The cat."]),
        ("<b>The</b> <b>cat</b>", ["The cat"]),
        ('See <a href="https://x.y/a. B">this. Or</a> that.', ["See this.", "Or that."]),
        ("Mail a.b@c.org. The cat sleeps.", ["Mail [0].", "The cat sleeps."]),
        ("THE CAT SLEEPS AT 12:30. The cat.", ["The cat sleeps at [0].", "The cat."]),
        ("I saw Kowalski in Boston.", ["I saw [0] in Boston."]),
        ("Kowalski sleeps.", ["Kowalski sleeps."]),
        ("Jana Kowalski sleeps.", ["[0] sleeps."]),
        ("I saw Jana Kowalski's cat.", ["I saw [0]'s cat."]),
        ("I saw Ine\u0302s.", ["I saw [0]."]),  # in two characters, and yet one letter
        ("NO! THE CAT SLEEPS!", ["No!", "The cat sleeps!"]),
        ("  \n ", []),
        ("<br/>", []),
    ],
)
def test_what_the_model_reads(text: str, pieces: list[str]) -> None:
    assert read(text) == pieces


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("Paid the cat.", ["Paid"]),
        ("The cat sleeps. Paid the cat.", ["", "Paid"]),
        ("<b>Paid</b> the cat.", ["Paid"]),
        ("“Paid the cat”", ["Paid"]),
        ("Paid", ["Paid"]),
        ("Jana Kowalski sleeps.", [""]),
        ("<b>Jana</b> Mary sleeps.", [""]),
        ("I saw Kowalski in Boston.", [""]),
        ("NATO sleeps.", [""]),
        ("12:30 Kowalski sleeps.", [""]),
        ("The cat sleeps.", [""]),
    ],
)
def test_a_first_word_that_may_be_no_name(monkeypatch: pytest.MonkeyPatch, text: str, unknown: list[str]) -> None:
    monkeypatch.setattr(profiles, "LARGE", 1)
    assert [piece.unknown for piece in cut(text)] == unknown


def test_where_few_words_are_known_a_first_word_is_no_name() -> None:
    assert [piece.unknown for piece in cut("Paid the cat.")] == [""]


def with_tags(piece: Piece) -> str:
    """The text that the model reads, with its tags where they were."""
    text = piece.masked.text
    for number, place in reversed(list(enumerate(piece.tags.places))):
        text = text[:place] + chr(0xE100 + number) + text[place:]
    return text


@pytest.mark.parametrize(
    "text",
    [
        "<p>THE CAT at 12:30.</p> And <b>Kowalski</b>!",
        "One. Two? <i>Three.</i> https://a.b/c?d=e. %s {x}",
        "tom saw the cat",
        "TOM SAW THE USA AT 12:30",
        "NO! THE USA!",
    ],
)
def test_pieces_that_translate_to_themselves_give_the_text_back(text: str) -> None:
    found, end = "", 0
    for piece in cut(text):
        assert text[piece.start : piece.end] == piece.source
        found += text[end : piece.start] + piece.finish(with_tags(piece))
        end = piece.end
    assert found + text[end:] == text


def test_a_text_may_be_one_piece() -> None:
    (piece,) = cut(" One. Two. ", split=False)
    assert (piece.source, piece.start) == ("One. Two.", 1)


def test_a_model_without_markers_and_profile_reads_texts_as_they_are() -> None:
    (piece,) = cut("KOWALSKI AT 12:30", profile=None, masks=False)
    assert piece.masked.text == piece.source == "KOWALSKI AT 12:30"
    assert piece.finish("gracias") == "gracias"


@pytest.mark.parametrize(
    ("text", "copied"), [("12:30", True), ("https://a.b/c", True), ("👍 !", True), ("at 12:30", False)]
)
def test_what_has_no_words_is_copied(text: str, copied: bool) -> None:
    assert cut(text)[0].copied is copied


def test_a_translation_of_a_text_without_a_full_stop_has_none() -> None:
    assert cut("The cat sleeps")[0].finish("El gato duerme.") == "El gato duerme"
    assert cut("The cat sleeps.")[0].finish("El gato duerme.") == "El gato duerme."
    assert cut("The cat sleeps")[0].finish("El gato duerme...") == "El gato duerme..."
    assert cut("The cat sleeps ♪")[0].finish(f"El gato duerme {MARKERS[0]}.") == "El gato duerme ♪"


def test_terms_keep_their_capitals_in_a_headline() -> None:
    terms = Glossary.of({"The Cat": None, "dog": "perro"}).find
    (piece,) = Cutter(PROFILE, masks=True).cut(0, "I Saw The Cat And The Dog", True, "en", terms)
    assert (piece.case, piece.masked.text) == ("title", "I saw The Cat and the dog")


@pytest.mark.parametrize(
    ("source", "translation", "finished"),
    [
        ("pero no soy de aquí", "But I am not from here.", "but I am not from here"),
        ("pero no soy de aquí", "I am not from here!", "I am not from here"),
        ("cuando duerme Tom", "Tom sleeps.", "Tom sleeps"),  # a name
        ("de la USA", "USA.", "USA"),
        ("¿Duerme el gato", "Does the cat sleep?", "Does the cat sleep"),
        ("y así ...", "And so ...", "and so ..."),
    ],
)
def test_a_clause_is_finished_like_its_source(source: str, translation: str, finished: str) -> None:
    cutter = Cutter(replace(PROFILE, capitalized=1.0, stopped=1.0), masks=False)
    piece = cutter.piece(0, source, 0, len(source), inner=True, cut=True)
    assert piece.masked.text == source[0].upper() + source[1:]
    assert piece.finish(translation) == finished
    assert piece.finish("London", first=False) == "London"  # a word of its translation
    assert cutter.piece(0, source, 0, len(source)).finish("Yes?") != "yes"

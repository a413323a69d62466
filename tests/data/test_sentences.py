"""Where sentences begin and end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.data.sentences import sentences

MARKS = ".!?…。！？ \n\t\xa0\"'»«”“)(]¿¡aAbñÑ1中のSr,;:-"


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    "text",
    [
        "(It rained.)|We stayed.",
        "“Come in.”|He sat down.",
        "Dijo: «Ven.»|Y se fue.",
        "« Bonjour ! »|Elle partit.",
        'He said "Go."|She went.',
        "[Note 1.]|Then go on.",
        "¿Vienes?|¡Claro que sí!|Vamos.",
        "¡Hola!|¿qué tal?",
        "El gato duerme.|El perro come.|Llueve.",
        "one is here.|two is there.|three is gone.",
        "El Sr. García vive en la Avda. América.|Es médico.",
        "La Dra. Ruiz y el Dr. Gil, p. ej., no vienen.|Lo siento.",
        "Mr. Smith met Mrs. Jones, i.e. his boss.|They left.",
        "Use tools, e.g. a saw.|Then sand it.",
        "J. R. R. Tolkien wrote it.|It is long.",
        "It costs 3.5 euros.|See www.x.com for more.",
        "Acme Inc. was sold.|Nobody knew.",
        "He works for Acme Inc.|She does not.",
        "It opens at 9 a.m. every day.|Come early.",
        "We meet at 9 a.m.|Come early.",
        "Wait... what is it?|Nothing.",
        "Bien...|Vamos ya.",
        "Bien…|Vamos ya.",
        "1. Open the door.|2. Close it.",
        "See p. 55 and fig. 3, vol. II.|It is there.",
        "He said no.|Then he left.",
        "Am 3. Oktober kam er.|Er blieb.",
        "“Stop!” he cried.|Nobody did.",
        "Really?!|Yes!!!|No.",
        "今天下雨。|我们留在家里。|真的吗？|是的！",
        "“你好。”他说。|她笑了。",
        "「行く。」と彼は言った。|雨だ。",
        "यह घर है।|वह स्कूल है।",
        "هل أنت هنا؟|نعم.",
        "วันนี้ฝนตก เราอยู่บ้าน",
        "Ο Νίκος ήρθε.|Έφυγε.",
        "No full stop at all",
        "One.",
        "Uno.|Dos sin punto",
        "Well . . .|I see.",
        "e-mail a.b@c.org now.|Thanks.",
        "Versión 2.0.|Nueva.",
        "Importante.|*Lea esto.*",
        "Fin.|— ¿Quién es?|— Yo.",
    ],
)
def test_sentences_are_told_apart(text: str) -> None:
    wanted = text.split("|")
    assert cut(text.replace("|", " ")) == wanted
    wide = [part for part in wanted[:-1] if part[-1] in "。！？"]
    if wide and len(wide) == len(wanted) - 1:
        assert cut("".join(wanted)) == wanted


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Das kostet ca. Zwei Euro.|Danke."),
        ("pl", "Jest to np. Warszawa.|Tak."),
        ("ru", "Он живёт на ул. Ленина.|Да."),
        ("it", "Il sig. Rossi è qui.|Grazie."),
        ("nl", "Dhr. Jansen is hier.|Dank."),
        ("en", "Gen. Smith left.|Nobody knows."),
        ("es", "El Ing. Gómez vino.|Adiós."),
    ],
)
def test_abbreviations_of_a_language_end_no_sentence(language: str, text: str) -> None:
    whole, wanted = text.replace("|", " "), text.split("|")
    assert [whole[start:end] for start, end in sentences(whole, language)] == wanted
    assert cut(whole) != wanted


def test_line_breaks_end_sentences() -> None:
    assert cut("Title\n\nEl gato.\r\n  el perro\n") == ["Title", "El gato.", "el perro"]


@given(st.one_of(st.text(), st.text(st.sampled_from(MARKS), max_size=60)))
def test_sentences_and_what_is_between_them_spell_the_text(text: str) -> None:
    spans = sentences(text)
    places = [0, *(place for span in spans for place in span), len(text)]
    assert places == sorted(places)
    gaps = [text[end:start] for end, start in zip(places[::2], places[1::2], strict=True)]
    inner = [text[start:end] for start, end in spans]
    assert all(not gap.strip() for gap in gaps)
    assert all(part and part == part.strip() for part in inner)
    assert "".join(part for pair in zip(gaps, [*inner, ""], strict=True) for part in pair) == text


@given(st.lists(st.sampled_from(["El gato duerme.", "¿Llueve?", "(No.)", "«Sí.»", "Es el Sr. Gil."]), min_size=1))
def test_a_sentence_is_the_same_wherever_it_stands(parts: list[str]) -> None:
    assert cut(" ".join(parts)) == parts


@pytest.mark.parametrize(
    "text", ["." * 300_000, ". " * 150_000, "! -" * 100_000, ".)" * 150_000, "。" * 300_000 + " " * 300_000]
)
def test_no_text_takes_long(text: str) -> None:
    sentences(text)  # a pattern that goes back and forth would not end

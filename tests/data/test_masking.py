"""Spans that are copied: found, masked on both sides of a pair, and put back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.data.masking import MARKER, MARKERS, mask, mask_pair, spans
from mirada.data.normalize import normalize
from mirada.data.tokenizer import Tokenizer


def texts(text: str) -> list[str]:
    return [text[span.start : span.end] for span in spans(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Call %s at 12:30 on 555-0199.", ["%s", "12:30", "555-0199"]),
        ("See https://a.b/c?d=1, or write to a.b@c.org.", ["https://a.b/c?d=1", "a.b@c.org"]),
        ("<b>It</b> costs &euro; 1,000.50", ["<b>", "</b>", "&euro;", "1,000.50"]),
        ("<a href='https://x.y'>here</a>", ["<a href='https://x.y'>", "</a>"]),
        ("In 1998, 12/05/2026 and 1 000 000", ["1998", "12/05/2026", "1 000 000"]),
        ("{name}, ${v}, %(x)d, %1$s", ["{name}", "${v}", "%(x)d", "%1$s"]),
        ("Great 👍🏽 and 👩‍👩‍👧 and ☀️!", ["👍🏽", "👩‍👩‍👧", "☀️"]),
        ("COVID-19, ISO9001 and B-52", ["COVID-19", "ISO9001", "B-52"]),
        ("open my_file.txt in /usr/local/bin or report.pdf", ["my_file.txt", "/usr/local/bin", "report.pdf"]),
        ("ask @someone about #something", ["@someone", "#something"]),
        ("\ue001 is the user's own", ["\ue001"]),
        ("I have 1 dog and 42 cats for $5, 3% of 7", ["42", "$5", "3%"]),  # a noun depends on small numbers
        ("12,50 €, 5 €, 3 £, 100 $ and 1.250,00\u00a0€", ["12,50 €", "5 €", "3 £", "100 $", "1.250,00\u00a0€"]),
        ("€ 7, R$ 12,50, R$50 and US$ 1,000", ["€ 7", "R$ 12,50", "R$50", "US$ 1,000"]),
        ("20 $5 bills, 1 $5 bill, 20 € each, 7 %, 5 or 6", ["20", "$5", "$5", "20 €"]),
        ("+1 555 123 4567, +34 600 111 222", ["+1 555 123 4567", "+34 600 111 222"]),
        ("+1 (555) 123-4567, +55 11 91234-5678, +7", ["+1 (555) 123-4567", "+55 11 91234-5678"]),
        ("my home (18:52), [a@b.org] and f(12)", ["(18:52)", "[a@b.org]", "12"]),
        ("at 5PM in the 1990s, the 3rd and/or km/h", []),
        ("No spans here. None, at all?", []),
    ],
)
def test_what_is_copied(text: str, found: list[str]) -> None:
    assert texts(text) == found


def test_names_are_what_the_caller_says() -> None:
    found = spans("Kowalski met Tom at 12:30.", lambda word, start: word == "Kowalski")
    assert [(span.kind, span.start) for span in found] == [("name", 0), ("number", 20)]


@given(st.lists(st.sampled_from(["%s", "12:30", "a", "é", " ", ".", "<b>", "https://a.b", "\ue000", "👍", "x_y"])))
def test_masking_and_restoring_gives_the_text(parts: list[str]) -> None:
    text = "".join(parts)
    masked = mask(text, spans(text))
    assert masked.restore(masked.text) == text or len(masked.spans) == len(MARKERS)
    assert masked.intact(masked.text) or len(masked.spans) == len(MARKERS)


@given(st.text())
def test_any_text_can_be_masked(text: str) -> None:
    masked = mask(text, spans(text))
    assert masked.restore(masked.text) == text
    assert len(MARKER.findall(masked.text)) == len(masked.spans)


def test_what_is_beyond_the_markers_stays() -> None:
    text = " ".join(f"{number}:00" for number in range(10, 30))
    masked = mask(text, spans(text))
    assert len(masked.spans) == len(MARKERS)
    assert masked.restore(masked.text) == text


def test_a_translation_gets_its_spans_back_in_the_order_it_has_them() -> None:
    masked = mask("%s at 12:30", spans("%s at 12:30"))
    one, other = MARKERS[0], MARKERS[1]
    assert masked.restore(f"a las {other}, {one}") == "a las 12:30, %s"
    assert masked.intact(f"{other} {one}")
    assert not masked.intact(one)
    assert not masked.intact(one + one + other)
    assert masked.restore(f"{one}{MARKERS[5]}") == "%s"  # a marker that the source has not means nothing


class TestPairs:
    def test_both_sides_get_the_same_markers(self) -> None:
        source, target = mask_pair("At 12:30 call 555-0199.", "Llame al 555-0199 a las 12:30.")
        time, phone = MARKER.findall(source)
        assert MARKER.findall(target) == [phone, time]
        assert source == f"At {time} call {phone}."

    def test_an_amount_is_masked_with_its_sign(self) -> None:
        source, target = mask_pair("La cena cuesta 12,50 €.", "Dinner is 12,50 €.")
        assert (source[:-2], target[:-2]) == ("La cena cuesta ", "Dinner is ")
        pair = ("La cena cuesta 12,50 €.", "Dinner is €12.50.")
        assert mask_pair(*pair) == pair

    def test_what_stands_on_one_side_only_stays(self) -> None:
        pair = ("It is 12:30.", "Son las doce y media.")
        assert mask_pair(*pair) == pair
        source, target = mask_pair("From 12:30 to 13:30", "De 12:30 a la una y media")
        assert "13:30" in source
        assert len(MARKER.findall(source)) == len(MARKER.findall(target)) == 1

    def test_spans_that_occur_twice_are_matched_in_order(self) -> None:
        source, target = mask_pair("100 or 100 of 200", "200, 100 o 100")
        first, second, third = MARKER.findall(source)
        assert MARKER.findall(target) == [third, first, second]

    def test_all_markers_are_used(self) -> None:
        seen = {
            MARKER.findall(mask_pair(f"Room {n} is free", f"La sala {n} está libre")[0])[0] for n in range(100, 400)
        }
        assert seen == set(MARKERS)

    def test_now_and_then_a_shared_name_is_masked(self) -> None:
        pairs = [(f"{n} words and Zubrowska", f"{n} palabras y Zubrowska") for n in range(10, 90)]
        masked = [mask_pair(*pair) for pair in pairs]
        share = sum("Zubrowska" not in source for source, _ in masked) / len(pairs)
        assert 0.02 < share < 0.4
        assert all(("Zubrowska" in source) == ("Zubrowska" in target) for source, target in masked)

    @given(st.text(), st.text())
    def test_any_pair_can_be_masked(self, source: str, target: str) -> None:
        one, other = mask_pair(source, target)
        if (one, other) != (source, target):
            assert sorted(MARKER.findall(one)) == sorted(MARKER.findall(other))


def test_markers_are_single_subwords_if_asked_for() -> None:
    corpus = ["el gato ve el tren", "the cat sees the train"] * 50
    plain, marked = Tokenizer.learn(corpus, 400), Tokenizer.learn(corpus, 400, markers=MARKERS, normalized=True)
    assert not any(map(plain.units, MARKERS))
    assert all(len(marked.units(marker)) == 2 for marker in MARKERS)
    text = f"el {MARKERS[3]} ve ({MARKERS[0]}) «{MARKERS[1]}»"
    assert normalize(text) == text
    (ids,) = marked.encode([text])
    assert [piece for piece in marked.pieces(ids) if MARKER.search(piece)] == [f" {MARKERS[3]}", *MARKERS[:2]]
    assert marked.decode([ids]) == [text]

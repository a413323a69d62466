"""Texts in sentences, cut and joined; odd spaces and forms; what is refused or cut is said."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from mirada.data.masking import Masked
from mirada.data.profile import Profile
from mirada.errors import ConfigError, InputError, UsageError
from mirada.tasks.translation import translator as translator_module
from mirada.tasks.translation.clauses import better
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.pieces import Direction, Piece
from mirada.tasks.translation.prediction import Translation
from mirada.tasks.translation.translator import LONGEST_TEXT, joint

CAT, WOLF = "el gato ve el tren", "el lobo ve el libro"
THE_CAT, THE_WOLF = "the cat sees the train", "the wolf sees the book"


def test_columns_of_flags_and_confidence() -> None:
    found = Translation("the cat", flags=("lost", "short"), confidence=0.5)
    assert found.with_columns().as_text() == "the cat\tlost, short\t0.50"
    assert Translation("").with_columns().as_text() == "\t\t"


# ── sentences ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "parts",
    [
        ["(El gato ve el tren.)", " ", "El lobo ve el libro."],
        ["«El gato ve el tren.»", " ", "¿El lobo ve el libro?", "  ", "“El perro.”"],
        ["El Sr. Lobo ve el tren.", "\n\n  ", "el gato tiene el barco", "\r\n", "el lobo"],
        ["El gato...", " ", "El lobo."],
    ],
)
def test_each_sentence_is_translated_by_itself(trained: TranslationModel, parts: list[str]) -> None:
    alone = [translation.text for translation in trained.translate(parts[::2])]
    expected = "".join(text for pair in zip(alone, [*parts[1::2], ""], strict=True) for text in pair)
    assert trained.translate("".join(parts)).text == expected


def test_short_sentences_in_a_line_are_all_translated(trained: TranslationModel) -> None:
    text = trained.translate("。".join([CAT] * 8)).text
    assert text.count("sees") == 8


def test_sentences_stay_together_when_they_are_not_to_be_split(trained: TranslationModel) -> None:
    text = f"{CAT}\n{WOLF}"
    assert trained.translate(text).text == f"{THE_CAT}\n{THE_WOLF}"
    assert "\n" not in trained.translate(text, split=False).text
    assert trained.translate(text, split=False).text == trained.translate(f"{CAT} {WOLF}", split=False).text


def test_scores_and_the_n_best_are_those_of_the_sentences(trained: TranslationModel) -> None:
    one, two, both = trained.translate([CAT, WOLF, f"{CAT}\n{WOLF}"], n_best=3)
    assert both.score == pytest.approx(one.score + two.score, abs=1e-4)
    assert [text for text, _ in both.alternatives] == [
        f"{a}\n{b}" for (a, _), (b, _) in zip(one.alternatives, two.alternatives, strict=True)
    ]


def test_progress_counts_texts(trained: TranslationModel) -> None:
    done: list[int] = []
    trained.translate([f"{CAT}\n{WOLF}", "", CAT] * 5, progress=done.append)
    assert done[-1] == 10  # blank ones need no work
    assert done == sorted(done)


@pytest.mark.parametrize(
    ("left", "gap", "right", "between"),
    [
        ("It rains.", " ", "We stay.", " "),
        ("It rains.", "\n\n", "We stay.", "\n\n"),
        ("It rains.", "", "We stay.", " "),  # from a language that has no space there
        ("下雨了。", " ", "我们留下。", ""),  # to one
        ("下雨了。", "", "我们留下。", ""),
        ("下雨了。", "\n", "我们留下。", "\n"),
        ("", "", "We stay.", ""),
    ],
)
def test_the_joint_suits_the_script(left: str, gap: str, right: str, between: str) -> None:
    assert joint(left, gap, right) == between


# ── too long ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_sentence_that_is_too_long_is_translated_in_parts_and_it_is_said(trained: TranslationModel) -> None:
    long = ", ".join([CAT] * 60)
    found = trained.translate(["el lobo", long, CAT])
    assert found[1].problem is None
    assert found[1].parts > 1
    assert any(f"it was translated in {found[1].parts} parts" in note for note in found[1].notes)
    assert (found[0].parts, found[0].notes, found[2].text) == (0, (), THE_CAT)
    whole = trained.translate(long, split=False)
    assert whole.problem is None
    assert 1 < whole.parts < found[1].parts  # only as far as it must be split


def of_words(model: TranslationModel, words: int, monkeypatch: pytest.MonkeyPatch) -> TranslationModel:
    """The model, as if most of the sentences that it has learned from had at most so many words."""
    profile = replace(model.preprocessor.profile or Profile(), words=words, capitalized=1.0, stopped=1.0)
    monkeypatch.setattr(model.translator, "profile", profile)
    monkeypatch.setattr(model.translator.cutter, "profile", profile)
    return model


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("El gato ve el tren, el lobo ve el barco.", ["El gato ve el tren", "El lobo ve el barco."]),
        ("El gato ve el tren: EL lobo; ¿el barco?", ["El gato ve el tren", "EL lobo; ¿el barco?"]),
        ("El gato ve el tren el lobo ve el barco.", ["El gato ve el tren el lobo ve el barco."]),
        ("El gato ve el tren.", ["El gato ve el tren."]),
        ("EL LOBO VE EL TREN, EL LOBO VE EL BARCO.", ["El lobo ve el tren", "El lobo ve el barco."]),
    ],
)
def test_a_sentence_far_longer_than_most_is_read_in_clauses(
    text: str, parts: list[str], trained: TranslationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = of_words(trained, 1, monkeypatch).translator
    direction = Direction(language="es", into="en")
    assert [piece.plain for piece in translator._cut([text], [], True, direction)[0].pieces] == parts
    assert len(translator._cut([text], [], False, direction)[0].pieces) == 1
    apart = unicodedata.normalize("NFD", text.replace("gato", "gáto áéíóú"))
    found = [piece.plain for piece in translator._cut([apart], [], True, direction)[0].pieces]
    assert found == [part.replace("gato", "gáto áéíóú") for part in parts]


def test_clauses_are_joined_as_they_were(trained: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> None:
    of_words(trained, 3, monkeypatch)
    found = trained.translate("el gato ve el tren,  el lobo ve el barco; el gato ve el tren")
    assert found.text == "the cat sees the train,  the wolf sees the boat; the cat sees the train"
    words = trained.translate("el gato ve el tren, el lobo ve el barco", words=True).words
    assert [word for word, _ in words] == ["the", "cat", "sees", "the", "train", "the", "wolf", "sees", "the", "boat"]
    assert trained.attend("El gato ve, el lobo ve el barco").text == "El gato ve, el lobo ve el barco"  # as one


def test_a_long_sentence_is_whole_or_in_clauses_as_is_better(
    trained: TranslationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, other = "el gato ve el tren, el lobo ve el barco", "el lobo ve el barco"
    whole, short = trained.translate([text, other], split=False)
    assert whole.text != "the cat sees the train, the wolf sees the boat"  # of which it knows nothing
    of_words(trained, 5, monkeypatch)
    tried = []

    def choose(one: list[Piece], parts: list[Piece], place: int) -> list[Piece]:
        tried.append((len(one), len(parts)))
        return (one, parts)[place]

    for place, expected in enumerate((whole.text, "the cat sees the train, the wolf sees the boat")):
        monkeypatch.setattr(translator_module, "better", partial(choose, place=place))
        found = trained.translate([text, other, text])
        assert [each.text for each in found] == [expected, short.text, expected]
        assert tried == [(1, 2), (1, 2)]
        tried.clear()
    assert [each.text for each in trained.translate([text, other], split=False)] == [whole.text, short.text]
    trained.translate(text, prefix="the")
    trained.translate(text, sample=True)
    assert tried == []  # neither with a prefix nor when sampling


def piece(confidence: float, tokens: int, *flags: str) -> Piece:
    found = Piece(0, 0, 1, "a", Masked("a"), tokens=[7] * tokens, flags=set(flags))
    found.confidence = confidence
    return found


@pytest.mark.parametrize(
    ("whole", "parts", "better_in_parts"),
    [
        (piece(0.5, 9), [piece(0.6, 4), piece(0.6, 4)], True),
        (piece(0.7, 9), [piece(0.6, 4), piece(0.6, 4)], False),
        (piece(0.7, 9), [piece(0.9, 8), piece(0.5, 1)], True),  # √(.9⁹ · .5²)ⁿ by token: 0.81
        (piece(0.7, 9), [piece(0.9, 1), piece(0.5, 8)], False),
        (piece(0.9, 9, "repetition"), [piece(0.6, 4), piece(0.6, 4)], True),
        (piece(0.5, 9), [piece(0.6, 4), piece(0.6, 4, "cut")], False),
        (piece(0.5, 9, "cut"), [piece(0.6, 4), piece(0.6, 4, "short")], True),
        (piece(0.5, 9, "lost"), [piece(0.4, 4), piece(0.4, 4)], False),
    ],
)
def test_better_is_what_is_more_likely_or_has_no_fault(whole: Piece, parts: list[Piece], better_in_parts: bool) -> None:
    assert better([whole], parts) == (parts if better_in_parts else [whole])


def test_what_cannot_be_cut_is_refused(trained: TranslationModel) -> None:
    refused, fine = trained.translate(["gato" * 400, CAT])
    assert (refused.text, fine.text) == ("", THE_CAT)
    assert refused.problem is not None
    assert "no place to cut it" in refused.problem


def test_texts_beyond_all_measure_are_refused_before_they_are_read(trained: TranslationModel) -> None:
    refused, fine = trained.translate(["gato " * (LONGEST_TEXT // 5 + 1), CAT])
    assert fine.text == THE_CAT
    assert refused.problem is not None
    assert "1,000,000 is the limit" in refused.problem


def test_lone_surrogates_are_named(trained: TranslationModel) -> None:
    refused, fine = trained.translate(["El se\udcf1or", CAT])
    assert fine.text == THE_CAT
    assert refused.problem is not None
    assert "not UTF-8" in refused.problem
    with pytest.raises(InputError, match="not UTF-8"):
        trained.translate(CAT, prefix="se\udcf1or")
    with pytest.raises(InputError, match="not UTF-8"):
        trained.attend("El se\udcf1or")
    with pytest.raises(InputError, match="not UTF-8"):
        trained.ids("El se\udcf1or")


# ── cut at the limit ──────────────────────────────────────────────────────────────────────────────────────────────


BABBLE: dict[str, Any] = {"sample": True, "temperature": 100.0, "max_ratio": 0.01}
"""Tokens at random, 20 of them at most: hardly ever does one of them end the text before."""


def test_a_translation_that_is_cut_says_so(trained: TranslationModel) -> None:
    cut = trained.translate(f"{CAT}\n{WOLF}", **BABBLE)
    assert not cut.complete
    assert cut.notes == (
        "the translation was cut at the length limit, 2 of its 2 sentences; break the source into shorter sentences",
    )
    whole = trained.translate(CAT)
    assert (whole.complete, whole.notes) == (True, ())


def test_evaluation_counts_what_was_refused_and_what_was_cut(trained: TranslationModel) -> None:
    scores = trained.evaluate([(CAT, THE_CAT), ("gato" * 400, "x"), (WOLF, THE_WOLF), ("El se\udcf1or", "y")])
    assert (scores.size, scores.refused, scores.cut) == (4, 2, 0)
    assert any("refused, and scored as empty: 2 (sentence 2 has" in note for note in scores.notes)
    assert "refused, and scored as empty: 2" in scores.as_text()
    assert scores.as_dict()["refused"] == 2
    clean = trained.evaluate([(CAT, THE_CAT), (WOLF, THE_WOLF)])
    assert (clean.refused, clean.cut, clean.notes) == (0, 0, ())


def test_evaluation_counts_translations_that_were_cut(trained: TranslationModel) -> None:
    scores = trained.evaluate([(CAT, THE_CAT), (WOLF, THE_WOLF)], **BABBLE)
    assert scores.cut == 2
    assert "cut at the length limit (decode.max_ratio): 2 (sentence 1, …)" in scores.notes


# ── prefixes ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_prefix_begins_the_first_sentence(trained: TranslationModel) -> None:
    text = trained.translate(f"  {CAT}\n{WOLF}", prefix="the old").text
    assert text.startswith("  the old cat")
    assert text.endswith(f"\n{THE_WOLF}")


def test_white_space_behind_a_prefix_is_left_out(trained: TranslationModel) -> None:
    assert trained.translate(CAT, prefix="the old ").text == trained.translate(CAT, prefix="the old").text
    assert trained.translate(CAT, prefix=" \t").text == THE_CAT


def test_a_prefix_that_is_too_long_is_refused(trained: TranslationModel) -> None:
    with pytest.raises(InputError, match=r"the prefix has .* tokens; the model takes 255; shorten it"):
        trained.translate(CAT, prefix="the cat " * 300)
    assert trained.translate(CAT, prefix="the cat " * 100).text.startswith("the cat the cat")


# ── odd forms ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "odd",
    [
        " el gato añejo ve el tren",
        "el gato añejo ve el tren \t\n",
        unicodedata.normalize("NFD", "el gato añejo ve el tren"),
        "el\xa0gato añejo ve el\u202ftren",
        "el\u2009gato\u3000añejo  ve\tel tren",
        "\ufeffel ga\xadto añe\u200bjo ve el tren\x07",
    ],
)
def test_odd_forms_of_a_text_are_translated_like_the_clean_one(trained: TranslationModel, odd: str) -> None:
    clean = trained.translate("el gato añejo ve el tren")
    found = trained.translate(odd)
    assert found.text.strip() == clean.text
    assert found.score == pytest.approx(clean.score, abs=1e-4)
    before, behind = odd[: len(odd) - len(odd.lstrip())], odd[len(odd.rstrip()) :]
    assert found.text == before + clean.text + behind


def test_references_are_compared_in_one_form(trained: TranslationModel) -> None:
    from mirada.metrics.translation import evaluate

    text = "the añejo cat sees the train today"
    for hypothesis, reference in (
        (text, unicodedata.normalize("NFD", text)),
        (unicodedata.normalize("NFD", text), text),
    ):
        assert evaluate(["a"], [hypothesis], [[reference]]).scores[0].value == pytest.approx(100)


# ── settings ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "changes",
    [
        {"temperature": 1e-39, "sample": True},
        {"temperature": float("inf"), "sample": True},
        {"temperature": float("nan"), "sample": True},
        {"seed": 2**64, "sample": True},
        {"length_penalty": 1000},
        {"max_ratio": 1e308},
        {"max_ratio": float("inf")},
        {"n_best": 10**9, "sample": True},
        {"beam": 10**9},
        {"top_p": 0.0, "sample": True},
    ],
)
def test_settings_beyond_reason_are_refused(trained: TranslationModel, changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(changes))):
        trained.translate(CAT, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"temperature": 0.01, "sample": True, "top_p": 0.5, "top_k": 3},
        {"temperature": 100, "sample": True, "top_p": 1e-9},
        {"top_k": 2**63 - 1, "sample": True, "seed": 2**63 - 1},
        {"length_penalty": 10, "n_best": 5},
        {"max_ratio": 1000},
        {"beam": 256},
    ],
)
def test_settings_at_their_bounds_work(trained: TranslationModel, changes: dict[str, Any]) -> None:
    trained.translate(CAT, **changes).text.encode()


@pytest.mark.parametrize("changes", [{"temperature": 0.7}, {"top_k": 5}, {"top_p": 0.5}, {"seed": 3}])
def test_settings_of_sampling_are_refused_without_it(trained: TranslationModel, changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="is for sampling; add sample=True"):
        trained.translate(CAT, **changes)
    assert trained.translate(CAT, temperature=1.0, seed=0).text == THE_CAT


def test_terms_of_a_glossary_are_terms_in_clauses_too(
    trained: TranslationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_words(trained, 1, monkeypatch)
    asked = list[str]()
    text, direction = "El gato ve el tren, el Zorro ve el barco.", Direction(language="es", into="en")
    monkeypatch.setattr(trained.translator.cutter, "masks", True)
    trained.translator._cut([text], [], True, direction, lambda word: asked.append(word) or [])  # type: ignore[func-returns-value]
    assert asked.count("Zorro") == 2  # of the sentence, and of its clause

"""Glossaries: terms found in sentences, and placed in translations where their source stands; faults by their line."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mirada
from mirada import Glossary
from mirada.errors import DataError, UsageError
from mirada.tasks.translation.constrained import ANYWHERE, Constraints, Form, Request, Speller, search
from mirada.tasks.translation.glossary import Required, missing
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.terminology import _place, _put
from tests.command import run

CAT = "el gato ve el tren"


@pytest.fixture(scope="module", params=["torch", "ctranslate2"])
def model(trained: TranslationModel, request: pytest.FixtureRequest) -> TranslationModel:
    return mirada.load(trained.path, TranslationModel, engine=request.param)


def found(glossary: Glossary, sentence: str, tag: str | None = "en") -> list[tuple[str, tuple[str, ...]]]:
    return [(term.source, term.targets) for term in glossary.find(sentence, tag)]


# ── finding ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_terms_are_whole_words_in_any_case_unless_they_have_capitals() -> None:
    glossary = Glossary.of({"cat": "gato", "May": "maio"})
    assert found(glossary, "The Cat, CAT (cat).") == [("Cat", ("gato",)), ("CAT", ("gato",)), ("cat", ("gato",))]
    assert found(glossary, "A category of cat-like bobcats may come in May; see cat.example.com") == [
        ("May", ("maio",))
    ]


def test_the_longest_term_goes_first() -> None:
    glossary = Glossary.of({"air": "ar", "air conditioning": "climatização", "conditioning unit system": "sistema"})
    assert found(glossary, "Air conditioning unit, fresh air") == [
        ("Air conditioning", ("climatização",)),
        ("air", ("ar",)),
    ]
    assert found(glossary, "air conditioning unit system") == [
        ("air", ("ar",)),
        ("conditioning unit system", ("sistema",)),
    ]


def test_plurals_are_found_if_the_targets_can_agree() -> None:
    glossary = Glossary.of({"cat": ["gato", "gatos"], "city": ["cidade", "cidades"], "dog": "cão"})
    assert [source for source, _ in found(glossary, "cats, Cities, dogs")] == ["cats", "Cities"]
    assert found(glossary, "cats, cities", None) == []
    spanish = Glossary.of({"luz": ["light", "lights"], "tren": ["train", "trains"]})
    assert [source for source, _ in found(spanish, "luces y trenes", "es")] == ["luces", "trenes"]


def test_what_is_kept_stays_as_it_is_in_the_text() -> None:
    (term,) = Glossary.of({"mirada": None}).find("Use Mirada now")
    assert (term.targets, term.kept) == (("Mirada",), True)


def test_scripts_without_spaces_and_other_forms_of_unicode() -> None:
    assert found(Glossary.of({"电脑": "computer"}), "我的电脑很快") == [("电脑", ("computer",))]
    assert len(Glossary.of({"cafe\u0301": "coffee"}).find("un café")) == 1


def test_addresses_and_placeholders_are_left_alone() -> None:
    glossary = Glossary.of({"name": "nome", "cat": "gato"})
    assert found(glossary, "{name} at https://example.org/cat and name") == [("name", ("nome",))]


@pytest.mark.parametrize(
    ("translation", "targets", "lacks"),
    [
        ("O Gato dorme", ("gato",), False),
        ("Os gatos dormem", ("gato",), True),
        ("Os gatos dormem", ("gato", "gatos"), False),
        ("a api", ("API",), True),
        ("o ar  condicionado", ("ar condicionado",), False),
        ("我的电脑很快", ("电脑",), False),
    ],
)
def test_what_a_translation_lacks(translation: str, targets: tuple[str, ...], lacks: bool) -> None:
    assert bool(missing(translation, [Required("x", 0, 1, targets)])) == lacks


def test_each_term_needs_a_place_of_its_own() -> None:
    air, both = Required("air", 0, 3, ("ar",)), Required("air conditioning", 4, 20, ("ar condicionado",))
    assert missing("ar condicionado", [air, both]) == [air]
    assert missing("ar do ar condicionado", [air, both]) == []
    assert missing("ar", [air, air]) == [air]


# ── placing ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sentence", "terms", "expected"),
    [
        (CAT, {"gato": "cat"}, "the cat sees the train"),  # it is right already
        (CAT, {"gato": "wolf"}, "the wolf sees the train"),  # a word that the model knows
        (CAT, {"tren": "zorbax"}, "the cat sees the zorbax"),  # one that it does not
        (CAT, {"gato": "zorbax", "tren": "boat"}, "the zorbax sees the boat"),
        ("el gato ve el gato", {"gato": "zorbax"}, "the zorbax sees the zorbax"),
        (
            "el lobo negro sigue el barco viejo",
            {"negro": "dark", "barco": "ship"},
            "the dark wolf follows the old ship",
        ),
        ("el lobo negro sigue el tren", {"lobo negro": "Zorbax"}, "the Zorbax follows the train"),
        ("el perro tiene el libro 42", {"libro": None}, "the dog has the libro 42"),
        ("el gato ve el tren", {"ve": ["watches", "sees"]}, "the cat sees the train"),
    ],
)
def test_a_term_stands_where_its_source_does(
    model: TranslationModel, sentence: str, terms: dict[str, str | list[str] | None], expected: str
) -> None:
    translation = model.translate(sentence, glossary=terms)
    assert (translation.text, translation.notes) == (expected, ())


def test_sentences_of_a_text_have_terms_of_their_own(model: TranslationModel) -> None:
    text = f"{CAT}\n\n  el lobo ve el libro"
    found = model.translate([text, CAT, ""], glossary={"gato": "zorbax", "libro": "tome"})
    assert [each.text for each in found] == [
        "the zorbax sees the train\n\n  the wolf sees the tome",
        "the zorbax sees the train",
        "",
    ]


def test_each_of_the_n_best_has_the_terms(model: TranslationModel) -> None:
    found = model.translate(CAT, glossary={"gato": "wolf"}, n_best=3)
    assert found.text == "the wolf sees the train"
    assert len(found.alternatives) == 3
    assert all("wolf" in text for text, _ in found.alternatives)
    scores = [score for _, score in found.alternatives]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("text", "span", "target", "kept", "expected"),
    [
        ("Gato ve", (0, 4), "zorbax", False, "Zorbax ve"),
        ("«Gato» ve", (1, 5), "zorbax", False, "«Zorbax» ve"),
        ("gato ve", (0, 4), "zorbax", False, "zorbax ve"),
        ("El Gato ve", (3, 7), "zorbax", False, "El zorbax ve"),
        ("Gato ve", (0, 4), "iZorb", False, "iZorb ve"),
        ("Gato ve", (0, 4), "zorbax", True, "zorbax ve"),
        ("El gato ve.", (10, 10), "zorbax", False, "El gato ve zorbax."),
        ("", (0, 0), "zorbax", False, "zorbax"),
    ],
)
def test_the_beginning_of_a_sentence_keeps_its_capital_letter(
    text: str, span: tuple[int, int], target: str, kept: bool, expected: str
) -> None:
    assert _put(text, *span, Required("x", 0, 1, (target,), kept)) == expected


W = [(0, 3), (4, 7), (8, 11), (12, 15)]
"""Four words."""


@pytest.mark.parametrize(
    ("table", "own", "after", "kept", "expected"),
    [
        ([[9, 0, 0], [0, 9, 0], [0, 0, 9], [1, 1, 1]], [0, 1, 0], 0, [], (4, 7)),  # the word that attends to it
        ([[9, 0, 0], [0, 9, 0], [0, 8, 1], [0, 0, 9]], [0, 1, 0], 0, [], (4, 7)),
        ([[9, 0, 0], [0, 9, 1], [0, 1, 8], [0, 0, 0]], [0, 1, 1], 0, [], (4, 11)),  # a term of two words
        ([[9, 0, 1], [0, 9, 2], [0, 0, 0], [0, 0, 0]], [0, 0, 1], 0, [], (7, 7)),  # that word stands for another one
        ([[9, 0, 1], [0, 9, 9], [0, 0, 1], [0, 0, 0]], [0, 0, 1], 0, [(4, 11)], (11, 11)),  # beside another term
        ([[9, 0, 1], [0, 9, 9], [0, 0, 8], [0, 0, 0]], [0, 0, 1], 0, [(4, 7)], (8, 11)),
        ([[0, 0, 9], [0, 0, 1], [0, 0, 2], [0, 0, 0]], [0, 0, 1], 4, [], (8, 11)),  # not in the prefix
        ([[9, 0, 0], [0, 9, 0], [0, 0, 9], [1, 1, 1]], [0, 0, 0], 0, [], (15, 15)),
        (None, [0, 1, 0], 0, [], (15, 15)),
    ],
)
def test_the_place_of_a_term(
    table: list[list[int]] | None, own: list[int], after: int, kept: list[tuple[int, int]], expected: tuple[int, int]
) -> None:
    aligned = None if table is None else np.array(table, np.float32)
    assert _place(W, after, kept, np.array(own, bool), aligned) == expected


def test_a_prefix_stays(model: TranslationModel) -> None:
    found = model.translate(CAT, glossary={"gato": "wolf"}, prefix="the old")
    assert found.text.startswith("the old")
    assert "wolf" in found.text


def test_a_model_without_attention_places_terms_too(toy_tsv: Path, tmp_path: Path) -> None:
    settings = {"model": {"width": 32}, "train": {"batch_tokens": 500, "threads": 1}, "tokenizer": {"vocabulary": 340}}
    model = mirada.train(
        toy_tsv, TranslationModel, out=tmp_path / "b", model="seq2seq-elman", steps=2, settings=settings
    )
    assert "zorbax" in model.translate(CAT, glossary={"gato": "zorbax"}).text


def test_what_cannot_be_placed_is_noted(trained: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirada.tasks.translation.terminology._put", lambda text, *_: text)
    translation = trained.translate(CAT, glossary={"gato": "zorbax"})
    assert translation.text == "the cat sees the train"
    assert translation.notes == ("the glossary's 'zorbax' for 'gato': could not be placed",)
    assert translation.as_dict()["notes"] == list(translation.notes)


def test_terms_are_not_drawn_at_random(trained: TranslationModel) -> None:
    with pytest.raises(UsageError, match="--sample"):
        trained.translate(CAT, glossary={"gato": "wolf"}, sample=True)


# ── the search ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_search_finds_the_terms_and_ends_no_word_too_early(trained: TranslationModel) -> None:
    speller = Speller(trained.target_tokenizer)
    (source,) = trained.source_tokenizer.encode([CAT])
    constraints = Constraints([speller.forms("wolf", False), speller.forms("boat", False)], speller)
    sought = Request(source, [], 30, -20.0, constraints)
    search(trained.translator.engine, [sought], trained.decode_config())
    text = trained.target_tokenizer.decode([sought.ended[0].tokens])[0]
    assert sorted(re.findall(r"\b(?:wolf|boat)\b", text)) == ["boat", "wolf"]
    assert [each.score for each in sought.ended] == sorted((each.score for each in sought.ended), reverse=True)


def test_a_term_that_goes_on_is_another_word(trained: TranslationModel) -> None:
    speller = Speller(trained.target_tokenizer)
    cat, cats = (trained.target_tokenizer.encode([word])[0] for word in ("the cat", "the cats"))
    constraints = Constraints([speller.forms("cat", False)], speller)
    for ids, lacking in ((cat, 0), (cats, len(speller.forms("cat", False)[1].tokens))):
        sought = Request([5], ids, 5, -1.0, constraints)
        sought.start(0)
        assert constraints.lacking(sought.open[0].met) == lacking


def test_a_marker_may_have_letters_after_it(trained: TranslationModel) -> None:
    (ids,) = trained.target_tokenizer.encode(["cats"])
    constraints = Constraints([[Form((ids[0],), ANYWHERE)]], Speller(trained.target_tokenizer))
    sought = Request([5], ids, 5, -1.0, constraints)
    sought.start(0)
    assert len(ids) > 1
    assert constraints.lacking(sought.open[0].met) == 0


def test_a_form_fits_its_place(trained: TranslationModel) -> None:
    speller = Speller(trained.target_tokenizer)
    forms = speller.forms("cat", True)
    assert [trained.target_tokenizer.decode([form.tokens])[0].strip() for form in forms] == ["Cat", "cat", "cat"]
    (bracket,) = trained.target_tokenizer.encode(["("])[0][-1:]
    (word,) = trained.target_tokenizer.encode(["the"])[0][-1:]
    assert [[speller.fits(form.place, last) for form in forms] for last in (None, word, bracket)] == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]
    assert Form((1,), "anywhere").place == "anywhere"


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_files(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("source\ttarget\ngato|gata\tcat | kitty\n\nMirada\n", encoding="utf-8")
    (tmp_path / "keep.txt").write_text("Zorbax 3000\r\n", encoding="utf-8")
    glossary = Glossary.read(tmp_path / "terms.tsv", keep=tmp_path / "keep.txt")
    assert len(glossary) == 3
    assert found(glossary, "la gata Mirada Zorbax 3000", "es") == [
        ("gata", ("cat", "kitty")),
        ("Mirada", ("Mirada",)),
        ("Zorbax 3000", ("Zorbax 3000",)),
    ]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"gato\nperro\n", r"terms\.tsv: no line has a tab.*'gato'.*--keep"),
        (b"gato;cat\n", r"terms\.tsv: no line has a tab.*'gato;cat'; save the table with tabs"),
        (b"gato\tcat\nperro\t\n", r"terms\.tsv, line 2: .*empty"),
        (b"gato\tcat\nperro\tdog||hound\n", r"terms\.tsv, line 2: .*empty"),
        (b"gato\tcat\n\tdog\n", r"terms\.tsv, line 2: .*empty"),
        (
            b"gato\tcat\n\ngato\tkitty\n",
            r"terms\.tsv, line 3: 'gato' is 'kitty' here, and 'cat' in .*terms\.tsv, line 1;",
        ),
        (b"gato\tcat\ngato\n", r"terms\.tsv, line 2: 'gato' is kept as it is here, and 'cat' in"),
        (b"gato\tcat\nni\xf1o\tboy\n", r"terms\.tsv, line 2: is not UTF-8"),
        (b"gato\tcat\tnoun\n", r"terms\.tsv, line 1: has 3 columns.*cut -f 1,2"),
        (b"gato\t" + b"x" * 600 + b"\n", r"terms\.tsv, line 1: .*600 characters"),
        (b"\n", r"terms\.tsv: has no terms"),
    ],
)
def test_faults_are_named_with_file_and_line(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "terms.tsv").write_bytes(content)
    with pytest.raises(DataError, match=says):
        Glossary.read(tmp_path / "terms.tsv")


def test_a_spreadsheet_is_no_glossary(tmp_path: Path) -> None:
    (tmp_path / "terms.xlsx").write_bytes(b"PK\x03\x04\xff")
    with pytest.raises(DataError, match=r"terms\.xlsx: is no text; save its table"):
        Glossary.read(tmp_path / "terms.xlsx")


def test_a_list_to_keep_has_no_tabs(tmp_path: Path) -> None:
    (tmp_path / "keep.txt").write_text("gato\ngato\tcat\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"keep\.txt, line 2: has a tab.*--glossary"):
        Glossary.read(keep=tmp_path / "keep.txt")


def test_a_term_that_is_longer_than_translations_is_refused(trained: TranslationModel, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text(f"gato\tcat\nperro\t{'zq ' * 160}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"terms\.tsv, line 2: .* tokens"):
        trained.translate(CAT, glossary=tmp_path / "terms.tsv")


@pytest.mark.parametrize("wrong", [5, {"gato": 7}, {7: "cat"}])
def test_wrong_types_are_named(trained: TranslationModel, wrong: object) -> None:
    with pytest.raises(UsageError, match="glossary"):
        trained.translate(CAT, glossary=wrong)  # type: ignore[call-overload]


def test_the_command(trained: TranslationModel, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("tren\tzorbax\n", encoding="utf-8")
    (tmp_path / "keep.txt").write_text("gato\n", encoding="utf-8")
    done = run("translate", trained.path, CAT, "--glossary", "terms.tsv", "--keep", "keep.txt", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "the gato sees the zorbax\n")
    (tmp_path / "terms.tsv").write_text("tren\n", encoding="utf-8")
    done = run("translate", trained.path, CAT, "--glossary", "terms.tsv", cwd=tmp_path)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "terms.tsv: no line has a tab" in done.stderr

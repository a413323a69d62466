"""A model that has learned markers and case, on texts as people write them."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
import torch

import mirada
from mirada.data import profile as profiles
from mirada.data.masking import MARKERS
from mirada.decoding import Hypothesis
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import refused, run

NAMES = ["Tom", "Ana", "Luis", "Eva", "Marco", "Rita", "Pablo", "Nora"]


def pairs(count: int) -> list[tuple[str, str]]:
    """Sentences of the toy language with capitals, full stops, names and times."""
    chance, rows = random.Random(3), []
    for source, target in toy.pairs(count, seed=5):
        name, time = chance.choice(NAMES), f"{chance.randrange(10, 24)}:{chance.randrange(10, 60)}"
        kind = chance.choice([0, 1, 1, 1, 2, 3])
        if kind == 0:
            source, target = f"con {name}, {source} a las {time}", f"with {name}, {target} at {time}"
        elif kind == 1:
            source, target = f"{source} con {name}", f"{target} with {name}"
        elif kind == 2:
            source, target = f"{source} a las {time}", f"{target} at {time}"
        rows.append((source[0].upper() + source[1:] + ".", target[0].upper() + target[1:] + "."))
    return rows


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> TranslationModel:
    folder = tmp_path_factory.mktemp("real")
    data = toy.write(folder / "pairs.tsv", pairs(4000))
    settings = {**toy.TINY, "tokenizer": {"vocabulary": 420}}
    out = folder / "bundle"
    return mirada.train(data, out=out, steps=900, settings=settings, source_language="es", target_language="en")


def test_the_bundle_knows_what_its_texts_are_like(model: TranslationModel) -> None:
    assert model.preprocessor.masks
    profile = mirada.load(model.path, TranslationModel).preprocessor.profile
    assert profile is not None
    assert profile.capitalized == 1
    assert profile.sentences == 1
    assert profile.names["tom"] == "Tom"
    assert profile.knows("gato")


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("El gato ve el tren a las 12:30.", "The cat sees the train at 12:30."),
        ("El gato ve el tren a las https://a.b/c?d=1.", "The cat sees the train at https://a.b/c?d=1."),
        ("El gato ve el tren con %(name)s.", "The cat sees the train with %(name)s."),
        ("El gato ve el tren con Zubrowska.", "The cat sees the train with Zubrowska."),
        ("EL GATO VE EL TREN CON TOM.", "THE CAT SEES THE TRAIN WITH TOM."),
        ("el gato ve el tren con tom.", "the cat sees the train with tom."),
        (
            "<p>El gato ve el tren.</p><p>El lobo ve el gato.</p>",
            "<p>The cat sees the train.</p><p>The wolf sees the cat.</p>",
        ),
        ("El gato ve el tren.  El lobo busca el libro.", "The cat sees the train.  The wolf seeks the book."),
        ("12:30", "12:30"),
        ("https://a.b/c", "https://a.b/c"),
        ("<br>", "<br>"),
    ],
)
def test_real_text(model: TranslationModel, text: str, translation: str) -> None:
    found = model.translate(text)
    assert str(found) == translation
    assert found.flags == ()


def test_an_unknown_first_word_that_is_copied_is_named(
    model: TranslationModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(profiles, "LARGE", 1)
    found = model.translate("Zubrowska busca el gato.")
    assert "Zubrowska" in found.text
    assert found.flags == ("name",)
    assert found.notes == ("'Zubrowska' is not known, and was copied like a name",)
    assert found.as_dict()["flags"] == ["name"]
    (tmp_path / "page.html").write_text("<p>El gato ve el tren.</p>\n<p>Zubrowska busca el gato.</p>\n")
    (note,) = model.translate_document(tmp_path / "page.html").notes
    assert note == "line 2: 'Zubrowska' is not known, and was copied like a name"
    for text in ("El gato ve el tren con Zubrowska.", "El gato ve el tren."):
        assert (model.translate(text).flags, model.translate(text).notes) == ((), ())


def test_words_have_probabilities(model: TranslationModel) -> None:
    found = model.translate("Con Zubrowska, el gato ve el tren a las 12:30.", words=True)
    assert " ".join(word for word, _ in found.words) == "With Zubrowska, the cat sees the train at 12:30."
    assert all(0 < probability <= 1 for _, probability in found.words)
    assert 0.5 < found.confidence <= 1
    assert found.as_dict()["words"][0]["word"] == "With"
    assert found.uncovered == ()
    assert model.translate("El gato ve el tren.").words == ()


def test_words_of_the_source_that_a_translation_lacks_are_found(model: TranslationModel) -> None:
    found = model.translate("El gato negro ve el tren nuevo.", prefix="The cat sees the new train.", words=True)
    assert found.text == "The cat sees the new train."
    assert "negro" in found.uncovered
    assert "tren" not in found.uncovered
    assert found.flags == ("uncovered",)


@pytest.mark.parametrize(
    "text", ["El gato ve el tren a las 12:30.", "Con Zubrowska, el gato ve el tren a las 12:30 (%s)."]
)
def test_what_the_model_would_drop_is_searched_for(model: TranslationModel, text: str) -> None:
    forgetful = mirada.load(model.path, TranslationModel, engine="torch")
    markers = [id for marker in MARKERS for id in forgetful.target_tokenizer.units(marker)]
    reluctance = torch.zeros(forgetful.target_tokenizer.size)
    reluctance[markers] = -25.0
    hook = forgetful.network.output.register_forward_hook(lambda module, given, logits: logits + reluctance)
    assert "lost" in forgetful.translate(text, recover=False).flags
    found = forgetful.translate(text)
    hook.remove()
    assert "lost" not in found.flags
    wanted = re.findall(r"\d\d:\d\d|Zubrowska|%s", text)
    assert sorted(re.findall(r"\d\d:\d\d|Zubrowska|%s", found.text)) == sorted(wanted)


def test_masking_can_be_turned_off(tmp_path: Path) -> None:
    data = toy.write(tmp_path / "pairs.tsv", pairs(400))
    settings = {**toy.TINY, "data": {"mask": False}}
    plain = mirada.train(data, out=tmp_path / "plain", steps=2, settings=settings)
    assert not plain.preprocessor.masks


class TestCommandLine:
    def test_flags_and_confidence_are_columns(self, model: TranslationModel) -> None:
        loop = "el el el el el el el el el el el el"
        done = run("translate", model.path, "El gato ve el tren.", "El gato ve el tren a las 12:30.", loop, "--flags")
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        assert [row[:2] for row in rows[:2]] == [
            ["The cat sees the train.", ""],
            ["The cat sees the train at 12:30.", ""],
        ]
        assert all(len(row) == 3 and 0 <= float(row[2]) <= 1 for row in rows)

    def test_json_has_flags_confidence_and_words(self, model: TranslationModel) -> None:
        plain, detailed = (
            json.loads(run("translate", model.path, "El gato ve el tren.", "--json", *more).stdout)
            for more in ([], ["--words"])
        )
        assert plain["flags"] == []
        assert 0 < plain["confidence"] <= 1
        assert "words" not in plain
        assert [word["word"] for word in detailed["words"]] == ["The", "cat", "sees", "the", "train."]

    def test_options_that_do_not_go_together_are_refused(self, model: TranslationModel) -> None:
        assert "--json" in refused("translate", model.path, "hola", "--words", code=2)
        assert "--n-best" in refused("translate", model.path, "hola", "--flags", "--n-best", 2, code=2)


def test_misspelt_words_are_read_as_they_are_meant_and_it_is_said(model: TranslationModel) -> None:
    found = model.translate("El gato ve el terrn con Tom.")
    assert found.corrected == ()  # two letters
    for text in ("El gato ve el tern a las 12:30.", "EL GATO VE EL TERN A LAS 12:30."):
        found = model.translate(text)
        assert str(found).casefold() == "the cat sees the train at 12:30."
        assert found.corrected == (("tern", "tren"),)
        assert found.flags == ("spelling",)
        assert found.notes == ("'tern' corrected to 'tren'",)
        assert found.as_dict()["corrected"] == [["tern", "tren"]]
    assert model.translate("El <b>tern</b> ve el <i>gtao</i>.").text == "The <b>train</b> sees the <i>cat</i>."
    whole = model.translate("El gato ve el tern.", spelling=False)
    assert whole.corrected == ()
    assert "spelling" not in whole.flags
    kept = model.translate("El gato ve el tern.", glossary={"tern": "cube"})
    assert kept.corrected == ()
    assert "cube" in kept.text
    assert " tren" in model.attend("El gato ve el tern.").tokens["source"]


def test_what_is_lost_is_worse_than_what_is_repeated(model: TranslationModel) -> None:
    search, marker = model.translator.search, MARKERS[0]
    (with_it, without) = search.target.encode([f"the cat the cat the cat the cat {marker}", "the cat"])
    one, other = (Hypothesis(ids, -1.0, -0.1, complete=True) for ids in (with_it, without))

    def better(flags: set[str], hypothesis: Hypothesis) -> set[str]:
        piece = model.translator.sentence("El gato 42 ve el gato.", split=True)
        piece.best, piece.flags = [("the cat", -1.0)], flags
        search._improve(piece, [hypothesis])
        return piece.flags

    assert better({"lost"}, one) == {"repetition"}
    assert better({"lost", "cut"}, one) == {"repetition"}
    assert better({"repetition"}, other) == {"repetition"}
    assert better({"lost", "repetition"}, other) == {"lost"}

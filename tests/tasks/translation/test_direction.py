"""One model for both directions: which way is chosen, and what tells the model."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import mirada
from mirada.decoding import Hypothesis
from mirada.engines import Engine, GenerationSettings
from mirada.errors import ConfigError, Interrupted, UsageError
from mirada.metrics.translation import BothWays
from mirada.tasks.translation.model import TranslationModel
from mirada.training.loop import Event
from tests import toy
from tests.command import refused, run

SPANISH, ENGLISH = "el gato ve el tren negro", "the cat sees the black train"
LANGUAGES: Any = {"source_language": "es", "target_language": "en", "direction": "both"}


class Echo(Engine):
    """Says nothing, and remembers what it was asked."""

    def __init__(self) -> None:
        self.sources: list[list[int]] = []

    def generate(
        self, sources: Sequence[Any], prefixes: Sequence[Sequence[int]], settings: GenerationSettings
    ) -> list[list[Hypothesis]]:
        self.sources += sources
        return [[Hypothesis([], -1.0, -1.0, complete=True)] for _ in sources]


@pytest.fixture
def asked(both_ways: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> Echo:
    """What the engine of the model gets."""
    echo = Echo()
    monkeypatch.setattr(both_ways.translator, "engine", echo)
    return echo


def test_the_tag_of_the_target_language_stands_before_every_sentence(both_ways: TranslationModel, asked: Echo) -> None:
    es, en = (both_ways.source_tokenizer.tags[f"<to:{code}>"] for code in ("es", "en"))
    (plain,) = both_ways.source_tokenizer.encode([SPANISH])
    both_ways.translate(f"{SPANISH}\n{SPANISH}", to="en", recover=False)
    both_ways.translate([SPANISH], to="es-MX", recover=False)
    assert asked.sources == [[en, *plain], [en, *plain], [es, *plain]]
    assert not {es, en} & set(plain)


def test_the_language_of_the_input_decides_and_it_is_said(both_ways: TranslationModel, asked: Echo) -> None:
    es, en = (both_ways.source_tokenizer.tags[f"<to:{code}>"] for code in ("es", "en"))
    found = both_ways.translate([ENGLISH, "No."], recover=False)
    assert [ids[0] for ids in asked.sources] == [es, es]
    assert all("looks like en, so it is translated into es" in one.notes[0] for one in found)
    assert both_ways.translate(SPANISH).notes
    assert asked.sources[-1][0] == en
    assert both_ways.translate(ENGLISH, to="es").notes == ()
    assert both_ways.translate("  ").text == ""
    with pytest.raises(UsageError, match="language of the input is unclear; choose the direction: --to en or --to es"):
        both_ways.translate("No.")
    with pytest.raises(UsageError, match=r"--to fr: .* translates into en or es"):
        both_ways.translate(SPANISH, to="fr")


def test_a_long_sentence_leaves_room_for_the_tag(both_ways: TranslationModel, asked: Echo) -> None:
    limit = both_ways.config["model"]["max_length"]
    found = both_ways.translate(" ".join(["gato"] * 1000), to="en")
    assert found.parts > 1
    assert max(map(len, asked.sources)) < limit
    assert max(map(len, asked.sources)) > limit / 3


def test_a_model_of_one_direction_takes_its_own_target_only(trained: TranslationModel) -> None:
    assert trained.translate("el gato ve el tren", to="en").text == "the cat sees the train"
    with pytest.raises(UsageError, match=r"--to es: .* translates into en"):
        trained.translate("el gato", to="es")


def test_a_model_that_knows_no_languages_takes_no_target(toy_tsv: Path, tmp_path: Path) -> None:
    model = mirada.train(toy_tsv, TranslationModel, out=tmp_path / "model", steps=1, settings=toy.TINY)
    for verb in ("attend", "translate"):
        said = refused(verb, model.path, SPANISH, "--to", "fr", code=2)
        assert said.startswith(f"mirada: --to fr: {model.path} does not know its languages")
    pairs = toy.write(tmp_path / "pairs.tsv", toy.pairs(3))
    done = run("align", model.path, pairs, "--from", "es", "--to", "en", "--layer", 0, "--head", 0, "--row", "chosen")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 3)


def test_both_directions_are_scored_and_the_card_says_so(both_ways: TranslationModel) -> None:
    assert both_ways.card["languages"] == {"source": "es", "target": "en", "direction": "both"}
    names = [score["name"] for score in both_ways.card["scores"]["scores"]]
    assert names == [f"{name} {way}" for way in ("es→en", "en→es") for name in ("BLEU", "chrF++", "TER")]
    found = both_ways.evaluate([(SPANISH, [ENGLISH]), ("el lobo", ["the wolf"])], beam=1, max_ratio=1)
    assert isinstance(found, BothWays)
    assert (found.size, {way: one.size for way, one in found.ways.items()}) == (4, {"es→en": 2, "en→es": 2})
    assert "en→es\n" in found.as_text()
    assert set(found.as_dict()["ways"]) == {"es→en", "en→es"}
    assert "es ↔ en" in run("info", both_ways.path).stdout
    assert "direction" not in (both_ways.path / "config.yaml").read_text().replace("direction: both", "")


def test_a_bundle_brings_its_directions_back(both_ways: TranslationModel) -> None:
    again = mirada.load(both_ways.path, TranslationModel)
    assert again.directions.codes == ["en", "es"]
    for to, text in (("en", SPANISH), ("es", ENGLISH)):
        one, other = (model.translate(text, to=to, beam=1, max_ratio=1) for model in (again, both_ways))
        assert one.text == other.text
        assert one.score == pytest.approx(other.score, abs=1e-4)
    assert again.attend(SPANISH, to="en", max_ratio=1).source[0] == "<to:en>"


def test_an_interrupted_run_of_both_directions_is_resumed_exactly(
    toy_tsv: Path, both_ways: TranslationModel, tmp_path: Path
) -> None:
    def interrupt(event: Event) -> None:
        if event.kind == "step" and event.figures["step"] == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    out = tmp_path / "bundle"
    with pytest.raises(Interrupted):
        mirada.train(toy_tsv, out=out, steps=12, settings=toy.TINY, listen=interrupt, **LANGUAGES)
    mirada.train(resume=out)
    for name in ("model.safetensors", "tokenizer.json", "config.yaml"):
        assert (out / name).read_bytes() == (both_ways.path / name).read_bytes()


def test_a_base_of_both_directions_keeps_them(toy_tsv: Path, both_ways: TranslationModel, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"data\.direction=forward: the base .* has both"):
        mirada.train(toy_tsv, out=tmp_path / "one", base=both_ways.path, steps=1, direction="forward")


# --- the command line ---


def test_translate_says_which_way_once(both_ways: TranslationModel, tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_text(f"{ENGLISH}\n" * 3)
    done = run("translate", both_ways.path, "--file", file, "--beam", 1)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("looks like en, so it is translated into es") == 1
    assert len(done.stdout.splitlines()) == 3
    assert "is unclear" in refused("translate", both_ways.path, "No.", code=2)
    assert "translates into en or es" in refused("translate", both_ways.path, "No.", "--to", "fr", code=2)
    assert "choose the direction" in refused("translate", both_ways.path, "--out", tmp_path / "o", code=2, text=ENGLISH)
    (tmp_path / "app.po").write_text('msgid ""\nmsgstr ""\n\nmsgid "the cat"\nmsgstr ""\n')
    catalog = ("translate", both_ways.path, "--file", tmp_path / "app.po", "--out", tmp_path / "new.po")
    assert "choose the direction: --to en or --to es" in refused(*catalog, code=2)
    assert "both ways" in refused("export", both_ways.path, "--format", "ctranslate2", "--out", tmp_path / "e", code=2)


def test_faults_of_the_option(toy_tsv: Path, tmp_path: Path) -> None:
    train = ("train", toy_tsv, "--out", tmp_path / "x", "--direction")
    assert "needs two languages" in refused(*train, "both", code=2)
    assert "data.direction='sideways'" in refused(*train, "sideways", code=2)

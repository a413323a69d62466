"""Odd texts and settings on the command line, and in the verbs of other tasks: one clear line each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirada
from mirada.data.tokenizer_learning import LONGEST_TEXT
from mirada.errors import ConfigError, InputError
from mirada.tasks.translation.model import TranslationModel
from tests import reviews, toy
from tests.command import refused, run

CAT, THE_CAT = "el gato ve el tren", "the cat sees the train"
SURROGATE, LONG = "El se\udcf1or", "x" * (LONGEST_TEXT + 1)


def test_a_line_that_was_cut_is_named(trained: TranslationModel) -> None:
    done = run("translate", trained.path, "el gato", CAT, "--sample", "--temperature", 100, "--seed", 1)
    assert done.returncode == 0
    assert "mirada: line 2: the translation was cut at the length limit" in done.stderr
    assert run("translate", trained.path, CAT).stderr == ""


def test_sentences_can_be_kept_together(trained: TranslationModel) -> None:
    text = f"{CAT}。{CAT}"
    assert run("translate", trained.path, text).stdout == f"{trained.translate(text).text}\n"
    assert run("translate", trained.path, text, "--no-split").stdout == f"{trained.translate(text, split=False).text}\n"


def test_a_line_beyond_all_measure_is_named_and_the_others_are_translated(trained: TranslationModel) -> None:
    done = run("translate", trained.path, text=f"{CAT}\n{LONG}\n{CAT}\n")
    assert done.returncode == 1
    assert done.stdout == f"{THE_CAT}\n\n{THE_CAT}\n"
    assert done.stderr.count("\n") == 1
    assert "line 2: has 5,000,001 characters; 1,000,000 is the limit: break it into lines" in done.stderr


def test_prefixes(trained: TranslationModel, tmp_path: Path) -> None:
    done = run("translate", trained.path, CAT, "--prefix", "the old ")
    assert done.stdout == run("translate", trained.path, CAT, "--prefix", "the old").stdout
    assert "--prefix 'the old ': the trailing space is ignored" in done.stderr
    long = ("translate", trained.path, CAT, "--prefix", ("the cat " * 300).strip(), "--out", tmp_path / "out.txt")
    assert "the prefix has 600 tokens; the model takes 255; shorten it" in refused(*long)
    assert not (tmp_path / "out.txt").exists()


def test_settings(trained: TranslationModel) -> None:
    said = refused("translate", trained.path, CAT, "--temperature", 0.5, code=2)
    assert "temperature=0.5: is for sampling" in said
    assert "--sample" in said
    assert "decode.temperature" in refused("translate", trained.path, CAT, "--sample", "--temperature", "1e-39", code=2)


def test_white_space_around_a_line_stays(trained: TranslationModel) -> None:
    assert run("translate", trained.path, text=f"  {CAT}\t\n").stdout == f"  {THE_CAT}\t\n"


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Models of other tasks that have learned next to nothing."""
    folder = tmp_path_factory.mktemp("others")
    texts = folder / "texts.txt"
    texts.write_text("\n\n".join(source for source, _ in toy.pairs(300)), encoding="utf-8")
    table = reviews.write(folder / "reviews.csv", reviews.rows(200))
    tiny = {"model": {"width": 16}, "train": {"threads": 1}}
    small = {"model": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16}, "train": {"threads": 1}}
    subwords = {"tokenizer": {"unit": "subwords", "vocabulary": 340}}
    return {
        "classify": mirada.train(table, task="classification", out=folder / "c", steps=1, settings=tiny | subwords),
        "fill": mirada.train(texts, task="masked_lm", out=folder / "m", steps=1, settings=small | subwords),
        "generate": mirada.train(texts, task="language_model", out=folder / "l", steps=1, settings=tiny | subwords),
    }


@pytest.mark.parametrize("text", [SURROGATE, LONG], ids=["surrogate", "long"])
def test_other_verbs_refuse_in_one_line(others: dict[str, Any], text: str) -> None:
    asked = [
        lambda: others["classify"].classify(text),
        lambda: others["classify"].evaluate([(text, others["classify"].labels[0])]),
        lambda: others["classify"].gradients(text),
        lambda: others["classify"].embeddings().neighbours(text, 3),
        lambda: others["fill"].fill(f"{text} [MASK]"),
        lambda: others["fill"].embed([text]),
        lambda: others["generate"].generate(text),
        lambda: others["generate"].token_bits(text),
    ]
    for ask in asked:
        with pytest.raises(InputError) as error:
            ask()
        assert "\n" not in str(error.value)
        assert "not UTF-8" in str(error.value) if text is SURROGATE else "5,000," in str(error.value)


def test_texts_of_other_tasks_are_normalised_too(others: dict[str, Any]) -> None:
    for model in (others["classify"], others["fill"]):
        assert model.preprocessor.tokenizer.normalizes
        assert model.config["tokenizer"]["normalize"]
        assert model.ids(" el\xa0gato  ve ") == model.ids("el gato ve")
    odd, clean = others["classify"].classify([" la pel\u0131\u0301cula\xa0", "la pel\u0131\u0301cula"])
    assert odd == clean
    first, second = others["fill"].embed(["el\xa0gato ", "el gato"])
    assert np.allclose(first.vector, second.vector, atol=1e-6)


def test_a_language_model_reads_every_character(others: dict[str, Any], tmp_path: Path) -> None:
    model = others["generate"]
    assert not model.preprocessor.tokenizer.normalizes
    assert not model.config["tokenizer"]["normalize"]
    text = "  el\xa0gato \n"
    assert model.preprocessor.codec.text_of(model.preprocessor.codec.read(text)) == text
    (tmp_path / "a.txt").write_text("el gato\n" * 100, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"tokenizer\.normalize=true"):
        mirada.train(
            tmp_path / "a.txt",
            task="language_model",
            out=tmp_path / "x",
            steps=1,
            settings={"tokenizer": {"normalize": True}},
        )


def test_a_seed_has_no_say_in_a_search_and_a_temperature_is_refused(others: dict[str, Any]) -> None:
    model = others["generate"]
    assert model.generate("el", tokens=3, beam=1, seed=4).text == model.generate("el", tokens=3, beam=1).text
    assert run("generate", model.path, "el", "--beam", 1, "--seed", 4, "--tokens", 2).returncode == 0
    assert "--temperature" in refused("generate", model.path, "el", "--beam", 1, "--temperature", 0.5, code=2)

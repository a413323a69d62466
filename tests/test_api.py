"""The library: its public names, typed results, how they show themselves, and wrong types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, assert_type

import pytest

import mirada
from mirada import TranslationModel
from mirada.errors import ConfigError, InputError, UsageError
from tests import toy

HEAVY = ["torch", "pydantic", "numpy"]


def test_the_public_names() -> None:
    assert mirada.__all__ == [
        "CaptionModel",
        "ClassificationModel",
        "ForecastingModel",
        "Glossary",
        "ImageClassificationModel",
        "LanguageModel",
        "MaskedLanguageModel",
        "MiradaError",
        "Model",
        "Prediction",
        "TaggingModel",
        "Translation",
        "TranslationMemory",
        "TranslationModel",
        "__version__",
        "explore",
        "load",
        "train",
        "without",
    ]


@pytest.mark.parametrize("name", mirada.__all__)
def test_every_public_name_is_there(name: str) -> None:
    thing = getattr(mirada, name)
    assert isinstance(thing, str) or thing.__name__ == name


def test_no_other_name_is() -> None:
    with pytest.raises(AttributeError, match="module 'mirada' has no attribute 'translate'"):
        mirada.translate  # noqa: B018
    assert not hasattr(mirada, "Bundle")


def loaded_after(statement: str) -> list[str]:
    """Which of the heavy packages a fresh Python has loaded after a statement."""
    program = f"import sys\n{statement}\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("statement", ["import mirada", "import mirada.cli", "from mirada import MiradaError"])
def test_importing_is_quick(statement: str) -> None:
    assert loaded_after(statement) == []


def test_the_check_sees_a_heavy_import() -> None:
    assert "numpy" in loaded_after("import numpy")


# --- typed models ---


def test_a_kind_makes_the_result_typed(trained: TranslationModel, toy_tsv: Path, tmp_path: Path) -> None:
    loaded = mirada.load(trained.path, TranslationModel)
    assert_type(loaded, TranslationModel)
    assert loaded.translate("el gato ve el tren").text == "the cat sees the train"
    assert_type(mirada.load(trained.path), Any)  # a bundle's class is known when it is opened
    made = mirada.train(toy_tsv, TranslationModel, out=tmp_path / "b", steps=1, settings=toy.TINY)
    assert_type(made, TranslationModel)
    assert isinstance(made, TranslationModel)
    again = mirada.train(kind=TranslationModel, resume=tmp_path / "b", steps=2)
    assert again.card["training"]["steps"] == 2


def test_a_bundle_of_another_kind_is_refused(trained: TranslationModel, toy_tsv: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a model for translation"):
        mirada.load(trained.path, mirada.TaggingModel)
    with pytest.raises(UsageError, match="is a model for translation"):
        mirada.train(kind=mirada.TaggingModel, resume=trained.path)
    with pytest.raises(UsageError, match="kind=TaggingModel: is for tagging, not for translation"):
        mirada.train(toy_tsv, mirada.TaggingModel, task="translation", out=tmp_path / "b")
    with pytest.raises(UsageError, match="kind=Model: is not the class"):
        mirada.train(toy_tsv, mirada.Model, out=tmp_path / "b")


def test_decoding_options_are_named_and_checked(trained: TranslationModel) -> None:
    found = trained.translate("el gato ve el tren", beam=4, n_best=3, length_penalty=0.5, split=False)
    assert len(found.alternatives) == 3
    sampled = [trained.translate("el gato", sample=True, temperature=3.0, seed=seed).text for seed in (1, 1)]
    assert sampled[0] == sampled[1]
    with pytest.raises(ConfigError, match=r"decode\.beem: there is no such setting \(did you mean"):
        trained.translate("el gato", beem=3)  # type: ignore[call-overload]
    with pytest.raises(ConfigError, match="must be a whole number"):
        trained.translate("el gato", beam="many")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="is for sampling"):
        trained.translate("el gato", temperature=2.0)


@pytest.mark.parametrize("given", [5, None, b"el gato", ["el gato", None], [b"el gato"], [3.5]])
def test_wrong_types_are_refused_in_one_line(trained: TranslationModel, given: Any) -> None:
    with pytest.raises(UsageError, match="must be a string, not ") as refused:
        trained.translate(given)
    assert "\n" not in str(refused.value)


def test_wrong_paths_are_refused_in_one_line(tmp_path: Path) -> None:
    wrong: Any = 5
    for call in (
        lambda: mirada.load(wrong),
        lambda: mirada.train(wrong, out=tmp_path / "b"),
        lambda: mirada.train([tmp_path, wrong], out=tmp_path / "b"),
        lambda: mirada.train(tmp_path, out=wrong),
    ):
        with pytest.raises(UsageError, match=r"must be a path, not 5 \(int\)"):
            call()


# --- how they show themselves ---


def test_models_and_predictions_show_themselves(trained: TranslationModel) -> None:
    assert repr(trained).startswith(f"<TranslationModel '{trained.path}': transformer, ")
    assert "chrF++" in trained._repr_html_()
    found = trained.translate("el gato ve el tren", n_best=2)
    assert "the cat sees the train" in repr(found)
    assert "<td style='text-align:left'>the cat sees the train</td>" in found._repr_html_()
    attention = trained.attend("el gato ve el tren")
    assert "the cat sees the train" in repr(attention)
    assert attention._repr_html_().startswith('<iframe sandbox="allow-scripts" srcdoc="&lt;!doctype html&gt;')
    assert attention.as_dict()["output"] == "the cat sees the train"


def test_neighbours_are_a_prediction(trained: TranslationModel) -> None:
    found = trained.neighbours("gato", 3)
    assert found.as_dict()["word"] == "gato"
    assert [near["word"] for near in found.as_dict()["neighbours"]] == [word for word, _ in found.neighbours]
    with pytest.raises(InputError, match="an empty word"):
        trained.neighbours(" ")


def test_training_prints_progress_in_a_notebook(
    toy_tsv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mirada.train(toy_tsv, TranslationModel, out=tmp_path / "script", steps=1, settings=toy.TINY)
    assert capsys.readouterr().out == ""
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))  # what a notebook has loaded
    mirada.train(toy_tsv, TranslationModel, out=tmp_path / "notebook", steps=1, settings=toy.TINY)
    said = capsys.readouterr().out
    assert "data: " in said
    assert "data: data" not in said
    mirada.train(resume=tmp_path / "notebook", steps=2, listen=lambda event: None)
    assert capsys.readouterr().out == ""

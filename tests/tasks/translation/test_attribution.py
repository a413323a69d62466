"""What a translation rests on is computed for the tokens that the model reads and generates, as `attend` shows them."""

from __future__ import annotations

import numpy as np
import pytest

from mirada import TranslationModel
from mirada.errors import InputError

TEXT = "el gato negro ve el tren 42"


@pytest.mark.parametrize("text", [TEXT, TEXT.upper(), TEXT.replace("gato", "<b>gato</b>")])
def test_the_attention_is_that_of_attend_between_words(text: str, trained: TranslationModel) -> None:
    found, expected = trained.attribute(text), trained.attend(text).select(words=True)["decoder.cross"]
    assert found.source == expected.keys.pieces[:-1]  # without </s>
    assert found.target == expected.queries.pieces[:-1]
    assert found.source[-1] == "42"
    assert found.attention == pytest.approx(np.asarray(expected.mean()[:-1, :-1]), abs=1e-5)


def test_tags_are_not_words(trained: TranslationModel) -> None:
    assert trained.attribute("el <b>gato</b> ve el tren").source == ("el", "gato", "ve", "el", "tren")


def test_without_a_word_its_drop_is_that_of_the_shorter_sentence(trained: TranslationModel) -> None:
    found = trained.attribute("el gato ve el tren", "the cat sees the train", methods="leave-out")
    engine, encode = trained.translator.engine, trained.source_tokenizer.encode
    (target,) = trained.target_tokenizer.encode(["the cat sees the train"])
    whole, shorter = (sum(engine.score(encode([f"el{noun} ve el tren"]), [target])[0][:-1]) for noun in (" gato", ""))
    assert found.measures["leave-out"][:, 1].sum() == pytest.approx(whole - shorter, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "message"), [("El gato ve el tren. El perro ve el tren.", "one sentence at a time"), (" ", "empty")]
)
def test_what_attend_refuses(text: str, message: str, trained: TranslationModel) -> None:
    with pytest.raises(InputError, match=message):
        trained.attribute(text)

"""Tags are ids that no text can spell, whatever the unit, and no text shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.data.tokenizer_learning import SYNTHETIC, UNK, Unit, tag_to

TAGS = [tag_to("es"), tag_to("pt-BR"), SYNTHETIC]
TEXTS = ["<to:es> el gato <synthetic> ve", "<to:pt-BR> <to:es>", "x<synthetic>", "<synthetic>"] * 50
UNITS: list[Unit] = ["subwords", "words", "characters", "symbols"]


@pytest.fixture(params=UNITS)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    """One that has learned from texts that are full of tags."""
    config = TokenizerConfig(unit=request.param, vocabulary=400 if request.param == "subwords" else 100)
    return config.learn(TEXTS, 100, tags=TAGS)


def test_no_text_spells_a_tag(tokenizer: Tokenizer) -> None:
    assert list(tokenizer.tags) == TAGS
    ids = set(tokenizer.tags.values())
    for found in tokenizer.encode(TEXTS):
        assert found
        assert ids.isdisjoint(found)
    assert ids.isdisjoint(token.id for text in TEXTS for token in tokenizer.tokens(text))
    if tokenizer.unit == "symbols":
        assert tokenizer.encode(["<to:es> gato"])[0][0] == UNK


def test_tags_are_not_shown_in_a_text(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode(["el gato"])[0]
    assert tokenizer.decode([[*tokenizer.tags.values(), *ids]]) == tokenizer.decode([ids])


def test_a_file_keeps_the_tags(tokenizer: Tokenizer) -> None:
    again = Tokenizer.load(Path("tokenizer.json"), tokenizer.to_json().encode())
    assert again.tags == tokenizer.tags
    assert again.to_json() == tokenizer.to_json()


@pytest.mark.parametrize("unit", UNITS)
def test_a_text_may_teach_words_that_look_like_tags_where_there_are_none(unit: Unit) -> None:
    assert TokenizerConfig(unit=unit, vocabulary=400).learn(TEXTS, 100).tags == {}

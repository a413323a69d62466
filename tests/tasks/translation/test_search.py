"""What a search gives to pieces: the n best translations, finished like their sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mirada.data.tokenizer import Tokenizer
from mirada.decoding import DecodeConfig, Hypothesis
from mirada.engines import Engine, GenerationSettings
from mirada.tasks.translation.pieces import Cutter
from mirada.tasks.translation.search import Search
from tests.data.test_profile import PROFILE


class Fixed(Engine):
    """An engine that always gives the same hypotheses."""

    def __init__(self, answers: Sequence[Sequence[int]]):
        self.answers = answers

    def generate(
        self, sources: Sequence[Any], prefixes: Sequence[Sequence[int]], settings: GenerationSettings
    ) -> list[list[Hypothesis]]:
        return [[Hypothesis([*ids], -1.0, -1.0, complete=True) for ids in self.answers] for _ in sources]


def test_alternatives_to_an_empty_translation_are_finished_too() -> None:
    tokenizer = Tokenizer.learn(["the cat sleeps", "el gato duerme"] * 3, 300)
    engine = Fixed(tokenizer.encode(["", "El gato duerme"]))
    pieces = list(Cutter(PROFILE, masks=False).cut(0, "THE CAT SLEEPS", split=True))
    config = DecodeConfig(n_best=2)
    search = Search(engine, tokenizer, tokenizer, max_length=30)
    search(pieces, config, lambda done: None)
    search.finish(pieces, config)
    assert [text for text, _ in pieces[0].best] == ["", "EL GATO DUERME"]

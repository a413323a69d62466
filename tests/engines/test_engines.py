"""The seam between a model's verbs and what computes: any class with one method is an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from mirada.contracts import Batch, State, Step
from mirada.data.tokenizer import Tokenizer
from mirada.decoding import DecodeConfig, Hypothesis
from mirada.engines import Engine, GenerationSettings
from mirada.engines.torch import TorchEngine
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.preprocessor import TranslationPreprocessor
from mirada.tasks.translation.translator import Translator
from tests.fake_generator import A, B, C, Fake, any_fake, chain, distribution, quick, same, seeds

WORDS = {"hola": "hello", "buenos días": "good morning", "adiós": "goodbye"}
CPU = torch.device("cpu")


class Dictionary(Engine):
    """An engine that looks sentences up: no network, no device."""

    def __init__(self, source: Tokenizer, target: Tokenizer):
        self.source, self.target = source, target
        self.asked: list[GenerationSettings] = []

    def generate(
        self, sources: Sequence[Any], prefixes: Sequence[Sequence[int]], settings: GenerationSettings
    ) -> list[list[Hypothesis]]:
        self.asked.append(settings)
        texts = [WORDS.get(text.strip(), "?") for text in self.source.decode(sources)]
        return [
            [Hypothesis([*prefix, *ids], -1.0, -0.5, complete=True)]
            for ids, prefix in zip(self.target.encode(texts), prefixes, strict=True)
        ]


def translator() -> Translator:
    tokenizer = Tokenizer.learn([*WORDS, *WORDS.values()] * 3, 300)
    return Translator(Dictionary(tokenizer, tokenizer), TranslationPreprocessor(tokenizer, tokenizer), max_length=30)


def test_a_dictionary_is_an_engine() -> None:
    found = translator().translate(["hola", "", "buenos días\nadiós"], DecodeConfig())
    assert [translation.text for translation in found] == ["hello", "", "good morning\ngoodbye"]
    assert found[0].score == -0.5


def test_a_prefix_reaches_the_engine() -> None:
    (found,) = translator().translate(["hola"], DecodeConfig(), prefix="good")
    assert found.text.split() == ["good", "hello"]


def test_the_engine_of_a_trained_model_can_be_replaced(trained: TranslationModel) -> None:
    before = trained.translator.engine
    trained.translator.engine = engine = Dictionary(trained.source_tokenizer, trained.target_tokenizer)
    try:
        assert trained.translate("hola", beam=3, max_ratio=2).text == "hello"
    finally:
        trained.translator.engine = before
    assert engine.asked[0].decode.beam == 3
    assert engine.asked[0].limits == [2 * len(trained.source_tokenizer.encode(["hola"])[0]) + 20]


def test_an_engine_without_streaming_gives_its_tokens_at_the_end() -> None:
    engine = translator().engine
    assert isinstance(engine, Dictionary)
    source = engine.source.encode(["hola"])[0]
    settings = GenerationSettings(DecodeConfig(), [9])
    assert list(engine.stream(source, [5], settings)) == engine.generate([source], [[]], settings)[0][0].tokens


# --- PyTorch ---


def test_prefixes_may_differ_in_length() -> None:
    engine = TorchEngine(any_fake(3), CPU)
    config = DecodeConfig(beam=3, n_best=2)
    sources, prefixes, limits = [[0, A], [1, B], [2, C], [3, A]], [[A, B], [], [C], []], [4, 5, 6, 7]
    together = engine.generate(sources, prefixes, GenerationSettings(config, limits))
    for row, found in enumerate(together):
        alone = engine.generate([sources[row]], [prefixes[row]], GenerationSettings(config, [limits[row]]))[0]
        same(found, alone)
        assert all(hypothesis.tokens[: len(prefixes[row])] == prefixes[row] for hypothesis in found)


def test_suppressed_tokens_are_never_generated() -> None:
    engine = TorchEngine(distribution(A=0.8, B=0.1, EOS=0.1), CPU)
    (best,) = engine.generate([[0]], [[]], GenerationSettings(DecodeConfig(beam=1), [3], suppressed=(A,)))[0]
    assert A not in best.tokens


def test_an_endless_text_ends_at_its_limit_alone() -> None:
    engine = TorchEngine(distribution(A=0.1, EOS=0.9), CPU)
    for sample in (False, True):
        config = DecodeConfig(beam=1, sample=sample)
        settings = GenerationSettings(config, [6], endless=True, free_end=True)
        assert engine.generate([[0]], [[]], settings)[0][0].tokens == [A] * 5
        assert list(engine.stream([0], [], settings)) == [A] * 5


def test_a_free_end_costs_nothing() -> None:
    fake = chain(A, B, C)
    settings = GenerationSettings(DecodeConfig(beam=2), [3], free_end=True)
    (best, *_) = TorchEngine(fake, CPU).generate([[0]], [[]], settings)[0]
    assert best.tokens == [A, B]
    paid = fake.log_p(0, 1)[A] + fake.log_p(0, A)[B]
    assert abs(best.log_probability - paid) < 1e-5
    assert abs(best.score - paid / 2) < 1e-5  # the end is not counted


def test_a_stream_is_what_is_generated() -> None:
    engine = TorchEngine(any_fake(5), CPU)
    for config in (DecodeConfig(beam=1), DecodeConfig(sample=True, seed=4), DecodeConfig(beam=3)):
        settings = GenerationSettings(config, [8])
        best = engine.generate([[1, A]], [[B]], settings)[0][0]
        assert list(engine.stream([1, A], [B], settings)) == best.tokens[1:]


@dataclass(frozen=True)
class Watched:
    """A generator that notes whether its steps are computed in bfloat16."""

    inner: Fake
    seen: list[bool]

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        self.seen.append(torch.is_autocast_enabled("cpu"))
        return self.inner.start(batch, attention=attention)

    def step(self, tokens: Tensor, state: State) -> Step:
        self.seen.append(torch.is_autocast_enabled("cpu"))
        return self.inner.step(tokens, state)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_stream_is_computed_in_the_precision_of_its_engine(precision: str) -> None:
    network = Watched(any_fake(5), [])
    settings = GenerationSettings(DecodeConfig(beam=1), [8], endless=True)
    for _ in TorchEngine(network, CPU, precision=precision).stream([1, A], [], settings):
        assert not torch.is_autocast_enabled("cpu")  # in the loop of the caller
    assert network.seen == [precision == "bfloat16"] * 8


def any_settings(width: int, limit: int, rows: int, **more: Any) -> GenerationSettings:
    return GenerationSettings(DecodeConfig(beam=width, n_best=width), [limit] * rows, **more)


def repeated(tokens: Sequence[int], size: int) -> bool:
    grams = [tuple(tokens[place : place + size]) for place in range(len(tokens) - size + 1)]
    return len(grams) != len(set(grams))


@given(seeds, st.integers(1, 4), st.integers(2, 3))
@quick
def test_no_ngram_is_generated_twice_if_so_asked(seed: int, width: int, size: int) -> None:
    engine = TorchEngine(any_fake(seed, sharpness=3.0), CPU)
    found = engine.generate([[1] * 4] * 3, [[]] * 3, any_settings(width, 12, 3, no_repeat_ngram=size))
    assert not any(repeated(one.tokens, size) for best in found for one in best)


def test_without_repetitions_nothing_changes() -> None:
    engine = TorchEngine(chain(A, B, C), CPU)
    plain, blocked = (engine.generate([[1]], [[]], any_settings(2, 9, 1, no_repeat_ngram=n))[0][0] for n in (0, 3))
    assert plain.tokens == blocked.tokens == [A, B, C]

"""An ensemble is one generator whose probabilities are the mean of its members'."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given

import mirada
from mirada.contracts import BOS, EOS, PAD
from mirada.decoding import DecodeConfig, decode
from mirada.engines.ensemble import Ensemble, EnsembleEngine
from mirada.engines.torch import TorchEngine
from mirada.errors import BundleError, UsageError
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.fake_generator import KINDS, A, Fake, S, V, any_fake, batch_of, quick, same, seeds

SOURCES = ["el gato ve el tren", "el lobo negro tiene el libro rojo 42", "el barco"]


def mean_log_p(fakes: Sequence[Fake], kind: int, previous: int) -> list[float]:
    """The logarithm of the mean probability of each token, by hand; padding and BOS are never said."""
    tables = [[math.exp(x) for x in fake.table[kind, previous].double().log_softmax(-1).tolist()] for fake in fakes]
    means = [sum(column) / len(fakes) for column in zip(*tables, strict=True)]
    return [-math.inf if token in (PAD, BOS) else math.log(p) for token, p in enumerate(means)]


@quick
@given(seeds)
def test_each_step_is_the_mean_of_the_probabilities(seed: int) -> None:
    fakes = [any_fake(seed), any_fake(seed + 1), any_fake(seed + 2, sharpness=5)]
    (best, *_) = decode(Ensemble(fakes), batch_of([seed % KINDS]), DecodeConfig(beam=1), [8])[0]
    kind, previous, total = seed % KINDS, BOS, 0.0
    for place, token in enumerate([*best.tokens, EOS]):
        log_p = mean_log_p(fakes, kind, previous)
        if place < 7:
            assert log_p[token] == pytest.approx(max(log_p), abs=1e-5)
        total, previous = total + log_p[token], token
    assert best.log_probability == pytest.approx(total, abs=1e-4)


@quick
@given(seeds)
def test_a_search_equals_that_in_the_table_of_means(seed: int) -> None:
    fakes = [any_fake(seed), any_fake(seed + 1)]
    table = torch.stack([fake.table.log_softmax(-1) for fake in fakes]).logsumexp(0) - math.log(2)
    batch, limits = batch_of([0, 1, 2], prefix=[A]), [4, 7, 5]
    for config in (DecodeConfig(beam=3, n_best=3), DecodeConfig(sample=True, n_best=2, seed=seed)):
        together = decode(Ensemble(fakes), batch, config, limits, attention=True)
        for one, other in zip(together, decode(Fake(table), batch, config, limits, attention=True), strict=True):
            same(one, other)
            for hypothesis, alone in zip(one, other, strict=True):
                assert hypothesis.attention is not None
                assert alone.attention is not None
                layers = hypothesis.attention.unbind(1)  # [T, L, H, S]: a layer of each member
                assert [layer.tolist() for layer in layers] == [alone.attention[:, 0].tolist()] * 2


def test_members_may_have_other_heads_or_no_attention() -> None:
    class Heads(Fake):
        def _say(self, state):  # type: ignore[no-untyped-def]
            step = super()._say(state)
            return step._replace(attention=None if step.attention is None else step.attention.repeat(1, 2, 3, 1))

    class Blind(Fake):
        def _say(self, state):  # type: ignore[no-untyped-def]
            return super()._say(replace(state, attention=False))

    table = any_fake(1).table
    for members, shape in (
        ([Fake(table), Heads(table)], (1, 1 + 6, 1, S)),
        ([Blind(table), Fake(table)], (1, 1, 1, S)),
    ):
        weights = Ensemble(members).start(batch_of([0]), attention=True).attention
        assert weights is not None
        assert tuple(weights.shape) == shape
    assert Ensemble([Blind(table)]).start(batch_of([0]), attention=True).attention is None
    assert Ensemble([Fake(table)]).start(batch_of([0])).logits.shape == (1, V)


def test_a_score_is_the_mean_also_of_probabilities_that_are_zero_as_floats() -> None:
    class Scorer(TorchEngine):
        def __init__(self, log_p: float):
            self.log_p = log_p

        def score(self, sources: Sequence[Any], targets: Sequence[Sequence[int]]) -> list[list[float]]:
            return [[self.log_p] * (len(target) + 1) for target in targets]

    engine = EnsembleEngine([], torch.device("cpu"))
    engine._members = [Scorer(-10_000.0), Scorer(-20_000.0)]
    assert engine.score([[A]], [[A]]) == [[pytest.approx(-10_000 - math.log(2))] * 2]


# --- bundles ---


@pytest.fixture(scope="module")
def twice(trained: TranslationModel) -> TranslationModel:
    """A model with itself."""
    return mirada.load(f"{trained.path}+{trained.path}", TranslationModel)


def test_a_model_with_itself_is_the_model(trained: TranslationModel, twice: TranslationModel) -> None:
    alone = mirada.load(trained.path, TranslationModel, engine="torch")
    for options in ({"n_best": 3}, {"sample": True, "seed": 3}, {"prefix": "the"}):
        found, expected = twice.translate(SOURCES, **options), alone.translate(SOURCES, **options)
        assert [one.text for one in found] == [one.text for one in expected]
        assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-5)
    one, other = twice.attend(SOURCES[0]), alone.attend(SOURCES[0])
    assert one.output == other.output
    assert one.weights.shape[0] == 2 * other.weights.shape[0]
    assert twice.parameters == 2 * alone.parameters


def test_it_is_evaluated_like_a_model(trained: TranslationModel, twice: TranslationModel) -> None:
    rows = [(source, [target]) for source, target in toy.pairs(5)]
    assert twice.evaluate(rows).score("BLEU") == pytest.approx(trained.evaluate(rows).score("BLEU"))


def test_ctranslate2_is_not_chosen_and_refused(twice: TranslationModel) -> None:
    assert isinstance(twice.translator.engine, EnsembleEngine)
    for options in ({"engine": "ctranslate2"}, {"quantize": "int8"}):
        with pytest.raises(UsageError, match="is an ensemble, which only the engine torch"):
            twice.use_engine(**options)
    twice.use_engine("torch", precision="float32")


def test_a_directory_with_a_plus_in_its_name_is_a_bundle(trained: TranslationModel, tmp_path: Path) -> None:
    from mirada.bundle import members

    for name in ("lstm+dot", "a", "b+c"):
        (tmp_path / name).mkdir()
    assert members(tmp_path / "lstm+dot") == [tmp_path / "lstm+dot"]
    assert members(Path(f"{tmp_path}/a+{tmp_path}/lstm+dot+{tmp_path}/b+c")) == [
        tmp_path / "a", tmp_path / "lstm+dot", tmp_path / "b+c"
    ]  # fmt: skip
    with pytest.raises(BundleError, match=r"no such directory, and for an ensemble no bundle .*/nothing"):
        members(Path(f"{tmp_path}/a+{tmp_path}/nothing"))


def test_other_tokenizers_and_tasks_are_refused(
    trained: TranslationModel, both_ways: TranslationModel, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"different tokenizers.*--set tokenizer\.vocabulary=340"):
        mirada.load(f"{trained.path}+{both_ways.path}")
    (tmp_path / "p.csv").write_text("text,label\n" + "".join(f"w{n % 7} x{n},{'ab'[n % 2]}\n" for n in range(40)))
    bag = mirada.train(tmp_path / "p.csv", out=tmp_path / "bag", task="classification", model="bag", steps=1)
    with pytest.raises(UsageError, match="is a model for classification"):
        mirada.load(f"{trained.path}+{bag.path}")
    with pytest.raises(UsageError, match="ensembles are for translators"):
        mirada.load(f"{bag.path}+{bag.path}")


def test_an_ensemble_measures_words_and_places_tags(trained: TranslationModel) -> None:
    both = mirada.load(f"{trained.path}+{trained.path}", TranslationModel)
    text = "el <b>gato</b> ve el tren"
    one, other = (model.translate(text, words=True) for model in (trained, both))
    assert str(other) == str(one) == "the <b>cat</b> sees the train"
    assert [p for _, p in other.words] == pytest.approx([p for _, p in one.words], abs=1e-4)

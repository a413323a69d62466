"""The bag of words and n-grams equals its definition, counted in plain Python; it knows what is frequent, no order."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from mirada.contracts import PAD, SequenceBatch, Sizes
from mirada.errors import ConfigError, UsageError
from mirada.models import bag
from mirada.models.bag import FIRST_WORD, NOTHING, PRESETS, UNKNOWN, Bag, BagConfig
from mirada.nn.activations import ACTIVATIONS
from tests.recurrent_parts import shaken
from tests.tensors import close

WORDS, CLASSES = 12, 3
Texts = list[list[int]]
SOME: Texts = [[5, 6, 5, 7, 3, 5, 6], [], [9], [6, 5, 4, 4, 4, 11, 10], [2, 3, 1], [5, 6, 7, 5, 6]]
texts = st.lists(st.lists(st.integers(1, WORDS - 1), max_size=9), min_size=1, max_size=6)


def corpus(some: Texts, kind: type = np.uint16) -> tuple[Any, Any]:
    """Ids and offsets, as a prepared corpus has them."""
    return np.fromiter(chain(*some), kind), np.cumsum([0, *map(len, some)], dtype=np.int64)


def batch_of(some: Texts, garbage: int = PAD) -> SequenceBatch:
    longest = max(map(len, some))
    rows = [text + [garbage] * (longest - len(text)) for text in some]
    return SequenceBatch(torch.tensor(rows, dtype=torch.long).view(len(some), longest), torch.tensor([*map(len, some)]))


def build(some: Texts = SOME, **choices: Any) -> Bag:
    model = shaken(Bag(BagConfig.model_validate({"features": 8, **choices}), Sizes(WORDS, CLASSES))).eval()
    model.fit(*corpus(some))
    return model


def ngrams(text: list[int], longest: int, least: int = FIRST_WORD) -> list[tuple[int, ...]]:
    """All n-grams of one text, by the definition; those of known words, unless `least` is another id."""
    found = [tuple(text[i : i + n]) for n in range(1, longest + 1) for i in range(len(text) - n + 1)]
    return [gram for gram in found if min(gram) >= least]


def most_frequent(some: Texts, longest: int, k: int) -> list[tuple[int, ...]]:
    """Of equally frequent ones the shorter, then those of smaller ids; in the order of the table."""
    counts = Counter(gram for text in some for gram in ngrams(text, longest))
    chosen = sorted(counts, key=lambda gram: (-counts[gram], len(gram), gram))[:k]
    return sorted(chosen, key=lambda gram: (len(gram), gram))


def dense(model: Bag, some: Texts, chosen: list[tuple[int, ...]]) -> Tensor:
    """f(d) [B, k], zeros and all."""
    f = torch.zeros(len(some), model.config.features, dtype=torch.float64)
    for row, text in enumerate(some):
        counts = Counter(gram for gram in ngrams(text, model.config.ngrams) if gram in chosen)
        everything = len(ngrams(text, model.config.ngrams, least=UNKNOWN))
        for gram, count in counts.items():
            share = count / (everything if model.config.share_of == "all" else sum(counts.values()))
            f[row, chosen.index(gram)] = 1.0 if model.config.weighting == "presence" else share
    return f


def table(model: Bag) -> list[tuple[int, ...]]:
    return [model.words(key) for key in model.table.tolist() if key < NOTHING]


@given(some=texts, longest=st.integers(1, 3), k=st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_fit_picks_the_most_frequent(some: Texts, longest: int, k: int) -> None:
    model = build(some, ngrams=longest, features=k)
    assert table(model) == most_frequent(some, longest, k)
    assert model.table.shape == (k,)
    assert torch.equal(model.table, model.table.sort().values)


@pytest.mark.parametrize("chunk", [1, 3, 8, 100])
def test_chunks_change_nothing(chunk: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bag, "CHUNK", chunk)
    some = SOME * 3
    ids, offsets = corpus(some, np.int32)
    ids.tofile(tmp_path / "ids")
    model = Bag(BagConfig(features=9, ngrams=3), Sizes(WORDS, CLASSES))
    model.fit(np.memmap(tmp_path / "ids", np.int32, "r"), offsets)
    assert table(model) == most_frequent(some, 3, 9)


@given(seen=texts, some=texts)
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("share_of", ["all", "known"])
@pytest.mark.parametrize("weighting", ["presence", "frequency"])
@pytest.mark.parametrize("longest", [1, 2, 3])
def test_scores_are_those_of_the_dense_features(
    longest: int, weighting: str, share_of: str, seen: Texts, some: Texts
) -> None:
    model = build(seen, ngrams=longest, weighting=weighting, share_of=share_of)
    f = dense(model, some, most_frequent(seen, longest, 8))
    close(model.output(model.pool(batch_of(some, garbage=5))), f @ model.columns.weight + model.bias)


@pytest.mark.parametrize("activation", get_args(BagConfig.model_fields["activation"].annotation))
def test_a_hidden_layer(activation: str) -> None:
    model = build(hidden=4, activation=activation, ngrams=2)
    z = dense(model, SOME, most_frequent(SOME, 2, 8)) @ model.columns.weight + model.bias
    h = torch.maximum(z[:, :4], z[:, 4:]) if activation == "maxout" else ACTIVATIONS[activation](z)
    close(model.pool(batch_of(SOME)), h)
    output = model.output
    assert isinstance(output, nn.Linear)
    close(output(model.pool(batch_of(SOME))), h @ output.weight.T + output.bias)
    output(model.pool(batch_of(SOME))).pow(2).sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


def test_the_gradient_is_that_of_the_dense_features() -> None:
    model = build(ngrams=2, weighting="frequency")
    f = dense(model, SOME, most_frequent(SOME, 2, 8))
    wanted = [model.columns.weight, model.bias]
    found = torch.autograd.grad(model.pool(batch_of(SOME)).pow(2).sum(), wanted)
    expected = torch.autograd.grad((f @ model.columns.weight + model.bias).pow(2).sum(), wanted)
    for one, other in zip(found, expected, strict=True):
        close(one, other)


def test_a_relative_frequency_is_the_count_divided_by_the_length_of_the_text() -> None:
    """ "hola hola cómo estás": 2 of 4 words, however few of them are looked for; an unknown word is a word too."""
    hola, como, estas = 5, 6, UNKNOWN
    model = build([[hola, hola]], weighting="frequency", share_of="all")
    rows, found, values = model.features(batch_of([[hola, hola, como, estas], [hola]]))
    assert (rows.tolist(), found.tolist(), values.tolist()) == ([0, 1], [0, 0], [0.5, 1.0])


def test_new_bags_divide_by_the_length_and_bundles_that_do_not_say_by_what_they_know() -> None:
    assert {preset["model"]["share_of"] for preset in PRESETS.values()} == {"all"}
    assert BagConfig.model_validate({"name": "bag", "weighting": "frequency"}).share_of == "known"


def test_slots_that_no_ngram_uses_are_zero_and_stay_so() -> None:
    """λΣW² is over weights: a slot of the table that nothing fills has none."""
    model = build([[5, 6]], features=8, hidden=4)
    assert model.columns.weight[:2].any(1).all()
    assert not model.columns.weight[2:].any()
    (model.output(model.pool(batch_of(SOME))).square().sum() + model.columns.weight.square().sum()).backward()
    assert model.columns.weight.grad is not None
    assert not model.columns.weight.grad[2:].any()


def test_order_does_not_matter_to_words_but_to_pairs() -> None:
    opinions = ("sí me gustó mucho no la vi completa", "sí no me gustó mucho la vi completa")
    ids = {word: number for number, word in enumerate(sorted(opinions[0].split()), FIRST_WORD)}
    both = [[ids[word] for word in text.split()] for text in opinions]
    for longest, same in ((1, True), (2, False), (3, False)):
        one, other = build(both, ngrams=longest, features=40).pool(batch_of(both))
        assert torch.equal(one, other) == same


def test_texts_without_a_known_ngram_give_the_bias() -> None:
    model = build([[5, 6]])
    unknown: list[Texts] = [[[], [7], [3, 3, 0]], [[]]]
    for some in unknown:
        for scores in model.pool(batch_of(some)):
            close(scores, model.bias.detach())


def test_why_sums_up_to_the_scores() -> None:
    for weighting in ("presence", "frequency"):
        model = build(ngrams=2, weighting=weighting)
        shares = model.why(torch.tensor(SOME[0]))
        assert {gram for gram, _ in shares} == set(ngrams(SOME[0], 2)) & set(most_frequent(SOME, 2, 8))
        close(torch.stack([share for _, share in shares]).sum(0) + model.bias, model.pool(batch_of(SOME[:1]))[0])
    assert model.why(torch.tensor([3, 3])) == []
    with pytest.raises(UsageError, match=r"model.hidden=4: .* train with model.hidden=0"):
        build(hidden=4).why(torch.tensor(SOME[0]))


def test_the_weights_file_restores_what_is_looked_for() -> None:
    model, fresh = build(ngrams=2), Bag(BagConfig(features=8, ngrams=2), Sizes(WORDS, CLASSES)).double()
    fresh.load_state_dict(model.state_dict())
    assert "table" in model.state_dict()
    close(fresh.pool(batch_of(SOME)), model.pool(batch_of(SOME)))
    model.fit(*corpus([[7, 7]]))  # again, on something smaller: nothing of the first is left
    assert table(model) == [(7,), (7, 7)]


def test_dropout_leaves_ngrams_out_in_training() -> None:
    model = build(dropout=0.5)
    close(model.pool(batch_of(SOME)), model.pool(batch_of(SOME)))
    model.train()
    assert not torch.allclose(model.pool(batch_of(SOME)), model.pool(batch_of(SOME)))


def test_what_a_bag_cannot_do_is_refused_with_the_way_out() -> None:
    with pytest.raises(UsageError, match="has no order"):
        build().encode(batch_of(SOME))
    with pytest.raises(ConfigError, match="these inputs are numbers"):
        Bag(BagConfig(), Sizes(4, 2, numeric_inputs=True))
    Bag(BagConfig(features=1, ngrams=3), Sizes(2**20, 2))
    with pytest.raises(ConfigError, match=r"model.ngrams=3: a vocabulary of 2,097,152 words .* set model.ngrams=2"):
        Bag(BagConfig(features=1, ngrams=3), Sizes(2**21, 2))


def test_keys_of_a_large_vocabulary_do_not_collide() -> None:
    words = 65_536
    model = Bag(BagConfig(features=6, ngrams=3), Sizes(words, 2))
    model.fit(*corpus([[words - 1, words - 1, words - 1], [4, 5]], np.int64))
    last = words - 1
    assert table(model) == [(4,), (5,), (last,), (4, 5), (last, last), (last, last, last)]


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_configurations(preset: str) -> None:
    BagConfig.model_validate(PRESETS[preset]["model"])

"""Greedy and beam search against all sequences; limits, batch mates, prefixes, attention."""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor

from mirada.contracts import BOS, EOS, PAD, Batch, State, Step
from mirada.decoding import DecodeConfig, decode
from tests.fake_generator import (
    KINDS,
    A,
    B,
    C,
    D,
    Fake,
    History,
    S,
    V,
    any_fake,
    chain,
    distribution,
    quick,
    run,
    same,
    seeds,
)

# --- greedy and beam ---


def greedy(fake: Fake, kind: int, limit: int) -> list[int]:
    """The likeliest token again and again, until it is EOS or only EOS has room."""
    tokens: list[int] = []
    while len(tokens) < limit - 1:
        log_p = fake.log_p(kind, tokens[-1] if tokens else BOS)
        best = max(range(V), key=lambda token: log_p[token])
        if best == EOS:
            break
        tokens.append(best)
    return tokens


@quick
@given(seeds, st.integers(1, 8))
def test_beam_one_is_greedy(seed: int, limit: int) -> None:
    fake = any_fake(seed)
    for kind, (best,) in enumerate(run(fake, range(KINDS), limit, beam=1)):
        assert best.tokens == greedy(fake, kind, limit)


def every_sequence(limit: int) -> list[tuple[int, ...]]:
    """All that can be said in `limit` tokens, EOS included."""
    return [words for length in range(limit) for words in itertools.product((A, B, C, D), repeat=length)]


@settings(max_examples=15, deadline=None)
@given(seeds, st.sampled_from([0.0, 0.6, 1.0, 2.0]), st.integers(1, 4))
def test_a_wide_beam_finds_the_best_of_all_sequences(seed: int, penalty: float, limit: int) -> None:
    fake = any_fake(seed)
    scored = {words: fake.replay(0, (), words) / (len(words) + 1) ** penalty for words in every_sequence(limit)}
    best = sorted(scored.values(), reverse=True)[:20]
    (found,) = run(fake, [0], limit, beam=100, n_best=20, length_penalty=penalty)  # more than the 85 there are
    assert [h.score for h in found] == pytest.approx(best, abs=1e-4)
    for hypothesis in found:
        assert hypothesis.score == pytest.approx(scored[tuple(hypothesis.tokens)], abs=1e-4)


@quick
@given(seeds, st.integers(2, 6), st.integers(1, 8), st.sampled_from([0.0, 1.0]))
def test_n_best_are_sorted_distinct_and_scored_as_their_replay(
    seed: int, beam: int, limit: int, penalty: float
) -> None:
    fake = any_fake(seed)
    for kind, found in enumerate(run(fake, range(KINDS), limit, beam=beam, n_best=beam, length_penalty=penalty)):
        assert 1 <= len(found) <= beam
        assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
        assert len({tuple(h.tokens) for h in found}) == len(found)
        for hypothesis in found:
            assert set(hypothesis.tokens) <= {A, B, C, D}
            assert len(hypothesis.tokens) < limit
            assert hypothesis.log_probability == pytest.approx(fake.replay(kind, (), hypothesis.tokens), abs=1e-4)
            length = len(hypothesis.tokens) + 1
            assert hypothesis.score == pytest.approx(hypothesis.log_probability / length**penalty, abs=1e-6)


@quick
@given(seeds)
def test_fewer_best_are_the_first_of_more(seed: int) -> None:
    fake = any_fake(seed)
    more, fewer = run(fake, [1], 6, beam=5, n_best=5)[0], run(fake, [1], 6, beam=5, n_best=2)[0]
    same(fewer, more[:2])


def test_a_beam_finds_what_greedy_misses() -> None:
    # A is likelier than B, but nothing likely follows it; B is followed by EOS for sure.
    table = torch.full((KINDS, V, V), -math.inf)
    table[:, BOS, A], table[:, BOS, B] = math.log(0.6), math.log(0.4)
    table[:, A, [A, B, C, D, EOS]] = math.log(0.2)
    table[:, [B, C, D], EOS] = 0.0
    fake = Fake(table)
    assert run(fake, [0], 5, beam=1)[0][0].tokens[0] == A
    (best,) = run(fake, [0], 5, beam=2, length_penalty=0.0)[0]
    assert best.tokens == [B]
    assert best.log_probability == pytest.approx(math.log(0.4), abs=1e-6)


@pytest.mark.parametrize("beam", [1, 2, 3, 5])
def test_unlikely_early_endings_do_not_hide_a_sure_answer(beam: int) -> None:
    fake = chain(A, B, C, D)
    fake.table[:, :, EOS].clamp_(min=-7.0)  # an early end is the second best choice at every step
    assert math.exp(fake.replay(0, (), [A, B, C, D])) > 0.98
    (best,) = run(fake, [0], 20, beam=beam)[0]
    assert best.tokens == [A, B, C, D]


def test_length_penalty_chooses_between_short_and_long() -> None:
    # Short: EOS at once, 0.3. Long: A B C EOS, 0.7 · 0.7 · 0.7 · 0.7 = 0.24, but 0.7 a token.
    table = torch.full((KINDS, V, V), -math.inf)
    table[:, BOS, EOS], table[:, BOS, A] = math.log(0.3), math.log(0.7)
    for previous, token in ((A, B), (B, C), (C, EOS)):
        table[:, previous, token], table[:, previous, D] = math.log(0.7), math.log(0.3)
    table[:, D, D] = 0.0
    fake = Fake(table)
    (short,) = run(fake, [0], 8, beam=4, length_penalty=0.0)[0]
    assert short.tokens == []
    assert short.score == short.log_probability == pytest.approx(math.log(0.3), abs=1e-6)
    (long,) = run(fake, [0], 8, beam=4, length_penalty=1.0)[0]
    assert long.tokens == [A, B, C]
    assert long.score == pytest.approx(math.log(0.7), abs=1e-6)
    assert long.log_probability == pytest.approx(4 * math.log(0.7), abs=1e-6)


def test_more_hypotheses_than_the_vocabulary_has_tokens() -> None:
    found = run(any_fake(3), [0, 1], 2, beam=50, n_best=50)
    for hypotheses in found:  # EOS alone, and each of the four words before it
        assert sorted(h.tokens for h in hypotheses) == [[], [A], [B], [C], [D]]


def test_padding_and_bos_are_never_said() -> None:
    table = torch.zeros(KINDS, V, V)
    table[:, :, [PAD, BOS]] = 20.0
    fake = Fake(table)
    choices: list[dict[str, Any]] = [{"beam": 1}, {"beam": 4, "n_best": 4}, {"sample": True, "n_best": 8}]
    for options in choices:
        for hypothesis in run(fake, [0], 5, **options)[0]:
            assert not {PAD, BOS} & set(hypothesis.tokens)
            assert hypothesis.log_probability == pytest.approx(fake.replay(0, (), hypothesis.tokens), abs=1e-3)


# --- limits ---


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("limit", [1, 2, 5, 7])
def test_a_limit_forces_an_end_and_says_so(beam: int, limit: int) -> None:
    table = torch.full((KINDS, V, V), -9.0)
    table[:, :, EOS] = -30.0
    for previous, token in ((BOS, A), (A, B), (B, C), (C, D), (D, A)):  # round and round
        table[:, previous, token] = 0.0
    (best,) = run(Fake(table), [0], limit, beam=beam)[0]
    assert best.tokens == [A, B, C, D, A, B][: limit - 1]
    assert best.log_probability == pytest.approx(Fake(table).replay(0, (), best.tokens), abs=1e-3)
    assert best.complete is False


def test_what_ends_by_itself_is_complete() -> None:
    (best,) = run(chain(A, B, C), [0], 10, beam=1)[0]
    assert best.tokens == [A, B, C]
    assert best.complete is True
    (cut,) = run(chain(A, B, C), [0], 3, beam=1)[0]
    assert cut.tokens == [A, B]
    assert cut.complete is False


def test_sentences_of_a_batch_have_limits_of_their_own() -> None:
    fake = chain(A, B, C, D)
    found = run(fake, [0, 1, 2, 3], [2, 10, 1, 4], beam=1)
    assert [best.tokens for (best,) in found] == [[A], [A, B, C, D], [], [A, B, C]]
    assert [best.complete for (best,) in found] == [False, True, False, False]


@pytest.mark.parametrize("sample", [True, False])
def test_no_sentence_goes_beyond_its_limit(sample: bool) -> None:
    never_ends = distribution(A=0.5, B=0.49, EOS=0.01)
    limits = [3, 7, 1, 5]
    for limit, found in zip(
        limits, run(never_ends, [0, 1, 2, 3], limits, n_best=4, beam=4, sample=sample), strict=True
    ):
        assert found
        assert all(len(h.tokens) < limit for h in found)
        assert all(len(h.tokens) == limit - 1 for h in found if not h.complete)


# --- batch mates ---


@quick
@given(
    seeds,
    st.lists(st.tuples(st.integers(0, KINDS - 1), st.integers(1, 7)), min_size=1, max_size=5),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([(), (B,), (C, D)]),
)
def test_results_do_not_depend_on_batch_mates(
    seed: int, sentences: list[tuple[int, int]], width: int, sample: bool, prefix: tuple[int, ...]
) -> None:
    fake = any_fake(seed)
    options = {"beam": width, "n_best": width, "sample": sample, "seed": seed, "attention": True}
    kinds, limits = [kind for kind, _ in sentences], [limit for _, limit in sentences]
    together = run(fake, kinds, limits, prefix, **options)
    for kind, limit, found in zip(kinds, limits, together, strict=True):
        (alone,) = run(fake, [kind], limit, prefix, **options)
        same(found, alone)
        for one, two in zip(found, alone, strict=True):
            assert one.attention is not None
            assert two.attention is not None
            assert torch.equal(one.attention, two.attention)


# --- forced prefixes ---


@quick
@given(seeds, st.lists(st.sampled_from([A, B, C, D]), min_size=1, max_size=3), st.integers(1, 4))
def test_a_forced_prefix_is_kept_and_not_scored(seed: int, prefix: list[int], beam: int) -> None:
    fake = any_fake(seed)
    (found,) = run(fake, [2], 5, prefix, beam=beam, n_best=beam)
    for hypothesis in found:
        assert hypothesis.tokens[: len(prefix)] == prefix
        rest = hypothesis.tokens[len(prefix) :]
        assert len(rest) < 5
        assert hypothesis.log_probability == pytest.approx(fake.replay(2, prefix, rest), abs=1e-4)
        assert hypothesis.score == pytest.approx(hypothesis.log_probability / (len(rest) + 1), abs=1e-5)


def test_a_prefix_changes_what_follows() -> None:
    fake = chain(A, B, C, D)
    assert run(fake, [0], 9, [C], beam=2)[0][0].tokens == [C, D]
    assert run(fake, [0], 9, [A, B], beam=2)[0][0].tokens == [A, B, C, D]
    assert run(fake, [0], 9, [D], beam=1)[0][0].tokens == [D]


# --- attention ---


@quick
@given(seeds, st.integers(1, 5), st.booleans(), st.sampled_from([(), (B,), (C, D)]))
def test_attention_follows_a_hypothesis_through_the_beam(
    seed: int, width: int, sample: bool, prefix: tuple[int, ...]
) -> None:
    found = run(
        any_fake(seed), range(KINDS), [7, 3, 5, 1, 6], prefix, beam=width, n_best=width, sample=sample, attention=True
    )
    for hypothesis in itertools.chain(*found):
        assert hypothesis.attention is not None
        rest = hypothesis.tokens[len(prefix) :]
        assert hypothesis.attention.shape == (len(rest) + 1, 1, 1, S)  # every token after the prefix, and EOS
        for place, weights in enumerate(hypothesis.attention[:, 0, 0].int().tolist()):
            history = [BOS, *prefix, *rest[:place]]
            assert weights == history + [0] * (S - len(history))


def test_no_attention_unless_it_is_asked_for() -> None:
    assert run(any_fake(0), [0], 5, beam=2)[0][0].attention is None


# --- the state ---


class Watched(Fake):
    """Says which rows of its states were asked for."""

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        return self._watched(super().start(batch, attention=attention))

    def step(self, tokens: Tensor, state: State) -> Step:
        assert isinstance(state, History)
        return self._watched(super().step(tokens, state))

    def _watched(self, step: Step) -> Step:
        assert isinstance(step.state, History)
        return step._replace(state=WatchedHistory(step.state.kind, step.state.tokens, step.state.attention))


class WatchedHistory(History):
    asked: ClassVar[list[list[int]]] = []

    def select(self, rows: Tensor) -> History:
        self.asked.append(rows.tolist())
        return super().select(rows)


def test_a_state_whose_rows_stay_as_they_are_is_not_copied() -> None:
    WatchedHistory.asked.clear()
    (found,), _ = run(Watched(chain(A, B, C, D).table), [0, 1], 9, beam=1)
    assert found.tokens == [A, B, C, D]
    assert WatchedHistory.asked == []
    run(Watched(chain(A, B, C, D).table), [0, 1], [3, 9], beam=1)
    assert WatchedHistory.asked == [[1]]  # when the first has ended
    run(Watched(chain(A, B, C, D).table), [0, 1], 9, beam=2)
    assert WatchedHistory.asked[1] == [0, 0, 1, 1]


# --- the configuration ---


def test_n_best_needs_as_wide_a_beam() -> None:
    with pytest.raises(ValidationError, match="n_best=3 needs a beam of 3 or more"):
        DecodeConfig(beam=2, n_best=3)
    assert DecodeConfig(beam=1, n_best=3, sample=True).width == 3
    assert DecodeConfig(beam=4, n_best=3).width == 4


def test_an_empty_batch_has_no_hypotheses() -> None:
    empty = Batch(torch.zeros(0, S, dtype=torch.long), torch.zeros(0, 1, dtype=torch.long))
    assert decode(any_fake(0), empty, DecodeConfig(), []) == []


def test_each_hypothesis_knows_whether_it_was_cut() -> None:
    """After A the text ends; after B it would go on: both are at the limit, and only the second was cut."""
    table = torch.full((KINDS, V, V), -8.0)
    table[:, BOS, A], table[:, BOS, B] = 0.0, -0.5
    table[:, A, EOS] = 0.0
    table[:, B, C], table[:, B, EOS] = 0.0, -1.0
    (found,) = run(Fake(table), [0], 2, beam=2, n_best=2, length_penalty=0.0)
    assert [(h.tokens, h.complete) for h in found] == [([A], True), ([B], False)]


def test_scores_that_are_no_numbers_end_in_nothing() -> None:
    """A model that has diverged: the prefix and no more, said to be cut, for a search and for samples alike."""

    class Diverged:
        def start(self, batch: Batch, *, attention: bool = False) -> Step:
            return Step(torch.full((batch.size, 9), torch.nan), self)

        def step(self, tokens: torch.Tensor, state: object) -> Step:
            return Step(torch.full((len(tokens), 9), torch.nan), self)

        def select(self, rows: torch.Tensor) -> Diverged:
            return self

    batch = Batch(torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([[1, 7], [1, 8]]))
    for config in (DecodeConfig(beam=3), DecodeConfig(sample=True)):
        found = decode(Diverged(), batch, config, [4, 4])
        assert [(h.tokens, h.complete) for (h,) in found] == [([7], False), ([8], False)]


def test_a_search_ends_only_when_no_open_hypothesis_has_a_better_average() -> None:
    """Two have ended after two steps, but the open one averages better than the worse of them, and ends as the best."""
    table = torch.full((KINDS, V, V), -math.inf)
    table[:, BOS, [A, EOS, D]] = torch.tensor([-0.5, -1.2, math.log(1 - math.exp(-0.5) - math.exp(-1.2))])
    rest = math.log((1 - math.exp(-1.0) - math.exp(-1.05)) / 2)
    table[:, A, [EOS, B, C, D]] = torch.tensor([-1.0, -1.05, rest, rest])
    table[:, [B, C, D], EOS] = 0.0
    (found,) = run(Fake(table), [0], 6, beam=2, n_best=2)
    assert [h.tokens for h in found] == [[A, B], [A]]
    assert [h.score for h in found] == pytest.approx([-1.55 / 3, -1.5 / 2], abs=1e-5)


BOUNDS: dict[str, tuple[list[Any], list[Any]]] = {  # values that are accepted, and values just beyond them
    "beam": ([1, 256], [0, 257]),
    "n_best": ([1, 5], [0, 257]),
    "length_penalty": ([0, 10], [-0.1, 10.1]),
    "max_ratio": ([0.001, 1000], [0, 1000.1]),
    "temperature": ([0.01, 100], [0.009, 100.1]),
    "top_k": ([0, 10**6], [-1]),
    "top_p": ([0.001, 1], [0, 1.001]),
    "seed": ([0, 2**63 - 1], [-1, 2**63]),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_every_setting_has_its_bounds(name: str) -> None:
    good, bad = BOUNDS[name]
    for value in good:
        assert getattr(DecodeConfig(**{name: value}), name) == value
    for value in bad:
        with pytest.raises(ValidationError, match=name):
            DecodeConfig(**{name: value, "sample": True})


def test_the_defaults() -> None:
    expected = {"beam": 5, "n_best": 1, "length_penalty": 1.0, "max_ratio": 3.0, "sample": False, "split": None}
    expected |= {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "seed": 0}
    expected |= {"words": False, "recover": True, "spelling": True}
    assert DecodeConfig().model_dump() == expected

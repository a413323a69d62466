"""Samples follow the distribution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.contracts import EOS
from tests.fake_generator import A, B, C, D, Fake, any_fake, distribution, quick, run, seeds

# --- sampling ---


def draws(fake: Fake, rounds: int = 12, **options: Any) -> Counter[int]:
    """How often each token was drawn first; EOS if it was that one."""
    first: Counter[int] = Counter()
    for seed in range(rounds):
        (found,) = run(fake, [0], 2, sample=True, n_best=256, seed=seed, **options)
        assert len(found) == 256
        first.update(h.tokens[0] if h.tokens else EOS for h in found)
    return first


def assert_follows(counts: Counter[int], expected: dict[int, float]) -> None:
    """Pearson's χ² stays below what it passes once in 10,000 times (five degrees of freedom at most)."""
    total = counts.total()
    assert set(counts) <= set(expected)
    statistic = sum((counts[token] - total * p) ** 2 / (total * p) for token, p in expected.items())
    assert statistic < 25.7
    assert sum(expected.values()) == pytest.approx(1)


SHARES = {A: 0.4, B: 0.3, C: 0.15, D: 0.1, EOS: 0.05}
FOUR_WORDS = distribution(A=0.4, B=0.3, C=0.15, D=0.1, EOS=0.05)


def normalised(shares: dict[int, float]) -> dict[int, float]:
    whole = sum(shares.values())
    return {token: share / whole for token, share in shares.items()}


def test_samples_follow_the_distribution() -> None:
    assert_follows(draws(FOUR_WORDS), SHARES)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_temperature_sharpens_and_flattens(temperature: float) -> None:
    expected = normalised({token: share ** (1 / temperature) for token, share in SHARES.items()})
    assert_follows(draws(FOUR_WORDS, temperature=temperature), expected)


@pytest.mark.parametrize(("k", "kept"), [(1, [A]), (2, [A, B]), (3, [A, B, C]), (0, list(SHARES)), (99, list(SHARES))])
def test_top_k_keeps_the_likeliest(k: int, kept: list[int]) -> None:
    assert_follows(draws(FOUR_WORDS, 6, top_k=k), normalised({token: SHARES[token] for token in kept}))


@pytest.mark.parametrize(
    ("p", "kept"), [(0.01, [A]), (0.39, [A]), (0.41, [A, B]), (0.69, [A, B]), (0.71, [A, B, C]), (1.0, list(SHARES))]
)
def test_top_p_keeps_the_nucleus(p: float, kept: list[int]) -> None:
    assert_follows(draws(FOUR_WORDS, 6, top_p=p), normalised({token: SHARES[token] for token in kept}))


def test_top_k_and_top_p_together_and_with_unsorted_probabilities() -> None:
    fake = distribution(A=0.05, B=0.4, C=0.1, D=0.3, EOS=0.15)
    assert_follows(draws(fake, 6, top_k=3), normalised({B: 0.4, D: 0.3, EOS: 0.15}))
    assert_follows(draws(fake, 6, top_k=4, top_p=0.6), normalised({B: 0.4, D: 0.3}))


def test_later_tokens_follow_their_distribution_too() -> None:
    table = FOUR_WORDS.table.clone()
    table[:, A] = distribution(C=0.7, D=0.3).table[0, 0]
    second: Counter[int] = Counter()
    for seed in range(12):
        (found,) = run(Fake(table), [0], 3, sample=True, n_best=256, seed=seed)
        second.update(h.tokens[1] for h in found if h.tokens[:1] == [A])
    assert_follows(second, {C: 0.7, D: 0.3})


@quick
@given(seeds, st.sampled_from([{}, {"top_k": 2}, {"top_p": 0.5}, {"temperature": 3.0}]))
def test_samples_are_scored_by_the_models_own_probabilities(seed: int, options: dict[str, Any]) -> None:
    fake = any_fake(seed)
    (found,) = run(fake, [1], 6, sample=True, n_best=6, seed=seed, **options)
    assert len(found) == 6
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
    for hypothesis in found:
        assert hypothesis.log_probability == pytest.approx(fake.replay(1, (), hypothesis.tokens), abs=1e-4)


def test_the_seed_decides_the_sample() -> None:
    def sample(kinds: Sequence[int], seed: int) -> list[list[list[int]]]:
        found = run(any_fake(1), kinds, 8, sample=True, n_best=5, seed=seed)
        return [[h.tokens for h in hypotheses] for hypotheses in found]

    assert sample([3], 4) == sample([3], 4)
    assert sample([3], 4) != sample([3], 5)
    assert sample([0, 3, 1], 4)[1] == sample([3], 4)[0]
    assert sample([3, 3], 4)[0] == sample([3, 3], 4)[1]

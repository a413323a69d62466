"""The attention formulas: the lecture notes' numbers, PyTorch's own kernel, and what masks promise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mirada.nn.attention import (
    AdditiveScore,
    Attended,
    DotScore,
    GeneralScore,
    Score,
    additive,
    between,
    dot,
    fused,
    general,
    hard,
    masked_softmax,
    scaled_dot_product,
    scores_by_name,
    self_attention,
    soft,
)
from mirada.parts import Part

X = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-0.5, -0.5]], dtype=torch.float64)
"""The three vectors of notes 001 and 002."""


def close(actual: Tensor, expected: Tensor | list[list[float]] | list[float], tolerance: float = 1e-10) -> None:
    expected = torch.as_tensor(expected, dtype=actual.dtype)
    torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance)


def inputs(
    *leading: int, t: int, s: int, k: int = 8, v: int = 8, seed: int = 0, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    """Random queries, keys and values that want gradients."""
    random = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*leading, *shape, generator=random, dtype=dtype).requires_grad_()

    return draw(t, k), draw(s, k), draw(s, v)


def gradients(output: Tensor, of: Sequence[Tensor]) -> list[Tensor]:
    """The gradients of a weighted sum of the output, the same weights for the same shape."""
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(1), dtype=output.dtype)
    return list(torch.autograd.grad((output * weights).sum(), of))


# --- the notes' numbers ---


def test_softmax_of_the_notes_scores() -> None:
    weights = masked_softmax(torch.tensor([13.0, 9.0, 9.0], dtype=torch.float64), None)
    close(weights, [0.96, 0.02, 0.02], 0.005)
    close(weights, [1 / (1 + 2 * math.exp(-4)), *[1 / (2 + math.exp(4))] * 2])


def test_scaling_turns_112_and_96_into_14_and_12() -> None:
    q, k = torch.zeros(1, 64, dtype=torch.float64), torch.zeros(2, 64, dtype=torch.float64)
    q[0, :2], k[0, 0], k[1, 1] = torch.tensor([8.0, 6.0]), 14.0, 16.0
    close(q @ k.T, [[112.0, 96.0]])
    weights = scaled_dot_product(q, k, torch.eye(2, dtype=torch.float64)).weights
    close(weights, [[0.88, 0.12]], 0.005)
    close(weights, [[1 / (1 + math.exp(-2)), 1 / (1 + math.exp(2))]])
    unscaled = scaled_dot_product(q, k, torch.eye(2, dtype=torch.float64), scale=False).weights
    close(unscaled, [[1 / (1 + math.exp(-16)), 1 / (1 + math.exp(16))]])


def test_plain_self_attention_on_a_set_of_vectors() -> None:
    attended = scaled_dot_product(X, X, X, scale=False)
    close(attended.weights, [[0.6285, 0.2312, 0.1402], [0.2312, 0.6285, 0.1402], [0.2119, 0.2119, 0.5761]], 1e-4)
    close(attended.output, [[0.5584, 0.1611], [0.1611, 0.5584], [-0.0761, -0.0761]], 1e-4)


def test_soft_uniform_and_hard_attention_of_the_notes() -> None:
    def attend(scores: Tensor, mask: Tensor | None = None) -> Tensor:
        return masked_softmax(scores, mask) @ X

    soft = torch.full((3, 3), 0.1, dtype=torch.float64) + 0.7 * torch.eye(3, dtype=torch.float64)
    close(attend(soft.log()), [[0.75, 0.05], [0.05, 0.75], [-0.3, -0.3]])
    even = torch.zeros(3, 3, dtype=torch.float64)
    close(attend(even), [[1 / 6, 1 / 6]] * 3)
    assert torch.equal(attend(even, torch.eye(3, dtype=torch.bool)), X)
    first_alone = torch.zeros(3, 3, dtype=torch.bool)
    first_alone[0, 0] = True
    assert attend(even, first_alone).tolist() == [[1, 0], [0, 0], [0, 0]]


def test_masked_softmax_of_the_notes_rows() -> None:
    rows = [[0.7], [0.1, 0.6], [0.1, 0.3, 0.6], [0.1, 0.3, 0.3, 0.3]]
    noted = [[1.0], [0.38, 0.62], [0.26, 0.32, 0.43], [0.21, 0.26, 0.26, 0.26]]  # some of them truncated
    scores = torch.full((4, 4), 5.0, dtype=torch.float64)  # what is masked must not matter
    for i, row in enumerate(rows):
        scores[i, : i + 1] = torch.tensor(row, dtype=torch.float64)
    weights = masked_softmax(scores, torch.ones(4, 4, dtype=torch.bool).tril())
    for i, row in enumerate(rows):
        whole = sum(math.exp(score) for score in row)
        close(weights[i, : i + 1], [math.exp(score) / whole for score in row], 1e-14)
        close(weights[i, : i + 1], noted[i], 0.01)
        assert weights[i, i + 1 :].tolist() == [0.0] * (3 - i)


def test_a_single_key_gets_all_the_weight_whatever_its_score() -> None:
    # Note 004 prints .1 for the first row of its 3×3 example; the softmax of [16, −∞, −∞] is [1, 0, 0].
    mask = torch.tensor([[True, False, False]])
    assert masked_softmax(torch.tensor([[16.0, 24.0, 1.0]]), mask).tolist() == [[1.0, 0.0, 0.0]]
    assert masked_softmax(torch.tensor([[-1e30, 24.0, 1e30]]), mask).tolist() == [[1.0, 0.0, 0.0]]


# --- PyTorch's kernel as the reference ---


def some_mask(t: int, s: int, empty_rows: bool) -> Tensor:
    """A random mask [2, 1, T, S] in which every row has a key, or in which some rows have none."""
    mask = torch.rand(2, 1, t, s, generator=torch.Generator().manual_seed(2)) < 0.6
    mask[..., 0] = True
    if empty_rows:
        mask[0, :, 1] = False
        mask[1, :, -1] = False
    return mask


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_scaled_dot_product_equals_pytorch(masked: bool, scale: bool) -> None:
    given = inputs(2, 3, t=5, s=7, v=4)
    mask = some_mask(5, 7, empty_rows=False) if masked else None
    ours = scaled_dot_product(*given, mask, scale)
    theirs = F.scaled_dot_product_attention(*given, attn_mask=mask, scale=None if scale else 1.0)
    assert isinstance(ours, Attended)
    assert ours.weights.shape == (2, 3, 5, 7)
    close(ours.output, theirs)
    close(ours.output, ours.weights @ given[2])
    for mine, reference in zip(gradients(ours.output, given), gradients(theirs, given), strict=True):
        close(mine, reference)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize(("t", "s"), [(1, 4), (5, 7), (70, 80)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("kind", ["none", "every row has a key", "empty rows"])
def test_fused_equals_explicit(kind: str, dtype: torch.dtype, t: int, s: int, scale: bool) -> None:
    given = inputs(2, 3, t=t, s=s, dtype=dtype)
    mask = None if kind == "none" else some_mask(max(t, 2), s, kind == "empty rows")[:, :, -t:]
    tolerance = 1e-10 if dtype == torch.float64 else 2e-5
    explicit, quick = scaled_dot_product(*given, mask, scale).output, fused(*given, mask, scale)
    close(quick, explicit, tolerance)
    with torch.no_grad():  # PyTorch may choose another kernel when nobody wants gradients
        close(fused(*given, mask, scale), explicit, tolerance)
    for mine, reference in zip(gradients(quick, given), gradients(explicit, given), strict=True):
        assert torch.isfinite(mine).all()
        close(mine, reference, tolerance * 10)


@pytest.mark.parametrize("attend", ["explicit", "fused"])
def test_a_query_that_may_attend_nothing_gets_zeros_and_gives_no_gradient(attend: str) -> None:
    given = inputs(2, 3, t=5, s=70, dtype=torch.float32)
    mask = torch.ones(2, 1, 1, 70, dtype=torch.bool)  # as a model gives it: one row for all queries
    mask[1] = False
    output = fused(*given, mask) if attend == "fused" else scaled_dot_product(*given, mask).output
    assert (output[1] == 0).all()
    assert (output[0] != 0).any()
    for gradient in gradients(output, given):
        assert torch.isfinite(gradient).all()
        assert (gradient[1] == 0).all()
        assert (gradient[0] != 0).any()


# --- what masks promise, for any mask ---


masks = st.integers(1, 5).flatmap(
    lambda s: st.lists(st.lists(st.booleans(), min_size=s, max_size=s), min_size=1, max_size=4)
)


@settings(max_examples=60, deadline=None)
@given(masks, st.integers(0, 2**16), st.sampled_from([0.0, 1.0, 1e4]), st.booleans())
def test_rows_sum_to_one_or_zero_and_masked_keys_have_nothing(
    rows: list[list[bool]], seed: int, size: float, scale: bool
) -> None:
    mask = torch.tensor(rows)  # [T, S]
    q, k, v = inputs(t=mask.shape[0], s=mask.shape[1], k=3, v=2, seed=seed)
    large = q * size  # scores of any size
    output, weights = scaled_dot_product(large, k, v, mask, scale)
    close(weights.sum(-1), mask.any(-1).double(), 1e-12)
    assert (weights[~mask] == 0).all()
    assert (weights >= 0).all()
    unseen = ~mask.any(0)  # keys that no query may attend to
    of_q, of_k, of_v = gradients(output, [q, k, v])
    assert (of_k[unseen] == 0).all()
    assert (of_v[unseen] == 0).all()
    assert (of_q[~mask.any(-1)] == 0).all()
    assert all(torch.isfinite(gradient).all() for gradient in (of_q, of_k, of_v))


@settings(max_examples=30, deadline=None)
@given(masks, st.integers(0, 2**16))
def test_what_is_masked_does_not_matter(rows: list[list[bool]], seed: int) -> None:
    mask = torch.tensor(rows)
    q, k, v = inputs(t=mask.shape[0], s=mask.shape[1], k=3, v=2, seed=seed)
    unseen = ~mask.any(0)
    other_k, other_v = k.detach().clone(), v.detach().clone()
    other_k[unseen], other_v[unseen] = 1e6, -1e6
    assert torch.equal(scaled_dot_product(q, k, v, mask).output, scaled_dot_product(q, other_k, other_v, mask).output)
    close(fused(q, other_k, other_v, mask), scaled_dot_product(q, k, v, mask).output)


# --- the scores of recurrent models: dot, general, additive ---


Q, K, A, V = 4, 3, 5, 2  # widths of queries, keys, the additive network and values; dot has K for both
SCORES = ["dot", "general", "additive"]


def score_inputs(kind: str, t: int = 3, s: int = 4) -> list[Tensor]:
    """Queries, keys and values of two sentences, and what the score learns, all wanting gradients."""
    random = torch.Generator().manual_seed(5)
    shapes: list[tuple[int, ...]]
    shapes = [(2, t, K if kind == "dot" else Q), (2, s, A if kind == "additive" else K), (2, s, V)]
    learned: dict[str, list[tuple[int, ...]]] = {"dot": [], "general": [(Q, K)], "additive": [(A, Q), (A,)]}
    shapes += learned[kind]
    return [torch.randn(shape, generator=random, dtype=torch.float64).requires_grad_() for shape in shapes]


def attend(kind: str, q: Tensor, k: Tensor, v: Tensor, *learned: Tensor, mask: Tensor | None = None) -> Attended:
    if kind == "dot":
        return dot(q, k, v, mask)
    return general(q, k, v, mask, *learned) if kind == "general" else additive(q, k, v, mask, *learned)


SOME = torch.tensor([[[True, True, False, True]] * 3, [[False] * 4, [True] + [False] * 3, [True] * 4]])
"""A mask [2, 3, 4]: in the second sentence the first query may attend nothing, the second one key."""


def test_dot_is_the_softmax_of_products() -> None:
    q, k, v = score_inputs("dot")
    ours = dot(q, k, v)
    weights = torch.softmax(torch.einsum("btk,bsk->bts", q, k), -1)
    close(ours.weights, weights)
    close(ours.output, torch.einsum("bts,bsv->btv", weights, v))
    minus_infinity = torch.zeros(SOME.shape, dtype=torch.float64).masked_fill(~SOME, -math.inf)
    expected = torch.softmax(q @ k.mT + minus_infinity, -1).nan_to_num(0.0)  # torch says NaN where nothing is left
    close(dot(q, k, v, SOME).weights, expected)


def test_general_is_dot_with_a_matrix_between() -> None:
    q, k, v, weight = score_inputs("general")
    expected = torch.softmax(torch.einsum("btq,qk,bsk->bts", q, weight, k), -1)
    close(general(q, k, v, None, weight).weights, expected)
    close(general(q, k, v, SOME, weight).output, dot(q @ weight, k, v, SOME).output)
    same = torch.eye(K, dtype=torch.float64)
    close(general(k, k, v, None, same).output, dot(k, k, v).output)


def test_additive_equals_a_double_loop() -> None:
    q, projected, v, w_query, v_score = score_inputs("additive")
    output, weights = additive(q, projected, v, SOME, w_query, v_score)
    for b in range(2):
        for t in range(3):
            allowed = [s for s in range(4) if SOME[b, t, s]]
            powers = {}
            for s in allowed:
                hidden = [
                    math.tanh(
                        sum(w_query[a, i].item() * q[b, t, i].item() for i in range(Q)) + projected[b, s, a].item()
                    )
                    for a in range(A)
                ]
                powers[s] = math.exp(sum(v_score[a].item() * hidden[a] for a in range(A)))
            expected = [powers[s] / sum(powers.values()) if s in powers else 0.0 for s in range(4)]
            close(weights[b, t], expected)
            close(output[b, t], [sum(expected[s] * v[b, s, i].item() for s in range(4)) for i in range(V)])


def test_additive_is_the_notes_network_on_query_and_key_together() -> None:
    # note 003: v · tanh(W [hd; h]), one matrix over both
    score = AdditiveScore(Q, K, A).double()
    q, keys = score_inputs("general")[:2]
    both = torch.cat([q.unsqueeze(2).expand(-1, -1, 4, -1), keys.unsqueeze(1).expand(-1, 3, -1, -1)], -1)
    matrix = torch.cat([score.query.weight, score.key.weight], 1)
    energy = torch.tanh(F.linear(both, matrix, score.key.bias)) @ score.score.weight[0]
    close(score(q, score.prepare(keys), keys).weights, energy.softmax(-1))


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("kind", SCORES)
def test_gradients_of_the_scores(kind: str, masked: bool) -> None:
    mask = SOME if masked else None
    assert torch.autograd.gradcheck(lambda *given: tuple(attend(kind, *given, mask=mask)), score_inputs(kind))


@pytest.mark.parametrize("kind", SCORES)
def test_masks_of_the_scores(kind: str) -> None:
    given = score_inputs(kind)
    output, weights = attend(kind, *given, mask=SOME)
    assert output.shape == (2, 3, V)
    assert weights.shape == (2, 3, 4)
    close(weights.sum(-1), SOME.any(-1).double(), 1e-12)
    assert (weights[~SOME] == 0).all()
    assert (output[1, 0] == 0).all()
    close(output[1, 1], given[2][1, 0])  # the only key there is
    assert (gradients(output, given[:1])[0][1, 0] == 0).all()
    with torch.no_grad():
        given[1][0, 2], given[2][0, 2] = 1e3, -1e3  # masked for every query of the first sentence
    assert torch.equal(attend(kind, *given, mask=SOME).output[0], output[0])
    nothing = attend(kind, *given, mask=torch.zeros(2, 1, 4, dtype=torch.bool))
    assert (nothing.output == 0).all()
    assert all((gradient == 0).all() for gradient in gradients(nothing.output, given))


def test_dot_needs_equal_widths_and_says_so() -> None:
    q, k, v, _ = score_inputs("general")
    with pytest.raises(ValueError, match="queries and keys of one width, not 4 and 3: general and additive"):
        dot(q, k, v)
    with pytest.raises(ValueError, match="a decoder as wide as the encoder's output, not 4 and 6: choose general or"):
        DotScore(4, 6)


# --- scores as parts ---


def built(name: str) -> tuple[Score, Tensor, Tensor, Tensor]:
    torch.manual_seed(3)
    score = scores_by_name[name](6, 6 if name == "dot" else 8).double()
    query, keys, values = inputs(2, t=3, s=4, k=8, v=V)
    return score, query[..., :6], keys[..., : score.key_width], values


@pytest.mark.parametrize("name", SCORES)
def test_a_score_is_its_formula(name: str) -> None:
    score, query, keys, values = built(name)
    assert isinstance(score, Part)
    ours = score(query, score.prepare(keys), values, SOME)
    if isinstance(score, GeneralScore):
        expected = general(query, keys, values, SOME, score.key.weight)
    elif isinstance(score, AdditiveScore):
        projected = F.linear(keys, score.key.weight, score.key.bias)
        expected = additive(query, projected, values, SOME, score.query.weight, score.score.weight[0])
    else:
        expected = dot(query, keys, values, SOME)
    assert isinstance(ours, Attended)
    close(ours.output, expected.output)
    close(ours.weights, expected.weights)


@pytest.mark.parametrize("name", SCORES)
def test_keys_prepared_once_serve_every_step(name: str) -> None:
    score, query, keys, values = built(name)
    prepared = score.prepare(keys)
    together = score(query, prepared, values, SOME)
    for step in range(3):
        one, mask = query[:, step : step + 1], SOME[:, step : step + 1]
        close(score(one, prepared, values, mask).output, together.output[:, step : step + 1])
        close(score(one, score.prepare(keys), values, mask).weights, together.weights[:, step : step + 1])
    rows = torch.tensor([1, 1, 0])  # as a beam selects them
    selected = score(query[rows], prepared[rows], values[rows], SOME[rows])
    close(selected.output, together.output[rows])


@pytest.mark.parametrize("name", SCORES)
def test_everything_a_score_learns_gets_a_gradient(name: str) -> None:
    score, query, keys, values = built(name)
    score(query, score.prepare(keys), values, SOME).output.square().sum().backward()
    learned = dict(score.named_parameters())
    assert (
        set(learned)
        == {
            "dot": set(),
            "general": {"key.weight"},
            "additive": {"query.weight", "key.weight", "key.bias", "score.weight"},
        }[name]
    )
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in learned.values())


def test_the_additive_network_is_as_wide_as_the_query_unless_told() -> None:
    assert AdditiveScore(6, 8).key.weight.shape == (6, 8)
    assert AdditiveScore(6, 8, 3).query.weight.shape == (3, 6)
    assert AdditiveScore(6, 8, 3).prepare(torch.zeros(2, 5, 8)).shape == (2, 5, 3)


# --- sets of vectors ---


def test_hard_attention_of_the_notes() -> None:
    every = hard(X, torch.arange(3))
    assert torch.equal(every.output, X)
    assert torch.equal(every.weights, torch.eye(3, dtype=torch.float64))
    first = hard(X, torch.tensor([0, -1, -1]))
    assert first.output.tolist() == [[1, 0], [0, 0], [0, 0]]
    assert first.weights.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert hard(X, torch.tensor([2, 2])).output.tolist() == [[-0.5, -0.5]] * 2


@pytest.mark.parametrize("choice", [[3], [0, -2], [0.5], [True]])
def test_hard_attention_refuses_what_is_no_choice(choice: list[float]) -> None:
    with pytest.raises(ValueError, match=r"hard attention chooses by number, 0 to 2 or -1, not \["):
        hard(X, torch.tensor(choice))


def test_soft_attention_of_the_notes() -> None:
    mostly_own = torch.full((3, 3), 0.1, dtype=torch.float64) + 0.7 * torch.eye(3, dtype=torch.float64)
    attended = soft(X, mostly_own)
    close(attended.output, [[0.75, 0.05], [0.05, 0.75], [-0.3, -0.3]])
    assert attended.weights is mostly_own
    close(soft(X, torch.full((3, 3), 1 / 3, dtype=torch.float64)).output, [[0.1667, 0.1667]] * 3, 5e-5)


def test_self_attention_of_the_notes() -> None:
    attended = self_attention(X)
    close(attended.weights, [[0.6285, 0.2312, 0.1402], [0.2312, 0.6285, 0.1402], [0.2119, 0.2119, 0.5761]], 1e-4)
    close(attended.output, [[0.5584, 0.1611], [0.1611, 0.5584], [-0.0761, -0.0761]], 5e-5)


def test_between_two_sets() -> None:
    x = torch.tensor([[3.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
    output, weights = between(x, X)  # scores 3, 1, −2 and 0, 0, 0
    whole = math.exp(3) + math.exp(1) + math.exp(-2)
    close(weights, [[math.exp(3) / whole, math.exp(1) / whole, math.exp(-2) / whole], [1 / 3] * 3])
    close(output, weights @ X)
    close(output[1], [1 / 6, 1 / 6])
    close(between(X, X).output, self_attention(X).output)
    order = torch.tensor([2, 0, 1])
    close(between(x, X[order]).output, output)  # a set has no order


@pytest.mark.parametrize("attention", [self_attention, lambda x: between(x[:2], x), lambda x: soft(x, x @ x.T)])
def test_gradients_on_sets(attention: Callable[[Tensor], Attended]) -> None:
    assert torch.autograd.gradcheck(lambda x: attention(x).output, X.clone().requires_grad_())

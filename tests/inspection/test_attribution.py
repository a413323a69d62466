"""Rank correlation, gradient × input, and the picture that compares them with attention."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from mirada.contracts import Batch, Sizes
from mirada.data.batching import collate_pairs
from mirada.errors import UsageError
from mirada.inspection.attribution import Attribution, check_methods, gradient_times_input, of_source, ranks, spearman
from mirada.inspection.saving import width
from mirada.models.seq2seq import Seq2Seq, Seq2SeqConfig
from mirada.models.transformer import Transformer, TransformerConfig

VALUES = st.lists(st.integers(-3, 3), min_size=2, max_size=8)


def plain_ranks(values: list[int]) -> list[float]:
    """1 + how many are smaller + half of how many others are equal."""
    return [1 + sum(o < v for o in values) + (sum(o == v for o in values) - 1) / 2 for v in values]


@given(VALUES)
def test_equal_values_share_a_rank(values: list[int]) -> None:
    assert ranks(values).tolist() == plain_ranks(values)


@given(VALUES, st.randoms())
def test_spearman_is_the_correlation_of_ranks(values: list[int], chance) -> None:  # type: ignore[no-untyped-def]
    other = [chance.randint(-3, 3) for _ in values]
    found = spearman(values, other)
    if len(set(values)) == 1 or len(set(other)) == 1:
        assert isnan(found)
    else:
        assert found == pytest.approx(np.corrcoef(plain_ranks(values), plain_ranks(other))[0, 1])
        assert spearman(values, values) == pytest.approx(1)
        assert spearman(values, [-value for value in values]) == pytest.approx(-1)


def test_gradient_times_input_of_a_linear_function_sums_to_its_value() -> None:
    x, w = torch.randn(3, 5, 4), torch.randn(3, 5, 4)
    found = gradient_times_input(lambda x: (w * x).sum((1, 2)), x)
    torch.testing.assert_close(found, (w * x).sum(-1))
    torch.testing.assert_close(found.sum(1), (w * x).sum((1, 2)))


def test_gradient_times_input_is_what_autograd_says() -> None:
    x = torch.randn(2, 3, 4)
    found = gradient_times_input(lambda x: x.pow(3).sum((1, 2)).tanh(), x)
    leaf = x.clone().requires_grad_()
    leaf.pow(3).sum((1, 2)).tanh().sum().backward()
    assert leaf.grad is not None
    torch.testing.assert_close(found, (leaf.grad * x).sum(-1))


@pytest.mark.parametrize("tie", ["all", "none"])
@pytest.mark.parametrize("kind", ["transformer", "before", "after"])
def test_one_backward_pass_has_the_gradients_of_every_token(kind: str, tie: str) -> None:
    """Token by token: the embeddings as a leaf, the network run by hand from them."""
    torch.manual_seed(0)
    network: Any
    if kind == "transformer":
        network = Transformer(
            TransformerConfig(width=8, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=16, tie=tie),
            Sizes(12, 12),
        ).eval()
    else:
        network = Seq2Seq(Seq2SeqConfig(width=8, attention="additive", attend=kind, tie=tie), 12, 12).eval()
    batch = collate_pairs([[3, 4, 5]], [[6, 7]])
    found = of_source(network, batch)
    assert found.shape == (3, 4)
    for t in range(3):
        one = collate_pairs([[3, 4, 5]], [[6, 7]])
        leaf = network.source_embedding(one.source).detach().requires_grad_()
        first = [True]

        def fed(module, given, output, leaf=leaf, first=first):  # type: ignore[no-untyped-def]
            return leaf if first and first.pop() else None  # the source is embedded before the target

        hook = network.source_embedding.register_forward_hook(fed)
        log_p = network(one)[0, t].log_softmax(-1)[one.target_output[0, t]]
        hook.remove()
        (slope,) = torch.autograd.grad(log_p, leaf)
        torch.testing.assert_close(found[t], (slope * leaf.detach()).sum(-1)[0], rtol=1e-4, atol=1e-6)
    assert isinstance(batch, Batch)
    assert not network.source_embedding._forward_hooks


def look() -> Attribution:
    attention = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    measures = {"leave-out": np.array([[3.0, 2.0, 1.0], [0.0, 0.0, 0.0]]), "gradient": -attention}
    return Attribution(("a", "b", "c"), ("x", "y"), attention, "layer 0, head 1", measures)


def test_the_vocabulary_is_computed_once_for_each_token() -> None:
    config = TransformerConfig(name="transformer", width=8, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=8)
    network = Transformer(config, Sizes(20, 20))
    shapes: list[torch.Size] = []
    network.output.register_forward_hook(lambda _, given, __: shapes.append(given[0].shape))
    assert of_source(network, collate_pairs([[5, 6]], [[7, 8, 9]])).shape == (4, 3)
    assert shapes == [(4, 8)]  # not [4, 4, 8]: each row is for one token


def test_correlations_are_word_by_word_and_on_average() -> None:
    found = look()
    assert found.correlation("leave-out") == [pytest.approx(1), pytest.approx(nan, nan_ok=True)]
    assert found.mean_correlation("leave-out") == pytest.approx(1)  # of the words that have one
    assert found.mean_correlation("gradient") == pytest.approx(1)  # of the magnitudes
    assert (found.same_first("leave-out"), found.same_first("gradient")) == (0.5, 1.0)
    values = found.as_dict()
    assert values["correlation"]["leave-out"] == {"words": [1.0, None], "mean": 1.0, "same_first": 0.5}
    assert values["measures"]["gradient"] == (-found.attention).tolist()
    assert [line.split() for line in found.as_text().splitlines()[2:]] == [
        ["x", "a", "a", "a", "+1.00", "+1.00"],
        ["y", "c", "a", "c", "–", "+1.00"],
        ["mean", "+1.00", "+1.00"],
    ]


def test_the_table_has_columns_whatever_the_script() -> None:
    latin = look()
    chinese = replace(latin, source=("你", "好", "\x1b[2J"))
    one, other = (found.as_text().splitlines()[1:] for found in (latin, chinese))
    assert list(map(width, one)) == list(map(width, other))
    assert "\x1b" not in chinese.as_text()


def test_the_maps_stand_side_by_side_on_the_same_axes(tmp_path: Path) -> None:
    found = look()
    maps = found.figure().axes[:3]
    assert all([label.get_text() for label in box.get_xticklabels()] == ["a", "b", "c"] for box in maps)
    assert len({box.get_xlim() for box in maps}) == len({box.get_ylim() for box in maps}) == 1
    assert "mean ρ with attention +1.00" in maps[2].get_title()
    found.draw(tmp_path / "maps.png")
    width, height = Image.open(tmp_path / "maps.png").size
    assert width > 2 * height


@pytest.mark.parametrize("ending", ["json", "png"])
def test_a_file_that_cannot_be_written_is_refused(ending: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be written \(No such file or directory\)"):
        look().save(tmp_path / "none" / f"look.{ending}")


def test_only_known_measures() -> None:
    assert check_methods("gradient") == ["gradient"]
    with pytest.raises(UsageError, match="--attribution magic: there are leave-out, gradient"):
        check_methods(["leave-out", "magic"])

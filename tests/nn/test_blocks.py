"""Blocks equal torch.nn in values and gradients, or their formulas."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from mirada.contracts import Batch, SequenceBatch, Sizes
from mirada.models.gpt import GPT, GPTConfig
from mirada.nn.attention import Attended, masked_softmax
from mirada.nn.blocks import (
    Dropout,
    FeedForward,
    KeyValues,
    Layer,
    MultiHead,
    Stack,
    future_mask,
    lay_out,
)
from mirada.parts import recording
from tests.block_parts import (
    HEADS,
    INNER,
    LONG,
    WIDTH,
    Norm,
    attention_twins,
    compare_gradients,
    copy_twins,
    decoder_twins,
    encoder_twins,
    layer_config,
    lengths_mask,
    linear_twins,
    shaken,
)
from tests.tensors import close, random

# --- multi-head attention and feed-forward ---


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("s", [7, LONG])
def test_multi_head_equals_torch(s: int, recorded: bool) -> None:
    ours = shaken(MultiHead(layer_config()))
    theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).double()
    twins = attention_twins(ours, theirs)
    copy_twins(twins)
    x, memory = random(2, 5, WIDTH).requires_grad_(), random(2, s, WIDTH, seed=1).requires_grad_()
    mask = lengths_mask([s, s - 3], s)
    with recording() if recorded else nullcontext() as recorder:
        found = ours(x, ours.remember(memory), mask[:, None, None])
    expected, weights = theirs(x, memory, memory, key_padding_mask=~mask, average_attn_weights=False)
    close(found, expected)
    compare_gradients(found, expected, [x, memory], twins, 1e-10)
    if recorder is not None:
        assert recorder.tensors["weights"].shape == (2, HEADS, 5, s)
        close(recorder.tensors["weights"], weights)
        heads = recorder.tensors["heads"].transpose(1, 2).flatten(2)
        close(heads @ ours.output.weight.T + ours.output.bias, found)


def test_remembered_keys_can_be_appended_and_selected() -> None:
    attention = shaken(MultiHead(layer_config()))
    x = random(3, 6, WIDTH)
    whole = attention.remember(x)
    parts = attention.remember(x[:, :4]).append(attention.remember(x[:, 4:]))
    assert whole.k.shape == (3, HEADS, 6, WIDTH // HEADS)
    assert whole.length == parts.length == 6
    close(parts.k, whole.k)
    close(parts.v, whole.v)
    chosen = whole.select(torch.tensor([2, 0, 0, 1]))
    assert torch.equal(chosen.k, whole.k[[2, 0, 0, 1]])
    assert torch.equal(chosen.v, whole.v[[2, 0, 0, 1]])


@pytest.mark.parametrize("lengths", [[1] * 20, [5, 1, 1, 3, 1, 9, 1], [3, 0, 2], [0, 1, 1]])
def test_appended_pieces_are_the_whole_and_are_copied_a_few_times_only(lengths: list[int]) -> None:
    pieces = [KeyValues(random(2, HEADS, length, 3), random(2, HEADS, length, 3)) for length in lengths]
    found, rooms = pieces[0], set()
    for number, piece in enumerate(pieces[1:], 2):
        found = found.append(piece)
        assert torch.equal(found.k, torch.cat([one.k for one in pieces[:number]], 2))
        assert torch.equal(found.v, torch.cat([one.v for one in pieces[:number]], 2))
        rooms.add(found.k.data_ptr())
    assert len(rooms) <= 1 + math.log2(sum(lengths))


def test_what_is_appended_to_selected_rows_leaves_the_others_alone() -> None:
    kept = KeyValues(random(2, HEADS, 3, 3), random(2, HEADS, 3, 3)).append(
        KeyValues(random(2, HEADS, 1, 3), random(2, HEADS, 1, 3))
    )
    before = kept.k.clone()
    chosen, new = torch.tensor([1, 1, 0]), KeyValues(random(3, HEADS, 1, 3), random(3, HEADS, 1, 3))
    assert torch.equal(kept.select(chosen).append(new).k, torch.cat([before[chosen], new.k], 2))
    assert torch.equal(kept.k, before)


def test_feed_forward_is_its_formula() -> None:
    ours = shaken(FeedForward(WIDTH, INNER))
    x = random(2, 5, WIDTH)
    inner = (x @ ours.inner.weight.T + ours.inner.bias).clamp(min=0)
    assert (inner == 0).any()
    close(ours(x), inner @ ours.outer.weight.T + ours.outer.bias)


def test_feed_forward_with_gelu() -> None:
    ours = shaken(FeedForward(WIDTH, INNER, "gelu"))
    x = random(2, 5, WIDTH)
    z = x @ ours.inner.weight.T + ours.inner.bias
    gelu = z * (1 + torch.erf(z / math.sqrt(2))) / 2
    close(ours(x), gelu @ ours.outer.weight.T + ours.outer.bias)


# --- layers ---


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("s", [7, LONG])
def test_encoder_layer_equals_torch(s: int, norm: Norm, activation: str) -> None:
    ours = shaken(Layer(layer_config(norm, activation)))
    theirs = nn.TransformerEncoderLayer(
        WIDTH, HEADS, INNER, 0.0, activation, batch_first=True, norm_first=norm == "pre"
    ).double()
    twins = encoder_twins(ours, theirs)
    copy_twins(twins)
    x, mask = random(2, s, WIDTH).requires_grad_(), lengths_mask([s, s - 3], s)
    found, _ = ours(x, mask[:, None, None])
    expected = theirs(x, src_key_padding_mask=~mask)
    close(found, expected)
    compare_gradients(found, expected, [x], twins, 1e-9)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(("t", "s"), [(5, 7), (LONG, LONG + 2)])
def test_decoder_layer_equals_torch(t: int, s: int, norm: Norm) -> None:
    ours = shaken(Layer(layer_config(norm), cross=True))
    theirs = nn.TransformerDecoderLayer(WIDTH, HEADS, INNER, 0.0, batch_first=True, norm_first=norm == "pre").double()
    twins = decoder_twins(ours, theirs)
    copy_twins(twins)
    x, memory = random(2, t, WIDTH).requires_grad_(), random(2, s, WIDTH, seed=1).requires_grad_()
    mask, causal = lengths_mask([s, s - 3], s), torch.ones(t, t, dtype=torch.bool).tril()
    found, kept = ours(x, causal, None, ours.cross.remember(memory), mask[:, None, None])
    expected = theirs(x, memory, tgt_mask=~causal, memory_key_padding_mask=~mask)
    close(found, expected)
    assert kept.length == t
    compare_gradients(found, expected, [x, memory], twins, 1e-9)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_stacks_equal_torch_with_the_final_norm_of_their_kind(norm: Norm) -> None:
    ours = shaken(Stack(layer_config(norm), 2))
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, 0.0, batch_first=True, norm_first=norm == "pre")
    final = nn.LayerNorm(WIDTH) if norm == "pre" else None
    theirs = nn.TransformerEncoder(layer, 2, final, enable_nested_tensor=False).double()
    for one, two in zip(ours.layers, theirs.layers, strict=True):
        assert isinstance(one, Layer)
        assert isinstance(two, nn.TransformerEncoderLayer)
        copy_twins(encoder_twins(one, two))
    if final is not None:
        assert isinstance(ours.final_norm, nn.LayerNorm)
        copy_twins(linear_twins(ours.final_norm, final))
    x = random(2, 7, WIDTH)
    close(ours(x), theirs(x))
    assert isinstance(ours.final_norm, nn.LayerNorm) == (norm == "pre")


def test_decoder_continues_from_what_it_kept() -> None:
    decoder = shaken(Stack(layer_config(), 2, causal=True, cross=True))
    x, source = random(2, 6, WIDTH), decoder.remember(random(2, 4, WIDTH, seed=1))
    whole = decoder(x, None, source)
    first, kept = decoder.extend(x[:, :2], [], None, source)
    rest, kept = decoder.extend(x[:, 2:], kept, None, source)  # several tokens at once, after a past
    close(torch.cat([first, rest], 1), whole)
    assert [memory.length for memory in kept] == [6, 6]


class Uniform:
    """A formula that attends to everything alike."""

    def scores(self, q: Tensor, k: Tensor, scale: bool = True) -> Tensor:
        return q.new_zeros(*q.shape[:-1], k.shape[-2])

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: bool = True) -> Attended:
        weights = masked_softmax(self.scores(q, k), mask)
        return Attended(weights @ v, weights)

    def fused(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: bool = True) -> Tensor:
        return self.attend(q, k, v, mask).output


@pytest.mark.parametrize("s", [7, LONG])
def test_a_layer_attends_by_the_formula_it_is_given(s: int) -> None:
    layer = shaken(Layer(replace(layer_config("post"), formula=Uniform())))
    x = random(2, s, WIDTH)
    found, _ = layer(x)
    mean = layer.self_.value(x).mean(1, keepdim=True)
    y = layer.add_self.norm(x + layer.self_.output(mean))
    close(found, layer.add_feed_forward.norm(y + layer.feed_forward(y)))


def test_future_mask_shows_the_past_and_itself() -> None:
    cpu = torch.device("cpu")
    assert future_mask(3, 0, cpu).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert future_mask(2, 2, cpu).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]


# --- dropout ---


def five_sigma(p: float, draws: int) -> float:
    return 5 * math.sqrt(p * (1 - p) / draws)


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.9])
def test_dropout_zeroes_its_share_and_keeps_the_expectation(p: float) -> None:
    torch.manual_seed(3)
    n = 400_000
    y = Dropout(p)(torch.ones(n))
    share = (y == 0).double().mean().item()
    assert share == pytest.approx(p, abs=five_sigma(p, n) + 1 / 512)  # p is rounded to 1/256
    kept = y[y != 0].unique()
    assert len(kept) == 1  # all that stay are scaled alike
    assert kept.item() == pytest.approx(1 / (1 - p), rel=0.03)
    assert y.double().mean().item() == pytest.approx(1, abs=five_sigma(p, n) / (1 - p))


@pytest.mark.parametrize("p", [0.1, 0.3])
def test_dropout_treats_every_place_alike(p: float) -> None:
    torch.manual_seed(4)
    columns, rows = 16, 20_000
    dropped = (Dropout(p)(torch.ones(rows, columns)) == 0).double()
    assert (dropped.mean(0) - p).abs().max().item() < five_sigma(p, rows) + 1 / 512
    centred = dropped - dropped.mean(0)
    correlation = (centred.T @ centred) / rows / (p * (1 - p))
    assert (correlation - torch.diag(correlation.diag())).abs().max().item() < 5 / math.sqrt(rows)


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5), (2, 3, 7)])
def test_dropout_is_the_same_after_the_same_seed(shape: tuple[int, ...]) -> None:
    dropout, x = Dropout(0.5), torch.ones(shape)
    torch.manual_seed(1)
    first, second = dropout(x), dropout(torch.ones(1000))
    torch.manual_seed(1)
    assert torch.equal(dropout(x), first)
    again = dropout(torch.ones(1000))
    assert torch.equal(again, second)
    assert not torch.equal(dropout(torch.ones(1000)), second)


def test_dropout_is_the_identity_when_not_training_or_when_p_is_zero() -> None:
    x = random(4, 5)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)


def test_dropout_lets_gradients_through_where_it_lets_values_through() -> None:
    x = torch.ones(1000, dtype=torch.float64).requires_grad_()
    y = Dropout(0.3)(x)
    y.sum().backward()
    assert x.grad is not None
    assert y.dtype == torch.float64
    assert torch.equal(x.grad, y.detach())


def test_dropout_of_nearly_everything_does_not_fail() -> None:
    assert torch.isfinite(Dropout(0.999)(torch.ones(1000))).all()  # a configuration may ask for any p < 1


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.9])
def test_dropout_in_bfloat16_keeps_the_expectation(p: float) -> None:
    torch.manual_seed(0)
    x = torch.full((1000, 999), 3.0, dtype=torch.bfloat16, requires_grad=True)
    y = Dropout(p)(x)
    assert y.dtype == torch.bfloat16
    kept = (y != 0).double()
    assert kept.mean().item() == pytest.approx(1 - p, abs=0.004)
    assert (y.double() / 3).mean().item() == pytest.approx(1, abs=4 * (p / (1 - p) / x.numel()) ** 0.5 + 0.002)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad != 0, y != 0)
    assert len(x.grad.unique()) == 2


def test_another_layout_changes_nothing() -> None:
    """But the order in which numbers are added up."""
    model = shaken(GPT(GPTConfig(width=12, heads=3, layers=2, max_length=16, dropout=0.0), Sizes(40, 40, causal=True)))
    model = model.double().eval()
    ids = torch.arange(20).view(2, 10)
    reading, weights = (
        SequenceBatch(ids, torch.tensor([10, 10])),
        {name: w.clone() for name, w in model.state_dict().items()},
    )
    before = model.output(model.encode(reading)).detach()
    lay_out(model)
    assert isinstance(layer := model.decoder.layers[0], Layer)
    assert layer.self_.packed is not None
    assert layer.self_.query.weight.data_ptr() == layer.self_.packed.data_ptr()  # not stored twice
    assert set(model.state_dict()) == set(weights)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    close(model.output(model.encode(reading)), before)  # with gradients the three matrices are used
    with torch.inference_mode():
        close(model.output(model.encode(reading)), before)
        step = model.start(Batch(ids[:, :0], ids[:, :9]))
        close(step.logits, before[:, 8])
        close(model.step(ids[:, 9], step.state).logits, before[:, 9])
        half = model.float()
        assert half.output(half.encode(reading)).dtype == torch.float32  # and what is packed goes along

"""The blocks equal torch.nn's in values and gradients; switches leave out one thing each; tapes change nothing."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Literal, TypeVar

import pytest
import torch
from torch import Tensor, nn

from mirada.blocks import (
    FUSED_FROM,
    Decoder,
    DecoderLayer,
    Dropout,
    Encoder,
    EncoderLayer,
    FeedForward,
    KeyValues,
    MultiHead,
    Positions,
    Residual,
    future_mask,
    sinusoidal,
)
from mirada.contracts import BOS, EOS, PAD, Batch, Part, Switches, Tape
from mirada.models.transformer import Transformer, TransformerConfig

Norm = Literal["pre", "post"]
Module = TypeVar("Module", bound=nn.Module)
Twins = list[tuple[Sequence[Tensor], Tensor]]
"""Our parameters, and the reference's one that holds them below each other."""

WIDTH, HEADS, INNER = 12, 3, 20
LONG = FUSED_FROM + 6
"""A length at which the fused kernel serves."""


def close(actual: Tensor, expected: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def shaken(module: Module) -> Module:
    """The module in float64 with every parameter random: also biases and norms, which start as 0 and 1."""
    module.double()
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return module


def linear_twins(ours: nn.Linear | nn.LayerNorm, theirs: nn.Linear | nn.LayerNorm) -> Twins:
    return [([ours.weight], theirs.weight), ([ours.bias], theirs.bias)]


def attention_twins(ours: MultiHead, theirs: nn.MultiheadAttention) -> Twins:
    parts = (ours.query, ours.key, ours.value)
    assert theirs.in_proj_weight is not None
    return [
        ([part.weight for part in parts], theirs.in_proj_weight),
        ([part.bias for part in parts], theirs.in_proj_bias),
        *linear_twins(ours.output, theirs.out_proj),
    ]


def encoder_twins(ours: EncoderLayer, theirs: nn.TransformerEncoderLayer) -> Twins:
    return [
        *attention_twins(ours.self_, theirs.self_attn),
        *linear_twins(ours.feed_forward.inner, theirs.linear1),
        *linear_twins(ours.feed_forward.outer, theirs.linear2),
        *linear_twins(ours.add_self.norm, theirs.norm1),
        *linear_twins(ours.add_feed_forward.norm, theirs.norm2),
    ]


def decoder_twins(ours: DecoderLayer, theirs: nn.TransformerDecoderLayer) -> Twins:
    return [
        *attention_twins(ours.self_, theirs.self_attn),
        *attention_twins(ours.cross, theirs.multihead_attn),
        *linear_twins(ours.feed_forward.inner, theirs.linear1),
        *linear_twins(ours.feed_forward.outer, theirs.linear2),
        *linear_twins(ours.add_self.norm, theirs.norm1),
        *linear_twins(ours.add_cross.norm, theirs.norm2),
        *linear_twins(ours.add_feed_forward.norm, theirs.norm3),
    ]


def copy_twins(twins: Twins) -> None:
    with torch.no_grad():
        for ours, theirs in twins:
            theirs.copy_(torch.cat(list(ours)))


def compare_gradients(ours: Tensor, theirs: Tensor, inputs: Sequence[Tensor], twins: Twins, tolerance: float) -> None:
    """Both outputs' gradients, of the inputs and of every parameter, are equal."""
    weights = random(*ours.shape, seed=5)
    mine = [parameter for group, _ in twins for parameter in group]
    other = [parameter for _, parameter in twins]
    found = torch.autograd.grad((ours * weights).sum(), [*inputs, *mine])
    expected = torch.autograd.grad((theirs * weights).sum(), [*inputs, *other])
    for one, two in zip(found[: len(inputs)], expected[: len(inputs)], strict=True):
        close(one, two, tolerance)
    parts = iter(found[len(inputs) :])
    for (group, _), gradient in zip(twins, expected[len(inputs) :], strict=True):
        close(torch.cat([next(parts) for _ in group]), gradient, tolerance)
        assert gradient.abs().max() > 0 or gradient.shape[0] == 3 * WIDTH  # nothing is compared that plays no part


def lengths_mask(lengths: list[int], longest: int) -> Tensor:
    """[B, S], True where a sentence has a token."""
    return torch.arange(longest) < torch.tensor(lengths)[:, None]


# --- multi-head attention and feed-forward ---


@pytest.mark.parametrize("taped", [True, False])
@pytest.mark.parametrize("s", [7, LONG])
def test_multi_head_equals_torch(s: int, taped: bool) -> None:
    ours = shaken(MultiHead(WIDTH, HEADS))
    theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).double()
    twins = attention_twins(ours, theirs)
    copy_twins(twins)
    x, memory = random(2, 5, WIDTH).requires_grad_(), random(2, s, WIDTH, seed=1).requires_grad_()
    mask = lengths_mask([s, s - 3], s)
    tape = Tape() if taped else None
    found = ours(x, ours.remember(memory), mask[:, None, None], tape)
    expected, weights = theirs(x, memory, memory, key_padding_mask=~mask, average_attn_weights=False)
    close(found, expected)
    compare_gradients(found, expected, [x, memory], twins, 1e-10)
    if tape is not None:
        assert tape.tensors["weights"].shape == (2, HEADS, 5, s)
        close(tape.tensors["weights"], weights)
        heads = tape.tensors["heads"].transpose(1, 2).flatten(2)
        close(heads @ ours.output.weight.T + ours.output.bias, found)


def test_multi_head_without_bias_has_none() -> None:
    assert all("bias" not in name for name, _ in MultiHead(WIDTH, HEADS, bias=False).named_parameters())


def test_remembered_keys_can_be_appended_and_selected() -> None:
    attention = shaken(MultiHead(WIDTH, HEADS))
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
    ours = shaken(EncoderLayer(WIDTH, HEADS, INNER, 0.0, norm, activation))
    theirs = nn.TransformerEncoderLayer(
        WIDTH, HEADS, INNER, 0.0, activation, batch_first=True, norm_first=norm == "pre"
    ).double()
    twins = encoder_twins(ours, theirs)
    copy_twins(twins)
    x, mask = random(2, s, WIDTH).requires_grad_(), lengths_mask([s, s - 3], s)
    found = ours(x, mask[:, None, None])
    expected = theirs(x, src_key_padding_mask=~mask)
    close(found, expected)
    compare_gradients(found, expected, [x], twins, 1e-9)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(("t", "s"), [(5, 7), (LONG, LONG + 2)])
def test_decoder_layer_equals_torch(t: int, s: int, norm: Norm) -> None:
    ours = shaken(DecoderLayer(WIDTH, HEADS, INNER, 0.0, norm))
    theirs = nn.TransformerDecoderLayer(WIDTH, HEADS, INNER, 0.0, batch_first=True, norm_first=norm == "pre").double()
    twins = decoder_twins(ours, theirs)
    copy_twins(twins)
    x, memory = random(2, t, WIDTH).requires_grad_(), random(2, s, WIDTH, seed=1).requires_grad_()
    mask, causal = lengths_mask([s, s - 3], s), torch.ones(t, t, dtype=torch.bool).tril()
    found, kept = ours(x, None, ours.cross.remember(memory), causal, mask[:, None, None])
    expected = theirs(x, memory, tgt_mask=~causal, memory_key_padding_mask=~mask)
    close(found, expected)
    assert kept.length == t
    compare_gradients(found, expected, [x, memory], twins, 1e-9)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_stacks_equal_torch_with_the_final_norm_of_their_kind(norm: Norm) -> None:
    layers = [EncoderLayer(WIDTH, HEADS, INNER, 0.0, norm) for _ in range(2)]
    ours = shaken(Encoder(layers, nn.LayerNorm(WIDTH) if norm == "pre" else nn.Identity()))
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, 0.0, batch_first=True, norm_first=norm == "pre")
    final = nn.LayerNorm(WIDTH) if norm == "pre" else None
    theirs = nn.TransformerEncoder(layer, 2, final, enable_nested_tensor=False).double()
    for one, two in zip(layers, theirs.layers, strict=True):
        assert isinstance(two, nn.TransformerEncoderLayer)
        copy_twins(encoder_twins(one, two))
    if final is not None:
        assert isinstance(ours.final_norm, nn.LayerNorm)
        copy_twins(linear_twins(ours.final_norm, final))
    x = random(2, 7, WIDTH)
    close(ours(x, None), theirs(x))


def test_decoder_continues_from_what_it_kept() -> None:
    decoder = shaken(Decoder([DecoderLayer(WIDTH, HEADS, INNER, 0.0, "pre") for _ in range(2)], nn.LayerNorm(WIDTH)))
    x, source = random(2, 6, WIDTH), decoder.remember(random(2, 4, WIDTH, seed=1))
    nothing: list[KeyValues | None] = [None, None]
    whole, _ = decoder(x, nothing, source, None)
    first, kept = decoder(x[:, :2], nothing, source, None)
    rest, kept = decoder(x[:, 2:], kept, source, None)  # several tokens at once, after a past
    close(torch.cat([first, rest], 1), whole)
    assert [memory.length for memory in kept] == [6, 6]


def test_future_mask_shows_the_past_and_itself() -> None:
    cpu = torch.device("cpu")
    assert future_mask(3, 0, cpu).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert future_mask(2, 2, cpu).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]


# --- positions ---


@pytest.mark.parametrize("width", [2, 7, 12])
def test_sinusoidal_positions_are_their_formula(width: int) -> None:
    table = sinusoidal(300, width)
    assert table.shape == (300, width)
    assert table.dtype == torch.float32
    for t in (0, 1, 2, 17, 299):
        for i in range(width):
            angle = t / 10000 ** ((i - i % 2) / width)
            assert table[t, i].item() == pytest.approx(math.cos(angle) if i % 2 else math.sin(angle), abs=1e-7)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_positions_are_added_from_where_the_tokens_stand(kind: Literal["sinusoidal", "learned"]) -> None:
    positions = Positions(10, 6, kind).double()
    x = random(2, 4, 6)
    close(positions(x), x + positions.table[:4])
    close(positions(x, 5), x + positions.table[5:9])
    assert not torch.equal(positions(x), positions(x, 5))
    assert [name for name, _ in positions.named_parameters()] == (["table"] if kind == "learned" else [])
    assert list(positions.state_dict()) == (["table"] if kind == "learned" else [])  # waves are not weights
    if kind == "learned":
        positions(x, 5).sum().backward()
        assert positions.table.grad is not None
        assert (positions.table.grad[5:9] == 2).all()
        assert (positions.table.grad[:5] == 0).all()


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


# --- tapes ---


def tiny(norm: Norm = "pre", **choices: object) -> Transformer:
    config = {"width": WIDTH, "heads": HEADS, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": INNER}
    model = Transformer(TransformerConfig.model_validate({**config, "norm": norm, "dropout": 0.0, **choices}), 30, 30)
    return shaken(model).eval()


def a_batch(longest: int = 6) -> Batch:
    """Two sentences, the second one shorter on both sides."""
    ids = torch.randint(3, 30, (2, longest), generator=torch.Generator().manual_seed(9))
    source, target = ids.clone(), ids.flip(0)[:, : longest - 1].clone()
    source[:, -1], source[1, -2], source[1, -1] = EOS, EOS, PAD
    target[:, 0], target[:, -1], target[1, -2], target[1, -1] = BOS, EOS, EOS, PAD
    return Batch(source, target)


def test_tape_names_every_tensor_by_its_path() -> None:
    tape = Tape()
    tiny()(a_batch(), tape)
    attention = ["q", "k", "v", "weights", "heads"]
    expected = set()
    for stack, sublayers in (("encoder", ["self"]), ("decoder", ["self", "cross"])):
        for layer in range(2):
            expected |= {f"{stack}.{layer}.{sub}.{name}" for sub in sublayers for name in attention}
            expected |= {f"{stack}.{layer}.add_{sub}.output" for sub in [*sublayers, "feed_forward"]}
    assert expected <= tape.tensors.keys()
    assert {"decoder.1.cross.weights", "encoder.0.self.weights", "encoder.0.add_self.output"} <= expected
    assert all(not path.startswith(("encoder.", "decoder.")) for path in tape.tensors.keys() - expected)
    assert tape.tensors["decoder.1.cross.weights"].shape == (2, HEADS, 4, 6)
    assert tape.tensors["decoder.1.self.weights"].shape == (2, HEADS, 4, 4)
    assert tape.tensors["encoder.0.self.weights"].shape == (2, HEADS, 6, 6)
    assert tape.tensors["encoder.0.add_self.output"].shape == (2, 6, WIDTH)


def test_tape_holds_weights_that_keep_to_the_masks() -> None:
    tape, batch = Tape(), a_batch()
    tiny()(batch, tape)
    for path, weights in tape.tensors.items():
        if not path.endswith(".weights"):
            continue
        close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
        if path.startswith("decoder") and ".self." in path:
            assert (weights.triu(1) == 0).all()
        else:
            assert (weights[1, :, :, -1] == 0).all()
            assert (weights[0] > 0).all()


@pytest.mark.parametrize("longest", [6, LONG])
def test_a_run_with_a_tape_gives_the_same_output(longest: int) -> None:
    model, batch = tiny(), a_batch(longest)
    close(model(batch, Tape()), model(batch))
    short = a_batch()
    assert torch.equal(model(short, Tape()), model(short))


def test_tape_records_only_what_is_wanted() -> None:
    tape = Tape(["decoder.*.cross.weights", "encoder.1.add_*"])
    tiny()(a_batch(), tape)
    assert sorted(tape.tensors) == [
        "decoder.0.cross.weights",
        "decoder.1.cross.weights",
        "encoder.1.add_feed_forward.output",
        "encoder.1.add_self.output",
    ]


def test_a_part_without_a_path_records_plain_names() -> None:
    tape, part = Tape(), Part()
    tape.record(part, "x", torch.zeros(1))
    part.path = "encoder.3"
    tape.record(part, "x", torch.ones(1))
    assert {path: tensor.item() for path, tensor in tape.tensors.items()} == {"x": 0, "encoder.3.x": 1}


# --- switches ---


def taped(model: Transformer, batch: Batch, switches: Switches | None = None) -> tuple[Tensor, dict[str, Tensor]]:
    tape = Tape()
    output = model(batch, tape, switches or Switches())
    return output, tape.tensors


def attentions(model: Transformer) -> list[MultiHead]:
    return [module for module in model.modules() if isinstance(module, MultiHead)]


def test_everything_is_on_unless_named() -> None:
    model, batch = tiny(), a_batch()
    assert torch.equal(model(batch), model(batch, None, Switches()))


@pytest.mark.parametrize("longest", [6, LONG])
def test_scale_off_leaves_out_the_division(longest: int) -> None:
    model, batch = tiny(), a_batch(longest)
    off = model(batch, None, Switches(scale=False))
    assert (off - model(batch)).abs().max() > 1e-3
    larger = copy.deepcopy(model)  # queries that are √d_k times as large undo the division
    for attention in attentions(larger):
        for parameter in (attention.query.weight, attention.query.bias):
            parameter.data *= math.sqrt(WIDTH // HEADS)
    close(off, larger(batch))


def test_future_mask_off_shows_the_tokens_to_come_and_changes_nothing_else() -> None:
    model, batch = tiny(), a_batch()
    on, before = taped(model, batch)
    off, after = taped(model, batch, Switches(future_mask=False))
    assert (off[:, 0] - on[:, 0]).abs().max() > 1e-3
    for path in before:
        if path.startswith("encoder.") or path in ("decoder.0.self.q", "decoder.0.self.k", "decoder.0.self.v"):
            assert torch.equal(before[path], after[path]), path
    q, k = after["decoder.0.self.q"], after["decoder.0.self.k"]
    close(after["decoder.0.self.weights"], (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1))
    assert (after["decoder.0.cross.weights"][1, :, :, -1] == 0).all()  # the padding's mask is another one


def test_positions_off_is_a_model_whose_position_table_is_zero() -> None:
    model, batch = tiny(), a_batch()
    off = model(batch, None, Switches(positions=False))
    assert (off - model(batch)).abs().max() > 1e-3
    blank = copy.deepcopy(model)
    blank.positions.table.zero_()
    close(off, blank(batch))


def test_without_positions_an_encoder_does_not_see_the_order() -> None:
    model, order = tiny(), torch.tensor([3, 0, 2, 1])
    source = torch.tensor([[5, 6, 7, 8]])
    target = torch.tensor([[BOS, EOS]])
    plain, moved = Batch(source, target), Batch(source[:, order], target)
    off = Switches(positions=False)
    close(model.encode(moved, None, off), model.encode(plain, None, off)[:, order])
    assert (model.encode(moved) - model.encode(plain)[:, order]).abs().max() > 1e-3


@pytest.mark.parametrize("longest", [6, LONG])
@pytest.mark.parametrize(
    ("path", "head"), [("encoder.0.self", 0), ("encoder.1.self", 2), ("decoder.0.self", 1), ("decoder.1.cross", 2)]
)
def test_a_silenced_head_is_a_zeroed_slice_of_the_output_matrix(path: str, head: int, longest: int) -> None:
    model, batch = tiny(), a_batch(longest)
    off = model(batch, None, Switches(heads_off=frozenset({(path, head)})))
    assert (off - model(batch)).abs().max() > 1e-4
    cut = copy.deepcopy(model)
    (attention,) = [attention for attention in attentions(cut) if attention.path == path]
    size = WIDTH // HEADS
    attention.output.weight.data[:, head * size : (head + 1) * size] = 0
    close(off, cut(batch))


def test_two_silenced_heads_of_one_attention() -> None:
    model, batch = tiny(), a_batch()
    off = model(batch, None, Switches(heads_off=frozenset({("encoder.0.self", 0), ("encoder.0.self", 2)})))
    cut = copy.deepcopy(model)
    size = WIDTH // HEADS
    weight = attentions(cut)[0].output.weight.data
    weight[:, :size], weight[:, 2 * size :] = 0, 0
    close(off, cut(batch))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("sublayer", ["encoder.0.self", "encoder.1.self", "decoder.0.self", "decoder.1.cross"])
def test_a_cut_residual_leaves_the_sublayer_alone(norm: Norm, sublayer: str) -> None:
    model, batch = tiny(norm), a_batch()
    stack, layer, name = sublayer.split(".")
    residual = f"{stack}.{layer}.add_{name}"
    on, before = taped(model, batch)
    off, after = taped(model, batch, Switches(residual_off=frozenset({residual})))
    assert (off - on).abs().max() > 1e-3
    parts = dict(model.named_modules())
    attention = parts[f"{stack}.layers.{layer}.{name.replace('self', 'self_')}"]
    add = parts[f"{stack}.layers.{layer}.add_{name}"]
    assert isinstance(attention, MultiHead)
    assert isinstance(add, Residual)
    added = attention.output(after[f"{sublayer}.heads"].transpose(1, 2).flatten(2))
    close(after[f"{residual}.output"], added if norm == "pre" else add.norm(added))
    order = list(after)  # what comes before the cut is as it was, and the cut itself is not
    place = order.index(f"{residual}.output")
    assert all(torch.equal(before[path], after[path]) for path in order[:place])
    assert not torch.equal(before[order[place]], after[order[place]])


def test_a_cut_residual_around_the_feed_forward() -> None:
    model, batch = tiny("post"), a_batch()
    _, after = taped(model, batch, Switches(residual_off=frozenset({"encoder.0.add_feed_forward"})))
    layer = model.encoder.layers[0]
    assert isinstance(layer, EncoderLayer)
    inside = layer.feed_forward(after["encoder.0.add_self.output"])
    close(after["encoder.0.add_feed_forward.output"], layer.add_feed_forward.norm(inside))

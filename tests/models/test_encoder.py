"""The Transformer that reads equals torch.nn's encoder; padding changes nothing, nobody sees the future."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from mirada.contracts import PAD, SequenceBatch, Sizes
from mirada.models.encoder import PRESETS, EncoderConfig, TransformerEncoder
from mirada.nn.blocks import Layer
from mirada.nn.positions import sinusoidal
from mirada.parts import Switches, recording, switched
from tests.block_parts import LONG, Norm, compare_gradients, copy_twins, encoder_twins, linear_twins, shaken
from tests.tensors import close, random

WORDS, NUMBERS, CLASSES = 23, 3, 5
TAGGING = Sizes(WORDS, CLASSES)
FORECAST = Sizes(NUMBERS, 2, numeric_inputs=True, numeric_outputs=True, causal=True)
SHORT = [4, 1, 6, 5]


def build(sizes: Sizes = TAGGING, **choices: Any) -> TransformerEncoder:
    small = {"width": 12, "heads": 3, "layers": 2, "feed_forward": 20, "max_length": 90}
    return shaken(TransformerEncoder(EncoderConfig.model_validate({**small, **choices}), sizes)).eval()


def inputs(sizes: Sizes, b: int, t: int, seed: int = 0) -> Tensor:
    if sizes.numeric_inputs:
        return random(b, t, sizes.inputs, seed=seed)
    return torch.randint(4, sizes.inputs, (b, t), generator=torch.Generator().manual_seed(seed))


def reading(sizes: Sizes, lengths: list[int]) -> SequenceBatch:
    """Random sequences of these lengths. Behind them stand values like any other: nobody may look there."""
    return SequenceBatch(inputs(sizes, len(lengths), max(lengths)), torch.tensor(lengths))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_it_equals_torch(norm: Norm, activation: str, causal: bool) -> None:
    ours = build(Sizes(WORDS, CLASSES, causal=causal), norm=norm, activation=activation)
    layer = nn.TransformerEncoderLayer(12, 3, 20, 0.0, activation, batch_first=True, norm_first=norm == "pre")
    final = nn.LayerNorm(12) if norm == "pre" else None
    theirs = nn.TransformerEncoder(layer, 2, final, enable_nested_tensor=False).double()
    twins = [
        pair
        for mine, other in zip(ours.encoder.layers, theirs.layers, strict=True)
        for pair in encoder_twins(cast(Layer, mine), cast(nn.TransformerEncoderLayer, other))
    ]
    if final is not None:
        twins += linear_twins(cast(nn.LayerNorm, ours.encoder.final_norm), final)
    copy_twins(twins)
    batch = reading(TAGGING, SHORT)
    x = ours.embedding.weight[batch.inputs] * math.sqrt(12) + sinusoidal(6, 12).double()
    future = nn.Transformer.generate_square_subsequent_mask(6).isinf() if causal else None
    expected = theirs(x, future, ~batch.mask)
    found = ours.encode(batch)
    close(found[batch.mask], expected[batch.mask])
    compare_gradients(found[batch.mask], expected[batch.mask], [ours.embedding.weight], twins, 1e-10)


@pytest.mark.parametrize("pool", ["mean", "max", "first"])
@pytest.mark.parametrize("lengths", [SHORT, [LONG, 3, LONG - 1]], ids=["plain", "fused"])
@pytest.mark.parametrize("sizes", [TAGGING, FORECAST], ids=["words", "numbers"])
def test_a_padded_batch_equals_its_sequences_one_by_one(sizes: Sizes, lengths: list[int], pool: str) -> None:
    model, batch = build(sizes, pool=pool), reading(sizes, lengths)
    read, pooled = model.encode(batch), model.pool(batch)
    for row, length in enumerate(lengths):
        alone = SequenceBatch(batch.inputs[row : row + 1, :length], batch.lengths[row : row + 1])
        close(read[row, :length], model.encode(alone)[0])
        close(pooled[row], model.pool(alone)[0])
        steps = read[row, :length]
        close(pooled[row], {"mean": steps.mean(0), "max": steps.amax(0), "first": steps[0]}[pool])


@pytest.mark.parametrize("pool", ["mean", "max", "first"])
@pytest.mark.parametrize("length", [0, 1, 5, LONG])
def test_a_sequence_of_padding_is_zero_and_breaks_no_gradient(length: int, pool: str) -> None:
    model = build(pool=pool)
    batch = SequenceBatch(torch.full((2, length), PAD), torch.tensor([0, length]))
    pooled = model.pool(batch)
    assert pooled.shape == (2, 12)
    assert not pooled[0].any()
    assert model.encode(batch).isfinite().all()
    if length:
        pooled.sum().backward()
        gradients = [p.grad for name, p in model.named_parameters() if not name.startswith("output")]
        assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("length", [7, LONG])
def test_a_causal_reader_does_not_see_the_future(length: int) -> None:
    model, x = build(FORECAST), inputs(FORECAST, 2, length)
    changed = torch.cat([x[:, :4], inputs(FORECAST, 2, length - 4, seed=9)], 1)
    everything = torch.tensor([length] * 2)
    one, other = (model.encode(SequenceBatch(z, everything)) for z in (x, changed))
    close(one[:, :4], other[:, :4])
    with switched(model, Switches(future_mask=False)):
        one, other = (model.encode(SequenceBatch(z, everything)) for z in (x, changed))
    assert not torch.allclose(one[:, 0], other[:, 0])


@pytest.mark.parametrize("sizes", [TAGGING, FORECAST], ids=["words", "numbers"])
def test_gradients_reach_every_weight(sizes: Sizes) -> None:
    model = build(sizes, positions="learned")
    model.output(model.pool(reading(sizes, SHORT))).pow(2).sum().backward()
    unused = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert unused == []


def test_positions_heads_and_residuals_can_be_switched_off() -> None:
    model, batch = build(), reading(TAGGING, [5])
    backwards = SequenceBatch(batch.inputs.flip(1), batch.lengths)
    with switched(model, Switches(positions=False)):
        close(model.encode(backwards), model.encode(batch).flip(1))
    assert not torch.allclose(model.encode(backwards), model.encode(batch).flip(1))
    for off in (
        Switches(heads_off=frozenset({("encoder.0.self", 1)})),
        Switches(residual_off=frozenset({"encoder.1.add_self"})),
        Switches(scale=False),
    ):
        plain = model.encode(batch)
        with switched(model, off):
            assert not torch.allclose(model.encode(batch), plain)


def test_a_recorder_has_the_weights() -> None:
    model, batch = build(), reading(TAGGING, SHORT)
    with recording() as recorder:
        pooled = model.pool(batch)
    close(pooled, model.pool(batch))
    weights = recorder.tensors["encoder.1.self.weights"]
    assert weights.shape == (4, 3, 6, 6)
    assert not weights.masked_fill(batch.mask[:, None, None, :], 0.0).any()
    assert "encoder.0.add_feed_forward.output" in recorder.tensors


def test_it_begins_as_the_transformer_does() -> None:
    torch.manual_seed(0)
    model = TransformerEncoder(EncoderConfig(), Sizes(1000, CLASSES))
    assert not model.embedding.weight[PAD].any()
    assert model.embedding.weight.std().item() == pytest.approx(128**-0.5, rel=0.02)
    assert not model.output.bias.any()
    bound = math.sqrt(6 / (128 + 512))
    inner = cast(Layer, model.encoder.layers[0]).feed_forward.inner.weight.abs().max().item()
    assert 0.95 * bound < inner <= bound


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_configurations(preset: str) -> None:
    EncoderConfig.model_validate(PRESETS[preset]["model"])


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValidationError, match=r"model.width=10 cannot be split into model.heads=4 equal heads"):
        EncoderConfig(width=10, heads=4)

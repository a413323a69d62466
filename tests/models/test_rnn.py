"""The recurrent readers: padding changes nothing, pieces and steps equal the whole, nobody sees the future."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from mirada.config import merge
from mirada.contracts import BOS, PAD, Batch, SequenceBatch, Sizes
from mirada.errors import ConfigError
from mirada.models.rnn import PRESETS, RecurrentConfig, RecurrentEncoder
from mirada.nn.recurrent import Memory
from mirada.parts import recording
from tests.recurrent_parts import shaken
from tests.tensors import close, random

WORDS, NUMBERS, CLASSES = 23, 3, 5
LENGTHS = [4, 1, 6, 0, 5]
TAGGING = Sizes(WORDS, CLASSES)
LANGUAGE = Sizes(WORDS, WORDS, causal=True)
FORECAST = Sizes(NUMBERS, 2, numeric_inputs=True, numeric_outputs=True, causal=True)
SENSORS = Sizes(NUMBERS, CLASSES, numeric_inputs=True)

READERS = [
    (name, both, pool)
    for name in ("memoryless", "elman", "jordan", "lstm", "gru")
    for both in (False, True)
    for pool in ("last", "mean", "max")
    if name != "jordan" or (not both and pool == "last")
]
ONE_WAY = ["memoryless", "elman", "jordan", "lstm", "gru"]


def build(name: str = "lstm", sizes: Sizes = TAGGING, **choices: Any) -> RecurrentEncoder:
    config = RecurrentConfig.model_validate({"name": name, "width": 8, "layers": 2, **choices})
    return shaken(RecurrentEncoder(config, sizes)).eval()


def inputs(sizes: Sizes, b: int, t: int, seed: int = 0) -> Tensor:
    if sizes.numeric_inputs:
        return random(b, t, sizes.inputs, seed=seed)
    return torch.randint(4, sizes.inputs, (b, t), generator=torch.Generator().manual_seed(seed))


def reading(sizes: Sizes, lengths: list[int] = LENGTHS) -> SequenceBatch:
    """Random sequences of these lengths. Behind them stand values like any other: nobody may look there."""
    return SequenceBatch(inputs(sizes, len(lengths), max(lengths)), torch.tensor(lengths))


def alone(batch: SequenceBatch, row: int) -> SequenceBatch:
    length = int(batch.lengths[row])
    before = None if batch.before is None else batch.before[row : row + 1, :length]
    return SequenceBatch(batch.inputs[row : row + 1, :length], batch.lengths[row : row + 1], before=before)


@pytest.mark.parametrize("sizes", [TAGGING, SENSORS], ids=["words", "numbers"])
@pytest.mark.parametrize(("name", "both", "pool"), READERS)
def test_a_padded_batch_equals_its_sequences_one_by_one(name: str, both: bool, pool: str, sizes: Sizes) -> None:
    model = build(name, sizes, bidirectional=both, pool=pool)
    batch = reading(sizes)
    read, pooled = model.encode(batch), model.pool(batch)
    assert read.shape == (5, 6, 8)
    assert pooled.shape == (5, 8)
    for row, length in enumerate(LENGTHS):
        one = alone(batch, row)
        assert model.encode(one).shape == (1, length, 8)
        close(read[row, :length], model.encode(one)[0])
        close(pooled[row], model.pool(one)[0])
    assert not pooled[3].any()  # the empty one


@pytest.mark.parametrize(("name", "both"), [("gru", True), ("lstm", False)])
def test_pooling_is_what_it_says(name: str, both: bool) -> None:
    ends, mean, largest = (build(name, bidirectional=both, pool=pool) for pool in ("last", "mean", "max"))
    batch = reading(TAGGING)
    h = ends.encode(batch)
    for row, length in enumerate(LENGTHS):
        if length:
            steps = h[row, :length]
            end = torch.cat([steps[-1, :4], steps[0, 4:]]) if both else steps[-1]
            close(ends.pool(batch)[row], end)
            close(mean.pool(batch)[row], steps.mean(0))
            close(largest.pool(batch)[row], steps.max(0).values)


@pytest.mark.parametrize(("name", "both", "pool"), READERS)
def test_gradients_reach_every_weight_and_are_finite(name: str, both: bool, pool: str) -> None:
    model = build(name, bidirectional=both, pool=pool)
    batch = reading(TAGGING)
    for vectors in (model.encode(batch), model.pool(batch)):
        model.zero_grad()
        model.output(vectors).pow(2).sum().backward()
        for parameter_name, parameter in model.named_parameters():
            assert parameter.grad is not None, parameter_name
            assert parameter.grad.isfinite().all(), parameter_name
            assert parameter.grad.any(), parameter_name


@pytest.mark.parametrize("sizes", [LANGUAGE, FORECAST], ids=["language", "forecast"])
@pytest.mark.parametrize("name", ONE_WAY)
def test_a_causal_reader_does_not_see_the_future(name: str, sizes: Sizes) -> None:
    model = build(name, sizes)
    x = inputs(sizes, 2, 7)
    changed = torch.cat([x[:, :4], inputs(sizes, 2, 3, seed=9)], 1)
    one, other = (model.encode(SequenceBatch(z, torch.tensor([7, 7]))) for z in (x, changed))
    close(one[:, :4], other[:, :4])
    assert not torch.allclose(one[:, 4:], other[:, 4:])


def test_a_tagger_reads_in_both_directions() -> None:
    model, x = build("lstm"), inputs(TAGGING, 1, 6)
    changed = torch.cat([x[:, :5], (x[:, 5:] - 3) % 19 + 4], 1)
    one, other = (model.encode(SequenceBatch(z, torch.tensor([6]))) for z in (x, changed))
    assert not torch.allclose(one[:, 0], other[:, 0])


def piece_of(inputs: Tensor, before: Tensor | None = None) -> SequenceBatch:
    """A piece of a sequence, without padding."""
    return SequenceBatch(inputs, torch.full((len(inputs),), inputs.shape[1]), before=before)


@pytest.mark.parametrize("sizes", [LANGUAGE, FORECAST], ids=["language", "forecast"])
@pytest.mark.parametrize("pieces", [[7], [3, 4], [1, 1, 5], [1] * 7])
@pytest.mark.parametrize("name", ONE_WAY)
def test_pieces_equal_the_whole(name: str, pieces: list[int], sizes: Sizes) -> None:
    model, x = build(name, sizes), inputs(sizes, 2, 7)
    whole = model.encode(SequenceBatch(x, torch.tensor([7, 7])))
    state: Memory | None = None
    parts = []
    for piece in x.split(pieces, 1):
        h, state = model.encode_next(piece_of(piece), state)
        parts.append(h)
    close(torch.cat(parts, 1), whole)
    assert state is not None
    with recording():
        recorded, end = model.encode_next(piece_of(x[:, -1:]))
    close(recorded, model.encode_next(piece_of(x[:, -1:]))[0])
    assert end.h.shape == state.h.shape


def test_gradients_stop_where_the_state_is_detached() -> None:
    model, x = build("gru", FORECAST), inputs(FORECAST, 1, 6).requires_grad_()
    _, state = model.encode_next(piece_of(x[:, :3]))
    kept, _ = model.encode_next(piece_of(x[:, 3:]), state)
    cut, _ = model.encode_next(piece_of(x[:, 3:]), state.detach())
    close(kept, cut)
    (through,) = torch.autograd.grad(kept.sum(), x, retain_graph=True)
    (truncated,) = torch.autograd.grad(cut.sum(), x)
    assert through[:, :3].any()
    assert not truncated[:, :3].any()


@pytest.mark.parametrize("name", ONE_WAY)
def test_generating_equals_reading(name: str) -> None:
    model = build(name, LANGUAGE)
    text = torch.cat([torch.full((3, 1), BOS), inputs(LANGUAGE, 3, 6)], 1)
    whole = model.output(model.encode(SequenceBatch(text, torch.full((3,), 7))))  # [B, T, V]
    step = model.start(Batch(torch.zeros(3, 0, dtype=torch.long), text[:, :3]), attention=True)
    close(step.logits, whole[:, 2])
    assert step.attention is None
    rows = torch.tensor([2, 0, 0, 1])
    state = step.state.select(rows)
    for t in range(3, 7):
        step = model.step(text[rows, t], state)
        close(step.logits, whole[rows, t])
        state = step.state


def test_a_language_model_ties_its_words_and_nothing_else_does() -> None:
    model = RecurrentEncoder(RecurrentConfig(width=8), LANGUAGE)
    assert model.output.weight is model.embedding.weight
    assert not model.embedding.weight[PAD].any()
    for sizes in (TAGGING, Sizes(WORDS, WORDS), replace(TAGGING, causal=True), FORECAST):
        model = RecurrentEncoder(RecurrentConfig(width=8), sizes)
        assert not hasattr(model, "embedding") or model.output.weight is not model.embedding.weight


# --- Jordan ---


@pytest.mark.parametrize("sizes", [TAGGING, FORECAST], ids=["labels", "numbers"])
def test_jordan_told_its_own_outputs_equals_step_by_step(sizes: Sizes) -> None:
    model = build("jordan", sizes)
    batch = reading(sizes)
    h = model.encode(batch)
    o = model.feed_back(h)
    before = torch.cat([torch.zeros_like(o[:, :1]), o[:, :-1]], 1)  # o_0 … o_{T−1}
    told = replace(batch, before=before)
    close(model.encode(told), h)
    close(model.pool(told), model.pool(batch))
    close(model.encode(alone(told, 0))[0], h[0, :4])
    other = replace(batch, before=before + 1)
    assert not torch.allclose(model.encode(other), h)


@pytest.mark.parametrize("sizes", [TAGGING, FORECAST], ids=["labels", "numbers"])
def test_the_first_step_of_jordan_hears_nothing(sizes: Sizes) -> None:
    """o_0 = 0, so h_1 = g(U x_1), whatever W is: as in a network without memory."""
    model, batch = build("jordan", sizes, layers=1), reading(sizes, [3, 4])
    x = model.numbers(batch.inputs) if sizes.numeric_inputs else model.embedding(batch.inputs)
    _, cell = next(model.recurrent.cells())
    alone_ = torch.tanh(x[:, 0] @ cell.U.T + cell.b_U)
    close(model.encode(batch)[:, 0], alone_)
    close(model.encode_next(piece_of(batch.inputs))[0][:, 0], alone_)


def test_what_jordan_says_are_probabilities_or_the_numbers_themselves() -> None:
    h = random(4, 8)
    labels, numbers = build("jordan", TAGGING), build("jordan", FORECAST)
    close(labels.feed_back(h), (h @ labels.output.weight.T + labels.output.bias).softmax(-1))
    close(numbers.feed_back(h), h @ numbers.output.weight.T + numbers.output.bias)


def test_jordan_goes_on_with_its_own_output_after_true_ones() -> None:
    model, x = build("jordan", FORECAST), inputs(FORECAST, 2, 6)
    true = random(2, 4, 2, seed=4)
    told, state = model.encode_next(piece_of(x[:, :4], true))
    single, same = model.encode_next(piece_of(x[:, :1], true[:, :1]))
    close(told[:, :1], single)
    on, _ = model.encode_next(piece_of(x[:, 4:]), state)
    expected, _ = model.encode_next(piece_of(x[:, 4:5], model.feed_back(told[:, 3:])))
    close(on[:, :1], expected)
    assert same.o is not None


# --- choices ---


def test_directions_unless_given() -> None:
    for name in ("elman", "lstm", "gru"):
        assert RecurrentConfig.model_validate({"name": name}).both_ways(TAGGING)
        assert not RecurrentConfig.model_validate({"name": name}).both_ways(LANGUAGE)
        assert not RecurrentConfig.model_validate({"name": name, "bidirectional": False}).both_ways(TAGGING)
    for name in ("memoryless", "jordan"):
        assert not RecurrentConfig.model_validate({"name": name}).both_ways(TAGGING)
    assert RecurrentConfig(name="jordan").pooling == "last"
    assert RecurrentConfig().pooling == "max"


def test_impossible_choices_are_refused_with_the_way_out() -> None:
    with pytest.raises(ConfigError, match=r"bidirectional=true: this task .* set model.bidirectional=false"):
        RecurrentEncoder(RecurrentConfig(bidirectional=True), LANGUAGE)
    with pytest.raises(ConfigError, match=r"Jordan .* set model.bidirectional=false"):
        RecurrentEncoder(RecurrentConfig(name="jordan", bidirectional=True), TAGGING)
    with pytest.raises(ConfigError, match=r"model.width=17 .* make it even"):
        RecurrentEncoder(RecurrentConfig(width=17), TAGGING)
    RecurrentEncoder(RecurrentConfig(width=17), LANGUAGE)
    with pytest.raises(ValidationError, match="make it even"):
        RecurrentConfig(width=17, bidirectional=True)
    with pytest.raises(ValidationError, match=r"model.pool=mean is not for model.name=jordan.*use last"):
        RecurrentConfig(name="jordan", pool="mean")


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_configurations(preset: str) -> None:
    config = RecurrentConfig.model_validate(merge({"name": "gru"}, PRESETS[preset]["model"]))
    assert config.both_ways(TAGGING)


def test_dropout_is_for_training_and_on_the_inputs_and_the_outcome() -> None:
    model, batch = build("gru", dropout=0.5), reading(TAGGING)
    close(model.encode(batch), model.encode(batch))
    model.train()
    assert not torch.allclose(model.pool(batch), model.pool(batch))
    assert (model.pool(batch)[:3] == 0).any()


def test_a_recorder_has_the_gates() -> None:
    model, batch = build("lstm"), reading(TAGGING)
    plain = model.encode(batch)
    with recording() as recorder:
        close(model.encode(batch), plain)
    assert recorder.tensors["recurrent.1.backward.f"].shape == (5, 6, 4)

"""Position encodings: each by its formula, rotary against its references."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError
from torch import Tensor

from mirada.contracts import BOS, Batch, SequenceBatch, SequenceEncoder, Sizes
from mirada.models.bert import Bert, BertConfig
from mirada.models.encoder import EncoderConfig, TransformerEncoder
from mirada.models.gpt import GPT, GPTConfig
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.nn.positions import AddedPositions, Positions, Rotary, sinusoidal
from mirada.nn.positions import positions as build
from mirada.parts import Switches, switched
from tests.block_parts import shaken
from tests.tensors import close, random


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
def test_positions_are_added_from_where_the_tokens_stand(kind: str) -> None:
    positions = build(kind, 10, 6, 1).double()
    assert isinstance(positions, AddedPositions)
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


# --- rotary ---

T, HEADS, K = 9, 2, 6


def turned(x: Tensor, first: int = 0) -> Tensor:
    """Rotary positions by complex numbers: x_i + j x_{i+K/2}, times e^(j t θ_i)."""
    t = torch.arange(first, first + x.shape[2], dtype=torch.float64)
    theta = 10000.0 ** (-2 * torch.arange(K // 2, dtype=torch.float64) / K)
    z = torch.complex(x[..., : K // 2], x[..., K // 2 :]) * torch.polar(torch.ones(()).double(), t[:, None] * theta)
    return torch.cat([z.real, z.imag], -1)


def rotary() -> Positions:
    return Rotary(20, K).double()


def test_rotary_positions_are_turns_of_complex_numbers() -> None:
    x = random(3, HEADS, T, K)
    close(rotary().rotate(x), turned(x), 1e-6)  # the tables are float32
    close(rotary().rotate(x[:, :, 4:], 4), turned(x)[:, :, 4:], 1e-6)
    assert torch.equal(rotary()(x), x)  # nothing is added to embeddings


def test_rotary_positions_equal_transformers() -> None:
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    q, k = random(3, HEADS, T, K).float(), random(3, HEADS, T, K, seed=1).float()
    config: Any = LlamaConfig(hidden_size=HEADS * K, num_attention_heads=HEADS, head_dim=K)
    cos, sin = LlamaRotaryEmbedding(config)(q, torch.arange(T)[None])
    for ours, theirs in zip((q, k), apply_rotary_pos_emb(q, k, cos, sin), strict=True):
        close(Rotary(T, K).rotate(ours), theirs, 1e-6)


def test_rotary_scores_depend_on_the_distance_alone() -> None:
    positions, q, k = rotary(), random(1, 1, 1, K), random(1, 1, 1, K, seed=1)
    scores = [(positions.rotate(q, t) * positions.rotate(k, t + 3)).sum() for t in (0, 5, 11)]
    close(torch.stack(scores), scores[0].expand(3), 1e-6)
    assert abs(float((positions.rotate(q, 2) * positions.rotate(k, 9)).sum() - scores[0])) > 1e-3


def test_rotary_positions_have_no_weights() -> None:
    assert not list(rotary().parameters())
    assert not rotary().state_dict()


SIZES: dict[str, Any] = {"width": 12, "heads": 2, "dropout": 0.0, "positions": "rotary"}
STACKS: dict[str, Any] = {"encoder_layers": 2, "decoder_layers": 2, "feed_forward": 16}


def texts(rows: int, length: int, seed: int = 0) -> Tensor:
    return torch.randint(4, 20, (rows, length), generator=torch.Generator().manual_seed(seed))


def test_cached_decoding_equals_uncached_with_rotary_positions() -> None:
    model = shaken(Transformer(TransformerConfig(**SIZES, **STACKS), Sizes(20, 20))).eval()
    target = torch.cat([torch.full((3, 1), BOS), texts(3, 6)], 1)
    batch = Batch(texts(3, 5, seed=1), target)
    whole = model(Batch(batch.source, F.pad(target, (0, 1))))  # [B, T, V]
    step = model.start(Batch(batch.source, target[:, :2]))
    close(step.logits, whole[:, 1])
    rows = torch.tensor([2, 0, 0])
    state = step.state.select(rows)
    for t in range(2, 7):
        step = model.step(target[rows, t], state)
        close(step.logits, whole[rows, t])
        state = step.state
    assert not any("positions" in name for name in model.state_dict())


def test_a_gpt_with_rotary_positions_generates_what_it_reads() -> None:
    model = shaken(GPT(GPTConfig(**SIZES, layers=2, max_length=8), Sizes(20, 20, causal=True))).eval()
    ids = texts(2, 8)
    whole = model.output(model.encode(SequenceBatch(ids, torch.tensor([8, 8]))))
    step = model.start(Batch(ids[:, :0], ids[:, :3]))
    for t in range(3, 8):
        close(step.logits, whole[:, t - 1])
        step = model.step(ids[:, t], step.state)
    close(step.logits, whole[:, 7])
    more = model.step(ids[:, 0], step.state).logits  # the context is full: its later half is read again
    close(more, model.start(Batch(ids[:, :0], torch.cat([ids[:, 5:], ids[:, :1]], 1))).logits)


@pytest.mark.parametrize("kind", ["rotary", "sinusoidal", "learned", "none"])
@pytest.mark.parametrize("name", ["bert", "encoder"])
def test_encoders_see_the_order_by_their_positions(name: str, kind: str) -> None:
    choices = {**SIZES, "layers": 1, "positions": kind}
    model: SequenceEncoder = (
        Bert(BertConfig.model_validate(choices), Sizes(20, 3))
        if name == "bert"
        else TransformerEncoder(EncoderConfig.model_validate(choices), Sizes(20, 3))
    )
    shaken(model).eval()
    x, lengths = texts(1, 5), torch.tensor([5])
    one, other = model.encode(SequenceBatch(x, lengths)), model.encode(SequenceBatch(x.flip(1), lengths)).flip(1)
    same = torch.allclose(one[:, 1:-1], other[:, 1:-1])
    assert same == (kind == "none")
    if kind != "none":
        with switched(model, Switches(positions=False)):
            off = model.encode(SequenceBatch(x, lengths))
        assert not torch.allclose(off, one)


def test_heads_of_odd_width_cannot_be_turned() -> None:
    with pytest.raises(ValidationError, match=r"model\.positions=rotary .* model\.width=6 over model\.heads=2 .* 3"):
        GPTConfig(width=6, heads=2, positions="rotary")

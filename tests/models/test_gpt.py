"""GPT equals Hugging Face's GPT of 2018 and GPT-2; caches, windows, batches and padding change nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from mirada.contracts import BOS, EOS, PAD, Batch, SequenceBatch, Sizes
from mirada.decoding import DecodeConfig, decode
from mirada.errors import InputError
from mirada.exchange.gpt2 import ROWS
from mirada.exchange.mapping import Row
from mirada.models.gpt import GPT, PRESETS, GPTConfig
from mirada.nn.context import ContextState
from mirada.parts import recording
from tests.block_parts import LONG
from tests.block_parts import shaken as random_weights
from tests.published import copied, shaken
from tests.tensors import close

VOCABULARY, WIDTH, HEADS, LAYERS, CONTEXT = 40, 12, 3, 3, 90
SIZES = Sizes(VOCABULARY, VOCABULARY, causal=True)
OLD_NAMES = {"wte.weight": "tokens_embed.weight", "wpe.weight": "positions_embed.weight"}


def build(norm: str = "pre", context: int = CONTEXT, sizes: Sizes = SIZES, **choices: Any) -> GPT:
    values = {"width": WIDTH, "heads": HEADS, "layers": LAYERS, "max_length": context, "norm": norm, "dropout": 0.0}
    return random_weights(GPT(GPTConfig.model_validate({**values, **choices}), sizes)).eval()


def gpt2() -> tuple[GPT, Any]:
    """Ours and theirs with the same random weights."""
    from transformers import GPT2Config, GPT2LMHeadModel

    ids: dict[str, Any] = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
    config = GPT2Config(vocab_size=VOCABULARY, n_positions=CONTEXT, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, **ids)
    theirs, ours = shaken(GPT2LMHeadModel(config)), build("pre")
    with torch.no_grad():  # an end that this random model comes to now and then
        theirs.transformer.wte.weight[EOS] = theirs.transformer.wte.weight[27]
        theirs.transformer.wte.weight[27] *= -1
    assert copied(ours, theirs, [row.below("transformer.") for row in ROWS]) == len(list(ours.parameters()))
    return ours, theirs


def gpt1() -> tuple[GPT, Any]:
    from transformers import OpenAIGPTConfig, OpenAIGPTLMHeadModel

    config = OpenAIGPTConfig(
        vocab_size=VOCABULARY, n_positions=CONTEXT, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, afn="gelu"
    )
    theirs, ours = shaken(OpenAIGPTLMHeadModel(config)), build("post")
    rows = [Row(OLD_NAMES.get(row.theirs, row.theirs), row.ours, row.transposed) for row in ROWS]
    assert copied(ours, theirs, [row.below("transformer.") for row in rows]) == len(list(ours.parameters()))
    return ours, theirs


def texts(rows: int, length: int, seed: int = 0) -> Tensor:
    return torch.randint(3, VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(seed))


def scores(model: GPT, tokens: Tensor) -> Tensor:
    """[B, T, V]"""
    found: Tensor = model.output(model.encode(SequenceBatch(tokens, torch.full((len(tokens),), tokens.shape[1]))))
    return found


# --- the published models ---


@pytest.mark.parametrize("length", [1, 7, LONG, CONTEXT])
@pytest.mark.parametrize("twins", [gpt1, gpt2])
def test_gpt_equals_transformers(twins: Any, length: int) -> None:
    ours, theirs = twins()
    tokens = texts(3, length)
    expected = theirs(input_ids=tokens).logits
    assert expected.abs().max() > 0.1
    close(scores(ours, tokens), expected, 1e-8)


def test_greedy_output_equals_transformers() -> None:
    ours, theirs = gpt2()
    prompts = torch.cat([torch.full((6, 1), BOS), texts(6, 4)], 1)
    found = decode(ours, Batch(prompts[:, :0], prompts), DecodeConfig(beam=1), [30] * 6)
    expected = theirs.generate(
        prompts,
        attention_mask=torch.ones_like(prompts),
        max_new_tokens=30,
        do_sample=False,
        suppress_tokens=[PAD, BOS],
    )
    lengths = set()
    for row, (best,) in zip(expected[:, 1:].tolist(), found, strict=True):
        row = row[: row.index(EOS)] if EOS in row else row
        assert best.tokens[:29] == row[:29]  # the last of ours is EOS, which the limit forces
        lengths.add(len(row))
    assert len(lengths) > 1  # some end by themselves


@pytest.mark.parametrize("seed", range(4))
def test_beam_search_equals_transformers(seed: int) -> None:
    ours, theirs = gpt2()
    prompts = torch.cat([torch.full((4, 1), BOS), texts(4, 3, seed)], 1)
    config = DecodeConfig(beam=4, length_penalty=0.0)
    found = decode(ours, Batch(prompts[:, :0], prompts), config, [60] * 4)
    expected = theirs.generate(
        prompts,
        attention_mask=torch.ones_like(prompts),
        max_new_tokens=60,
        num_beams=4,
        length_penalty=0.0,
        do_sample=False,
        suppress_tokens=[PAD, BOS],
    )
    for row, hypotheses in zip(expected[:, 1:].tolist(), found, strict=True):
        assert hypotheses[0].tokens == row[: row.index(EOS)]


# --- generation ---


def walk(model: GPT, tokens: Tensor, prefix: int) -> Tensor:
    """The scores after each token from `prefix` on, one step at a time, [B, T−prefix+1, V]."""
    steps = [model.start(Batch(tokens[:, :0], tokens[:, :prefix]))]
    for column in tokens[:, prefix:].T:
        steps.append(model.step(column, steps[-1].state))
    return torch.stack([step.logits for step in steps], 1)


@pytest.mark.parametrize("prefix", [1, 4, LONG])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_cached_stepping_equals_the_whole_pass(norm: str, prefix: int) -> None:
    model, tokens = build(norm), texts(2, LONG + 3)
    close(walk(model, tokens, prefix), scores(model, tokens)[:, prefix - 1 :])


@pytest.mark.parametrize("context", [2, 7, 8])
def test_beyond_the_context_the_later_half_is_read_anew(context: int) -> None:
    model, tokens = build(context=context), texts(2, 3 * context + 1)
    found = walk(model, tokens, 1)
    begin = 0
    for end in range(1, tokens.shape[1] + 1):
        if end - begin > context:
            begin = end - context // 2
        close(found[:, end - 1], scores(model, tokens[:, begin:end])[:, -1])


def test_of_a_prompt_longer_than_the_context_the_end_is_read() -> None:
    model, tokens = build(context=8), texts(2, 20)
    step = model.start(Batch(tokens[:, :0], tokens))
    close(step.logits, scores(model, tokens[:, -8:])[:, -1])
    more = texts(2, 1, seed=4)
    following = model.step(more[:, 0], step.state)
    close(following.logits, scores(model, torch.cat([tokens[:, -3:], more], 1))[:, -1])
    assert isinstance(following.state, ContextState)
    assert following.state.inputs.shape[1] == 4  # what no longer counts is not kept


def test_selected_rows_go_on_as_if_they_had_always_been_there() -> None:
    model, tokens = build(context=6), texts(3, 12)
    state = model.start(Batch(tokens[:, :0], tokens[:, :4])).state
    chosen = torch.tensor([2, 0, 0])
    alone = walk(model, tokens[chosen], 4)
    state = state.select(chosen)
    for place in range(4, 12):
        step = model.step(tokens[chosen, place], state)
        close(step.logits, alone[:, place - 3])
        state = step.state


# --- reading ---


@pytest.mark.parametrize("pool", ["mean", "last"])
def test_padding_and_what_is_to_come_change_nothing(pool: str) -> None:
    model, tokens = build(pool=pool), texts(3, 9)
    lengths = torch.tensor([9, 4, 1])
    padded = tokens.masked_fill(torch.arange(9) >= lengths[:, None], PAD)
    h, pooled = model.encode(SequenceBatch(padded, lengths)), model.pool(SequenceBatch(padded, lengths))
    for row, length in enumerate(lengths.tolist()):
        alone = SequenceBatch(tokens[row : row + 1, :length], lengths[row : row + 1])
        close(h[row, :length], model.encode(alone)[0])
        close(pooled[row], model.encode(alone)[0, -1] if pool == "last" else model.encode(alone)[0].mean(0))
        close(pooled[row], model.pool(alone)[0])


@pytest.mark.parametrize("pool", ["mean", "last"])
def test_an_empty_text_has_a_vector_too(pool: str) -> None:
    model = build(pool=pool)
    assert not model.pool(SequenceBatch(torch.zeros(2, 0, dtype=torch.long), torch.tensor([0, 0]))).any()
    beside = model.pool(SequenceBatch(texts(2, 3), torch.tensor([3, 0])))
    assert beside[0].any()
    assert not beside[1].any()


def test_a_text_longer_than_the_context_is_refused() -> None:
    with pytest.raises(InputError, match=r"has 9 tokens.*model\.max_length=8"):
        scores(build(context=8), texts(1, 9))


@pytest.mark.parametrize(
    ("sizes", "bias", "tied", "biased"),
    [
        (SIZES, False, True, False),
        (SIZES, True, True, True),
        (Sizes(VOCABULARY, 5), False, False, True),
        (Sizes(VOCABULARY, VOCABULARY), False, False, True),  # as many labels as words are still no words
    ],
)
def test_only_a_language_model_ends_with_its_words(sizes: Sizes, bias: bool, tied: bool, biased: bool) -> None:
    model = GPT(GPTConfig(width=8, heads=2, layers=1, max_length=4, output_bias=bias), sizes)
    assert (model.output.weight is model.embedding.weight) == tied
    assert (model.output.bias is not None) == biased
    assert (model.embedding.weight[PAD] == 0).all()
    assert model.output.weight.shape == (sizes.outputs, 8)


def test_what_is_added_to_the_stream_starts_smaller() -> None:
    torch.manual_seed(1)
    model = GPT(GPTConfig(width=64, heads=4, layers=8, max_length=16), SIZES)
    weights = dict(model.named_parameters())
    for name, std in (
        ("embedding.weight", 0.02),
        ("decoder.layers.3.self_.query.weight", 0.02),
        ("decoder.layers.3.self_.output.weight", 0.02 / 4),
        ("decoder.layers.3.feed_forward.outer.weight", 0.02 / 4),
    ):
        assert weights[name].std().item() == pytest.approx(std, rel=0.05)
    assert (weights["decoder.layers.0.add_self.norm.weight"] == 1).all()


def test_a_recorder_sees_every_attention() -> None:
    with recording("decoder.*.self.weights") as recorder:
        build().encode(SequenceBatch(texts(2, 5), torch.tensor([5, 5])))
    assert len(recorder.tensors) == LAYERS
    for weights in recorder.tensors.values():
        assert weights.shape == (2, HEADS, 5, 5)
        assert not weights.triu(1).any()


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_a_valid_configuration(preset: str) -> None:
    GPTConfig.model_validate(PRESETS[preset]["model"])


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValidationError, match=r"model\.width=10 .* model\.heads=4"):
        GPTConfig(width=10, heads=4)

"""The whole Transformer equals torch.nn's and Marian's; batches, caches and prefixes change nothing."""

from __future__ import annotations

import math
from typing import Any, Literal

import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError
from torch import Tensor, nn

from mirada.contracts import BOS, EOS, PAD, Batch, Sizes, Step
from mirada.models.transformer import PRESETS, StacksState, Transformer, TransformerConfig
from mirada.nn.blocks import Layer, MultiHead
from mirada.nn.positions import AddedPositions
from mirada.parts import Switches, recording, switched, without
from tests.block_parts import (
    LONG,
    Twins,
    compare_gradients,
    copy_twins,
    decoder_twins,
    encoder_twins,
    linear_twins,
    shaken,
)
from tests.tensors import close

Norm = Literal["pre", "post"]
VOCABULARY = 40


def build(norm: Norm = "pre", vocabularies: tuple[int, int] = (VOCABULARY, VOCABULARY), **choices: Any) -> Transformer:
    sizes = {"width": 12, "heads": 3, "encoder_layers": 3, "decoder_layers": 2, "feed_forward": 20, "max_length": 90}
    config = TransformerConfig.model_validate({**sizes, "norm": norm, "dropout": 0.0, **choices})
    model = shaken(Transformer(config, Sizes(*vocabularies)))
    with torch.no_grad():  # what `shaken` did to the padding's vector, which is zero and stays so
        model.source_embedding.weight[PAD] = 0
        model.target_embedding.weight[PAD] = 0
    return model


def sentences(source: list[int], target: list[int], seed: int = 0) -> Batch:
    """A batch of random sentences of these lengths: source … EOS, BOS target … EOS."""
    random = torch.Generator().manual_seed(seed)

    def side(lengths: list[int], begin: list[int]) -> Tensor:
        rows = []
        for length in lengths:
            body = torch.randint(3, VOCABULARY, (length,), generator=random).tolist()
            rows.append(begin + body + [EOS] + [PAD] * (max(lengths) - length))
        return torch.tensor(rows)

    return Batch(side(source, []), side(target, [BOS]))


def one(batch: Batch, row: int) -> Batch:
    """A sentence of a batch alone, without padding."""
    source, target = batch.source[row], batch.target[row]
    return Batch(source[source != PAD][None], target[target != PAD][None])


# --- references ---


class Reference(nn.Module):
    """The same model around torch.nn.Transformer."""

    def __init__(self, ours: Transformer):
        super().__init__()
        c = ours.config
        sizes = (c.width, c.heads, c.encoder_layers, c.decoder_layers, c.feed_forward, 0.0, c.activation)
        self.stacks = nn.Transformer(*sizes, batch_first=True, norm_first=c.norm == "pre")
        if c.norm == "post":  # torch.nn adds a final norm to both kinds; the paper's post-norm stack has none
            self.stacks.encoder.norm = self.stacks.decoder.norm = None
        self.embedding = nn.Parameter(torch.empty(VOCABULARY, c.width))
        assert isinstance(ours.positions, AddedPositions)
        self.table = ours.positions.table
        self.double()
        self.twins: Twins = [([ours.source_embedding.weight], self.embedding)]
        for mine, theirs in zip(ours.encoder.layers, self.stacks.encoder.layers, strict=True):
            assert isinstance(mine, Layer)
            assert isinstance(theirs, nn.TransformerEncoderLayer)
            self.twins += encoder_twins(mine, theirs)
        for mine, theirs in zip(ours.decoder.layers, self.stacks.decoder.layers, strict=True):
            assert isinstance(mine, Layer)
            assert isinstance(theirs, nn.TransformerDecoderLayer)
            self.twins += decoder_twins(mine, theirs)
        for own, its in (
            (ours.encoder.final_norm, self.stacks.encoder.norm),
            (ours.decoder.final_norm, self.stacks.decoder.norm),
        ):
            if isinstance(own, nn.LayerNorm):
                assert isinstance(its, nn.LayerNorm)
                self.twins += linear_twins(own, its)
        copy_twins(self.twins)

    def embed(self, ids: Tensor) -> Tensor:
        found = F.embedding(ids, self.embedding, padding_idx=PAD)
        return found * math.sqrt(found.shape[-1]) + self.table[: ids.shape[1]]

    def forward(self, batch: Batch) -> Tensor:
        padding, t = batch.source == PAD, batch.target_input.shape[1]
        hidden = self.stacks(
            self.embed(batch.source),
            self.embed(batch.target_input),
            tgt_mask=torch.ones(t, t, dtype=torch.bool).triu(1),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return hidden @ self.embedding.T


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("longest", [7, LONG])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_transformer_equals_torch(norm: Norm, activation: str, longest: int) -> None:
    ours = build(norm, activation=activation)
    reference = Reference(ours)
    assert sum(len(group) for group, _ in reference.twins) == len(list(ours.parameters()))
    batch = sentences([longest, 3, longest - 2], [5, longest, 2])
    found, expected = ours(batch), reference(batch)
    assert found.shape == (3, longest + 1, VOCABULARY)
    close(found, expected)
    compare_gradients(found, expected, [], reference.twins, 1e-8)


def marian_attention_twins(ours: MultiHead, theirs: Any) -> Twins:
    return [
        *linear_twins(ours.query, theirs.q_proj),
        *linear_twins(ours.key, theirs.k_proj),
        *linear_twins(ours.value, theirs.v_proj),
        *linear_twins(ours.output, theirs.out_proj),
    ]


def marian_twins(ours: Transformer, theirs: Any) -> Twins:
    twins: Twins = [([ours.source_embedding.weight], theirs.model.shared.weight)]
    for mine, other in zip(ours.encoder.layers, theirs.model.encoder.layers, strict=True):
        assert isinstance(mine, Layer)
        twins += marian_attention_twins(mine.self_, other.self_attn)
        twins += linear_twins(mine.add_self.norm, other.self_attn_layer_norm)
        twins += linear_twins(mine.feed_forward.inner, other.fc1) + linear_twins(mine.feed_forward.outer, other.fc2)
        twins += linear_twins(mine.add_feed_forward.norm, other.final_layer_norm)
    for mine, other in zip(ours.decoder.layers, theirs.model.decoder.layers, strict=True):
        assert isinstance(mine, Layer)
        twins += marian_attention_twins(mine.self_, other.self_attn)
        twins += linear_twins(mine.add_self.norm, other.self_attn_layer_norm)
        twins += marian_attention_twins(mine.cross, other.encoder_attn)
        twins += linear_twins(mine.add_cross.norm, other.encoder_attn_layer_norm)
        twins += linear_twins(mine.feed_forward.inner, other.fc1) + linear_twins(mine.feed_forward.outer, other.fc2)
        twins += linear_twins(mine.add_feed_forward.norm, other.final_layer_norm)
    return twins


def test_transformer_equals_marian() -> None:
    from transformers import MarianConfig, MarianMTModel

    ours = build("post")
    c = ours.config
    theirs: Any = MarianMTModel(
        MarianConfig(
            vocab_size=VOCABULARY,
            d_model=c.width,
            encoder_layers=c.encoder_layers,
            decoder_layers=c.decoder_layers,
            encoder_attention_heads=c.heads,
            decoder_attention_heads=c.heads,
            encoder_ffn_dim=c.feed_forward,
            decoder_ffn_dim=c.feed_forward,
            activation_function="relu",
            dropout=0.0,
            scale_embedding=True,
            max_position_embeddings=c.max_length + 1,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            forced_eos_token_id=EOS,
            decoder_start_token_id=BOS,
        )
    ).double()
    with torch.no_grad():  # Marian puts all sines before all cosines; ours are interleaved, as in the paper
        for stack in (theirs.model.encoder, theirs.model.decoder):
            stack.embed_positions.weight.copy_(ours.positions.table)
    twins = marian_twins(ours, theirs)
    assert sum(len(group) for group, _ in twins) == len(list(ours.parameters()))
    copy_twins(twins)
    batch = sentences([7, 3, 5], [5, 8, 2])
    found = ours(batch)
    expected = theirs(
        input_ids=batch.source,
        attention_mask=batch.source_mask,
        decoder_input_ids=batch.target_input,
        use_cache=False,
    ).logits
    close(found, expected, 1e-8)
    compare_gradients(found, expected, [], twins, 1e-8)


# --- batches and the future ---


@pytest.mark.parametrize("longest", [9, LONG])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_padded_batch_equals_its_sentences_one_by_one(norm: Norm, longest: int) -> None:
    model = build(norm)
    batch = sentences([longest, 1, 4, 6], [3, 8, 0, longest])
    together = model(batch)
    for row in range(batch.size):
        single = one(batch, row)
        alone = model(single)[0]
        close(together[row, : len(alone)], alone)
        close(model.encode(batch)[row, : single.source.shape[1]], model.encode(single)[0])


def test_later_tokens_do_not_influence_earlier_logits() -> None:
    model = build()
    batch = sentences([5, 4], [7, 7])
    before = model(batch)
    for place in range(1, 8):
        target = batch.target.clone()
        target[:, place] = 3 + (target[:, place] - 2) % (VOCABULARY - 3)
        after = model(Batch(batch.source, target))
        assert torch.equal(after[:, :place], before[:, :place])
        assert (after[:, place] - before[:, place]).abs().max() > 1e-6


def test_later_source_tokens_do_influence_every_logit() -> None:
    model, batch = build(), sentences([5], [4])
    source = batch.source.clone()
    source[0, -2] = 3 + (source[0, -2] - 2) % (VOCABULARY - 3)
    changed = (model(Batch(source, batch.target)) - model(batch)).abs().amax(-1)
    assert (changed > 1e-6).all()


# --- stepping ---


def walk(model: Transformer, batch: Batch, prefix: int, attention: bool = False) -> list[Step]:
    """start with BOS and `prefix` tokens of the true target, then step through the rest."""
    steps = [model.start(Batch(batch.source, batch.target[:, : prefix + 1]), attention=attention)]
    for tokens in batch.target_input[:, prefix + 1 :].T:
        steps.append(model.step(tokens, steps[-1].state))
    return steps


@pytest.mark.parametrize("longest", [6, LONG])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_cached_stepping_equals_the_whole_pass_at_every_position(norm: Norm, positions: str, longest: int) -> None:
    model = build(norm, positions=positions)
    batch = sentences([longest, 3], [longest, longest])
    stepped = torch.stack([step.logits for step in walk(model, batch, 0)], 1)
    close(stepped, model(batch))


@pytest.mark.parametrize("prefix", [1, 3, 6])
def test_a_forced_prefix_equals_stepping_through_it(prefix: int) -> None:
    model = build()
    batch = sentences([5, 3], [6, 6])
    slow, quick = walk(model, batch, 0, attention=True), walk(model, batch, prefix, attention=True)
    assert len(quick) == len(slow) - prefix
    for fast, step in zip(quick, slow[prefix:], strict=True):
        close(fast.logits, step.logits)
        assert fast.attention is not None
        assert step.attention is not None
        close(fast.attention, step.attention)


def test_steps_attention_is_the_cross_attention_of_the_whole_pass() -> None:
    model, batch = build(), sentences([5, 3], [4, 4])
    with recording() as recorder:
        model(batch)
    expected = torch.stack(
        [recorder.tensors[f"decoder.{layer}.cross.weights"] for layer in range(2)], 1
    )  # [B, L, H, T, S]
    for t, step in enumerate(walk(model, batch, 0, attention=True)):
        assert step.attention is not None
        assert step.attention.shape == (2, 2, 3, 6)  # [R, L, H, S]
        close(step.attention, expected[:, :, :, t])
    assert all(step.attention is None for step in walk(model, batch, 0))


def test_a_decoder_without_its_layers_has_no_attention() -> None:
    model, batch = build(), sentences([5, 3], [4, 4])
    with without("decoder.0", "decoder.1"):
        step = model.start(Batch(batch.source, batch.target[:, :1]), attention=True)
        assert step.attention is None
        assert model.step(batch.target[:, 1], step.state).attention is None
    with without("decoder.0"):
        attention = model.start(Batch(batch.source, batch.target[:, :1]), attention=True).attention
        assert attention is not None
        assert attention.shape[1] == 1


@pytest.mark.parametrize(
    "rows", [[0, 1, 2], [2, 0, 1], [1, 1, 0, 2, 2], [2], [0, 2]], ids=lambda rows: "".join(map(str, rows))
)
def test_selected_rows_go_on_as_if_they_had_always_been_there(rows: list[int]) -> None:
    model = build()
    batch = sentences([6, 2, 4], [6, 6, 6])
    chosen = torch.tensor(rows)
    step = model.start(Batch(batch.source, batch.target[:, :3]), attention=True)
    state = step.state.select(chosen)
    whole = model(batch)[chosen]
    for place in (3, 4, 5):
        step = model.step(batch.target[chosen, place], state)
        close(step.logits, whole[:, place])
        assert step.attention is not None
        assert (step.attention[:, :, :, -1] > 0).flatten(1).any(1).tolist() == [row == 0 for row in rows]
        state = step.state


def test_hypotheses_change_places_within_their_sentences() -> None:
    model = build()
    batch = sentences([6, 3], [5, 5])
    other = sentences([1, 1], [5, 5], seed=8).target
    start = model.start(Batch(batch.source, batch.target[:, :1]))
    state = start.state.select(torch.tensor([0, 0, 1, 1]))
    targets = torch.stack([batch.target[0], other[0], batch.target[1], other[1]])
    sources = batch.source[[0, 0, 1, 1]]
    state = model.step(targets[:, 1], state).state
    moved = torch.tensor([1, 0, 3, 3])  # sentence by sentence: a swap, and one that takes both places
    selected = state.select(moved)
    assert isinstance(state, StacksState)
    assert isinstance(selected, StacksState)
    assert selected.source is state.source  # the source's keys need not be copied
    targets = targets[moved]
    step = model.step(targets[:, 2], selected)
    close(step.logits, model(Batch(sources, targets))[:, 2])
    across = torch.tensor([3, 0])  # and between sentences they must be
    last = model.step(targets[across, 3], step.state.select(across))
    close(last.logits, model(Batch(sources[across], targets[across]))[:, 3])


def test_stepping_leaves_a_state_as_it_was() -> None:
    model, batch = build(), sentences([4], [4])
    state = model.start(Batch(batch.source, batch.target[:, :1])).state
    first = model.step(torch.tensor([5]), state).logits
    model.step(torch.tensor([9]), state)
    assert torch.equal(model.step(torch.tensor([5]), state).logits, first)


# --- sizes and ties ---


def count(config: TransformerConfig, vocabularies: int, final_norms: int) -> int:
    """Parameters by hand: matrices with their biases, a scale and a shift a norm, and embeddings."""
    d, inner = config.width, config.feed_forward
    attention, feed_forward, norm = 4 * (d * d + d), d * inner + inner + inner * d + d, 2 * d
    encoder = config.encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = config.decoder_layers * (2 * attention + feed_forward + 3 * norm)
    return encoder + decoder + final_norms * norm + vocabularies * d


@pytest.mark.parametrize(("preset", "millions"), [("base", 65), ("paper", 65), ("big", 213)])
def test_presets_have_the_papers_sizes(preset: str, millions: int) -> None:
    config = TransformerConfig.model_validate(PRESETS[preset]["model"])
    with torch.device("meta"):
        model = Transformer(config, Sizes(37_000, 37_000))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    assert parameters == count(config, 37_000, 2 if config.norm == "pre" else 0)
    assert parameters == pytest.approx(millions * 1e6, rel=0.04)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_a_valid_configuration(preset: str) -> None:
    TransformerConfig.model_validate(PRESETS[preset]["model"])


@pytest.mark.parametrize(("tie", "vocabularies"), [("all", 40), ("output", 40 + 40), ("none", 40 + 40 + 40)])
def test_ties_share_what_they_say(tie: str, vocabularies: int) -> None:
    model = build(tie=tie)
    assert isinstance(model.output, nn.Linear)
    source, target, output = model.source_embedding.weight, model.target_embedding.weight, model.output.weight
    assert (source is target) == (tie == "all")
    assert (target is output) == (tie in ("all", "output"))
    assert sum(parameter.numel() for parameter in model.parameters()) == count(model.config, vocabularies, 2)
    batch = sentences([3], [3])
    model(batch).square().sum().backward()
    assert all(weight.grad is not None and weight.grad.abs().max() > 0 for weight in (source, target, output))


@pytest.mark.parametrize("tie", ["output", "none"])
def test_two_vocabularies_may_have_two_sizes(tie: str) -> None:
    model = build(vocabularies=(50, VOCABULARY), tie=tie)
    batch = sentences([3], [3])
    batch.source[0, 0] = 49  # an id that the target does not have
    assert model(batch).shape == (1, 4, VOCABULARY)


def test_padding_has_a_zero_vector_at_the_start() -> None:
    for tie in ("all", "output", "none"):
        config = TransformerConfig.model_validate({"width": 8, "heads": 2, "feed_forward": 8, "tie": tie})
        model = Transformer(config, Sizes(10, 10))
        assert (model.source_embedding.weight[PAD] == 0).all()
        assert (model.target_embedding.weight[PAD] == 0).all()
        assert (model.source_embedding.weight[1:] != 0).any(1).all()


def test_a_sentence_may_have_max_length_tokens() -> None:
    model = build(max_length=10)
    batch = sentences([10], [10])
    assert model(batch).shape == (1, 11, VOCABULARY)


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValidationError, match=r"model\.width=10 .* model\.heads=4"):
        TransformerConfig(width=10, heads=4)


def test_switches_reach_every_head() -> None:
    model, batch = build(), sentences([5, 3], [4, 2])
    every = [(module.path, 0) for module in model.modules() if isinstance(module, MultiHead)]
    assert len(every) == 3 + 2 * 2
    outputs = [model(batch)]
    for head in every:
        with switched(model, Switches(heads_off=frozenset({head}))):
            outputs.append(model(batch))
    for i, first in enumerate(outputs):
        assert all((first - second).abs().max() > 1e-6 for second in outputs[i + 1 :])
